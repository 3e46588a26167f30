# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled attentions against float64: sizes, views, empty rows, padding."""

import attention_references as attentions
import numpy
import pytest
from conftest import assert_close, lengths_of

HEADS = 2
INPUTS = {
    "dot_product": ["q", "k", "v"],
    "diff_window": ["q", "k", "v"],
    "differential": ["q1", "q2", "k1", "k2", "v", "lambda"],
}


def text(name, width, options, settings="", heads=HEADS):
    """A model that maps an attention over a batch and heads."""
    shapes = {
        "q": f"[B, {heads}, T, {width}]",
        "k": f"[B, {heads}, S, {width}]",
        "v": f"[B, {heads}, S, 5]",
        "l": f"[B, {heads}, T, 1]",
    }
    inputs = [f"{name}: {shapes[name[0]]}" for name in INPUTS[name]]
    extra = {
        "lengths": "lengths: i64[B]",
        "mask": "mask: bool[B, 1, T, S]",
        "bias": "bias: [B, 1, T, S]",
        "offset": "offset: i64[B]",
    }
    inputs += [extra[option] for option in options if option in extra]
    given = [f"{o}={o}" if o in extra else o for o in options]
    arguments = ", ".join([*INPUTS[name], *filter(None, [settings]), *given])
    return f"""
import attention

model attend({", ".join(inputs)}) -> [B, {heads}, T, 5] {{
  return {name}({arguments})
}}
"""


def random_inputs(generator, name, batch, queries, keys, width, heads=HEADS):
    def of(rows, columns):
        array = generator.normal(size=(batch, heads, rows, columns))
        return array.astype(numpy.float32)

    made = {}
    for input_name in INPUTS[name]:
        kind = input_name[0]
        made[input_name] = (
            of(queries, 1)
            if kind == "l"
            else of(keys, 5)
            if kind == "v"
            else of(queries if kind == "q" else keys, width)
        )
    return made


def expected(name, inputs, seen, **settings):
    """Row by row of the batch and heads; `seen(b)` gives the view of a batch row."""
    arrays = [numpy.asarray(a, numpy.float64) for a in inputs.values()]
    batch, heads, queries = arrays[0].shape[:3]
    result = numpy.zeros((batch, heads, queries, 5))
    function = getattr(attentions, name)
    for b in range(batch):
        for h in range(heads):
            result[b, h] = function(seen(b), *(a[b, h] for a in arrays), **settings)
    return result


SHAPES = [(1, 1, 1), (2, 3, 7), (1, 7, 3), (1, 17, 17), (1, 64, 65), (2, 1, 64),
          (1, 0, 5), (2, 4, 0), (0, 3, 3)]  # fmt: skip
VIEWS = {
    "all": ([], {}),
    "causal": (["causal=true"], {"causal": True}),
    "window": (["window=(2, 1)"], {"window": (2, 1)}),
    "half_window": (["window=(inf, 0)", "offset=1"], {"window": (None, 0), "offset": 1}),
    "causal_from_0": (["causal=true", "offset=0"], {"causal": True, "offset": 0}),
    "before_all_keys": (["causal=true", "offset=-2"], {"causal": True, "offset": -2}),
}


@pytest.mark.parametrize("algorithm", ["resident", "online"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name, width", [("dot_product", 7), ("diff_window", 3), ("differential", 17)])
def test_views(compiler, name, width, view, algorithm):
    options, restrictions = VIEWS[view]
    schedule = f"attention.algorithm={algorithm}" + ",attention.key_block=64" * (algorithm == "online")
    library = compiler.library(text(name, width, options), "--schedule", schedule).prepare({})
    generator = numpy.random.default_rng(6)
    for batch, queries, keys in SHAPES:
        inputs = random_inputs(generator, name, batch, queries, keys, width)
        seen = attentions.visible(queries, keys, **restrictions)
        assert_close(
            library.run(**inputs)["output"],
            expected(name, inputs, lambda b: seen),
            (batch, queries, keys),
        )


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("name, width", [("dot_product", 1), ("diff_window", 64), ("differential", 3)])
def test_lengths_and_mask(compiler, name, width, causal):
    options = ["lengths", "mask"] + (["causal=true"] if causal else [])
    library = compiler.library(text(name, width, options)).prepare({})
    generator = numpy.random.default_rng(7)
    for batch, queries, keys in SHAPES:
        inputs = random_inputs(generator, name, batch, queries, keys, width)
        lengths = lengths_of(generator, batch, keys)
        mask = generator.random((batch, 1, queries, keys)) < 0.7
        if queries:
            mask[:, :, 0] = False  # a row that sees nothing is 0
        result = library.run(**inputs, lengths=lengths, mask=mask)["output"]

        def seen(b):
            lengthwise = attentions.visible(
                queries, keys, causal=causal, length=lengths[b]
            )
            return lengthwise & mask[b, 0]

        assert_close(result, expected(name, inputs, seen), (batch, queries, keys))
        if queries:
            assert (result[:, :, 0] == 0).all()


@pytest.mark.parametrize("name", INPUTS)
def test_hidden_keys_are_not_read(compiler, name):
    """NaN behind a length changes no bit."""
    library = compiler.library(text(name, 7, ["lengths", "causal=true"])).prepare({})
    generator = numpy.random.default_rng(8)
    inputs = random_inputs(generator, name, 3, 5, 9, 7)
    lengths = numpy.array([4, 0, 9])
    clean = library.run(**inputs, lengths=lengths)["output"]
    for input_name, array in inputs.items():
        if input_name[0] in "kv":
            for b, n in enumerate(lengths):
                array[b, :, n:] = numpy.nan
    dirty = library.run(**inputs, lengths=lengths)["output"]
    numpy.testing.assert_array_equal(dirty, clean)
    assert (clean[1] == 0).all()


def test_differential_of_equal_maps_is_zero(compiler):
    """lambda = 1 and equal maps: exactly 0."""
    library = compiler.library(text("differential", 7, ["causal=true"])).prepare({})
    inputs = random_inputs(numpy.random.default_rng(10), "differential", 2, 6, 6, 7)
    inputs["q2"], inputs["k2"] = inputs["q1"], inputs["k1"]
    inputs["lambda"] = numpy.ones_like(inputs["lambda"])
    assert (library.run(**inputs)["output"] == 0).all()


def test_differential_without_lambda_is_dot_product(compiler):
    differential = compiler.library(text("differential", 7, [])).prepare({})
    plain = compiler.library(text("dot_product", 7, [])).prepare({})
    inputs = random_inputs(numpy.random.default_rng(11), "differential", 2, 6, 5, 7)
    inputs["lambda"] = numpy.zeros_like(inputs["lambda"])
    assert_close(
        differential.run(**inputs)["output"],
        plain.run(q=inputs["q1"], k=inputs["k1"], v=inputs["v"])["output"],
    )


def test_a_lambda_for_each_head_or_for_all(compiler):
    """A scalar and [heads, 1, 1] mean what the stretched tensor means."""
    generator = numpy.random.default_rng(12)
    inputs = random_inputs(generator, "differential", 2, 4, 5, 3)
    full = compiler.library(text("differential", 3, [])).prepare({})
    for shape in ["[]", f"[{HEADS}, 1, 1]"]:
        library = compiler.library(
            text("differential", 3, []).replace(f"lambda: [B, {HEADS}, T, 1]", f"lambda: {shape}")
        ).prepare({})
        size = () if shape == "[]" else (HEADS, 1, 1)
        given = generator.normal(size=size).astype(numpy.float32)
        stretched = numpy.broadcast_to(given, inputs["lambda"].shape)
        numpy.testing.assert_array_equal(
            library.run(**(inputs | {"lambda": given}))["output"],
            full.run(**(inputs | {"lambda": stretched}))["output"],
        )


def test_rows_of_a_batch_do_not_change_each_other(compiler):
    library = compiler.library(text("differential", 7, ["causal=true"])).prepare({})
    inputs = random_inputs(numpy.random.default_rng(13), "differential", 3, 6, 6, 7)
    whole = library.run(**inputs)["output"]
    for b in range(3):
        alone = library.run(**{n: a[b : b + 1] for n, a in inputs.items()})["output"]
        numpy.testing.assert_array_equal(alone[0], whole[b])
    inputs["v"][1] = numpy.nan
    dirty = library.run(**inputs)["output"]
    numpy.testing.assert_array_equal(dirty[[0, 2]], whole[[0, 2]])
