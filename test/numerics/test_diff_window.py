# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores plus their differences from neighbouring scores, against their definition: folded into the
keys where that is exact, computed for each query where it is not."""

import attention_references as attentions
import numpy
import pytest
from conftest import assert_close, lengths_of

WIDTHS = (1, 3, 5, 9)
SCOPES = ("visible", "all")
# name: options of the attention; what a row of the batch sees, by its length and offset.
VIEWS = {
    "all": ("", lambda n, o: {}),
    "lengths": (", lengths=n", lambda n, o: {"length": n}),
    "causal": (", causal=true, offset=o", lambda n, o: {"causal": True, "offset": o}),
    "left": (", window=(2, inf), offset=o", lambda n, o: {"window": (2, None), "offset": o}),
    "itself": (", window=(0, 0), offset=o", lambda n, o: {"window": (0, 0), "offset": o}),
    "window": (", window=(3, 2)", lambda n, o: {"window": (3, 2)}),
    "causal and left": (
        ", causal=true, window=(6, inf), lengths=n, offset=o",
        lambda n, o: {"causal": True, "window": (6, None), "length": n, "offset": o},
    ),
    "left and lengths": (
        ", window=(1, inf), lengths=n, offset=o",
        lambda n, o: {"window": (1, None), "length": n, "offset": o},
    ),
    "right and lengths": (
        ", window=(inf, 1), lengths=n, offset=o",
        lambda n, o: {"window": (None, 1), "length": n, "offset": o},
    ),
}
SIZES = [(4, 3, 7), (3, 9, 5), (3, 1, 17), (4, 2, 1), (2, 65, 64), (2, 3, 0), (2, 0, 4), (0, 3, 3)]


def text(options, *inputs):
    """A result for each width and scope."""
    names = [f"{scope}_{width}" for scope in SCOPES for width in WIDTHS]
    attentions_text = "".join(
        f"""
attention window_{scope}(q: [T, D], k: [S, D], v: [S, E], width = 3) -> [T, E] {{
  s = q @ k.T / sqrt(D)
  return softmax(s + neighbour_difference(s, width, scope="{scope}")) @ v
}}
"""
        for scope in SCOPES
    )
    calls = "".join(
        f"  {scope}_{width} = window_{scope}(q, k, v, width={width}{options})\n"
        for scope in SCOPES
        for width in WIDTHS
    )
    results = ", ".join(f"{name}: [B, T, 3]" for name in names)
    shapes = ["q: [B, T, 7]", "k: [B, S, 7]", "v: [B, S, 3]", "n: i64[B]", "o: i64[B]", *inputs]
    return (
        f"{attentions_text}\nmodel m({', '.join(shapes)}) -> ({results}) {{\n"
        f"{calls}  return {', '.join(names)}\n}}\n"
    )


def inputs_of(generator, batch, queries, keys):
    def floats(*shape):
        return generator.normal(size=shape).astype(numpy.float32)

    return {
        "q": floats(batch, queries, 7),
        "k": floats(batch, keys, 7),
        "v": floats(batch, keys, 3),
        "n": lengths_of(generator, batch, keys),
        "o": generator.integers(-queries - 2, keys + 3, batch),
    }


def expected(q, k, v, seen, scope, width):
    s = attentions.scores(*(numpy.asarray(a, numpy.float64) for a in (q, k)))
    counted = seen if scope == "visible" else numpy.ones_like(seen)
    with numpy.errstate(invalid="ignore"):
        s = s + attentions.neighbour_difference(s, counted, width)
    return attentions.weigh(attentions.softmax(s, seen), v)


def check(found, given, seen_of, what, assert_close=assert_close, bias=None):
    for b in range(len(given["q"])):
        for scope in SCOPES:
            for width in WIDTHS:
                with attentions.added_bias(0 if bias is None else bias[b]):
                    row = expected(given["q"][b], given["k"][b], given["v"][b], seen_of(b), scope, width)
                assert_close(found[f"{scope}_{width}"][b], row, (what, scope, width, b))


@pytest.mark.parametrize("view", VIEWS)
def test_views(compiler, view):
    """Windows wider than what a query sees, ends that meet, rows that see nothing."""
    options, restrictions = VIEWS[view]
    library = compiler.library(text(options)).prepare({})
    generator = numpy.random.default_rng(130)
    for sizes in SIZES:
        given = inputs_of(generator, *sizes)
        check(
            library.run(**given),
            given,
            lambda b: attentions.visible(*sizes[1:], **restrictions(given["n"][b], given["o"][b])),
            (view, sizes),
        )


def test_blocks_that_begin_behind_the_first_key(compiler):
    """So many keys that blocks of queries leave some out at both ends."""
    library = compiler.library(text(", window=(3, 2)")).prepare({})
    given = inputs_of(numpy.random.default_rng(131), 1, 200, 200)
    seen = attentions.visible(200, 200, window=(3, 2))
    check(library.run(**given), given, lambda b: seen, "")


@pytest.mark.parametrize("view", ["window", "causal and left", "right and lengths"])
def test_a_key_reaches_those_that_see_it(compiler, view):
    """NaN in one key changes no bit of a query that does not see it."""
    options, restrictions = VIEWS[view]
    library = compiler.library(text(options)).prepare({})
    given = inputs_of(numpy.random.default_rng(132), 2, 9, 13)
    given["n"], given["o"] = numpy.array([13, 10]), numpy.array([2, 4])
    seen = numpy.stack(
        [attentions.visible(9, 13, **restrictions(n, o)) for n, o in zip(given["n"], given["o"], strict=True)]
    )
    clean = library.run(**given)
    for key in range(13):
        dirty = given | {"k": given["k"].copy()}
        dirty["k"][:, key] = numpy.nan
        found = library.run(**dirty)
        for width in WIDTHS:
            name = f"visible_{width}"
            kept = ~seen[:, :, key]
            numpy.testing.assert_array_equal(found[name][kept], clean[name][kept], str((key, name)))
            assert numpy.isnan(found[name][seen[:, :, key]]).all()


# name: options; inputs of the model; what a row of the batch sees by its length and offset, but for single elements.
BY_ELEMENT = {
    "mask": (", mask=m", ["m: bool[B, T, S]"], lambda n, o: {}),
    "mask and all": (
        ", mask=m, causal=true, lengths=n, offset=o", ["m: bool[B, T, S]"],
        lambda n, o: {"causal": True, "length": n, "offset": o},
    ),
    "segments": (
        ", segments=(qs, ks), window=(6, inf)", ["qs: i64[B, T]", "ks: i64[B, S]"],
        lambda n, o: {"window": (6, None)},
    ),
    "bias and all": (
        ", bias=d, causal=true, lengths=n, offset=o", ["d: [B, T, S]"],
        lambda n, o: {"causal": True, "length": n, "offset": o},
    ),
}  # fmt: skip


@pytest.mark.parametrize("view", BY_ELEMENT)
def test_what_is_visible_by_element(compiler, view):
    """Ranges with all neighbours, and the ends of rows, shorter than the window too. A bias comes behind the
    differences: what it hides is a neighbour all the same."""
    options, inputs, restrictions = BY_ELEMENT[view]
    source = text(options, *inputs)
    libraries = [compiler.library(source, *more).prepare({}) for more in ([], ["--naive"])]
    generator = numpy.random.default_rng(133)
    for batch, queries, keys in [*SIZES, (1, 7, 130)]:
        given = inputs_of(generator, batch, queries, keys)
        seen = numpy.ones((batch, queries, keys), bool)
        bias = numpy.zeros((batch, 1, 1))
        for b, restricted in enumerate(map(restrictions, given["n"], given["o"])):
            seen[b] = attentions.visible(queries, keys, **restricted)
        if "mask" in options:
            given["m"] = generator.random((batch, queries, keys)) < 0.6
            seen &= given["m"]
        elif "bias" in options:
            bias = generator.normal(size=(batch, queries, keys)).astype(numpy.float32)
            bias[generator.random(bias.shape) < 0.2] = -numpy.inf
            given["d"] = bias
        else:
            given["qs"] = generator.integers(0, 3, (batch, queries))
            given["ks"] = generator.integers(0, 3, (batch, keys))
            seen &= given["qs"][:, :, None] == given["ks"][:, None]
        for library in libraries:
            check(library.run(**given), given, lambda b: seen[b], (batch, queries, keys), bias=bias)


GROUPED = """
import attention

model m(q: [B, 6, T, 7], k: [B, 2, S, 7], v: [B, 2, S, 3], n: i64[B], o: i64[B], mask: bool[B, 6, T, S]) ->
    (folded: [B, 6, T, 3], masked: [B, 6, T, 3]) {
  folded = diff_window(q, k, v, width=5, gqa=true, causal=true, lengths=n, offset=o)
  masked = diff_window(q, k, v, width=5, gqa=true, causal=true, lengths=n, offset=o, mask=mask)
  return folded, masked
}
"""


def test_grouped_heads(compiler):
    """Three heads of queries share a head of keys, folded or not."""
    library = compiler.library(GROUPED).prepare({})
    generator = numpy.random.default_rng(134)
    for batch, queries, keys in SIZES:
        given = {
            name: generator.normal(size=(batch, *shape)).astype(numpy.float32)
            for name, shape in {"q": (6, queries, 7), "k": (2, keys, 7), "v": (2, keys, 3)}.items()
        }
        given["n"] = lengths_of(generator, batch, keys)
        given["o"] = generator.integers(-queries - 2, keys + 3, batch)
        given["mask"] = generator.random((batch, 6, queries, keys)) < 0.6
        found = library.run(**given)
        for b, h in numpy.ndindex(batch, 6):
            seen = attentions.visible(queries, keys, causal=True, length=given["n"][b], offset=given["o"][b])
            head = given["q"][b, h], given["k"][b, h // 3], given["v"][b, h // 3]
            for name, visible in {"folded": seen, "masked": seen & given["mask"][b, h]}.items():
                assert_close(found[name][b, h], expected(*head, visible, "visible", 5), (name, batch, keys, h))
