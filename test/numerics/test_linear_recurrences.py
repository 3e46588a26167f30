# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrences that are linear in their states: as a scan they have the bits of `steps`,
whatever the number of threads, the batch, and the chunks in which a sequence comes."""

import numpy
import pytest
from conftest import assert_close, lengths_of, random_weights
from numpy import tanh
from test_recurrences import floats, loop, sigmoid, wide

H = 21
SCAN, STEPS = ("--schedule", "recurrence.algorithm=scan"), ("--schedule", "recurrence.algorithm=steps")
SIZES = [(3, 7), (1, 1), (4, 1), (2, 0), (0, 3), (1, 70)]

CELLS = """
import cells

cell min_lstm(x: [I]) -> [H] {
  state h: [H]
  param w_f: [H, I], w_i: [H, I], w_h: [H, I]
  f = sigmoid(w_f @ x)
  i = sigmoid(w_i @ x)
  h' = (f * h + i * (w_h @ x)) / (f + i)
  return h'
}

# The output reads the state before the step and behind it, with a product.
cell light_sru(x: [I]) -> [H] {
  state c: [H]
  param w: [H, I], w_f: [H, I], b_f: [H], w_r: [H, I], v_r: [H], u: [H, H]
  f = sigmoid(w_f @ x + b_f)
  r = sigmoid(w_r @ x + v_r * c)
  c' = f * c + (1 - f) * (w @ x)
  return r * c' + (1 - r) * tanh(u @ c)
}

# Two states, of which the second needs the first, and one that is a shift; written oddly.
cell odd(x: [I], decay: [H]) -> (y: [H], before: [H], last: [H]) {
  param w_z: [H, I], w_n: [H, I]
  state h: [H] = 0.5, m: [H], previous: [H] = 2
  z = sigmoid(w_z @ x)
  n = tanh(w_n @ x)
  h' = h + z * (n - h)
  m' = decay * m + tanh(h') * h
  previous' = n
  return m', h, previous
}
"""


def text(options, starts=True):
    init = {c: f", init={s}" if starts else "" for c, s in
            {"min_gru": "a0", "min_lstm": "b0", "light_sru": "c0", "odd": "(h0, m0, p0)"}.items()}  # fmt: skip
    names = ["a0", "b0", "c0", "h0", "m0", "p0"]
    return f"""{CELLS}
model run(x: [B, T, 3], decay: [{H}], n: i64[B], first: bool[B, T],
          {", ".join(f"{n}: [B, {H}]" for n in names)}) ->
    ({", ".join(f"{n}: [B, T, {H}]" for n in ("gru", "lstm", "sru", "y", "before", "last"))},
     {", ".join(f"{n}: [B, {H}]" for n in "abchmp")}) {{
  param g: min_gru(H={H}), l: min_lstm(H={H}), s: light_sru(H={H}), o: odd(H={H})
  gru, a = scan(g, x{init["min_gru"]}{options})
  lstm, b = scan(l, x{init["min_lstm"]}{options})
  sru, c = scan(s, x{init["light_sru"]}{options})
  (y, before, last), (h, m, p) = scan(o, x, with=decay{init["odd"]}{options})
  return gru, lstm, sru, y, before, last, a, b, c, h, m, p
}}
"""


def inputs_of(generator, batch, time):
    inputs = {
        "x": floats(generator, batch, time, 3),
        "decay": generator.uniform(0.5, 1, H).astype(numpy.float32),
        "n": lengths_of(generator, batch, time),
        "first": generator.random((batch, time)) < 0.3,
    }
    return inputs | {f"{name}0": floats(generator, batch, H) for name in "abchmp"}


def steps_of(w, decay):
    """Of each cell: inputs and states to outputs and states."""

    def min_gru(inputs, states):
        (x,), (h,) = inputs, states
        z = sigmoid(w["g.weight_z"] @ x)
        h = (1 - z) * h + z * (w["g.weight_h"] @ x)
        return (h,), (h,)

    def min_lstm(inputs, states):
        (x,), (h,) = inputs, states
        f, i = sigmoid(w["l.w_f"] @ x), sigmoid(w["l.w_i"] @ x)
        h = (f * h + i * (w["l.w_h"] @ x)) / (f + i)
        return (h,), (h,)

    def light_sru(inputs, states):
        (x,), (c,) = inputs, states
        f = sigmoid(w["s.w_f"] @ x + w["s.b_f"])
        r = sigmoid(w["s.w_r"] @ x + w["s.v_r"] * c)
        new = f * c + (1 - f) * (w["s.w"] @ x)
        return (r * new + (1 - r) * tanh(w["s.u"] @ c),), (new,)

    def odd(inputs, states):
        (x,), (h, m, previous) = inputs, states
        z, n = sigmoid(w["o.w_z"] @ x), tanh(w["o.w_n"] @ x)
        new = h + z * (n - h)
        m = decay * m + tanh(new) * h
        return (m, h, previous), (new, m, n)

    return [
        (min_gru, ["gru"], "a", [0]),
        (min_lstm, ["lstm"], "b", [0]),
        (light_sru, ["sru"], "c", [0]),
        (odd, ["y", "before", "last"], "hmp", [0.5, 0, 2]),
    ]


OPTIONS = {
    "plain": "",
    "reset": ", reset=first, lengths=n",
    "reset in reverse": ", reset=first, lengths=n, reverse=true",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_against_steps_and_float64(compiler, name):
    options = OPTIONS[name]
    scans = compiler.library(text(options), *SCAN)
    steps = compiler.library(text(options), *STEPS)
    generator = numpy.random.default_rng(60)
    weights = random_weights(scans, generator)
    scans.prepare(weights)
    steps.prepare(weights)
    threads = [scans.context(count) for count in (2, 3)]
    for batch, time in SIZES:
        inputs = inputs_of(generator, batch, time)
        found = scans.run(**inputs)
        for other in [steps, *threads]:
            for result, value in other.run(**inputs).items():
                assert value.tobytes() == found[result].tobytes(), (result, batch, time)
        i = wide(inputs)
        for step, outputs, states, fresh in steps_of(wide(weights), i["decay"]):
            for b in range(batch):
                rows, last = loop(
                    step,
                    (i["x"][b],),
                    [i[f"{state}0"][b] for state in states],
                    [numpy.full(H, value) for value in fresh],
                    length=inputs["n"][b] if "lengths" in options else None,
                    reset=inputs["first"][b] if "reset" in options else None,
                    reverse="reverse" in options,
                )
                for number, output in enumerate(outputs):
                    expected = numpy.reshape([row[number] for row in rows], (time, H))
                    assert_close(found[output][b], expected, (output, batch, time))
                for state, value in zip(states, last):
                    assert_close(found[state][b], value, (state, batch, time))
    for context in threads:
        context.close()


def test_chunks_and_rows_change_no_bit(compiler):
    library = compiler.library(text(""), *SCAN)
    generator = numpy.random.default_rng(61)
    library.prepare(random_weights(library, generator))
    inputs = inputs_of(generator, 3, 301)
    whole = library.run(**inputs)
    sequences, states = ("gru", "lstm", "sru", "y", "before", "last"), "abchmp"
    for sizes in [(1, 300), (299, 2), (63, 64, 65, 109)]:
        begin, now = 0, dict(inputs)
        for size in sizes:
            part = slice(begin, begin + size)
            now |= {"x": inputs["x"][:, part], "first": inputs["first"][:, part]}
            found = library.run(**now)
            for name in sequences:
                assert found[name].tobytes() == whole[name][:, part].tobytes(), (name, sizes)
            now |= {f"{state}0": found[state] for state in states}
            begin += size
        for state in states:
            assert found[state].tobytes() == whole[state].tobytes(), (state, sizes)
    row = {k: v if k == "decay" else v[1:2] for k, v in inputs.items()}
    for name, value in library.run(**row).items():
        assert value.tobytes() == whole[name][1:2].tobytes(), name


@pytest.mark.parametrize("kind", ["f64", "bf16"])
def test_other_types_and_stacks(compiler, kind):
    """Layers and directions; what is 16 bits is rounded where `steps` does."""
    stack = f"""import cells
model run(x: [B, T, {H}], n: i64[B]) -> (y: [B, T, {2 * H}], last: [4, B, {H}]) {{
  param g: min_gru(H={H}, layers=2, bidirectional=true)
  y, last = scan(g, x, lengths=n)
  return y, last
}}
"""
    results = []
    for schedule in (SCAN, STEPS):
        library = compiler.library(stack, "--float", kind, *schedule)
        generator = numpy.random.default_rng(62)
        weights = random_weights(library, generator)
        library.prepare(weights)
        results.append(
            [
                library.run(x=floats(generator, batch, time, H), n=lengths_of(generator, batch, time))
                for batch, time in SIZES
            ]
        )
    for scanned, stepped in zip(*results):
        for name, value in scanned.items():
            assert value.tobytes() == stepped[name].tobytes(), name


def test_numbers_and_counts(compiler):
    """States that are one number, whole numbers, and a sum alone: nothing adds them up in
    another order."""
    source = """
cell sums(x: [], k: i64[]) -> (y: [], c: i64[], d: []) {
  state total: [], count: i64[] = 3, difference: []
  total' = total + x
  count' = 2 * count - k
  difference' = x - difference
  return total', count', difference
}
cell weighted(x: [], gain: []) -> [] {
  state total: []
  total' = total + gain * x
  return total'
}
model run(x: [B, T], k: i64[B, T], gain: []) ->
    (y: [B, T], c: i64[B, T], d: [B, T], last: [B], sum: [B]) {
  param s: sums(), w: weighted()
  (y, c, d), (last, _, _) = scan(s, (x, k))
  _, sum = scan(w, x, with=gain)
  return y, c, d, last, sum
}
"""
    library = compiler.library(source, *SCAN)
    library.prepare({})
    generator = numpy.random.default_rng(63)
    for batch, time in [*SIZES, (2, 200)]:
        x, k = floats(generator, batch, time), generator.integers(-3, 4, (batch, time))
        gain = numpy.float32(1.1)
        found = library.run(x=x, k=k, gain=gain)
        totals = numpy.zeros((batch, time), numpy.float32)
        counts, differences = numpy.zeros((batch, time), numpy.int64), totals.copy()
        total, difference, weighted = numpy.zeros((3, batch), numpy.float32)
        count = numpy.full(batch, 3)
        for t in range(time):
            differences[:, t] = difference
            total, count, difference = total + x[:, t], 2 * count - k[:, t], x[:, t] - difference
            totals[:, t], counts[:, t] = total, count
            weighted = weighted + gain * x[:, t]
        assert found["y"].tobytes() == totals.tobytes()
        assert (found["c"] == counts).all()
        assert found["d"].tobytes() == differences.tobytes()
        assert found["last"].tobytes() == total.tobytes()
        assert found["sum"].tobytes() == weighted.tobytes()
