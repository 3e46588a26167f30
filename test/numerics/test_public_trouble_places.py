# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users of other systems keep running into, with the right answer: who sees whom, masks the other way round,
steps that are left out, and states that are moved between rows, batches and streams."""

import attention_references as attentions
import numpy
import pytest
from cell_references import tanh
from conftest import assert_close, random_weights
from gatefold_library import GatefoldError


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


PLACES = """
import attention

model m(q: [T, 6], k: [S, 6], v: [S, 3], seen: bool[S], slope: []) ->
    (last: [T, 3], first: [T, 3], recent: [T, 3], whole: [T, 3], causal: [T, 3], hidden: [T, 3], slanted: [T, 3]) {
  last = dot_product(q, k, v, causal=true)
  first = dot_product(q, k, v, causal=true, offset=0)
  recent = dot_product(q, k, v, window=(3, 0))
  whole = dot_product(q, k, v, window=(7, 0))
  hidden = dot_product(q, k, v, mask=not seen[None, :])
  causal = dot_product(q, k, v, window=(7, 0), causal=true)
  return last, first, recent, whole, causal, hidden, alibi(q, k, v, slope, causal=true)
}
"""


@pytest.fixture
def places(compiler):
    return compiler.library(PLACES).prepare({})


def given(generator, queries, keys):
    arrays = {"q": floats(generator, queries, 6), "k": floats(generator, keys, 6), "v": floats(generator, keys, 3)}
    return arrays | {"seen": generator.random(keys) < 0.5, "slope": numpy.float32(0.3)}


@pytest.mark.parametrize("queries, keys", [(1, 9), (3, 9), (9, 9), (5, 3)])
def test_causal_where_queries_and_keys_differ_in_number(places, queries, keys):
    """Aligned at the first key, one query behind a cache sees its oldest key alone; aligned at the last one, as
    here, it sees all. What is meant otherwise has to be said. Distances of a bias count from the same place."""
    arrays = given(numpy.random.default_rng(310), queries, keys)
    found = places.run(**arrays)
    q, k, v = (arrays[name].astype(float) for name in "qkv")
    scores = attentions.scores(q, k)
    for name, offset in [("last", None), ("first", 0)]:
        seen = attentions.visible(queries, keys, causal=True, offset=offset)
        assert_close(found[name], attentions.softmax(scores, seen) @ v, name)
    if queries == 1:
        assert_close(found["first"], arrays["v"][:1].astype(float), "its oldest key")
    distance = numpy.arange(queries)[:, None] + keys - queries - numpy.arange(keys)[None, :]
    seen = attentions.visible(queries, keys, causal=True)
    assert_close(found["slanted"], attentions.softmax(scores - arrays["slope"] * distance, seen) @ v, "slanted")


def test_a_window_of_some_tokens(places):
    """A window of W tokens with the query's own is W - 1 to the left: others count W, so that a kernel and a mask
    differ by one key. A window as long as the row is causal attention, not one key less."""
    arrays = given(numpy.random.default_rng(311), 8, 8)
    found = places.run(**arrays)
    q, k, v = (arrays[name].astype(float) for name in "qkv")
    distance = numpy.arange(8)[:, None] - numpy.arange(8)[None, :]
    four = (distance >= 0) & (distance < 4)
    assert_close(found["recent"], attentions.softmax(attentions.scores(q, k), four) @ v)
    assert_close(found["whole"], found["last"].astype(float))
    assert_close(found["causal"], found["last"].astype(float))


def test_masks_that_say_the_opposite(places):
    """True is a key that is seen. Masks of padding, and those of some layers, say what is hidden: `not` turns
    them. Used as it is such a mask shows nothing but padding, which no error tells."""
    arrays = given(numpy.random.default_rng(312), 4, 7)
    q, k, v = (arrays[name].astype(float) for name in "qkv")
    seen = numpy.broadcast_to(~arrays["seen"], (4, 7))
    assert_close(places.run(**arrays)["hidden"], attentions.softmax(attentions.scores(q, k), seen) @ v)


GROUPS = """
import attention

model m(q: [6, T, 4], k: [2, T, 4], v: [2, T, 3]) -> [6, T, 3] {
  return dot_product(q, k, v, gqa=true)
}
"""


def test_heads_that_share_keys_are_neighbours(compiler):
    """Query heads 0 to 2 read key head 0. Keys that are tiled in place of repeated pair head 1 with key head 1,
    and checkpoints of both kinds have the same shapes."""
    generator = numpy.random.default_rng(313)
    q, k, v = floats(generator, 6, 5, 4), floats(generator, 2, 5, 4), floats(generator, 2, 5, 3)
    found = compiler.library(GROUPS).prepare({}).run(q=q, k=k, v=v)["output"]
    everything = attentions.visible(5, 5)
    for head, row in enumerate(found):
        scores = attentions.scores(q[head].astype(float), k[head // 3].astype(float))
        assert_close(row, attentions.softmax(scores, everything) @ v[head // 3].astype(float), head)


LEFT = """
import attention

model m(x: [B, T, 8], begin: i64[B]) -> [B, T, 8] {
  param q: linear(N=8), k: linear(N=8), v: linear(N=8)
  place = arange(T)[None, :] - begin[:, None]
  seen = (place >= 0)[:, None, :]
  return dot_product(rotary(q(x), positions=place), rotary(k(x), positions=place), v(x), causal=true, mask=seen)
}
"""


def test_prompts_that_are_padded_at_the_left(compiler):
    """Positions count from the first token and not from the padding, padding is no key, and a row that is padding
    is 0 and not NaN. Then each prompt is what it is alone."""
    library = compiler.library(LEFT)
    generator = numpy.random.default_rng(314)
    library.prepare(random_weights(library, generator))
    sizes = [4, 9, 1, 0]
    x = numpy.full((4, 9, 8), numpy.float32(7))
    for row, size in zip(x, sizes):
        row[9 - size :] = floats(generator, size, 8)
    found = library.run(x=x, begin=9 - numpy.array(sizes))["output"]
    for b, size in enumerate(sizes):
        alone = library.run(x=x[b : b + 1, 9 - size :], begin=numpy.array([0]))["output"]
        assert_close(found[b, 9 - size :], alone[0].astype(float), size)
        assert (found[b, : 9 - size] == 0).all()


KEPT = """
import cells

cell masked(x: [I], keep: bool[]) -> [H] {
  state h: [H]
  param inner: rnn_tanh(H=H)
  y, n = step(inner, x, h)
  h' = where(keep, n, h)
  return h'
}

model m(x: [B, T, 3], keep: bool[B, T], n: i64[B]) -> (y: [B, T, 4], last: [B, 4], back: [B, T, 4], h: [B, 4]) {
  param c: masked(H=4), r: rnn_tanh(H=4)
  y, last = scan(c, (x, keep))
  back, h = scan(r, x, lengths=n, reverse=true)
  return y, last, back, h
}
"""


@pytest.fixture
def kept(compiler):
    library = compiler.library(KEPT)
    weights = random_weights(library, numpy.random.default_rng(315))
    return library.prepare(weights), {name: array.astype(float) for name, array in weights.items()}


def recurrent(weights, name, x, h, keep=None):
    w = [weights[f"{name}.{part}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    result = []
    for t, row in enumerate(x):
        if keep is None or keep[t]:
            h = tanh(row @ w[0].T + h @ w[1].T + w[2] + w[3])
        result.append(h)
    return result


def test_steps_that_a_mask_leaves_out(kept):
    """A step that is masked at the left, in the middle or at the right keeps the state and repeats the output.
    Kernels that take lengths do the last alone; a cell that says it does all."""
    library, weights = kept
    generator = numpy.random.default_rng(316)
    x = floats(generator, 3, 6, 3)
    keep = numpy.array([[0, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1], [0] * 6], bool)
    found = library.run(x=x, keep=keep, n=numpy.array([6, 6, 6]))
    for b in range(3):
        expected = recurrent(weights, "c.inner", x[b].astype(float), numpy.zeros(4), keep[b])
        assert_close(found["y"][b], numpy.array(expected), b)
        assert_close(found["last"][b], expected[-1], b)


def test_outputs_of_the_backward_direction_are_in_the_order_of_time(kept):
    """Some layers give the backward direction in the order of its steps, so that its summary is the last row; here
    it is row 0, which is also the state. It begins at a row's own end, also where none is as long as the time."""
    library, weights = kept
    x = floats(numpy.random.default_rng(317), 3, 6, 3)
    lengths = [4, 0, 1]
    found = library.run(x=x, keep=numpy.ones((3, 6), bool), n=numpy.array(lengths))
    for b, n in enumerate(lengths):
        steps = recurrent(weights, "r", x[b, :n].astype(float)[::-1], numpy.zeros(4))
        assert_close(found["back"][b, :n], numpy.reshape(steps[::-1], (n, 4)), n)
        assert (found["back"][b, n:] == 0).all()
        numpy.testing.assert_array_equal(found["h"][b], found["back"][b, 0] if n else numpy.zeros(4))


BEAMS = """
import attention, cells

model m(x: [B, 1, 6], parent: i64[B]) -> [B, 1, 6] {
  state n: i64[], h: [B, 6], keys: [B, 16, 6], values: [B, 16, 6]
  param c: gru(H=6), q: linear(N=6), k: linear(N=6), v: linear(N=6)
  _, h' = step(c, x[:, 0], take(h, parent))
  keys' = append(take(keys, parent), k(x), at=n)
  values' = append(take(values, parent), v(x), at=n)
  n' = n + 1
  return h'[:, None] + dot_product(q(x), keys', values', causal=true, offset=n)
}
"""


@pytest.fixture
def beams(compiler):
    library = compiler.library(BEAMS)
    return library.prepare(random_weights(library, numpy.random.default_rng(318)))


def next_words(library, states, x, parent):
    """What the model says, and its states, which are the caller's."""
    states = library.run(x=x, parent=numpy.array(parent), **states)
    return states.pop("output"), states


def test_beams_that_take_over_from_others(beams):
    """Where a beam goes on from another one, its states and its caches move with it. A cache that stays behind
    gives words that fit another sentence. Each beam ends as if its own words had been given to it alone."""
    generator = numpy.random.default_rng(319)
    states, words = {}, [[], [], []]
    for parent in [[0, 1, 2], [2, 2, 0], [1, 0, 1], [0, 0, 0]]:
        x = floats(generator, 3, 1, 6)
        words = [words[p] + [x[b : b + 1]] for b, p in enumerate(parent)]
        found, states = next_words(beams, states, x, parent)
    for b in range(3):
        alone = {}
        for word in words[b]:
            last, alone = next_words(beams, alone, word, [0])
        numpy.testing.assert_array_equal(found[b], last[0])
        for name in ("h", "keys", "values"):
            numpy.testing.assert_array_equal(states[name][b], alone[name][0])
    with pytest.raises(GatefoldError, match=r"`parent`\[1\] is 3, expected 0..2"):
        next_words(beams, states, x, [0, 3, 0])


def test_streams_in_turn(beams):
    """States are the caller's and not the model's: streams that are run in turn, of other numbers of rows, do not
    hear of each other. States of another number of rows are refused and not stretched."""
    generator = numpy.random.default_rng(320)
    streams = {rows: floats(generator, 4, rows, 1, 6) for rows in (1, 2, 3)}

    def speak(rows, t, states):
        return next_words(beams, states, streams[rows][t], numpy.arange(rows))

    expected = {}
    for rows in streams:
        states = {}
        for t in range(4):
            expected[rows, t], states = speak(rows, t, states)
    kept = {rows: {} for rows in streams}
    for t in range(4):
        for rows in streams:
            found, kept[rows] = speak(rows, t, kept[rows])
            numpy.testing.assert_array_equal(found, expected[rows, t])
    for rows in (1, 2):
        with pytest.raises(GatefoldError, match=f"`h` is \\[{rows}, 6\\]|is {rows}"):
            speak(3, 0, kept[rows])
