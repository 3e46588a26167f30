# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A key that no query of its head reaches: what stands there makes no difference, also
where a body sums over the keys. And who sees whom at the ends of the integers."""

import types

import attention_references as attentions
import numpy
import pytest
from attention_references import softmax, weigh
from conftest import assert_close, lengths_of
from test_recurrences import floats, wide

# name: what it returns, and the size of that for each query.
BODIES = {
    "centred": ("softmax(s - mean(s, axis=1, keep=true)) @ v", "E"),
    "shares": ("(s / (1 + sum(abs(s), axis=1, keep=true))) @ v", "E"),
    "powers": ("exp(s - max(s, axis=1, keep=true)) @ v", "E"),
    "range": ("softmax(s / (1 + max(s, axis=1, keep=true) - min(s, axis=1, keep=true))) @ v", "E"),
    "middle": ("mean(s, axis=1)", ""),
    "largest": ("max(s, axis=1)", ""),
    "smallest": ("min(where(visible, s, s + 1), axis=1)", ""),
    "total": ("sum(s, axis=1)", ""),
    "stamps": ("f32(max(age * stamp, axis=1) + min(age - stamp, axis=1))", ""),
    "stamp_sum": ("f32(sum(age * stamp, axis=1)) + mean(age + stamp, axis=1)", ""),
    "near": ("sum(tanh(q[:, None, :] + k[None, :, :]), axis=1)", "D"),
    "near_max": ("max(q[:, None, :] * k[None, :, :], axis=1)", "D"),
}
# A body that uses neither softmax nor visible takes no restriction.
USES = "0 * f32(sum(where(visible, 1, 0), axis=1{keep}))"


def body(name):
    text, width = BODIES[name]
    if "softmax(" not in text and "visible" not in text:
        text += " + " + USES.format(keep=", keep=true" if width else "")
    return text, width


def text(options, keys):
    declarations, names = [], []
    for name in BODIES:
        expression, width = body(name)
        shape = f"[T, {width}]" if width else "[T]"
        names.append((name, {"E": ", 3]", "D": ", 4]", "": "]"}[width]))
        declarations.append(
            f"attention {name}(q: [T, D], k: [S, D], v: [S, E], age: i64[T, 1],"
            f" stamp: i64[1, S]) -> {shape} {{\n  s = q @ k.T\n  return {expression}\n}}"
        )
    results = ", ".join(f"{n}_y: [B, T{end}" for n, end in names)
    calls = "\n".join(f"  {n}_y = {n}(q, k, v, age, stamp{options})" for n, _ in names)
    newline = "\n"
    return f"""{newline.join(declarations)}
model attend(q: [B, T, 4], k: [B, {keys}, 4], v: [B, {keys}, 3], age: i64[B, T, 1],
             stamp: i64[B, 1, {keys}], n: i64[B], o: i64[B]) -> ({results}) {{
{calls}
  return {", ".join(n + "_y" for n, _ in names)}
}}
"""


def references(n):
    """Over the reached keys alone."""
    s, stamp, k = (a[..., n.reached] for a in (n.q @ n.k.T, n.stamp, n.k.T))
    k, v, seen = k.T, n.v[n.reached], n.seen[:, n.reached]
    some = s.shape[1] > 0
    largest = s.max(axis=1, keepdims=True) if some else 0
    smallest = s.min(axis=1, keepdims=True) if some else 0
    centre = s.mean(axis=1, keepdims=True) if some else 0
    zeros = numpy.zeros(len(s))
    pairs = n.q[:, None] * k[None]
    return {
        "centred": weigh(softmax(s - centre, seen), v),
        "shares": weigh(s / (1 + abs(s).sum(axis=1, keepdims=True)), v),
        "powers": weigh(numpy.exp(s - largest), v),
        "range": weigh(softmax(s / (1 + largest - smallest), seen), v),
        "middle": s.mean(axis=1) if some else zeros,
        "largest": s.max(axis=1) if some else zeros,
        "smallest": numpy.where(seen, s, s + 1).min(axis=1) if some else zeros,
        "total": s.sum(axis=1),
        "stamps": (n.age * stamp).max(axis=1) + (n.age - stamp).min(axis=1) if some else zeros,
        "stamp_sum": (n.age * stamp).sum(axis=1) + ((n.age + stamp).mean(axis=1) if some else 0),
        "near": numpy.tanh(n.q[:, None] + k[None]).sum(axis=1),
        "near_max": pairs.max(axis=1) if some else numpy.zeros((len(s), 4)),
    }


VIEWS = {
    "all": ("", lambda n, o: {}),
    "lengths": (", lengths=n", lambda n, o: {"length": n}),
    "causal": (", causal=true, offset=o", lambda n, o: {"causal": True, "offset": o}),
    "window": (", window=(1, 2), offset=o", lambda n, o: {"window": (1, 2), "offset": o}),
    "left": (", window=(1, inf), lengths=n, offset=o",
             lambda n, o: {"window": (1, None), "length": n, "offset": o}),
    "right": (", window=(inf, 1), offset=o", lambda n, o: {"window": (None, 1), "offset": o}),
    "together": (", causal=true, window=(2, 3), lengths=n, offset=o",
                 lambda n, o: {"causal": True, "window": (2, 3), "length": n, "offset": o}),
}  # fmt: skip


@pytest.mark.parametrize("size", ["S", "7"])
@pytest.mark.parametrize("view", VIEWS)
def test_reductions_over_keys(compiler, view, size):
    """A reduction over the keys runs over those that some query reaches."""
    options, restrictions = VIEWS[view]
    library = compiler.library(text(options, size)).prepare({})
    generator = numpy.random.default_rng(95)
    for batch, queries, keys in [(4, 3, 7), (1, 1, 7), (3, 9, 7), (2, 4, 64), (3, 2, 1), (2, 3, 0), (1, 0, 7)]:
        if size != "S" and keys != int(size):
            continue
        given = {
            "q": floats(generator, batch, queries, 4),
            "k": floats(generator, batch, keys, 4),
            "v": floats(generator, batch, keys, 3),
            "age": generator.integers(-5, 5, (batch, queries, 1)),
            "stamp": generator.integers(-5, 5, (batch, 1, keys)),
            "n": lengths_of(generator, batch, keys),
            "o": generator.integers(-queries - 3, keys + 3, batch),
        }
        found = library.run(**given)
        dirty = {name: array.copy() for name, array in given.items()}
        for b in range(batch):
            row = {name: array[b] for name, array in wide(given).items()}
            row["seen"] = attentions.visible(
                queries, keys, **restrictions(given["n"][b], given["o"][b])
            )
            row["reached"] = reached = row["seen"].any(axis=0)
            if view == "all":
                reached[:] = True
            for name, value in references(types.SimpleNamespace(**row)).items():
                assert_close(found[name + "_y"][b], value, (name, batch, queries, keys, b))
            dirty["k"][b, ~reached] = dirty["v"][b, ~reached] = numpy.nan
            dirty["stamp"][b, 0, ~reached] = numpy.iinfo(numpy.int64).max
        for name, array in library.run(**dirty).items():
            numpy.testing.assert_array_equal(array, found[name], (name, batch, queries, keys))


def test_cut_at_the_length(compiler):
    """Keys behind the length might as well not exist."""
    library = compiler.library(text(", lengths=n", "S")).prepare({})
    generator = numpy.random.default_rng(96)
    for length in (0, 1, 5, 9):
        given = {
            "q": floats(generator, 1, 3, 4), "k": floats(generator, 1, 9, 4),
            "v": floats(generator, 1, 9, 3), "age": generator.integers(0, 5, (1, 3, 1)),
            "stamp": generator.integers(0, 5, (1, 1, 9)), "n": numpy.array([length]),
            "o": numpy.array([0]),
        }  # fmt: skip
        whole = library.run(**given)
        given |= {"k": given["k"][:, :length], "v": given["v"][:, :length]}
        given["stamp"] = given["stamp"][..., :length]
        for name, array in library.run(**given).items():
            numpy.testing.assert_array_equal(array, whole[name], (name, length))


LEAST, GREATEST = -(2**63), 2**63 - 1
OFFSETS = [LEAST, LEAST + 1, LEAST + 3, -(2**62) - 1, -(2**62), -(2**61), -4, -1, 0, 2, 5, 2**61,
           2**62 - 1, 2**62, 2**62 + 2, GREATEST - 3, GREATEST - 1, GREATEST]  # fmt: skip
BOUNDS = ["0", "1", str(2**61), str(2**62 - 1), str(2**62), str(2**62 + 3), str(GREATEST - 1), str(GREATEST), "inf"]
WINDOWS = [None, *((b, "inf") for b in BOUNDS), *(("inf", b) for b in BOUNDS),
           ("1", "1"), (BOUNDS[3], BOUNDS[4]), (BOUNDS[7], "0"), ("0", BOUNDS[7]),
           (BOUNDS[7], BOUNDS[7]), (BOUNDS[4], BOUNDS[5])]  # fmt: skip


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_ends_of_the_integers(compiler, causal):
    """Positions do not wrap: the offset and the window are as if in whole numbers."""
    names = [f"y{i}" for i in range(len(WINDOWS))]
    calls = []
    for name, window in zip(names, WINDOWS, strict=True):
        options = ", causal=true" if causal else ""
        if window:
            options += f", window=({window[0]}, {window[1]})"
        calls.append(f"  {name} = mean_of_seen(q, k, v, offset=o{options})")
    newline = "\n"
    source = f"""
attention mean_of_seen(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {{
  return softmax(0 * (q @ k.T)) @ v + sum(where(visible, 10, 0), axis=1, keep=true)
}}
model m(q: [B, T, 2], k: [B, S, 2], v: [B, S, 3], o: i64[B]) ->
    ({", ".join(f"{n}: [B, T, 3]" for n in names)}) {{
{newline.join(calls)}
  return {", ".join(names)}
}}
"""
    library = compiler.library(source).prepare({})
    generator = numpy.random.default_rng(97)
    batch, queries, keys = len(OFFSETS), 4, 5
    given = {
        "q": floats(generator, batch, queries, 2), "k": floats(generator, batch, keys, 2),
        "v": floats(generator, batch, keys, 3), "o": numpy.array(OFFSETS, numpy.int64),
    }  # fmt: skip
    found = library.run(**given)
    for name, window in zip(names, WINDOWS, strict=True):
        left, right = (None if b == "inf" else int(b) for b in window or ("inf", "inf"))
        for b, offset in enumerate(OFFSETS):
            seen = numpy.array([
                [(not causal or j <= i + offset)
                 and (left is None or i + offset - left <= j)
                 and (right is None or j <= i + offset + right) for j in range(keys)]
                for i in range(queries)
            ])  # fmt: skip
            expected = weigh(softmax(numpy.zeros(seen.shape), seen), given["v"][b].astype(float))
            expected += 10 * seen.sum(axis=1, keepdims=True)
            assert_close(found[name][b], expected, (window, offset))
