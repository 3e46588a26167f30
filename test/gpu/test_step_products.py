# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of a recurrence's steps, whose terms the warps of a block share, on the emulator: against
float64, and the bits of a row whatever the blocks, the batch and the chunks."""

import numpy
import pytest
from test_products_tiles import TOLERANCES, rounded, run

# 8 * 16 terms are added up at a time, and 16 columns are a panel: two of the first, nine of the second.
WIDTH, BATCH, STEPS = 136, 18, 5
TEXT = f"""
cell own(x: [I]) -> [H] {{
  state h: [H]
  param w: [H, I], u: [H, H]
  h' = tanh(w @ x + u @ h)
  return h'
}}

model m(x: [B, T, 8], start: [B, {WIDTH}]) -> (y: [B, T, {WIDTH}], last: [B, {WIDTH}]) {{
  param rnn: own(H={WIDTH})
  y, last = scan(rnn, x, init=start)
  return y, last
}}
"""
# The same products outside of a recurrence, which no warps share.
STEP = TEXT[: TEXT.index("model")] + f"""
model m(x: [B, 8], start: [B, {WIDTH}]) -> (y: [B, {WIDTH}], last: [B, {WIDTH}]) {{
  param rnn: own(H={WIDTH})
  y, last = step(rnn, x, start)
  return y, last
}}
"""


# A cell with three gates of 44 units, in panels of 8 units of each gate.
UNITS = 44
GATES_TEXT = f"""
cell gated(x: [I]) -> [H] {{
  state h: [H]
  param w: [3*H, I], u: [3*H, H], b: [3*H]
  a, d, e = split(u @ h + b, 3)
  f, g, i = split(w @ x, 3)
  h' = sigmoid(a + f) * h + (1 - sigmoid(d * g)) * tanh(e + i)
  return h'
}}

model m(x: [B, T, 8], start: [B, {UNITS}], lengths: i64[B]) -> (y: [B, T, {UNITS}], last: [B, {UNITS}]) {{
  param rnn: gated(H={UNITS})
  y, last = scan(rnn, x, init=start, lengths=lengths)
  return y, last
}}
"""


def gated_reference(x, start, lengths, weights):
    def sigmoid(v):
        return 1 / (1 + numpy.exp(-v))

    w, u, b = (weights[name].astype(numpy.float64) for name in ("rnn.w", "rnn.u", "rnn.b"))
    h, states = start.astype(numpy.float64), []
    for step in range(x.shape[1]):
        a, d, e = numpy.split(h @ u.T + b, 3, axis=1)
        f, g, i = numpy.split(x[:, step] @ w.T, 3, axis=1)
        new = sigmoid(a + f) * h + (1 - sigmoid(d * g)) * numpy.tanh(e + i)
        runs = (step < lengths)[:, None]
        h = numpy.where(runs, new, h)
        states.append(numpy.where(runs, new, 0))
    return numpy.stack(states, axis=1), h


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_gates(tmp_path, element):
    """Blocks that own the units of all gates: fewer of them than blocks, and the other way round."""
    generator = numpy.random.default_rng(3)
    weights = {
        "rnn.w": rounded(generator.uniform(-0.3, 0.3, (3 * UNITS, 8)), element),
        "rnn.u": rounded(generator.uniform(-0.15, 0.15, (3 * UNITS, UNITS)), element),
        "rnn.b": rounded(generator.uniform(-0.1, 0.1, 3 * UNITS), element),
    }
    x = rounded(generator.standard_normal((BATCH, STEPS, 8)), element)
    start = rounded(generator.uniform(-1, 1, (BATCH, UNITS)), element)
    lengths = generator.integers(0, STEPS + 1, BATCH)

    def compute(rows, blocks):
        run(tmp_path, GATES_TEXT, weights,
            {"x": x[:rows], "start": start[:rows], "lengths": lengths[:rows]},
            "--float", element, "--threads", str(blocks))  # fmt: skip
        return [numpy.load(tmp_path / "out" / f"{name}.npy") for name in ("y", "last")]

    found = compute(BATCH, 3)
    rtol, atol = TOLERANCES[element]
    for array, expected in zip(found, gated_reference(x, start, lengths, weights), strict=True):
        numpy.testing.assert_allclose(array.astype(numpy.float64), expected, rtol=rtol, atol=atol)
    for rows, blocks in ((1, 7), (BATCH, 1)) if element == "f32" else ((2, 7),):
        for array, whole in zip(compute(rows, blocks), found, strict=True):
            assert array.tobytes() == whole[:rows].tobytes()


def reference(x, start, weights):
    w, u = (weights[name].astype(numpy.float64) for name in ("rnn.w", "rnn.u"))
    h, states = start.astype(numpy.float64), []
    for step in range(x.shape[1]):
        h = numpy.tanh(x[:, step] @ w.T + h @ u.T)
        states.append(h)
    return numpy.stack(states, axis=1)


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_steps(tmp_path, element):
    generator = numpy.random.default_rng(7)
    weights = {
        "rnn.w": rounded(generator.uniform(-0.3, 0.3, (WIDTH, 8)), element),
        "rnn.u": rounded(generator.uniform(-0.15, 0.15, (WIDTH, WIDTH)), element),
    }
    x = rounded(generator.standard_normal((BATCH, STEPS, 8)), element)
    start = rounded(generator.uniform(-1, 1, (BATCH, WIDTH)), element)

    def compute(x, start, threads, text=TEXT):
        run(tmp_path, text, weights, {"x": x, "start": start}, "--float", element,
            "--threads", str(threads))  # fmt: skip
        return [numpy.load(tmp_path / "out" / f"{name}.npy") for name in ("y", "last")]

    whole, last = compute(x, start, 3)
    rtol, atol = TOLERANCES[element]
    numpy.testing.assert_allclose(
        whole.astype(numpy.float64), reference(x, start, weights), rtol=rtol, atol=atol
    )
    assert compute(x[:1], start[:1], 7)[0].tobytes() == whole[:1].tobytes()
    # A state of 16 bits is rounded between chunks.
    if element == "f32":
        assert compute(x, start, 1)[0].tobytes() == whole.tobytes()
        _, middle = compute(x[:, :1], start, 2)
        rest, end = compute(x[:, 1:], middle, 10)
        assert rest.tobytes() == numpy.ascontiguousarray(whole[:, 1:]).tobytes()
        assert end.tobytes() == last.tobytes()
        stepped, _ = compute(x[:, 0], start, 2, STEP)
        assert stepped.tobytes() == numpy.ascontiguousarray(whole[:, 0]).tobytes()


NORM_UNITS = 136
NORM_TEXT = f"""
cell normed(x: [I]) -> [H] {{
  state h: [H]
  param w: [H, I], u: [H, H], nx: layer_norm(), nh: layer_norm()
  h' = tanh(nx(w @ x) + nh(u @ h))
  return h'
}}

model m(x: [B, T, 8]) -> [B, T, {2 * NORM_UNITS}] {{
  param rnn: normed(H={NORM_UNITS}, bidirectional=true)
  y, _ = scan(rnn, x)
  return y
}}
"""


def normed_reference(x, weights, suffix):
    def norm(v, name):
        v = v - v.mean(axis=1, keepdims=True)
        v = v / numpy.sqrt((v * v).mean(axis=1, keepdims=True) + 1e-5)
        return v * weights[f"rnn.{name}.weight{suffix}"] + weights[f"rnn.{name}.bias{suffix}"]

    w, u = (weights[f"rnn.{name}{suffix}"].astype(numpy.float64) for name in ("w", "u"))
    h, states = numpy.zeros((len(x), NORM_UNITS)), []
    for step in range(x.shape[1]):
        h = numpy.tanh(norm(x[:, step] @ w.T, "nx") + norm(h @ u.T, "nh"))
        states.append(h)
    return numpy.stack(states, axis=1)


def test_norms(tmp_path):
    """Blocks share the columns of a product, then each takes rows: more of them than blocks, and
    fewer."""
    generator = numpy.random.default_rng(5)
    weights = {}
    for suffix in ("_l0", "_l0_reverse"):
        weights[f"rnn.w{suffix}"] = generator.uniform(-0.3, 0.3, (NORM_UNITS, 8))
        weights[f"rnn.u{suffix}"] = generator.uniform(-0.15, 0.15, (NORM_UNITS, NORM_UNITS))
        for name in ("nx", "nh"):
            weights[f"rnn.{name}.weight{suffix}"] = generator.uniform(0.5, 1.5, NORM_UNITS)
            weights[f"rnn.{name}.bias{suffix}"] = generator.uniform(-0.5, 0.5, NORM_UNITS)
    weights = {name: array.astype(numpy.float32) for name, array in weights.items()}
    x = generator.standard_normal((5, 3, 8)).astype(numpy.float32)

    def compute(rows, blocks):
        return run(tmp_path, NORM_TEXT, weights, {"x": x[:rows]}, "--threads", str(blocks))

    found = compute(5, 3)
    forth = normed_reference(x, weights, "_l0")
    back = normed_reference(x[:, ::-1], weights, "_l0_reverse")[:, ::-1]
    rtol, atol = TOLERANCES["f32"]
    numpy.testing.assert_allclose(
        found, numpy.concatenate([forth, back], axis=2), rtol=rtol, atol=atol
    )
    for rows, blocks in ((5, 7), (1, 1)):
        assert compute(rows, blocks).tobytes() == found[:rows].tobytes()


DECODER = """
cell decoder(y: [8]) -> [11] {
  state s: [8], context: [8]
  param v: [8, 8], out: [11, 16]
  s' = tanh(y + context + s)
  context' = v @ s'
  return out @ concat(s', context')
}

cell recorder(y: [8]) -> [16] {
  state both: [16], o: [8]
  param v: [8, 16]
  o' = tanh(y + o)
  both' = concat(tanh(v @ both), o')
  return both'
}

model m(x: [B, T, 8]) -> (y: [B, T, 11], both: [B, T, 16]) {
  param first: decoder(), second: recorder()
  y, _ = scan(first, x)
  both, _ = scan(second, x)
  return y, both
}
"""


def decoder_reference(x, weights):
    v, out, u = (weights[name] for name in ("first.v", "first.out", "second.v"))
    s = context = o = numpy.zeros((len(x), 8))
    both = numpy.zeros((len(x), 16))
    outputs, records = [], []
    for step in range(x.shape[1]):
        s = numpy.tanh(x[:, step] + context + s)
        context = s @ v.T
        outputs.append(numpy.concatenate([s, context], axis=1) @ out.T)
        o = numpy.tanh(x[:, step] + o)
        both = numpy.concatenate([numpy.tanh(both @ u.T), o], axis=1)
        records.append(both)
    return numpy.stack(outputs, axis=1), numpy.stack(records, axis=1)


def test_states_side_by_side_in_a_sequence(tmp_path):
    """Nothing of a sequence is read before a step has written it."""
    generator = numpy.random.default_rng(11)
    shapes = {"first.v": (8, 8), "first.out": (11, 16), "second.v": (8, 16)}
    weights = {
        name: generator.uniform(-0.3, 0.3, shape).astype(numpy.float32)
        for name, shape in shapes.items()
    }
    x = generator.standard_normal((3, 4, 8)).astype(numpy.float32)
    run(tmp_path, DECODER, weights, {"x": x}, "--threads", "2")
    rtol, atol = TOLERANCES["f32"]
    for name, expected in zip(("y", "both"), decoder_reference(x, weights), strict=True):
        found = numpy.load(tmp_path / "out" / f"{name}.npy")
        numpy.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


# One step of `until`, whose condition begins false for each of some sequences; a scan of no
# steps, both directions; keys whose number is 1, which is a constant.
LITTLE = """
cell growing(q: [2]) -> [2] {
  state h: [2] = 0.5, done: bool[] = false
  h' = 2 * h + q
  done' = h'[0] > 0.9
  return h
}

cell counting(x: [2]) -> [2] {
  state h: [2], n: i64[3] = 2
  h' = tanh(h + x)
  n' = n + 1
  return h'
}

attention near(q: [T, D], k: [S, D], v: [S, D]) -> [T, D] {
  return softmax(q @ k.T - abs(position - col)) @ v
}

cell looking(q: [2], keys: [S, 2]) -> [2] {
  state n: i64[] = 0
  n' = n + 1
  return near(q[None, :], keys, keys, offset=2)[0]
}

model m(q: [B, 2], x: [B, T, 2], keys: [B, S, 2]) -> (h: [B, 2], done: bool[B], n: i64[2, B, 3], y: [B, 2, 2]) {
  param g: growing(), c: counting(bidirectional=true), a: looking()
  _, (h, done) = scan(g, steps=1, until="done", with=q)
  _, (_, n) = scan(c, x)
  y, _ = scan(a, steps=2, with=(q, keys))
  return h, done, n, y
}
"""


@pytest.mark.parametrize("options", [["--dim", "T=0,S=1"], ["--dim", "T=0,S=1", "--naive"]], ids=["fast", "naive"])
def test_nothing_is_read_that_nobody_wrote(tmp_path, options):
    shapes = {"q": (3, 2), "x": (3, 0, 2), "keys": (3, 1, 2)}
    given = {name: numpy.zeros(shape, numpy.float32) for name, shape in shapes.items()}
    given["keys"] += 0.75
    run(tmp_path, LITTLE, {}, given, *options)
    found = {name: numpy.load(tmp_path / "out" / f"{name}.npy") for name in ("h", "done", "n", "y")}
    assert (found["h"] == 1).all() and found["done"].all()
    assert (found["n"] == 2).all() and (found["y"] == 0.75).all()
