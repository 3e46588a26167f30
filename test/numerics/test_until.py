# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrences that end by a state of their own: a decoder that feeds itself its likeliest token and looks at a
ragged memory, and `until` beside whatever else a scan takes."""

import itertools

import attention_references as attentions
import cell_references as cells
import numpy
import pytest
from conftest import ATOL, RTOL, assert_close, lengths_of, random_weights
from test_recurrences import loop

ENDING, TOKENS, HIDDEN, MEMORY = 2, 7, 6, 8
DECODING = f"""
import cells, attention

cell decoder(memory: [S, M], n: i64[], first: [H], V, end = 0) -> (token: i64[], looked: [S]) {{
  state token: i64[] = 1, h: [H] = first, done: bool[] = false
  param embed: embedding(V=V, N=H), rnn: gru(H=H), query: linear(N=M), head: linear(N=V)
  context, looked = dot_product(query(h)[None], memory, memory, lengths=n, weights=true)
  _, h' = step(rnn, concat(embed(token), context[0]), h)
  token' = argmax(head(concat(h', context[0])))
  done' = done or token' == end
  return token', looked[0]
}}

model decode(x: [B, S, 5], n: i64[B], steps: [N]) ->
    (tokens: i64[B, N], looked: [B, N, S], h: [B, {HIDDEN}], done: bool[B]) {{
  param encoder: lstm(H=4, layers=1, bidirectional=true), decoder: decoder(V={TOKENS}, end={ENDING})
  param bridge: linear(N={HIDDEN})
  memory, (h, _) = scan(encoder, x, lengths=n)
  first = tanh(bridge(concat(h[0], h[1])))
  (tokens, looked), (_, last, done) = scan(decoder, with=(memory, n, first), steps=N, until="done")
  return tokens, looked, last, done
}}
"""


def greedy(weights, memory, length, first, steps):
    """Of one sequence: tokens, weights of the memory, the last state, whether it ended."""
    own = {name.removeprefix("decoder."): array for name, array in weights.items()}
    rnn = {name.removeprefix("rnn."): array for name, array in own.items() if name.startswith("rnn.")}
    tokens, looked = numpy.zeros(steps, int), numpy.zeros((steps, len(memory)))
    token, h, done = 1, first, False
    for t in range(steps):
        if done:
            continue
        query = own["query.weight"] @ h + own["query.bias"]
        seen = attentions.visible(1, len(memory), length=length)
        looked[t] = attentions.softmax(attentions.scores(query[None], memory), seen)[0]
        context = attentions.weigh(looked[t][None], memory)[0]
        _, (h,) = cells.gru(rnn, numpy.concatenate([own["embed.weight"][token], context]), (h,))
        scores = own["head.weight"] @ numpy.concatenate([h, context]) + own["head.bias"]
        best, second = sorted(scores)[::-1][:2]
        assert best - second > 1e-4, "rounding would choose the token"
        tokens[t] = token = int(scores.argmax())
        done = token == ENDING
    return tokens, looked, h, done


@pytest.mark.parametrize("options", [(), ("--naive",)], ids=["fast", "naive"])
def test_greedy_decoding_over_a_ragged_memory(compiler, options):
    library = compiler.library(DECODING, *options)
    generator = numpy.random.default_rng(78)
    # Weights so large that what was read decides: sequences end after eight steps, after ten, or never.
    weights = {name: 3 * array for name, array in random_weights(library, generator).items()}
    library.prepare(weights)
    wide = {name: array.astype(numpy.float64) for name, array in weights.items()}
    encoder = {n.removeprefix("encoder."): array for n, array in wide.items() if n.startswith("encoder.")}
    ended = []
    for batch, keys, steps in [(7, 9, 12), (3, 17, 9), (1, 1, 1), (2, 0, 3), (2, 3, 0), (0, 4, 3)]:
        x = generator.normal(size=(batch, keys, 5)).astype(numpy.float32)
        n = lengths_of(generator, batch, keys)
        # Nothing behind a length is read, by the encoder or by the decoder.
        for row, length in enumerate(n):
            x[row, length:] = numpy.nan
        found = library.run(x=x, n=n, steps=numpy.zeros(steps, numpy.float32))
        start = [numpy.zeros((2, batch, 4))] * 2
        memory, (h, _) = cells.stacked_scan(cells.lstm, encoder, x.astype(float), start, n, 4, 1, True)
        for b in range(batch):
            joined = numpy.concatenate([h[0, b], h[1, b]])
            first = numpy.tanh(wide["bridge.weight"] @ joined + wide["bridge.bias"])
            tokens, looked, last, done = greedy(wide, memory[b], n[b], first, steps)
            what = (batch, keys, steps, b)
            numpy.testing.assert_array_equal(found["tokens"][b], tokens, str(what))
            assert_close(found["looked"][b], looked, what)
            assert_close(found["h"][b], last, what)
            assert found["done"][b] == done, what
            ended.append((bool(done), len(set(tokens))))
    assert {done for done, _ in ended} == {False, True} and max(kinds for _, kinds in ended) > 3, ended


# Whatever else a scan takes, in every combination: its options, by letters of the result's name.
OPTIONS = {"r": "reverse=true", "l": "lengths=n", "i": "init=(h0, done0)", "s": "reset=first"}
COMBINATIONS = ["".join(c) for size in range(5) for c in itertools.combinations(OPTIONS, size)]
UNTIL = """
cell summing(x: [3]) -> [3] {
  state h: [3] = 0.25, done: bool[]
  h' = 0.5 * h + x
  done' = done or h'[0] > 1
  return h' + h
}
"""


def until_text():
    results, scans, values = [], [], []
    for letters in COMBINATIONS:
        name = f"_{letters}"
        options = "".join(f", {OPTIONS[letter]}" for letter in letters)
        results.append(f"y{name}: [B, T, 3], h{name}: [B, 3], done{name}: bool[B]")
        scans.append(f'  y{name}, (h{name}, done{name}) = scan(c, x, until="done"{options})')
        values.append(f"y{name}, h{name}, done{name}")
    inputs = "x: [B, T, 3], n: i64[B], h0: [B, 3], done0: bool[B], first: bool[B, T]"
    body = "\n".join(["  param c: summing()", *scans, f"  return {', '.join(values)}"])
    return f"{UNTIL}\nmodel m({inputs}) ->\n    ({', '.join(results)}) {{\n{body}\n}}\n"


def summing(inputs, states):
    h = 0.5 * states[0] + inputs[0]
    return (h + states[0],), (h, bool(states[1] or h[0] > 1))


def test_until_with_all_that_a_scan_takes(compiler):
    """A sequence rests when its state says so, wherever it began; a border wakes it."""
    library = compiler.library(until_text()).prepare({})
    generator = numpy.random.default_rng(52)
    rested = set()
    for batch, time in [(5, 9), (3, 17), (1, 1), (2, 0), (0, 3)]:
        given = {
            "x": generator.normal(size=(batch, time, 3)).astype(numpy.float32),
            "n": lengths_of(generator, batch, time),
            "h0": generator.normal(size=(batch, 3)).astype(numpy.float32),
            "done0": generator.random(batch) < 0.3,
            "first": generator.random((batch, time)) < 0.2,
        }
        found = library.run(**given)
        for letters, b in itertools.product(COMBINATIONS, range(batch)):
            fresh = (numpy.full(3, 0.25), False)
            start = (given["h0"][b].astype(float), bool(given["done0"][b])) if "i" in letters else fresh
            rows, (h, done) = loop(
                summing, (given["x"][b].astype(float),), start, fresh,
                length=given["n"][b] if "l" in letters else None,
                reset=given["first"][b] if "s" in letters else None,
                reverse="r" in letters, until=1,
            )  # fmt: skip
            what = (letters, batch, time, b)
            expected = numpy.array([row[0] for row in rows]).reshape(time, 3)
            numpy.testing.assert_allclose(found[f"y_{letters}"][b], expected, RTOL, ATOL, err_msg=str(what))
            assert_close(found[f"h_{letters}"][b], h, what)
            assert found[f"done_{letters}"][b] == done, what
            rested.add((letters, done))
    assert len(rested) == 2 * len(COMBINATIONS)


@pytest.mark.parametrize("options", [(), ("--naive",)], ids=["fast", "naive"])
def test_one_step_of_the_states_of_a_model(compiler, options):
    """A branch gives back the states that came, or those of the step."""
    text = UNTIL + """
model m(x: [B, 1, 3]) -> [B, 1, 3] {
  state h: [B, 3], done: bool[B]
  param c: summing()
  y, (h', done') = scan(c, x, init=(h, done), until="done")
  return y
}
"""
    library = compiler.library(text, *options).prepare({})
    generator = numpy.random.default_rng(7)
    for done in ([False, True, False], [True, True, True], [], [False]):
        x, h = (generator.normal(size=(len(done), *s, 3)).astype(numpy.float32) for s in ((1,), ()))
        found = library.run(x=x, h=h, done=numpy.array(done, bool))
        for b, rests in enumerate(done):
            (y,), (last, ends) = summing((x[b, 0].astype(float),), (h[b].astype(float), False))
            assert_close(found["output"][b, 0], 0 * y if rests else y)
            assert_close(found["h"][b], h[b] if rests else last)
            assert found["done"][b] == (rests or ends)
