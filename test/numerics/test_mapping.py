# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leading dimensions that map, instances, checkpoint names, loops, tuples."""

from math import erf

import numpy
import pytest
from conftest import random_weights
from expressions import check_cases
from gatefold_library import GatefoldError

DECLARATIONS = """
func centre(x: [M], scale=1) -> [M] {
  return scale * (x - mean(x))
}

func dot(a: [M], b: [M]) -> [] {
  return a @ b
}

func outer(a: [M], b: [N]) -> [M, N] {
  return a[:, None] * b
}

func both(a: [M], s: []) -> (sum: [M], size: []) {
  return a + s, sum(a) * s
}

func apply(w: [N, M], x: [M]) -> [N] {
  return w @ x
}

func table_of(t: [V, M], i: i64[]) -> [M] {
  return take(t, i)
}

func constant(x: [M], n=3) -> [n] {
  return arange(n) + 1.0
}

func first(x: [M], y: [N]) -> [N] {
  return 2 * y
}

func moved(x: [T, M]) -> [M, T] {
  return reshape(permute(flip(x, axis=0), (1, 0)), (M, T))
}

func padded(x: [L]) -> [L + 3] {
  return pad(concat(x[1:], x[:1]), left=2, right=1, mode="edge")
}

func scores(x: [T, M]) -> [T, T] {
  return softmax(x @ x.T / sqrt(M) + arange(T), axis=0)
}

func pieces(x: [2*M]) -> (a: [M], b: [M]) {
  return split(x, 2)
}

func spread(x: [T, M], n: i64[]) -> [M] {
  return mean(x, axis=0, lengths=n)
}

func best(x: [M]) -> (i: i64[], v: []) {
  return argmax(x), max(x)
}
"""
INPUTS = (
    "x: [B, T, 6], y: [T, 6], v: [6], w: [B, 4, 6], s: [B, T], k: i64[B, T], t: [5, 6], "
    "g: [], u: [B, 1, 6], n: i64[B]"
)


def centred(x):
    return x - x.mean(-1, keepdims=True)


def rows(function, *arrays):
    """A function of vectors for each index of the leading dimensions of all."""
    leads = numpy.broadcast_shapes(*(a.shape[: a.ndim - own] for a, own in arrays))
    full = [
        numpy.broadcast_to(a, (*leads, *a.shape[a.ndim - own :])) for a, own in arrays
    ]
    parts = [function(*(a[i] for a in full)) for i in numpy.ndindex(*leads)]
    sample = parts[0] if parts else function(
        *(numpy.zeros(a.shape[a.ndim - own :]) for a, own in arrays)
    )  # fmt: skip
    return numpy.array(parts).reshape(*leads, *numpy.shape(sample))


def softmax_columns(x):
    s = x @ x.T / numpy.sqrt(x.shape[1]) + numpy.arange(len(x))
    p = numpy.exp(s - s.max(0, keepdims=True)) if len(x) else s
    return p / p.sum(0, keepdims=True)


def data(batch, time):
    generator = numpy.random.default_rng(120)

    def floats(*shape):
        return generator.normal(size=shape).astype(numpy.float32)

    return {
        "x": floats(batch, time, 6), "y": floats(time, 6), "v": floats(6),
        "w": floats(batch, 4, 6), "s": floats(batch, time), "t": floats(5, 6), "g": floats(),
        "u": floats(batch, 1, 6), "k": generator.integers(0, 5, (batch, time)),
        "n": generator.integers(0, time + 1, batch),
    }  # fmt: skip


def edge_padded(x):
    return numpy.pad(numpy.concatenate([x[1:], x[:1]]), (2, 1), "edge")


CASES = [
    ("centre(v)", lambda v: centred(v.v)),
    ("centre(x)", lambda v: centred(v.x)),
    ("centre(x, scale=3)", lambda v: 3 * centred(v.x)),
    ("centre(scale=2, x=y)", lambda v: 2 * centred(v.y)),
    ("dot(x, v)", lambda v: v.x @ v.v),
    ("dot(x, y)", lambda v: (v.x * v.y).sum(-1)),
    ("dot(y, x)", lambda v: (v.x * v.y).sum(-1)),
    ("dot(x, u)", lambda v: (v.x * v.u).sum(-1)),
    ("dot(u, v)", lambda v: v.u @ v.v),
    ("outer(v, v)", lambda v: numpy.outer(v.v, v.v)),
    ("outer(x, v)", lambda v: v.x[..., None] * v.v),
    ("outer(v, x)", lambda v: v.v[:, None] * v.x[..., None, :]),
    ("outer(x, y)", lambda v: v.x[..., None] * v.y[:, None, :]),
    ("outer(y, s[:, None])", lambda v: rows(numpy.outer, (v.y, 1), (v.s[:, None], 1))),
    ("apply(w, v)", lambda v: v.w @ v.v),
    ("apply(w[:, None], x)", lambda v: rows(lambda w, x: w @ x, (v.w[:, None], 2), (v.x, 1))),
    ("apply(t, x)", lambda v: v.x @ v.t.T),
    ("apply(x, v)", lambda v: v.x @ v.v),
    ("table_of(t, k)", lambda v: v.t[v.k]),
    ("constant(x)", lambda v: numpy.arange(3) + numpy.ones((*v.s.shape, 1))),
    ("constant(x, n=4)", lambda v: numpy.arange(4) + numpy.ones((*v.s.shape, 1))),
    ("first(x, y)", lambda v: 2 * numpy.broadcast_to(v.y, v.x.shape)),
    ("first(y, s[:, None])", lambda v: 2 * numpy.broadcast_to(
        v.s[:, None], (len(v.s), len(v.y), v.s.shape[1]))),
    ("moved(y)", lambda v: v.y[::-1].T),
    ("moved(x)", lambda v: v.x[:, ::-1].swapaxes(1, 2)),
    ("padded(v)", lambda v: edge_padded(v.v)),
    ("padded(x)", lambda v: rows(edge_padded, (v.x, 1))),
    ("scores(y)", lambda v: softmax_columns(v.y)),
    ("scores(x)", lambda v: rows(softmax_columns, (v.x, 2))),
    ("spread(x, n)", lambda v: numpy.stack(
        [x[:n].mean(0) if n else numpy.zeros(6) for x, n in zip(v.x, v.n)])),
    ("total", lambda v: v.x + v.s[..., None]),
    ("size", lambda v: v.x.sum(-1) * v.s),
    ("total_of_one", lambda v: v.x + v.g),
    ("size_of_number", lambda v: v.x.sum(-1) * 3),
    ("left", lambda v: v.x[..., :3]),
    ("right", lambda v: v.y[..., 3:]),
    ("place", lambda v: v.x.argmax(-1)),
    ("largest", lambda v: v.x.max(-1)),
    ("dot(centre(x), centre(y))", lambda v: (centred(v.x) * centred(v.y)).sum(-1)),
]  # fmt: skip
BODY = """
  total, size = both(x, s)
  total_of_one, _ = both(x, g)
  _, size_of_number = both(x, 3)
  left, _ = pieces(x)
  _, right = pieces(y)
  place, largest = best(x)
"""


def test_leading_dimensions_map(compiler):
    runs = [data(b, t) for b, t in [(2, 3), (1, 1), (3, 17), (2, 65)]]
    check_cases(compiler, INPUTS, CASES, runs, body=BODY, declarations=DECLARATIONS)


def test_a_lead_of_nothing(compiler):
    cases = [
        ("centre(x)", lambda v: v.x),
        ("dot(x, v)", lambda v: v.x.sum(-1)),
        ("outer(x, v)", lambda v: v.x[..., None] * v.v),
        ("apply(t, x)", lambda v: v.x @ v.t.T),
    ]
    check_cases(compiler, INPUTS, cases, [data(2, 0)], declarations=DECLARATIONS)


def test_a_batch_is_its_rows(compiler):
    """What mapping means: to the bit the results of the rows."""
    declarations = """
func block(x: [T, M], width) -> [T, M] {
  param up: linear(N=width), down: linear(N=M, bias=false) as "c_proj", norm: rms_norm()
  param gain: [M] = 1
  h = norm(x)
  h = silu(up(h)) + mean(up(h), axis=0)
  return x + gain * down(h) * softmax(h @ h.T)[:, 0][:, None]
}
"""
    text = declarations + (
        "model m(x: [B, H, T, 6]) -> [B, H, T, 6] {\n  param b: block(width=8)\n  return b(x)\n}\n"
    )
    library = compiler.library(text)
    library.prepare(random_weights(library, numpy.random.default_rng(121)))
    x = numpy.random.default_rng(122).normal(size=(3, 2, 7, 6)).astype(numpy.float32)
    whole = library.run(x=x)["output"]
    for i, j in numpy.ndindex(3, 2):
        one = library.run(x=x[i : i + 1, j : j + 1])["output"]
        numpy.testing.assert_array_equal(one[0, 0], whole[i, j])


NAMES = """
func feed_forward(x: [M], width) -> [M] {
  param up: linear(N=width), down: linear(N=M, bias=false) as "c_proj"
  param gain: [M] = 1
  return gain * down(gelu(up(x)))
}

func wrapped(x: [M]) -> [M] {
  param inner: feed_forward(width=3) as ""
  param shift: [M] as "extra.shift.2"
  return inner(x) + shift
}

model m(x: [B, 4], depth = 3) -> [B, 4] {
  param embed: embedding(V=4, N=4), twice: wrapped(), unused: [2] = 0.5
  for i in depth {
    param layers: wrapped(), norms: layer_norm() as "ln"
    x = x + layers(norms(x))
    for j in i {
      param steps: linear(N=4) as "deep.s"
      x = x + steps(x)
    }
  }
  first = twice(x)
  table = embed(arange(4))
  return twice(first) @ embed.weight.T + table[0] * unused[0]
}
"""


def feed_forward(x, w, prefix):
    up = x @ w[f"{prefix}.up.weight"].T + w[f"{prefix}.up.bias"]
    up = up * 0.5 * (1 + numpy.vectorize(erf)(up / numpy.sqrt(2)))
    down = w[f"{prefix}.gain"] * (up @ w[f"{prefix}.c_proj.weight"].T)
    return down + w[f"{prefix}.extra.shift.2"]


def test_names_loops_and_sharing(compiler):
    library = compiler.library(NAMES)
    weights = random_weights(library, numpy.random.default_rng(123))
    wrapped = ["up.weight", "up.bias", "c_proj.weight", "gain", "extra.shift.2"]
    expected = {"embed.weight", "unused"} | {f"twice.{n}" for n in wrapped}
    for i in range(3):
        expected |= {f"layers.{i}.{n}" for n in wrapped} | {f"ln.{i}.weight", f"ln.{i}.bias"}
        for j in range(i):
            expected |= {f"deep.s.{i}.{j}.weight", f"deep.s.{i}.{j}.bias"}
    assert set(weights) == expected
    library.prepare(weights)
    w = {n: a.astype(numpy.float64) for n, a in weights.items()}
    x = numpy.random.default_rng(124).normal(size=(3, 4)).astype(numpy.float32)
    h = x.astype(numpy.float64)
    for i in range(3):
        n = (h - h.mean(-1, keepdims=True)) / numpy.sqrt(h.var(-1, keepdims=True) + 1e-5)
        h = h + feed_forward(n * w[f"ln.{i}.weight"] + w[f"ln.{i}.bias"], w, f"layers.{i}")
        for j in range(i):
            h = h + h @ w[f"deep.s.{i}.{j}.weight"].T + w[f"deep.s.{i}.{j}.bias"]
    h = feed_forward(feed_forward(h, w, "twice"), w, "twice")
    h = h @ w["embed.weight"].T + w["embed.weight"][0] * w["unused"][0]
    numpy.testing.assert_allclose(library.run(x=x)["output"], h, rtol=5e-6, atol=5e-5)


def test_loops_carry_and_count(compiler):
    body = """
  total = x
  product = 1
  for i in 4 {
    step = i + 1
    total = total + step * x
    product = product * step
    for j in i {
      total = total - j
    }
  }
  for i in 0 {
    total = total * 1000
  }
  a, b = x, y
  for i in 3 {
    a, b = b, a + b
  }
  c, (d, e) = x, (y, x * y)
  (f, g), h = (d, c), e
  pair = (a, b)
  p, q = pair
  r = x
  for i in 2 {
    r = (r + y)
    kept = r * 2
  }
  x = x + 1
"""
    cases = [
        ("total", lambda v: v.x * 11 - (0 + 0 + 1 + 0 + 1 + 2)),
        ("x * product", lambda v: (v.x + 1) * 24),
        ("a", lambda v: v.x + 2 * v.y),
        ("b", lambda v: 2 * v.x + 3 * v.y),
        ("c + f - d - g", lambda v: v.x + v.y - v.y - v.x),
        ("h", lambda v: v.x * v.y),
        ("e", lambda v: v.x * v.y),
        ("p - q", lambda v: -v.x - v.y),
        ("r", lambda v: v.x + 2 * v.y),
        ("x", lambda v: v.x + 1),
    ]
    runs = [data(2, 5)]
    runs = [{"x": r["y"], "y": r["y"][::-1].copy()} for r in runs]
    check_cases(compiler, "x: [T, 6], y: [T, 6]", cases, runs, body=body)


def test_shared_parameters(compiler):
    text = """
func tied(i: i64[T]) -> [T, V] {
  param embed: embedding(V=5, N=3), up: linear(N=7), mix: [3, 3]
  h = embed(i)
  z = up(h) @ up.weight @ mix.T
  return (z + h) @ embed.weight.T + up.bias[0:5]
}

model m(i: i64[B, T]) -> [B, T, 5] {
  param a: tied() as "net.a"
  return a(i) + a(i)
}
"""
    library = compiler.library(text)
    weights = random_weights(library, numpy.random.default_rng(125))
    assert set(weights) == {
        f"net.a.{n}" for n in ("embed.weight", "up.weight", "up.bias", "mix")
    }
    library.prepare(weights)
    e, u, c, m = (weights[f"net.a.{n}"].astype(float)
                  for n in ("embed.weight", "up.weight", "up.bias", "mix"))  # fmt: skip
    for shape in [(2, 3), (1, 1), (3, 0)]:
        i = numpy.random.default_rng(126).integers(0, 5, shape)
        h = e[i]
        expected = 2 * (((h @ u.T + c) @ u @ m.T + h) @ e.T + c[:5])
        numpy.testing.assert_allclose(library.run(i=i)["output"], expected, rtol=2e-6, atol=2e-5)


def test_a_func_and_a_layer_as_entries(compiler):
    """With as many leading dimensions as asked for."""
    text = "func centre(x: [M], y: [M]) -> [M] {\n  return x - mean(x) + y\n}\n"
    generator = numpy.random.default_rng(127)
    for lead in (0, 1, 2):
        library = compiler.library(text, "--entry", "centre", "--lead", str(lead)).prepare({})
        shape = (3, 2)[:lead]
        x = generator.normal(size=(*shape, 5)).astype(numpy.float32)
        found = library.run(x=x, y=2 * x)["output"]
        numpy.testing.assert_allclose(found, centred(x) + 2 * x, rtol=1e-5, atol=1e-6)


def test_dimensions_are_solved_and_checked(compiler):
    text = (
        "func gates(x: [4*H], c: [H]) -> [H] {\n"
        "  i, f, g, o = split(x, 4)\n  return o * (f * c + i * g) + H\n}\n"
        "model m(x: [B, G], c: [B, K]) -> [B, K] {\n  return gates(x, c)\n}\n"
    )
    library = compiler.library(text).prepare({})
    generator = numpy.random.default_rng(128)
    for b, h in [(2, 3), (1, 1), (3, 17)]:
        x = generator.normal(size=(b, 4 * h)).astype(numpy.float32)
        c = generator.normal(size=(b, h)).astype(numpy.float32)
        i, f, g, o = numpy.split(x.astype(float), 4, -1)
        found = library.run(x=x, c=c)["output"]
        numpy.testing.assert_allclose(found, o * (f * c + i * g) + h, rtol=1e-5, atol=1e-5)
    with pytest.raises(GatefoldError):
        library.run(x=numpy.ones((2, 8), "f4"), c=numpy.ones((2, 3), "f4"))
    with pytest.raises(GatefoldError):
        library.run(x=numpy.ones((2, 7), "f4"), c=numpy.ones((2, 1), "f4"))


def test_a_scan_without_leading_dimensions_stops(compiler):
    library = compiler.library(
        """
cell count(start: []) -> [] {
  state n: [] = start, done: bool[] = false
  n' = n + 1
  done' = done or n' >= 3
  return n'
}

model counted(start: []) -> (y: [6], n: []) {
  param c: count()
  y, (n, _) = scan(c, with=start, steps=6, until="done")
  return y, n
}
"""
    ).prepare({})
    found = library.run(start=numpy.float32(0.5))
    numpy.testing.assert_array_equal(found["y"], [1.5, 2.5, 3.5, 0, 0, 0])
    assert found["n"] == 3.5
