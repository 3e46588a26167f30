# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of f16 and bf16: storage in 16 bits, everything between in f32. References are
float64 over the rounded inputs and weights."""

import attention_references as attentions
import cell_references as cells
import numpy
import pytest
import test_attention
import test_cells
from conftest import lengths_of, random_weights
from halves import PATHS, TOLERANCES, assert_near, prepared, rounded
from test_models import SENTIMENT, sentiment_reference


# Made of the same operations as their neighbours; test_half_programs scans them all.
ALIKE = ("rnn_relu", "lstm_clipped", "lstm_coupled", "min_lstm")


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", [name for name in test_cells.CELLS if name not in ALIKE])
def test_cells_of_the_library(compiler, name, path, element):
    generator = numpy.random.default_rng(90)
    case = test_cells.Case(name, 17, 7)
    library, weights = prepared(compiler, generator, test_cells.scan_text(case), element, *PATHS[path])
    for batch, time in [(1, 1), (3, 7), (2, 17), (0, 4)]:
        x = rounded(generator.normal(size=(batch, time, case.input_size)), element)
        lengths = lengths_of(generator, batch, time)
        states = [rounded(s, element) for s in case.random_states(generator, batch)]
        given = {s + "0": v for s, v in zip(case.states, states)}
        found = library.run(x=x, lengths=lengths, **given)
        y, finals = cells.scan(case.cell, weights, x, states, lengths, case.output_size)
        assert_near(found["y"], y, element, (batch, time))
        for state, final in zip(case.states, finals):
            assert_near(found[state], final, element, (state, batch, time))


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name, width", [("dot_product", 64), ("diff_window", 7), ("differential", 17)])
def test_attentions_of_the_library(compiler, name, width, path, element):
    generator = numpy.random.default_rng(91)
    text = test_attention.text(name, width, ["lengths", "causal=true"])
    library, _ = prepared(compiler, generator, text, element, *PATHS[path])
    for batch, queries, keys in [(1, 1, 1), (2, 7, 17), (1, 65, 65), (2, 3, 0)]:
        inputs = test_attention.random_inputs(generator, name, batch, queries, keys, width)
        inputs = {key: rounded(array, element) for key, array in inputs.items()}
        lengths = lengths_of(generator, batch, keys)
        found = library.run(**inputs, lengths=lengths)["output"]

        def seen(b):
            return attentions.visible(queries, keys, causal=True, length=lengths[b])

        assert_near(found, test_attention.expected(name, inputs, seen), element)


@pytest.mark.parametrize("element", TOLERANCES)
def test_bilstm_diff_attention(compiler, element):
    generator = numpy.random.default_rng(92)
    library = compiler.library(SENTIMENT, "--float", element)
    weights = random_weights(library, generator)
    weights["embed.weight"] = generator.normal(size=(20000, 300))
    weights = {name: rounded(array, element) for name, array in weights.items()}
    library.prepare(weights)
    for batch, time in [(3, 7), (1, 33)]:
        tokens = generator.integers(0, 20000, (batch, time))
        lengths = lengths_of(generator, batch, time)
        found = library.run(tokens=tokens, lengths=lengths)["output"]
        assert_near(found, sentiment_reference(weights, tokens, lengths), element)


STREAM = """
import cells

model stream(x: [B, 8]) -> [B, 16] {
  state h: [B, 16], c: [B, 16] = 0.1
  param cell: lstm(H=16) as ""
  y, (h', c') = step(cell, x, (h, c))
  return y
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
def test_states_keep_f32(compiler, path, element):
    """A small step changes a state of 1000, which no type of 16 bits could hold."""
    generator = numpy.random.default_rng(93)
    library, weights = prepared(compiler, generator, STREAM, element, *PATHS[path])
    kinds = {i["name"]: i["element"] for i in library.inputs + library.results}
    assert kinds == {"x": element, "output": element, "h": "f32", "c": "f32"}
    x = rounded(generator.normal(size=(2, 8)), element)
    h = generator.normal(size=(2, 16)).astype(numpy.float32)
    c = numpy.float32(1000 + generator.normal(size=(2, 16)))
    found = library.run(x=x, h=h, c=c)
    for b in range(2):
        y, (_, after) = cells.lstm(weights, x[b].astype(float), (h[b].astype(float), c[b].astype(float)))
        numpy.testing.assert_allclose(found["c"][b], after, rtol=2e-6)
        assert_near(found["output"][b], y, element)
    assert found["c"].dtype == numpy.float32
    start = library.run(x=x)
    given = library.run(x=x, h=h * 0, c=numpy.full_like(c, 0.1))
    numpy.testing.assert_allclose(start["c"], given["c"], atol=1e-4)


# Constants keep their digits; a conversion rounds; what overflows is infinite.
EXPRESSIONS = {
    "x / 1e-8 * 1e-8": lambda x, r: x,
    "x + 0.1": lambda x, r: x + numpy.float32(0.1),
    "TYPE(f32(x) / 3) * 3": lambda x, r: r(x / numpy.float32(3)) * numpy.float32(3),
    "x * x * x * 0.0001": lambda x, r: x * x * x * numpy.float32(0.0001),
    "max(x, 2.5)": lambda x, r: numpy.maximum(x, 2.5),
    "TYPE(i32(x))": lambda x, r: numpy.trunc(x),
    "exp(x)": lambda x, r: numpy.exp(x.astype(float)),
}


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
def test_a_result_rounds_once(compiler, path, element):
    names = ", ".join(f"r{i}: [N]" for i in range(len(EXPRESSIONS)))
    values = ", ".join(e.replace("TYPE", element) for e in EXPRESSIONS)
    text = f"model m(x: [N]) -> ({names}) {{\n  return {values}\n}}\n"
    library = compiler.library(text, "--float", element, *PATHS[path]).prepare({})
    generator = numpy.random.default_rng(94)
    special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-7, -6e-5, 65504.0, 100.0, -11.0]
    x = rounded(numpy.concatenate([special, 10 * generator.normal(size=500)]), element)
    found = library.run(x=x)

    def halved(v):
        with numpy.errstate(over="ignore", invalid="ignore"):
            return rounded(numpy.asarray(v, numpy.float32), element)

    for i, (expression, function) in enumerate(EXPRESSIONS.items()):
        with numpy.errstate(all="ignore"):
            expected = halved(function(x, halved))
        result = numpy.asarray(found[f"r{i}"], numpy.float32)
        if expression.endswith(("i32(x))", "1e-8")):  # NaN to integers; overflow between
            usual = abs(x) < 1e5
            result, expected = result[usual], expected[usual]
        if expression in ("exp(x)", "x / 1e-8 * 1e-8"):  # two neighbours where it is near the middle
            unit = 2.0**-10 if element == "f16" else 2.0**-7
            numpy.testing.assert_allclose(result, expected, rtol=unit, atol=6e-8)
        else:
            numpy.testing.assert_array_equal(result, expected, expression)


MIXED = """
model m(x: [B, 33], tokens: i64[B]) -> [B, 9] {
  param table: TYPE[50, 33], w: TYPE[9, 33], b: [9], gain: TYPE[9] = 1.5
  rows = f32(take(table, tokens))
  return ((x + rows) @ f32(w).T + b) * f32(gain)
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
def test_parameters_of_16_bits_in_a_model_of_f32(compiler, path, element):
    generator = numpy.random.default_rng(95)
    library = compiler.library(MIXED.replace("TYPE", element), *PATHS[path])
    assert {p["name"]: p["element"] for p in library.parameters} == {
        "table": element, "w": element, "b": "f32", "gain": element,
    }  # fmt: skip
    weights = random_weights(library, generator)
    del weights["gain"]
    for name in ("table", "w"):
        weights[name] = rounded(weights[name], element)
    library.prepare(weights)
    w = {name: array.astype(float) for name, array in weights.items()}
    for batch in (1, 7, 0):
        x = generator.normal(size=(batch, 33)).astype(numpy.float32)
        tokens = generator.integers(0, 50, batch)
        expected = ((x + w["table"][tokens]) @ w["w"].T + w["b"]) * 1.5
        found = library.run(x=x, tokens=tokens)["output"]
        numpy.testing.assert_allclose(found, expected, rtol=1.3e-6, atol=1e-5)
