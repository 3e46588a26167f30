# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cells, attentions and functions as entries, with leading dimensions and options."""

import attention_references as attentions
import cell_references as cells
import numpy
import pytest
from conftest import ROOT, assert_close, lengths_of, random_weights

LIBRARY = ROOT / "frontend" / "library"


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


def wide(arrays):
    return {name: array.astype(numpy.float64) for name, array in arrays.items()}


def test_a_cell_with_lengths_and_resets(compiler):
    """Two leading dimensions; pieces of a sequence between borders are its own."""
    library = compiler.library(
        LIBRARY / "cells.gf", "--entry=lstm", "--dim=I=3,H=4", "--lead=2",
        "--with-input=lengths:1", "--with-input=reset:3",
    )  # fmt: skip
    generator = numpy.random.default_rng(70)
    weights = random_weights(library, generator)
    library.prepare(weights)
    for batch, more, time in [(3, 2, 7), (1, 1, 1), (2, 1, 17), (2, 2, 0), (0, 1, 3)]:
        x = floats(generator, batch, more, time, 3)
        states = [floats(generator, batch, more, 4) for _ in "hc"]
        lengths = lengths_of(generator, batch, time)
        reset = generator.random((batch, more, time)) < 0.3
        found = library.run(x=x, h=states[0], c=states[1], lengths=lengths, reset=reset)
        y = numpy.zeros((batch, more, time, 4))
        finals = [state.astype(numpy.float64) for state in states]
        for b, a in numpy.ndindex(batch, more):
            n = lengths[b]
            state = tuple(final[b, a] for final in finals)
            for t in range(n):
                if reset[b, a, t]:
                    state = (numpy.zeros(4), numpy.zeros(4))
                y[b, a, t], state = cells.lstm(wide(weights), x[b, a, t], state)
            finals[0][b, a], finals[1][b, a] = state
        assert_close(found["output"], y, (batch, more, time))
        assert_close(found["h"], finals[0])
        assert_close(found["c"], finals[1])


def test_layers_of_one_sequence_in_reverse(compiler):
    """No leading dimension; states start as declared where they are not given."""
    library = compiler.library(
        LIBRARY / "cells.gf", "--entry=slstm", "--dim=I=3,H=4", "--lead=0",
        "--arg=layers=2", "--arg=reverse=true",
    )  # fmt: skip
    generator = numpy.random.default_rng(71)
    weights = random_weights(library, generator)
    library.prepare(weights)
    for time in [7, 1, 64]:
        x = floats(generator, time, 3)
        found = library.run(x=x)
        y, finals = x.astype(numpy.float64), []
        for layer in range(2):
            suffix = f"_l{layer}"
            w = {
                n.removesuffix(suffix): a for n, a in wide(weights).items() if n.endswith(suffix)
            }
            start = (*numpy.zeros((3, 4)), numpy.full(4, -numpy.inf))
            y, final = cells.scan_sample(cells.slstm, w, y, start, 4, reverse=True)
            finals.append(final)
        assert_close(found["output"], y, time)
        for k, name in enumerate("hcnm"):
            assert_close(found[name], numpy.stack([final[k] for final in finals]), name)


def test_both_directions_and_chunks_of_a_cell(compiler):
    options = ["--entry=gru", "--dim=I=5,H=6", "--lead=1"]
    both = compiler.library(LIBRARY / "cells.gf", *options, "--arg=bidirectional=true")
    one = compiler.library(LIBRARY / "cells.gf", *options)
    generator = numpy.random.default_rng(72)
    weights = random_weights(both, generator)
    both.prepare(weights)
    x = floats(generator, 3, 17, 5)
    found = both.run(x=x)
    assert found["h"].shape == (2, 3, 6)
    start = [numpy.zeros((2, 3, 6))]
    y, (h,) = cells.stacked_scan(cells.gru, wide(weights), x, start, [17] * 3, 6, 1, True)
    assert_close(found["output"], y)
    assert_close(found["h"], h)

    one.prepare(random_weights(one, generator))
    whole = one.run(x=x)
    h, begin = None, 0
    for size in (1, 0, 3, 7, 6):
        given = {} if h is None else {"h": h}
        piece = one.run(x=x[:, begin : begin + size], **given)
        numpy.testing.assert_array_equal(piece["output"], whole["output"][:, begin : begin + size])
        h, begin = piece["h"], begin + size
    numpy.testing.assert_array_equal(h, whole["h"])


WRITER = """
import cells

cell writer(start: [H], V, end = 0) -> i64[] {
  state token: i64[] = 1, h: [H] = start, done: bool[] = false
  param embed: embedding(V=V, N=H), rnn: gru(H=H), head: linear(N=V)
  _, h' = step(rnn, embed(clamp(token, 0, V - 1)), h)
  token' = argmax(head(h'))
  done' = done or token' == end
  return token'
}
"""


def test_a_cell_that_makes_its_input(compiler):
    library = compiler.library(
        WRITER, "--entry=writer", "--dim=H=6", "--arg=V=5", "--arg=steps=9",
        '--arg=until="done"', "--arg=end=3", "--lead=1",
    )  # fmt: skip
    generator = numpy.random.default_rng(73)
    weights = random_weights(library, generator)
    weights["embed.weight"] = floats(generator, 5, 6)
    weights["head.weight"] *= 3
    library.prepare(weights)
    w = wide(weights)
    rnn = {n.removeprefix("rnn."): a for n, a in w.items() if n.startswith("rnn.")}
    start = floats(generator, 32, 6)
    # `start` says where `h` begins, so `h` has no number to begin with.
    with pytest.raises(TypeError, match="'h' is not given"):
        library.run(start=start)
    found = library.run(start=start, h=start)
    for b in range(len(start)):
        token, h, done, tokens = 1, start[b].astype(numpy.float64), False, []
        for _ in range(9):
            if done:
                tokens.append(0)
                continue
            h, _ = cells.gru(rnn, w["embed.weight"][token], (h,))
            token = int((w["head.weight"] @ h + w["head.bias"]).argmax())
            done = token == 3
            tokens.append(token)
        numpy.testing.assert_array_equal(found["output"][b], tokens)
        assert (found["token"][b], found["done"][b]) == (token, done)
        assert_close(found["h"][b], h)


def test_an_attention_with_every_option(compiler):
    library = compiler.library(
        LIBRARY / "attention.gf", "--entry=diff_window", "--dim=D=3,E=5", "--lead=2",
        "--with-input=lengths:1", "--with-input=mask:4", "--with-input=bias:3",
        "--with-input=offset:1", "--arg=causal=true", "--arg=window=(3, inf)",
        "--arg=width=5",
    )  # fmt: skip
    library.prepare({})
    generator = numpy.random.default_rng(74)
    for batch, heads, queries, keys in [(3, 2, 4, 7), (1, 1, 1, 1), (2, 3, 17, 17), (1, 2, 0, 3), (1, 1, 2, 0)]:
        given = {
            "q": floats(generator, batch, heads, queries, 3),
            "k": floats(generator, batch, heads, keys, 3),
            "v": floats(generator, batch, heads, keys, 5),
            "lengths": lengths_of(generator, batch, keys),
            "mask": generator.random((batch, heads, queries, keys)) < 0.8,
            "bias": floats(generator, heads, queries, keys),
            "offset": generator.integers(-1, keys + 1, batch),
        }
        expected = numpy.zeros((batch, heads, queries, 5))
        for b, h in numpy.ndindex(batch, heads):
            seen = given["mask"][b, h] & attentions.visible(
                queries, keys, causal=True, window=(3, None),
                offset=given["offset"][b], length=given["lengths"][b],
            )  # fmt: skip
            with attentions.added_bias(given["bias"][h]):
                q, k, v = (given[n][b, h].astype(numpy.float64) for n in "qkv")
                expected[b, h] = attentions.diff_window(seen, q, k, v, width=5)
        assert_close(library.run(**given)["output"], expected, (batch, heads, queries, keys))


def test_an_attention_of_grouped_heads(compiler):
    library = compiler.library(
        LIBRARY / "attention.gf", "--entry=alibi", "--dim=D=3,E=5,heads=6,key_heads=2",
        "--lead=2", "--arg=gqa=true", "--with-input=segments",
    )  # fmt: skip
    library.prepare({})
    generator = numpy.random.default_rng(75)
    for batch, queries, keys in [(2, 4, 7), (1, 1, 1), (3, 17, 3), (1, 2, 0)]:
        given = {
            "q": floats(generator, batch, 6, queries, 3),
            "k": floats(generator, batch, 2, keys, 3),
            "v": floats(generator, batch, 2, keys, 5),
            "slope": floats(generator, batch, 6),
            "query_segments": generator.integers(0, 2, (batch, queries)),
            "key_segments": generator.integers(0, 2, (batch, keys)),
        }
        expected = numpy.zeros((batch, 6, queries, 5))
        position = numpy.arange(queries)[:, None] + keys - queries
        for b, h in numpy.ndindex(batch, 6):
            q, k, v = (
                given[n][b, i].astype(numpy.float64)
                for n, i in zip("qkv", (h, h // 3, h // 3))
            )
            seen = given["query_segments"][b][:, None] == given["key_segments"][b]
            distance = abs(position - numpy.arange(keys))
            s = attentions.scores(q, k) - float(given["slope"][b, h]) * distance
            expected[b, h] = attentions.weigh(attentions.softmax(s, seen), v)
        assert_close(library.run(**given)["output"], expected, (batch, queries, keys))


FUNCTION = """
func statistics(x: [N, M], gain: [M], shift = 1) -> (centred: [N, M], mean: [N], order: i64[]) {
  param weight: [M, M]
  y = (x - mean(x, axis=1, keep=true)) * gain + shift
  return y @ weight.T, mean(x, axis=1), argmax(gain)
}
"""


def test_a_function_with_leading_dimensions(compiler):
    generator = numpy.random.default_rng(76)
    for lead in [(), (3,), (2, 3)]:
        library = compiler.library(
            FUNCTION, "--entry=statistics", "--dim=M=4", f"--lead={len(lead)}", "--arg=shift=2"
        )
        weights = random_weights(library, generator)
        library.prepare(weights)
        x, gain = floats(generator, *lead, 5, 4), floats(generator, *lead, 4)
        found = library.run(x=x, gain=gain)
        wide_x = x.astype(numpy.float64)
        y = (wide_x - wide_x.mean(axis=-1, keepdims=True)) * gain[..., None, :] + 2
        assert_close(found["centred"], y @ weights["weight"].T.astype(numpy.float64))
        assert_close(found["mean"], wide_x.mean(axis=-1))
        numpy.testing.assert_array_equal(found["order"], gain.argmax(axis=-1))


def test_steps_that_are_fixed(compiler):
    """`--dim` fixes the steps of a cell as it does any other dimension."""
    library = compiler.library(
        LIBRARY / "cells.gf", "--entry=min_gru", "--dim=I=3,H=4,T=5", "--lead=1"
    )
    assert library.inputs[0]["shape"] == ["B", 5, 3]
    generator = numpy.random.default_rng(77)
    weights = random_weights(library, generator)
    library.prepare(weights)
    x = floats(generator, 2, 5, 3)
    y, _ = cells.scan(cells.min_gru, wide(weights), x, [numpy.zeros((2, 4))], [5, 5], 4)
    assert_close(library.run(x=x)["output"], y)
