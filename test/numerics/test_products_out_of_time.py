# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that leave the step of a recurrence, before it, behind it, or once for a run:
the numbers are those of a plain loop, padding reaches nothing, and bits depend on neither
the batch nor the chunks."""

import numpy
import pytest
from conftest import ROOT, assert_close, lengths_of, random_weights

# A concatenation that is known in part at each step, in part once, in part not; a table;
# products that outputs alone need, one behind the other; a state that is an output.
DECODER = """
cell decoder(x: [I], token: i64[], memory: [M]) -> (y: [3], inner: [H]) {
  state h: [H], wide: [2*H] = 0.25
  param w: [2*H, I + H + M], spread: linear(N=6), fc: linear(N=3), table: embedding(V=9, N=I)
  param keys: linear(N=M)
  seen = tanh(keys(memory))
  wide' = 0.5 * wide + w @ concat(x + table(token), h, seen)
  h' = tanh(wide'[:H] + wide'[H:])
  return fc(relu(spread(h'))), h'
}

model run(x: [B, T, 5], token: i64[B, T], memory: [B, 4], n: i64[B], first: bool[B, T], h0: [B, 7],
          wide0: [B, 14]) -> (y: [B, T, 3], inner: [B, T, 7], h: [B, 7], wide: [B, 14]) {
  param d: decoder(H=7) as ""
  (y, inner), (h, wide) = scan(d, (x, token), with=memory%s)
  return y, inner, h, wide
}
"""
OPTIONS = {
    "plain": "",
    "lengths": ", lengths=n",
    "reverse": ", lengths=n, reverse=true, init=(h0, wide0)",
    "reset": ", lengths=n, reset=first",
    "reset in reverse": ", lengths=n, reset=first, reverse=true",
}
SIZES = [(1, 1), (3, 7), (2, 0), (0, 3), (4, 65), (2, 300)]


def decode(weights, given, options):
    """Row by row, step by step, in float64."""
    w = {name: array.astype(numpy.float64) for name, array in weights.items()}
    batch, time = given["token"].shape
    y, inner = numpy.zeros((batch, time, 3)), numpy.zeros((batch, time, 7))
    h, wide = numpy.zeros((batch, 7)), numpy.full((batch, 14), 0.25)
    if "init" in options:
        h, wide = given["h0"].astype(numpy.float64), given["wide0"].astype(numpy.float64)
    reverse = "reverse" in options
    for b in range(batch):
        length = given["n"][b] if "lengths" in options else time
        seen = numpy.tanh(w["keys.weight"] @ given["memory"][b] + w["keys.bias"])
        for t in reversed(range(length)) if reverse else range(length):
            border = t + 1 if reverse else t
            if "reset" in options and border < length and given["first"][b, border]:
                h[b], wide[b] = 0, 0.25
            x = given["x"][b, t] + w["table.weight"][given["token"][b, t]]
            wide[b] = 0.5 * wide[b] + w["w"] @ numpy.concatenate([x, h[b], seen])
            h[b] = numpy.tanh(wide[b, :7] + wide[b, 7:])
            inner[b, t] = h[b]
            spread = w["spread.weight"] @ h[b] + w["spread.bias"]
            y[b, t] = w["fc.weight"] @ numpy.maximum(spread, 0) + w["fc.bias"]
    return {"y": y, "inner": inner, "h": h, "wide": wide}


def data(generator, batch, time):
    def floats(*shape):
        return generator.normal(size=shape).astype(numpy.float32)

    return {
        "x": floats(batch, time, 5),
        "token": generator.integers(0, 9, (batch, time)),
        "memory": floats(batch, 4),
        "n": lengths_of(generator, batch, time),
        "first": generator.random((batch, time)) < 0.3,
        "h0": floats(batch, 7),
        "wide0": floats(batch, 14),
    }


@pytest.mark.parametrize("name", OPTIONS)
def test_decoder(compiler, name):
    options = OPTIONS[name]
    library = compiler.library(DECODER % options)
    generator = numpy.random.default_rng(60)
    weights = random_weights(library, generator)
    library.prepare(weights)
    for batch, time in SIZES:
        given = data(generator, batch, time)
        found = library.run(**given)
        expected = decode(weights, given, options)
        for result, array in expected.items():
            assert_close(found[result], array, (name, result, batch, time))
        if "lengths" not in options:
            continue
        # Behind the end there is nothing: what stands there is not read, and 0 is written.
        for b, length in enumerate(given["n"]):
            assert not found["y"][b, length:].any()
            given["x"][b, length:] = numpy.nan
        dirty = library.run(**given)
        for result, array in found.items():
            numpy.testing.assert_array_equal(dirty[result], array, (name, result, batch, time))


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_bits_of_rows_and_chunks(compiler, element):
    """Blocks of steps begin elsewhere in each case."""
    library = compiler.library(DECODER % ", init=(h0, wide0)", "--float", element)
    generator = numpy.random.default_rng(61)
    weights = random_weights(library, generator)
    library.prepare(weights)
    batch, time = 5, 301
    given = data(generator, batch, time)
    if element == "f64":
        given = {
            name: array.astype(numpy.float64) if array.dtype == numpy.float32 else array
            for name, array in given.items()
        }
    whole = library.run(**given)
    for b in range(batch):
        alone = library.run(**{name: array[b : b + 1] for name, array in given.items()})
        for result, array in whole.items():
            numpy.testing.assert_array_equal(alone[result][0], array[b], result)
    begin, states = 0, (given["h0"], given["wide0"])
    for size in (1, 0, 47, 127, 126):
        chunk = dict(given, h0=states[0], wide0=states[1])
        for name in ("x", "token", "first"):
            chunk[name] = given[name][:, begin : begin + size]
        part = library.run(**chunk)
        for result in ("y", "inner"):
            numpy.testing.assert_array_equal(
                part[result], whole[result][:, begin : begin + size], (result, begin)
            )
        states = part["h"], part["wide"]
        begin += size
    assert begin == time
    numpy.testing.assert_array_equal(states[0], whole["h"])
    numpy.testing.assert_array_equal(states[1], whole["wide"])


NESTED = """
cell letters(x: [I], bias: [H]) -> [H] {
  state h: [H]
  param w: [H, I], u: [H, H], v: [H, H]
  h' = tanh(w @ x + u @ h + v @ bias)
  return h'
}

cell words(text: [L, I], shift: [H]) -> [2] {
  state s: [H]
  param inner: letters(H=H), out: [2, H]
  y, h = scan(inner, text, with=(shift), init=(s))
  s' = h
  return out @ s'
}

model run(text: [B, W, L, 3], shift: [B, 6]) -> (read: [B, W, 2], s: [B, 6]) {
  param w: words(H=6) as ""
  read, s = scan(w, text, with=shift)
  return read, s
}
"""


def test_through_two_recurrences(compiler):
    """A product of the inner step leaves both, and one of the run too."""
    library = compiler.library(NESTED)
    generator = numpy.random.default_rng(62)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = {name: array.astype(numpy.float64) for name, array in weights.items()}
    for batch, outer, inner in [(1, 1, 1), (3, 5, 7), (2, 0, 3), (2, 3, 0), (0, 2, 2), (2, 40, 9)]:
        text = generator.normal(size=(batch, outer, inner, 3)).astype(numpy.float32)
        shift = generator.normal(size=(batch, 6)).astype(numpy.float32)
        read, s = numpy.zeros((batch, outer, 2)), numpy.zeros((batch, 6))
        for b, t in numpy.ndindex(batch, outer):
            for x in text[b, t]:
                s[b] = numpy.tanh(
                    w["inner.w"] @ x + w["inner.u"] @ s[b] + w["inner.v"] @ shift[b]
                )
            read[b, t] = w["out"] @ s[b]
        found = library.run(text=text, shift=shift)
        assert_close(found["read"], read, (batch, outer, inner))
        assert_close(found["s"], s, (batch, outer, inner))


def test_keys_of_a_memory_with_attention_in_the_step(compiler):
    """Against the naive path, with the attention's context in a concatenation."""
    options = ["--dim", "I=9,J=5,O=7", "--entry", "translate"]
    path = ROOT / "test" / "models" / "attn_seq2seq.gf"
    fast, naive = compiler.library(path, *options), compiler.library(path, *options, "--naive")
    generator = numpy.random.default_rng(63)
    weights = random_weights(fast, generator)
    fast.prepare(weights)
    naive.prepare(weights)
    for batch, source, target in [(1, 1, 1), (3, 7, 5), (2, 4, 0), (2, 0, 3)]:
        given = {
            "source": generator.normal(size=(batch, source, 9)).astype(numpy.float32),
            "source_lengths": lengths_of(generator, batch, source),
            "target": generator.normal(size=(batch, target, 5)).astype(numpy.float32),
        }
        assert_close(fast.run(**given)["output"], naive.run(**given)["output"])
