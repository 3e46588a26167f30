# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrences of a user's own cells and every option of `scan` and `step`, against a
plain loop over samples and time in float64."""

import cell_references as cells
import numpy
import pytest
from cell_references import sigmoid, tanh
from conftest import assert_close, lengths_of, random_weights


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


def wide(arrays):
    """Floats as float64, the others as they are."""
    return {
        name: array.astype(numpy.float64) if array.dtype == numpy.float32 else array
        for name, array in arrays.items()
    }


def loop(step, sequences, start, fresh=None, length=None, reset=None, reverse=False, until=None):
    """One sample: `step(inputs of t, states)` gives (outputs, states). `fresh` are the
    declared states, which `reset[t]` brings back; `until` is the place of a state."""
    time = len(sequences[0]) if sequences else length
    length = time if length is None else length
    order = range(length)
    rows, states = [None] * time, tuple(start)
    zeros = step([s[0] if time else None for s in sequences], states)[0] if time else None
    for t in reversed(order) if reverse else order:
        border = t + 1 if reverse else t
        if reset is not None and border < length and reset[border]:
            states = tuple(fresh)
        if until is not None and states[until]:
            continue
        rows[t], states = step([s[t] for s in sequences], states)
    for t in range(time):
        if rows[t] is None:
            rows[t] = tuple(numpy.zeros_like(z) for z in zeros)
    return rows, states


MIXED = """
func squash(x: [M], by) -> [M] {
  return tanh(by * x)
}

cell mixed(x: [I], k: i64[], gain: [], bend: [H]) -> (y: [H], twice: i64[], m: [2, H], low: bool[]) {
  param start: [H], w: [H, I], u: [H, H]
  state h: [H] = start, count: i64[] = 3, odd: bool[] = true, memory: [2, H] = 0.5
  h' = squash(w @ x + u @ h, 0.5) * gain + bend * h
  count' = count + k
  odd' = odd != (k % 2 == 1)
  memory' = 0.5 * memory + stack(h', h)
  return sum(memory', axis=0) + count / 10, count' * 2, memory, odd and count' > 4
}
"""
RESULTS = [("y", "[B, A, T, 5]"), ("twice", "i64[B, A, T]"), ("m", "[B, A, T, 2, 5]"),
           ("low", "bool[B, A, T]")]  # fmt: skip
STATES = [("h", "[B, A, 5]"), ("count", "i64[B, A]"), ("odd", "bool[B, A]"),
          ("memory", "[B, A, 2, 5]")]  # fmt: skip


def mixed_text(options):
    results = ", ".join(f"{n}: {t}" for n, t in RESULTS + STATES)
    starts = ", ".join(f"{n}0: {t}" for n, t in STATES)
    return f"""{MIXED}
model run(x: [B, A, T, 3], k: i64[B, A, T], gain: [B, 1], bend: [5], n: i64[B],
          first: bool[B, 1, T], {starts}) -> ({results}) {{
  param c: mixed(H=5) as ""
  (y, twice, m, low), (h, count, odd, memory) = scan(c, (x, k), with=(gain, bend){options})
  return y, twice, m, low, h, count, odd, memory
}}
"""


MIXED_OPTIONS = {
    "plain": "",
    "lengths": ", lengths=n, init=(h0, count0, odd0, memory0)",
    "reverse": ", lengths=n, reverse=true",
    "reset": ", reset=first, lengths=n, init=(h0, count0, odd0, memory0)",
    "reset in reverse": ", reset=first, lengths=n, reverse=true, init=(h0, count0, odd0, memory0)",
}
# Lengths along both leading dimensions.
EACH = {"lengths of each": "lengths", "reset of each": "reset", "reset in reverse of each": "reset in reverse"}


@pytest.mark.parametrize("name", [*MIXED_OPTIONS, *EACH])
def test_states_of_every_type(compiler, name):
    """Two sequences, two inputs that stay, four results, four states, two leading
    dimensions."""
    options = MIXED_OPTIONS[EACH.get(name, name)]
    text = mixed_text(options)
    library = compiler.library(text.replace("n: i64[B]", "n: i64[B, A]") if name in EACH else text)
    generator = numpy.random.default_rng(50)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = wide(weights)

    for batch, more, time in [(3, 2, 7), (1, 1, 1), (4, 1, 17), (2, 3, 0), (0, 2, 3), (1, 1, 65)]:
        given = {
            "x": floats(generator, batch, more, time, 3),
            "k": generator.integers(-3, 4, (batch, more, time)),
            "gain": floats(generator, batch, 1),
            "bend": floats(generator, 5) / 4,
            "n": lengths_of(generator, batch * more, time).reshape(batch, more) if name in EACH
            else lengths_of(generator, batch, time),
            "first": generator.random((batch, 1, time)) < 0.3,
            "h0": floats(generator, batch, more, 5),
            "count0": generator.integers(-9, 9, (batch, more)),
            "odd0": generator.random((batch, more)) < 0.5,
            "memory0": floats(generator, batch, more, 2, 5),
        }
        i = wide(given)
        lengths = numpy.broadcast_to(given["n"].reshape(batch, -1 if batch else 1), (batch, more))
        sizes = {"B": batch, "A": more, "T": time}
        expected = {}
        for result, kind in RESULTS + STATES:
            shape = kind[kind.index("[") + 1 : -1].split(", ")
            expected[result] = numpy.zeros([sizes.get(s) if s in sizes else int(s) for s in shape])
        for b, a in numpy.ndindex(batch, more):

            def step(inputs, states):
                (x, k), (h, count, odd, memory) = inputs, states
                squashed = tanh(0.5 * (w["w"] @ x + w["u"] @ h))
                new = squashed * i["gain"][b, 0] + i["bend"] * h
                now = count + k
                flag = odd != (k % 2 == 1)
                kept = 0.5 * memory + numpy.stack([new, h])
                outputs = kept.sum(axis=0) + count / 10, now * 2, memory, odd and now > 4
                return outputs, (new, now, flag, kept)

            # Where `init` is given and nothing resets, the start is not read.
            fresh = (w.get("start"), 3, True, numpy.full((2, 5), 0.5))
            start = [i[n + "0"][b, a] for n, _ in STATES] if "init" in options else fresh
            rows, states = loop(
                step,
                (i["x"][b, a], given["k"][b, a]),
                start,
                fresh,
                length=lengths[b, a] if "lengths" in options else None,
                reset=given["first"][b, 0] if "reset" in options else None,
                reverse="reverse" in options,
            )
            for (result, _), *values in zip(RESULTS, *rows):
                expected[result][b, a] = numpy.reshape(values, expected[result].shape[2:])
            for (state, _), value in zip(STATES, states):
                expected[state][b, a] = value
        found = library.run(**given)
        for result, _ in RESULTS + STATES:
            what = (result, batch, more, time)
            if found[result].dtype == numpy.float32:
                assert_close(found[result], expected[result], what)
            else:
                numpy.testing.assert_array_equal(found[result], expected[result], str(what))
        if "lengths" in options:
            for b, a in numpy.ndindex(batch, more):
                given["x"][b, a, lengths[b, a] :] = numpy.nan
                given["k"][b, a, lengths[b, a] :] = -(2**63)
                given["first"][b, :, max(lengths[b]) :] = True
            dirty = library.run(**given)
            for result, array in found.items():
                numpy.testing.assert_array_equal(dirty[result], array, result)


ONE = """
import cells
""" + MIXED + """
model one(x: [B, A, T, 3], k: i64[B, A, T], gain: [B, 1], bend: [5], h0: [B, A, 5], count0: i64[B, A],
          odd0: bool[B, A], memory0: [B, A, 2, 5], g0: [B, A, 3]) ->
    (y: [B, A, T, 5], twice: i64[B, A, T], h: [B, A, 5], count: i64[B, A], odd: bool[B, A], memory: [B, A, 2, 5],
     plain: [B, A, T, 3], last: [B, A, 3], written: i64[B, A, 1], left: i64[B, A]) {
  state kept: [B, A, 3]
  param c: mixed(H=5), g: gru(H=3), d: countdown()
  (y, twice, _, _), (h, count, odd, memory) = scan(c, (x, k), with=(gain, bend), init=(h0, count0, odd0, memory0))
  plain, last = scan(g, x, init=g0)
  _, kept' = scan(g, plain, init=kept)
  written, (left, _) = scan(d, with=count0, steps=1, init=(count0, odd0), until="gone")
  return y, twice, h, count, odd, memory, plain, last, written, left
}

cell countdown(from: i64[]) -> i64[] {
  state left: i64[] = from, gone: bool[] = from <= 0
  left' = left - 1
  gone' = left' <= 0
  return left
}
"""


@pytest.mark.parametrize("path", [[], ["--naive"]])
def test_one_step_that_is_known(compiler, path):
    """A loop that is gone when compiling leaves states that nobody may write over."""
    several = compiler.library(ONE)
    generator = numpy.random.default_rng(52)
    weights = random_weights(several, generator)
    several.prepare(weights)
    one = compiler.library(ONE.replace("T]", "1]").replace("T, ", "1, "), *path).prepare(weights)
    given = {
        "x": floats(generator, 3, 2, 1, 3),
        "k": generator.integers(-3, 4, (3, 2, 1)),
        "gain": floats(generator, 3, 1),
        "bend": floats(generator, 5),
        "h0": floats(generator, 3, 2, 5),
        "count0": generator.integers(-9, 9, (3, 2)),
        "odd0": generator.random((3, 2)) < 0.5,
        "memory0": floats(generator, 3, 2, 2, 5),
        "g0": floats(generator, 3, 2, 3),
        "kept": floats(generator, 3, 2, 3),
    }
    before = {name: array.copy() for name, array in given.items()}
    found, expected = one.run(**given), several.run(**given)
    for name, array in expected.items():
        if path and array.dtype.kind == "f":
            assert_close(found[name], array.astype(numpy.float64), name)
        else:
            numpy.testing.assert_array_equal(found[name], array, name)
    for name, array in before.items():
        numpy.testing.assert_array_equal(given[name], array, name)


LEADING = """
cell decayed(x: []) -> [2, 3] {
  state h: [2, 3] = 1
  h' = 0.5 * h + x
  return h'
}
model m(x: [A, B, T]) -> (y: [A, B, T, 2, 3], h: [A, B, 2, 3], back: [A, B, T, 2, 3]) {
  param c: decayed()
  y, h = scan(c, x)
  back, _ = scan(c, x, reverse=true)
  return y, h, back
}
"""


@pytest.mark.parametrize("options", [[], ["--schedule", "recurrence.algorithm=steps"], ["--naive"]])
def test_leading_sizes_of_one_that_are_known(compiler, options):
    """A step's slice is without time, and not without them."""
    x = floats(numpy.random.default_rng(54), 1, 3, 5)
    library = compiler.library(LEADING, *options).prepare({})
    expected, first = library.run(x=x), library.run(x=x[..., :1])
    for known in ("A=1", "A=1,B=3", "A=1,T=1", "A=1,B=3,T=5"):
        library = compiler.library(LEADING, *options, "--dim", known).prepare({})
        given, results = (x[..., :1], first) if "T=1" in known else (x, expected)
        for name, array in library.run(x=given).items():
            numpy.testing.assert_allclose(array, results[name], rtol=1e-6, err_msg=f"{name}, {known}")


# Cells whose loops are lowered in other ways: steps, a product behind them, a scan.
ALONE = """
import cells

cell projected(x: [3]) -> [5] {
  state h: [4]
  param w: [4, 3], u: [4, 4], out: linear(N=5)
  h' = tanh(w @ x + u @ h)
  return out(h')
}

model m(x: [B, T, 3], n: i64[B], first: bool[B, T]) ->
    (a: [B, T, 4], b: [B, T, 5], c: [B, T, 3], d: [B, T, 3], e: [B, T, 3], h: [B, 4], s: [B, 3]) {
  param of_a: gru(H=4), of_b: projected(), of_c: sru(), of_d: min_gru(H=3)
  a, h = scan(of_a, x, lengths=n, reset=first)
  b, _ = scan(of_b, x, lengths=n)
  c, s = scan(of_c, x, lengths=n)
  d, _ = scan(of_d, x, lengths=n, reset=first)
  e, _ = scan(of_d, x, lengths=n, reset=first, reverse=true)
  return a, b, c, d, e, h, s
}
"""


@pytest.mark.parametrize("options", [[], ["--schedule", "recurrence.algorithm=steps"], ["--naive"]])
def test_a_sequence_without_a_batch(compiler, options):
    """It has the bits of a batch of one; its length is a scalar."""
    batched = compiler.library(ALONE, *options)
    generator = numpy.random.default_rng(53)
    weights = random_weights(batched, generator)
    batched.prepare(weights)
    alone = compiler.library(ALONE.replace("[B, ", "[").replace("[B]", "[]"), *options).prepare(weights)
    for time, length in [(7, 5), (1, 1), (3, 0), (0, 0), (70, 70)]:
        x, first = floats(generator, time, 3), generator.random(time) < 0.2
        found = alone.run(x=x, n=numpy.int64(length), first=first)
        for name, array in batched.run(x=x[None], n=numpy.array([length]), first=first[None]).items():
            numpy.testing.assert_array_equal(found[name], array[0], (name, time, length))


WRITER = """
import cells

cell writer(start: [H], V, end = 0) -> (token: i64[], h: [H]) {
  state token: i64[] = 1, h: [H] = start, done: bool[] = false
  param embed: embedding(V=V, N=H), rnn: gru(H=H), head: linear(N=V)
  _, h' = step(rnn, embed(token), h)
  token' = argmax(head(h'))
  done' = done or token' == end
  return token', h'
}

cell countdown(from: i64[]) -> i64[] {
  state left: i64[] = from, gone: bool[] = from <= 0
  left' = left - 1
  gone' = left' <= 0
  return left
}

model spell(start: [B, 6], room: [N], from: i64[B], given: i64[B]) ->
    (tokens: i64[B, N], rows: [B, N, 6], last: i64[B], h: [B, 6], done: bool[B], open: i64[B, 4],
     left: i64[B, N], rest: i64[B], gone: bool[B], back: i64[B, N]) {
  param decoder: writer(V=5, end=3), counter: countdown()
  (tokens, rows), (last, h, done) = scan(decoder, with=start, steps=N, until="done")
  (open, _), _ = scan(decoder, with=start, steps=4)
  left, (rest, gone) = scan(counter, with=from, steps=N, until="gone")
  back, _ = scan(counter, with=from, steps=N, init=(given, false))
  return tokens, rows, last, h, done, open, left, rest, gone, back
}
"""


def test_steps_and_until(compiler):
    library = compiler.library(WRITER)
    generator = numpy.random.default_rng(51)
    weights = random_weights(library, generator)
    weights["decoder.embed.weight"] = floats(generator, 5, 6)
    weights["decoder.rnn.weight_hh"] *= 3
    weights["decoder.head.weight"] *= 3
    library.prepare(weights)
    w = wide(weights)
    rnn = {n.removeprefix("decoder.rnn."): a for n, a in w.items() if ".rnn." in n}

    def write(_, states):
        token, h, done = states
        h, _ = cells.gru(rnn, w["decoder.embed.weight"][token], (h,))
        token = int((w["decoder.head.weight"] @ h + w["decoder.head.bias"]).argmax())
        return (token, h), (token, h, done or token == 3)

    def count(_, states):
        left, _ = states
        return (left,), (left - 1, left - 1 <= 0)

    ended = set()
    for batch, steps in [(7, 17), (3, 1), (2, 0), (64, 7), (0, 3), (1, 65)]:
        given = {
            "start": floats(generator, batch, 6),
            "room": floats(generator, steps),
            "from": generator.integers(-1, 9, batch),
            "given": generator.integers(-1, 9, batch),
        }
        found = library.run(**given)
        for b in range(batch):
            start = given["start"][b].astype(numpy.float64)
            ticks = [numpy.zeros(steps)]
            rows, (last, h, done) = loop(write, ticks, (1, start, False), until=2)
            numpy.testing.assert_array_equal(found["tokens"][b], [r[0] for r in rows])
            assert_close(found["rows"][b], numpy.array([r[1] for r in rows]).reshape(steps, 6))
            assert_close(found["h"][b], h)
            assert (found["last"][b], found["done"][b]) == (last, done)
            ended.add(bool(done))
            rows, _ = loop(write, [numpy.zeros(4)], (1, start, False))
            numpy.testing.assert_array_equal(found["open"][b], [r[0] for r in rows])
            number = given["from"][b]
            rows, (rest, gone) = loop(count, ticks, (number, number <= 0), until=1)
            numpy.testing.assert_array_equal(found["left"][b], [r[0] for r in rows])
            assert (found["rest"][b], found["gone"][b]) == (rest, gone)
            rows, _ = loop(count, ticks, (given["given"][b], False))
            numpy.testing.assert_array_equal(found["back"][b], [r[0] for r in rows])
    assert ended == {True, False}


NESTED = """
import cells

cell smoothed(x: [I]) -> [H] {
  state h: [H], mean: [H]
  param rnn: gru(H=H)
  _, h' = step(rnn, x, h)
  mean' = 0.9 * mean + 0.1 * h'
  return mean'
}

# Two layers of an LSTM as one cell, and a second LSTM beside it without memory.
cell tower(x: [I]) -> [7] {
  state h: [2, 4], c: [2, 4]
  param rnn: lstm(H=4, layers=2), fresh: lstm(H=3)
  y, (h', c') = step(rnn, x, (h, c))
  z, _ = step(fresh, x)
  return concat(y, z)
}

# A step is a word, a matrix of letters, which a scan inside the step reads.
cell words(word: [L, I], n: i64[]) -> [H] {
  state h: [H]
  param letters: rnn_tanh(H=H), mix: linear(N=H)
  _, last = scan(letters, word, lengths=n)
  h' = tanh(mix(concat(last, h)))
  return h'
}

cell total(x: []) -> (sum: [], largest: []) {
  state sum: [], largest: [] = -inf
  sum' = sum + x
  largest' = max(largest, x)
  return sum', largest'
}

cell decayed(x: [2, 3], decay = 0.5) -> [3, 2] {
  state m: [3, 2]
  m' = decay * m + x.T
  return m' - m
}

func both_ways(x: [T, I]) -> [T, 8] {
  param there: min_gru(H=4), back: min_gru(H=4)
  a, _ = scan(there, x)
  b, _ = scan(back, x, reverse=true)
  return concat(a, b)
}

# Outputs of another size than the states, through layers.
cell narrow(x: [I]) -> [P] {
  state h: [H]
  param w: [H, I], u: [H, H], out: [P, H]
  h' = tanh(w @ x + u @ h)
  return out @ h'
}

model nested(x: [B, T, 3], n: i64[B], text: [B, W, L, 3], letters: i64[B], s: [A, B, T], m: [B, T, 2, 3]) ->
    (smooth: [B, T, 4], mean: [B, 4], high: [B, T, 7], h: [B, 2, 4], read: [B, W, 5],
     sum: [A, B, T], largest: [A, B], turned: [B, T, 3, 2], mapped: [B, W, L, 8], thin: [B, T, 4],
     hidden: [6, B, 5], chained: [B, T, 4]) {
  param smoother: smoothed(H=4), tower: tower(), words: words(H=5), total: total(), decayed: decayed()
  param ways: both_ways(), narrow: narrow(H=5, P=2, layers=3, bidirectional=true)
  smooth, (_, mean) = scan(smoother, x, lengths=n)
  high, (h, _) = scan(tower, x)
  read, _ = scan(words, text, with=letters)
  (sum, _), (_, largest) = scan(total, s)
  turned, _ = scan(decayed, m)
  thin, hidden = scan(narrow, x, lengths=n)
  chained = x
  for i in 2 {
    param chain: gru(H=4)
    chained, _ = scan(chain, chained, reverse=true)
  }
  return smooth, mean, high, h, read, sum, largest, turned, ways(text), thin, hidden, chained
}
"""


def test_cells_in_cells_and_scans_in_functions(compiler):
    library = compiler.library(NESTED)
    generator = numpy.random.default_rng(52)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = wide(weights)

    def part(prefix, suffix=""):
        return {
            name.removeprefix(prefix).removesuffix(suffix): array
            for name, array in w.items()
            if name.startswith(prefix) and name.endswith(suffix)
        }

    def smoothed(w, x, state):
        h, _ = cells.gru(part("smoother.rnn."), x, state[:1])
        mean = 0.9 * state[1] + 0.1 * h
        return mean, (h, mean)

    def tower(w, x, state):
        h, c = state
        first, (h0, c0) = cells.lstm(part("tower.rnn.", "_l0"), x, (h[0], c[0]))
        second, (h1, c1) = cells.lstm(part("tower.rnn.", "_l1"), first, (h[1], c[1]))
        alone, _ = cells.lstm(part("tower.fresh."), x, (numpy.zeros(3),) * 2)
        return numpy.concatenate([second, alone]), (numpy.stack([h0, h1]), numpy.stack([c0, c1]))

    def narrow(w, x, state):
        h = tanh(w["w"] @ x + w["u"] @ state[0])
        return w["out"] @ h, (h,)

    for batch, time, word_count, letters in [(3, 7, 2, 4), (1, 1, 1, 1), (2, 17, 3, 0), (2, 0, 0, 3), (1, 65, 3, 7)]:
        given = {
            "x": floats(generator, batch, time, 3),
            "n": lengths_of(generator, batch, time),
            "text": floats(generator, batch, word_count, letters, 3),
            "letters": lengths_of(generator, batch, letters),
            "s": floats(generator, 2, batch, time),
            "m": floats(generator, batch, time, 2, 3),
        }
        i = wide(given)
        all_time = [time] * batch
        zeros = [numpy.zeros((batch, 4))] * 2
        expected = {}
        expected["smooth"], (_, expected["mean"]) = cells.scan(
            smoothed, w, i["x"], zeros, given["n"], 4
        )
        expected["high"], (h, _) = cells.scan(
            tower, w, i["x"], [numpy.zeros((batch, 2, 4))] * 2, all_time, 7
        )
        expected["h"] = h
        read = numpy.zeros((batch, word_count, 5))
        for b in range(batch):
            h = numpy.zeros(5)
            n = given["letters"][b]
            for t in range(word_count):
                _, (last,) = cells.scan_sample(
                    cells.rnn_tanh, part("words.letters."), i["text"][b, t, :n], (numpy.zeros(5),), 5
                )
                mixed = w["words.mix.weight"] @ numpy.concatenate([last, h])
                h = read[b, t] = tanh(mixed + w["words.mix.bias"])
        expected["read"] = read
        expected["sum"] = i["s"].cumsum(axis=2)
        expected["largest"] = i["s"].max(axis=2, initial=-numpy.inf)
        state = numpy.zeros((batch, 3, 2))
        expected["turned"] = numpy.zeros((batch, time, 3, 2))
        for t in range(time):
            following = 0.5 * state + i["m"][:, t].transpose(0, 2, 1)
            expected["turned"][:, t], state = following - state, following
        mapped = numpy.zeros((batch, word_count, letters, 8))
        for b, t in numpy.ndindex(batch, word_count):
            for k, name in enumerate(["there", "back"]):
                mapped[b, t, :, 4 * k : 4 * k + 4], _ = cells.scan_sample(
                    cells.min_gru, part(f"ways.{name}."), i["text"][b, t], (numpy.zeros(4),), 4, k == 1
                )
        expected["mapped"] = mapped
        expected["thin"], (expected["hidden"],) = cells.stacked_scan(
            narrow, part("narrow."), i["x"], [numpy.zeros((6, batch, 5))], given["n"], 2, 3, True
        )
        chained = i["x"]
        for k in range(2):
            chained, _ = cells.scan(
                cells.gru, part(f"chain.{k}."), chained, zeros[:1], all_time, 4, reverse=True
            )
        expected["chained"] = chained
        found = library.run(**given)
        for name, value in expected.items():
            assert_close(found[name], value, (name, batch, time, word_count, letters))
