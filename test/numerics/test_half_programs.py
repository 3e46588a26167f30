# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers, streams and generated programs in f16 and bf16: against float64, the fast path against
`--naive`, chunks and threads to the bit, arrays of the Python interface."""

import itertools

import numpy
import pytest
import test_cells
import test_samples
from gatefold_library import from_bf16, to_bf16
from halves import PATHS, TOLERANCES, assert_near, prepared, rounded, weights_of
from random_programs import Program
from test_fast_against_naive import MODELS, SAMPLES, inputs_of
from test_layers import conv1d, normalised

LAYERS = """
model m(tokens: i64[B, T], x: [B, T, 6]) -> (
    rows: [B, T, 6], wave: [B, T, 5], norm: [B, T, 6], root: [B, T, 6], scores: [B, T, 11], mean: [B, 6]) {
  param table: embedding(V=11, N=6), conv: conv1d(N=5, kernel=3, padding=1)
  param centred: layer_norm(), scaled: rms_norm(), head: linear(N=6)
  rows = table(tokens)
  norm = centred(rows + x)
  return rows, conv(x.T).T, norm, scaled(x), head(norm) @ table.weight.T, mean(x, axis=1)
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
def test_layers(compiler, path, element):
    generator = numpy.random.default_rng(140)
    library, weights = prepared(compiler, generator, LAYERS, element, *PATHS[path])
    w = {name: array.astype(float) for name, array in weights.items()}
    for batch, time in [(2, 7), (1, 1), (3, 65), (0, 3), (2, 0)]:
        tokens = generator.integers(0, 11, (batch, time))
        x = rounded(generator.normal(size=(batch, time, 6)), element)
        found = library.run(tokens=tokens, x=x)
        x, rows = x.astype(float), w["table.weight"][tokens]
        # What is only moved keeps its bits.
        numpy.testing.assert_array_equal(found["rows"], rows)
        wave = conv1d(x.swapaxes(1, 2), w["conv.weight"], w["conv.bias"], padding=1).swapaxes(1, 2)
        norm = normalised(rows + x, True) * w["centred.weight"] + w["centred.bias"]
        scores = (norm @ w["head.weight"].T + w["head.bias"]) @ w["table.weight"].T
        assert_near(found["wave"], wave, element, (batch, time))
        assert_near(found["norm"], norm, element, (batch, time))
        assert_near(found["root"], normalised(x, False) * w["scaled.weight"], element, (batch, time))
        assert_near(found["scores"], scores, element, (batch, time))
        assert_near(found["mean"], x.sum(axis=1) / max(time, 1), element, (batch, time))


# Steps of a sequence, in pieces.
PIECES = (1, 7, 0, 25)


def cells_text(width):
    """Every cell of the library over chunks of one stream, with states of the model."""
    cases = {name: test_cells.Case(name, width, width) for name in test_cells.CELLS}
    states, lines, results = [], [], []
    for name, case in cases.items():
        own = [f"{name}_{state}" for state in case.states]
        states += [
            f"{place}: [B, {case.sizes[state]}]" + (f" = {initial}" if initial else "")
            for place, (state, initial) in zip(own, case.states.items(), strict=True)
        ]
        primed = test_cells.tupled(f"{place}'" for place in own)
        lines.append(f"param of_{name}: {name}({case.settings})")
        lines.append(f"y_{name}, {primed} = scan(of_{name}, x, init={test_cells.tupled(own)})")
        results.append((f"r_{name}: [B, T, {case.output_size}]", f"y_{name}"))
    body = "".join(f"  {line}\n" for line in ["state " + ", ".join(states), *lines])
    return (
        f"import cells\n\nmodel m(x: [B, T, {width}]) -> ({', '.join(r for r, _ in results)}) {{\n"
        f"{body}  return {', '.join(y for _, y in results)}\n}}\n"
    )


def check_chunks(run, library, x, cuts, name):
    """A run in chunks has the bits of the whole: results and states, which are f32."""
    states = [i["name"] for i in library.inputs if i["role"] == "state"]
    assert {i["element"] for i in library.inputs if i["role"] == "state"} <= {"f32", "i64", "bool"}
    whole = run(**{name: x})
    carried, pieces, begin = {}, [], 0
    for size in cuts:
        result = run(**{name: x[:, begin : begin + size]}, **carried)
        carried = {state: result[state] for state in states}
        pieces.append(result)
        begin += size
    assert begin == x.shape[1]
    for result in whole:
        joined = carried[result] if result in states else numpy.concatenate([p[result] for p in pieces], axis=1)
        numpy.testing.assert_array_equal(joined, whole[result], (result, cuts))
    return whole


@pytest.mark.parametrize("element", TOLERANCES)
def test_every_cell_in_chunks_and_threads(compiler, element):
    generator = numpy.random.default_rng(141)
    library, _ = prepared(compiler, generator, cells_text(64), element)
    contexts = [library.context(threads) for threads in (1, 2)]
    x = rounded(generator.normal(size=(3, sum(PIECES), 64)), element)
    one, two = (check_chunks(c.run, library, x, PIECES, "x") for c in contexts)
    for name, array in one.items():
        assert numpy.isfinite(array.astype(float)).all() and array.any(), name
        assert array.tobytes() == two[name].tobytes(), name
    # A row alone has the bits that it has among others.
    alone = library.run(x=x[1:2])
    for name, array in one.items():
        numpy.testing.assert_array_equal(alone[name][0], array[1], name)


@pytest.mark.parametrize("element", TOLERANCES)
def test_a_stream_is_the_whole_to_the_bit(compiler, element):
    """A convolution's past, counters and flags beside the states of cells."""
    generator = numpy.random.default_rng(142)
    library, _ = prepared(compiler, generator, test_samples.STREAM, element)
    x = rounded(generator.normal(size=(2, 17, 8)), element)
    for cuts in [(1,) * 17, (3, 14), (0, 16, 1)]:
        check_chunks(library.run, library, x, cuts, "chunk")


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("seed", range(200, 204))
def test_random_programs(compiler, seed, element):
    """Against float64, and the fast path against the naive one."""
    program = Program(seed, steps=24, jumps=False)
    generator = numpy.random.default_rng(seed)
    library, weights = prepared(compiler, generator, program.text, element)
    naive = compiler.library(program.text, "--float", element, "--naive").prepare(weights)
    w = {name: array.astype(float) for name, array in weights.items()}
    for batch, time in [(1, 1), (3, 7), (2, 65), (2, 0), (0, 3)]:
        sizes = {"B": batch, "T": time}
        inputs = {
            name: rounded(generator.normal(size=[sizes.get(s, s) for s in shape]), element)
            for name, shape in Program.INPUTS.items()
        }
        found, slow = library.run(**inputs), naive.run(**inputs)
        for name, expected in program.run(inputs, w).items():
            assert_near(found[name], expected, element, f"{name}\n{program.text}")
            assert_near(slow[name], expected, element, f"naive {name}\n{program.text}")


# The two types in turn.
IN_TURN = list(zip(SAMPLES[1:], itertools.cycle(TOLERANCES)))


@pytest.mark.parametrize("sample, element", IN_TURN)
def test_samples_against_naive(compiler, sample, element):
    file, entry, options = sample
    generator = numpy.random.default_rng(143)
    text = MODELS / file
    if file == "differential_transformer.gf":  # its width would only cost time
        text = text.read_text().replace("N=512", "N=32")
    options = ["--float", element, "--entry", entry, *options]
    fast, naive = compiler.library(text, *options), compiler.library(text, *options, "--naive")
    weights = weights_of(fast, generator, element)
    fast.prepare(weights)
    naive.prepare(weights)
    two = fast.context(2)
    for sizes in [{"B": 3, "T": 7, "S": 5}, {"B": 2, "T": 33, "S": 40}, {"B": 2, "T": 0, "S": 3}]:
        inputs = inputs_of(fast, generator, sizes)
        found, expected, shared = fast.run(**inputs), naive.run(**inputs), two.run(**inputs)
        for name, array in expected.items():
            assert_near(found[name], array.astype(float), element, (name, sizes))
            assert shared[name].tobytes() == found[name].tobytes(), (name, sizes)


SHARED = """
import attention

model m(q: [B, 2, T, 64], p: [B, 2, T, 64], k: [B, 2, T, 64], v: [B, 2, T, 64], l: [B, 2, T, 1], x: [B, T, 128]) -> (
    [B, 2, T, 64], [B, 2, T, 64], [B, T, 128]) {
  param a: linear(N=256), b: linear(N=128), n: layer_norm()
  return differential(q, p, k, k, v, l, causal=true), diff_window(q, k, v, causal=true), n(b(gelu(a(x))) + x)
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
def test_threads_change_no_bit(compiler, element):
    """Large enough for two to be worth their start."""
    generator = numpy.random.default_rng(144)
    library, _ = prepared(compiler, generator, SHARED, element)
    one, two = library.context(1), library.context(2)
    for batch, time in [(1, 200), (3, 33)]:
        inputs = inputs_of(library, generator, {"B": batch, "T": time})
        alone = one.run(**inputs)
        for _ in range(2):
            for name, array in two.run(**inputs).items():
                assert array.tobytes() == alone[name].tobytes(), name


VIEWS = """
model m(x: [A, B], h: [B]) -> (y: [B, A], z: [A, B]) {
  state s: [A, B]
  s' = s + x
  return x.T, x * h
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
def test_arrays_of_the_python_interface(compiler, element):
    """Results of f16 are float16, those of bf16 float32; inputs of 16 bits, of wider floats, and
    such whose elements are apart, mean the same."""
    library = compiler.library(VIEWS, "--float", element).prepare({})
    generator = numpy.random.default_rng(145)
    x = rounded(generator.normal(size=(5, 7)), element)
    h = rounded(generator.normal(size=7), element)
    narrow = to_bf16 if element == "bf16" else numpy.float16
    wide = numpy.full((15, 14), numpy.nan, numpy.float32)
    wide[1::3, ::2] = x
    reference = library.run(x=x, h=h)
    assert {name: a.dtype.name for name, a in reference.items()} == {
        "y": "float16" if element == "f16" else "float32",
        "z": "float16" if element == "f16" else "float32",
        "s": "float32",
    }
    numpy.testing.assert_array_equal(reference["y"].astype(numpy.float32), x.T)
    numpy.testing.assert_array_equal(reference["z"].astype(numpy.float32), rounded(x * h, element))
    numpy.testing.assert_array_equal(reference["s"], x)
    turned = numpy.asfortranarray(narrow(x))
    apart = narrow(wide)[1::3, ::2]
    backwards = narrow(x[::-1, ::-1].copy())[::-1, ::-1]
    assert turned.strides[1] == 10 and apart.strides == (84, 4) and backwards.strides == (-14, -2)
    for given in (turned, apart, backwards, narrow(x), x.astype(float)):
        found = library.run(x=given, h=narrow(h))
        for name, array in reference.items():
            numpy.testing.assert_array_equal(found[name], array, name)


def test_bf16_of_the_python_interface():
    """Rounded to nearest even; NaN stays one."""
    x = numpy.array([1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, numpy.inf, numpy.nan, -0.0], numpy.float32)
    assert [hex(b) for b in to_bf16(x)] == ["0x3f80", "0x3f82", "0x7f80", "0x7f80", "0x7fc0", "0x8000"]
    numpy.testing.assert_array_equal(from_bf16(to_bf16(x))[:2], [1, 1 + 2**-6])
