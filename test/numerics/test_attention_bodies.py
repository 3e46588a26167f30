# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What else the body of an attention may hold: distances, tables, integers, several
results, maps made of maps, values that need only queries or only keys."""

import types

import attention_references as attentions
import numpy
import pytest
from attention_references import exp, softmax, top_k, weigh
from conftest import assert_close, lengths_of
from test_recurrences import floats, wide

BODIES = """
attention euclid(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  s = 2 * (q @ k.T) - sum(q**2, axis=1, keep=true) - sum(k**2, axis=1)[None, :]
  return softmax(s) @ v
}

attention linear_map(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  return where(visible, q @ k.T, 0) @ v
}

attention relative(q: [T, D], k: [S, D], v: [S, E], table: [N]) -> [T, E] {
  return softmax(q @ k.T + take(table, clamp(position - col + 3, 0, N - 1))) @ v
}

attention two(q: [T, D], k: [S, D], v: [S, E]) -> ([T, E], [T]) {
  a = softmax(q @ k.T)
  return a @ v, sum(a * abs(col - position), axis=1)
}

attention ints(q: [T, D], k: [S, D], v: [S, E], age: i64[T, 1], stamp: i64[1, S], ok: bool[T, S]) -> [T, E] {
  s = q @ k.T - 0.25 * f32(abs(age - stamp) % 3)
  return softmax(s, where=ok or stamp == age) @ v
}

attention l1(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  return softmax(-sum(abs(q[:, None, :] - k[None, :, :]), axis=2)) @ v
}

attention gated(q: [T, D], k: [S, D], v: [S, E], r: [D, E]) -> [T, E] {
  y = softmax(q @ k.T) @ v
  return y * sigmoid(q @ r)
}

attention mixed(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  s = q @ k.T
  a = softmax(s)
  b = softmax(s + log(a + 0.01), where=top_k(a, count=2))
  return b @ v + (a - b) @ (v * 2)
}

attention column(q: [T, D], k: [S, D], v: [S]) -> [T] {
  return softmax(q @ k.T) @ v
}

attention no_scores(q: [T, D], v: [S, E]) -> [T, E] {
  return softmax(-0.5 * abs(col - position)) @ v + 0 * q[:, 0:1]
}

attention squared_relu(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  s = where(visible, relu(q @ k.T)**2, 0)
  return (s @ v) / (sum(s, axis=1, keep=true) + 1)
}

attention shifted(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  s = q @ k.T
  m = where(visible, s, -100)
  return softmax(s - 0.5 * sum(where(visible, s, 0), axis=1, keep=true)) @ v + mean(m, axis=1, keep=true)
}

attention value_norm(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  n = v / sqrt(sum(v**2, axis=1, keep=true) + 1)
  return softmax(q @ (k / sqrt(sum(k**2, axis=1, keep=true) + 1)).T) @ n
}

attention multi_q(q: [T, 2, D], k: [S, D], v: [S, E]) -> [T, E] {
  return softmax(q[:, 0] @ k.T) @ v - softmax(q[:, 1] @ k.T) @ v
}
"""
# name: arguments of its call; all but these results are [B, T, 3]
CALLS = {
    "euclid": "q, k, v",
    "linear_map": "q, k, v",
    "relative": "q, k, v, table",
    "two": "q, k, v",
    "ints": "q, k, v, age, stamp, ok",
    "l1": "q, k, v",
    "gated": "q, k, v, r",
    "mixed": "q, k, v",
    "column": "q, k, v[..., 0]",
    "no_scores": "q, v",
    "squared_relu": "q, k, v",
    "shifted": "q, k, v",
    "value_norm": "q, k, v",
    "multi_q": "qq, k, v",
}
SHAPES = {"column": "[B, T]", "distance": "[B, T]"}


def unit(x):
    return x / numpy.sqrt((x**2).sum(axis=1, keepdims=True) + 1)


def references(n):
    """By name; `n` holds the inputs of one batch row, `seen`, `position` and `column`."""
    s, seen, v = n.q @ n.k.T, n.seen, n.v
    distance = abs(n.column - n.position)
    a = softmax(s, seen)
    b = softmax(s + numpy.log(a + 0.01), top_k(a, seen, count=2))
    squared = numpy.where(seen, numpy.maximum(s, 0) ** 2, 0)
    differences = n.q[:, None] - n.k[None]
    known = numpy.where(seen, s, -100)[:, seen.any(axis=0)]
    mean = known.mean(axis=1, keepdims=True) if known.shape[1] else 0
    aged = s - 0.25 * (abs(n.age - n.stamp) % 3)
    near = n.table[numpy.clip(n.position - n.column + 3, 0, 6)]
    return {
        "euclid": weigh(softmax(-(differences**2).sum(axis=2), seen), v),
        "linear_map": weigh(numpy.where(seen, s, 0), v),
        "relative": weigh(softmax(s + near, seen), v),
        "two": weigh(a, v),
        "distance": (a * distance).sum(axis=1),
        "ints": weigh(softmax(aged, seen & (n.ok | (n.stamp == n.age))), v),
        "l1": weigh(softmax(-abs(differences).sum(axis=2), seen), v),
        "gated": weigh(a, v) / (1 + exp(-n.q @ n.r)),
        "mixed": weigh(b, v) + weigh(a - b, 2 * v),
        "column": weigh(a, v)[:, 0],
        "no_scores": weigh(softmax(-0.5 * distance + 0 * s, seen), v),
        "squared_relu": weigh(squared, v) / (squared.sum(axis=1, keepdims=True) + 1),
        "shifted": weigh(a, v) + mean,
        "value_norm": weigh(softmax(n.q @ unit(n.k).T, seen), unit(v)),
        "multi_q": weigh(softmax(n.qq[:, 0] @ n.k.T, seen), v)
        - weigh(softmax(n.qq[:, 1] @ n.k.T, seen), v),
    }


def text(options):
    names, lines = [], []
    for name, arguments in CALLS.items():
        targets = ["two", "distance"] if name == "two" else [name]
        names += targets
        lines.append(
            f"  {', '.join(t + '_y' for t in targets)} = {name}({arguments}{options})"
        )
    results = ", ".join(f"{n}_y: {SHAPES.get(n, '[B, T, 3]')}" for n in names)
    return f"""import attention
{BODIES}
model attend(q: [B, T, 4], k: [B, S, 4], v: [B, S, 3], table: [7], age: i64[B, T, 1],
             stamp: i64[B, 1, S], ok: bool[B, T, S], r: [4, 3], qq: [B, T, 2, 4], n: i64[B]) ->
    ({results}) {{
{chr(10).join(lines)}
  return {", ".join(n + "_y" for n in names)}
}}
"""


OPTIONS = ["", ", causal=true, lengths=n", ", window=(2, 0), offset=n"]


@pytest.mark.parametrize("options", OPTIONS)
def test_bodies(compiler, options):
    library = compiler.library(text(options)).prepare({})
    generator = numpy.random.default_rng(90)
    for batch, queries, keys in [(2, 4, 6), (1, 1, 1), (1, 6, 3), (2, 17, 17), (1, 3, 65), (1, 2, 0), (1, 0, 2)]:
        given = {
            "q": floats(generator, batch, queries, 4),
            "k": floats(generator, batch, keys, 4),
            "v": floats(generator, batch, keys, 3),
            "table": floats(generator, 7),
            "age": generator.integers(0, 5, (batch, queries, 1)),
            "stamp": generator.integers(0, 5, (batch, 1, keys)),
            "ok": generator.random((batch, queries, keys)) < 0.5,
            "r": floats(generator, 4, 3),
            "qq": floats(generator, batch, queries, 2, 4),
            "n": lengths_of(generator, batch, keys),
        }
        found = library.run(**given)
        for b in range(batch):
            row = {
                name: array if name in ("table", "r") else array[b]
                for name, array in wide(given).items()
            }
            offset, view = keys - queries, {}
            if "causal" in options:
                view = {"causal": True, "length": given["n"][b]}
            if "window" in options:
                offset, view = given["n"][b], {"window": (2, 0)}
            row["seen"] = attentions.visible(queries, keys, offset=offset, **view)
            row["position"] = numpy.arange(queries)[:, None] + offset
            row["column"] = numpy.arange(keys)[None]
            for name, value in references(types.SimpleNamespace(**row)).items():
                assert_close(found[name + "_y"][b], value, (name, batch, queries, keys))
        if "lengths" in options:
            for b, n in enumerate(given["n"]):
                given["k"][b, n:] = given["v"][b, n:] = numpy.nan
            dirty = library.run(**given)
            for name in found:
                numpy.testing.assert_array_equal(dirty[name], found[name], name)


def test_scales_of_computed_queries_of_open_width(compiler):
    """The scale moves to a query that the row makes itself, whose width no text fixes."""
    source = """attention maps(q: [T, D], k: [S, D], v: [S, E], m: [D], n: [D]) -> [T, E] {
  return (softmax((q * m) @ (k * m).T / sqrt(D)) - softmax((q * n) @ (k * n).T / 4)) @ v
}
model m(q: [B, T, D], k: [B, S, D], v: [B, S, E], m: [D], n: [D]) -> [B, T, E] {
  return maps(q, k, v, m, n)
}
"""
    generator = numpy.random.default_rng(9)
    shapes = {"q": (2, 5, 3), "k": (2, 7, 3), "v": (2, 7, 4), "m": (3,), "n": (3,)}
    given = {name: generator.normal(size=shape).astype("f4") for name, shape in shapes.items()}

    def weights(scale, divisor):
        scores = (given["q"].astype("f8") * scale) @ (given["k"] * scale).swapaxes(1, 2) / divisor
        powers = numpy.exp(scores)
        return powers / powers.sum(-1, keepdims=True)

    found = compiler.library(source).prepare({}).run(**given)["output"]
    wanted = (weights(given["m"], numpy.sqrt(3)) - weights(given["n"], 4)) @ given["v"]
    numpy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)
