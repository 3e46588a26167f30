# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States that move into each other and within themselves, and values that are needed
after something is written where they stood, against a plain loop."""

import numpy
import pytest
from conftest import assert_close, lengths_of
from numpy import concatenate, full, ones, outer, tanh, zeros
from test_recurrences import floats, loop, wide

CELLS = """
cell swap(x: [I]) -> [I] {
  state a: [I] = 1, b: [I] = 2
  a' = b + x
  b' = a
  return a - b'
}

cell exchange(x: [I]) -> ([I], [I]) {
  state a: [I] = 1, b: [I] = 2
  a' = b
  b' = a
  return a', b' + x
}

cell shift(x: [I]) -> [3, I] {
  state m: [3, I]
  m' = concat(m[1:], x[None, :], axis=0)
  return m'
}

cell shift_back(x: [I]) -> [3, I] {
  state m: [3, I] = 1
  m' = concat(x[None, :], m[:2], axis=0)
  return m
}

cell mirror(x: [I]) -> [3, 3] {
  state m: [3, 3]
  r = flip(m, axis=1)
  m' = r.T + x[0]
  return m - r
}

cell turn(x: [I]) -> [3, 3] {
  state m: [3, 3] = 0.5
  m' = m.T
  m2 = m' @ m'
  return m2 * x[0]
}

cell shared(x: [I], s: [I]) -> [I] {
  state a: [I] = s, b: [I] = s, c: [I]
  a' = a + x
  b' = b - x
  c' = a
  return a' + b'
}

cell still(x: [I]) -> [I] {
  state a: [I] = 3, b: i64[] = 1
  a' = a
  b' = b
  return x * b
}

cell latest(x: [I]) -> [I] {
  state a: [I]
  a' = x
  return a'
}

cell product(x: [3]) -> [3, 3] {
  state m: [3, 3] = 0.5, n: [3, 3] = 1
  m' = tanh(0.3 * (m @ n)) + 0.3 * x[:, None] * x[None, :]
  n' = tanh(0.3 * (n @ m)) - 0.3 * m
  return m'
}

cell halves(x: [I]) -> [4] {
  state h: [4] = 1
  a, b = split(h, 2)
  h' = concat(b + x[0], tanh(a * b))
  return h + h'
}

# Both become one value, which the output does not wait for.
cell both(x: [I]) -> [I] {
  state a: [I] = 1, b: [I] = 2
  t = max(x, 0) - 0.5 * a
  b' = t
  a' = b'
  return a + b
}

cell moving(x: [I], w: [K]) -> [] {
  state m: [K]
  m' = concat(m[1:], x[0:1])
  return m' @ w
}
"""


def last(m, x):
    return concatenate([m[1:], x[None]])


def product(x, m, n):
    following = tanh(0.3 * (m @ n)) + 0.3 * outer(x, x)
    return (following,), (following, tanh(0.3 * (n @ m)) - 0.3 * m)


def halves(x, h):
    following = concatenate([h[2:] + x[0], tanh(h[:2] * h[2:])])
    return (h + following,), (following,)


# name: (further input, its step of x and states, start, sizes of results, of states)
CASES = {
    "swap": ("", lambda x, a, b: ((a - a,), (b + x, a)), (ones(3), full(3, 2.0)), [3], [3, 3]),
    "exchange": (
        "",
        lambda x, a, b: ((b, a + x), (b, a)),
        (ones(3), full(3, 2.0)),
        [3, 3],
        [3, 3],
    ),
    "shift": ("", lambda x, m: ((last(m, x),), (last(m, x),)), (zeros((3, 3)),), ["3, 3"], ["3, 3"]),
    "shift_back": (
        "",
        lambda x, m: ((m,), (concatenate([x[None], m[:2]]),)),
        (ones((3, 3)),),
        ["3, 3"],
        ["3, 3"],
    ),
    "mirror": (
        "",
        lambda x, m: ((m - m[:, ::-1],), (m[:, ::-1].T + x[0],)),
        (zeros((3, 3)),),
        ["3, 3"],
        ["3, 3"],
    ),
    "turn": (
        "",
        lambda x, m: ((m.T @ m.T * x[0],), (m.T,)),
        (full((3, 3), 0.5),),
        ["3, 3"],
        ["3, 3"],
    ),
    "shared": ("s", lambda x, a, b, c: ((a + b,), (a + x, b - x, a)), None, [3], [3, 3, 3]),
    "still": ("", lambda x, a, b: ((x * b,), (a, b)), (full(3, 3.0), 1), [3], [3, "i64"]),
    "latest": ("", lambda x, a: ((x,), (x,)), (zeros(3),), [3], [3]),
    "product": ("", product, (full((3, 3), 0.5), ones((3, 3))), ["3, 3"], ["3, 3", "3, 3"]),
    "halves": ("", halves, (ones(4),), [4], [4]),
    "both": (
        "",
        lambda x, a, b: ((a + b,), (numpy.maximum(x, 0) - 0.5 * a,) * 2),
        (ones(3), full(3, 2.0)),
        [3],
        [3, 3],
    ),
    "moving": ("w", None, (zeros(5),), [""], [5]),
}


def tuple_of(names):
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def text(options):
    results, body, returned = [], [], []
    for name, (more, _, _, outputs, states) in CASES.items():
        output_names = [f"{name}_y{i}" for i in range(len(outputs))]
        state_names = [f"{name}_{i}" for i in range(len(states))]
        for output, size in zip(output_names, outputs):
            results.append(f"{output}: [B, T, {size}]" if size else f"{output}: [B, T]")
        for state, size in zip(state_names, states):
            results.append(f"{state}: i64[B]" if size == "i64" else f"{state}: [B, {size}]")
        given = f", with={more}" if more else ""
        body.append(f"  param {name}: {name}()")
        body.append(
            f"  {tuple_of(output_names)}, {tuple_of(state_names)} ="
            f" scan({name}, x{given}{options})"
        )
        returned += output_names + state_names
    inputs = "x: [B, T, 3], s: [3], w: [5], n: i64[B], first: bool[B, T]"
    lines = [f"model run({inputs}) -> ({', '.join(results)}) {{", *body]
    return CELLS + "\n".join([*lines, "  return " + ", ".join(returned), "}"]) + "\n"


OPTIONS = ["", ", lengths=n", ", lengths=n, reverse=true, reset=first", ", reset=first"]


@pytest.mark.parametrize("options", OPTIONS)
def test_states_that_move(compiler, options):
    library = compiler.library(text(options)).prepare({})
    generator = numpy.random.default_rng(80)
    for batch, time in [(2, 7), (1, 1), (3, 4), (2, 0), (3, 17)]:
        given = {
            "x": floats(generator, batch, time, 3),
            "s": floats(generator, 3),
            "w": floats(generator, 5),
            "n": lengths_of(generator, batch, time),
            "first": generator.random((batch, time)) < 0.3,
        }
        found = library.run(**given)
        i = wide(given)
        for b in range(batch):
            for name, (_, step, start, outputs, _) in CASES.items():
                if name == "shared":
                    start = (i["s"], i["s"], zeros(3))
                if name == "moving":
                    step = moving(i["w"])
                rows, states = loop(
                    lambda inputs, states: step(inputs[0], *states),
                    (i["x"][b],),
                    start,
                    start,
                    length=given["n"][b] if "lengths" in options else None,
                    reset=given["first"][b] if "reset" in options else None,
                    reverse="reverse" in options,
                )
                for k, state in enumerate(states):
                    assert_close(found[f"{name}_{k}"][b], state, (name, k, batch, time))
                for k in range(len(outputs) if time else 0):
                    y = found[f"{name}_y{k}"][b]
                    assert_close(y, numpy.array([row[k] for row in rows]), (name, batch, time))


def moving(w):
    def step(x, m):
        m = numpy.append(m[1:], x[0])
        return (m @ w,), (m,)

    return step


MODEL = """
cell leaky(x: [I]) -> [I] {
  state h: [I]
  h' = 0.5 * h + x
  return h'
}

model keep(x: [B, T, 3], s: [B, 3]) ->
    (y: [B, T, 3], h: [B, 3], again: [B, 3], z: [B, T, 3], both: [B, 3], s_out: [B, 3]) {
  state a: [B, 3], b: [B, 3] = 1, queue: [B, 4, 3], still: [B, 3] = 2
  param rnn: leaky()
  y, h = scan(rnn, x, init=s)
  z, h2 = scan(rnn, y, init=s)
  a' = b
  b' = a
  queue' = concat(queue, x, axis=1)[:, T:]
  still' = still
  return y, h, h, z, h + h2 + s, s
}
"""


def test_values_needed_later(compiler):
    """States of a model that change places; a start that two scans share."""
    library = compiler.library(MODEL).prepare({})
    generator = numpy.random.default_rng(81)
    for batch, time in [(2, 5), (1, 1), (3, 0), (1, 65)]:
        x, s = floats(generator, batch, time, 3), floats(generator, batch, 3)
        a, b = floats(generator, batch, 3), floats(generator, batch, 3)
        queue = floats(generator, batch, 4, 3)
        found = library.run(x=x, s=s, a=a, b=b, queue=queue)

        def scan(x):
            y, h = numpy.zeros(x.shape), s.astype(numpy.float64)
            for t in range(time):
                h = y[:, t] = 0.5 * h + x[:, t]
            return y, h

        y, h = scan(x)
        z, h2 = scan(y)
        expected = {"y": y, "h": h, "again": h, "z": z, "both": h + h2 + s, "s_out": s}
        expected |= {"a": b, "b": a, "still": numpy.full((batch, 3), 2)}
        expected["queue"] = concatenate([queue, x], axis=1)[:, time:]
        for name, value in expected.items():
            assert_close(found[name], value, (name, batch, time))
