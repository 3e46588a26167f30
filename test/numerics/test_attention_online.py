# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions over blocks of keys, with a running maximum and sum, against the naive lowering in
float64: one model for each view holds all bodies. Lengths of keys around one block and two."""

import numpy
import pytest
from conftest import assert_close, lengths_of

WIDTH, VALUES = 5, 7
KEY_BLOCK = 64
ONLINE = ["--schedule", f"attention.algorithm=online,attention.key_block={KEY_BLOCK},attention.query_block=18"]

# Inputs beside q, p: [T, D], k, j: [S, D], v: [S, E], and the body.
BODIES = {
    "plain": ("", "return softmax(q @ k.T / sqrt(D)) @ v"),
    "number": ("", "return (softmax(q @ k.T) - 0.75 * softmax(p @ j.T)) @ v"),
    "scalar": ("s: []", "return (softmax(q @ k.T) - s * softmax(p @ j.T)) @ v"),
    "each_head": ("h: [1, 1]", "return (softmax(q @ k.T) - h * softmax(p @ j.T)) @ v"),
    "each_query": ("g: [T, 1]", "return (softmax(q @ k.T) - g * softmax(p @ j.T)) @ v"),
    "three": (
        "g: [T, 1], s: []",
        """a = softmax(q @ k.T)
  b = softmax(p @ j.T)
  return (g * (a - b) / 3 + softmax(tanh(q @ j.T)) * sigmoid(s)) @ v""",
    ),
    # One of the maps has products of its own beside one with others.
    "shared": (
        "g: [T, 1]",
        """a = softmax(q @ k.T)
  b = softmax(p @ j.T)
  return (a - g * b) @ v + a @ tanh(v) - (a + b) @ v""",
    ),
    "capped": ("", "return softmax(2 * tanh(q @ k.T / 2)) @ v"),
    "distances": ("s: []", "return softmax(q @ k.T - s * abs(position - col)) @ v"),
    "pairs": ("b: [T, S], c: [1, S]", "return softmax(q @ k.T + b * c, where=b > -1 or col == row) @ v"),
    "additive": ("w: [D]", "return softmax(tanh(q[:, None, :] + k[None, :, :]) @ w) @ v"),
    "sink": ("s: []", "return softmax(q @ k.T, sink=s) @ v"),
    "sinks": (
        "g: [T, 1]",
        "return (softmax(q @ k.T, where=col % 3 != 1, sink=g) - softmax(p @ j.T, sink=2 * g)) @ v",
    ),
    "normalised": (
        "",
        """y = (softmax(q @ k.T) - 0.5 * softmax(p @ j.T)) @ v
  return y / sqrt(mean(y**2, axis=1, keep=true) + 0.1)""",
    ),
    "gated": ("r: [D, E]", "return softmax(q @ k.T) @ v * sigmoid(q @ r)"),
    # The factor of a map may be known when all keys have passed.
    "gated_map": (
        "",
        """a = softmax(q @ k.T)
  g = mean(a @ v, axis=1, keep=true)
  return (g * softmax(p @ j.T) - a) @ v""",
    ),
    "far_apart": ("", "return softmax(100 * (q @ k.T)) @ v"),
    "columns": ("", "return softmax(q[:, 1:3] @ k[:, 1:3].T - q[:, ::2] @ k[:, ::2].T) @ v"),
    "from_zero": (
        "",
        """mixed = 0
  for i in 2 {
    mixed = mixed - (i + 0.5) * softmax(q[:, i:i+2] @ k[:, i:i+2].T)
  }
  return mixed @ v""",
    ),
    # Weights that are no softmax are added up as they are.
    "sums": ("s: []", "return where(visible, sigmoid(q @ k.T + s), 0) @ v - softmax(p @ j.T) @ v"),
    "of_all_keys": ("", "return relu(q @ k.T) @ v - softmax(p @ j.T) @ v"),
    "no_keys": ("r: [D, E]", "return tanh(q @ r) + 0 * (softmax(q @ k.T) @ v)"),
}  # fmt: skip
SHAPES = {
    "q": f"[B, H, T, {WIDTH}]", "p": f"[B, H, T, {WIDTH}]",
    "k": f"[B, G, S, {WIDTH}]", "j": f"[B, G, S, {WIDTH}]", "v": f"[B, G, S, {VALUES}]",
    "s": "[]", "h": "[H, 1, 1]", "g": "[B, H, T, 1]", "b": "[B, H, T, S]", "c": "[B, H, 1, S]",
    "w": f"[{WIDTH}]", "r": f"[{WIDTH}, {VALUES}]",
    "n": "i64[B]", "o": "i64[B]", "m": "bool[B, 1, T, S]", "d": "[B, H, T, S]",
    "x": "i64[B, T]", "y": "i64[B, S]",
}  # fmt: skip
VIEWS = {
    "all": ("", ""),
    "causal": ("o", ", causal=true, offset=o"),
    "window": ("n", ", window=(70, 3), lengths=n"),
    "mask": ("mn", ", mask=m, causal=true, lengths=n"),
    "bias": ("dxy", ", bias=d, segments=(x, y)"),
}
SIZES = [(1, 1, 1), (3, 7, 5), (2, 19, KEY_BLOCK), (1, 40, 65), (2, 37, 150), (1, 150, 131), (2, 3, 0), (1, 0, 70)]


def text(view, heads=2, key_heads=2, bodies=BODIES):
    letters, options = VIEWS[view]
    declarations, calls, used = [], [], {*"qpkjv", *letters}
    for name, (inputs, body) in bodies.items():
        extra = [i.split(":")[0].strip() for i in inputs.split(", ") if ":" in i]
        used.update(extra)
        if "return" in body and inputs:
            inputs = ", " + inputs
        declarations.append(
            f"attention {name}(q: [T, D], p: [T, D], k: [S, D], j: [S, D], v: [S, E]{inputs}) -> [T, E] {{\n"
            f"  {body}\n}}\n"
        )
        arguments = ", ".join(["q", "p", "k", "j", "v", *extra])
        calls.append(f"{name}({arguments}, gqa=true{options})")
    shapes = {n: s.replace("H", str(heads)).replace("G", str(key_heads)) for n, s in SHAPES.items()}
    inputs = ", ".join(f"{n}: {s}" for n, s in shapes.items() if n in used)
    results = ", ".join(f"{n}_y: [B, {heads}, T, {VALUES}]" for n in bodies)
    return "\n".join(declarations) + f"\nmodel m({inputs}) -> ({results}) {{\n  return {', '.join(calls)}\n}}\n"


def inputs_of(library, generator, batch, queries, keys):
    sizes = {"B": batch, "T": queries, "S": keys}
    made = {}
    for description in library.inputs:
        name = description["name"]
        shape = [sizes.get(s, s) for s in description["shape"]]
        if name == "n":
            made[name] = lengths_of(generator, batch, keys)
        elif name == "o":
            made[name] = generator.integers(-2, keys + 1, batch)
        elif name in "xy":
            made[name] = generator.integers(0, 2, shape)
        elif name == "m":
            made[name] = generator.random(shape) < 0.5
        else:
            made[name] = generator.normal(size=shape)
            if name == "d":
                made[name][generator.random(shape) < 0.2] = -numpy.inf
    return made


def as_f32(given):
    return {n: a.astype(numpy.float32) if a.dtype == float else a for n, a in given.items()}


@pytest.mark.parametrize("view", VIEWS)
def test_bodies(compiler, view):
    heads = (4, 2) if view == "mask" else (2, 2)
    source = text(view, *heads)
    online = compiler.library(source, *ONLINE).prepare({})
    exact = compiler.library(source, "--naive", "--float", "f64").prepare({})
    generator = numpy.random.default_rng(130)
    for sizes in SIZES:
        given = as_f32(inputs_of(online, generator, *sizes))
        found = online.run(**given)
        expected = exact.run(**{n: a.astype(float) if a.dtype == numpy.float32 else a for n, a in given.items()})
        for name, value in expected.items():
            # Scores of a hundred carry a hundred times the error of a score.
            scale = 100 if name == "far_apart_y" else 1
            numpy.testing.assert_allclose(
                found[name], value, rtol=1.3e-6 * scale, atol=1e-5 * scale, err_msg=f"{name} {sizes}"
            )
        if "n" in given:
            for b, n in enumerate(given["n"]):
                for keys in "kjv":
                    given[keys][b, :, n:] = numpy.nan
            dirty = online.run(**given)
            for name in found:
                numpy.testing.assert_array_equal(dirty[name], found[name], name)


def test_in_f64(compiler):
    bodies = {n: BODIES[n] for n in ("plain", "each_query", "sinks", "far_apart")}
    source = text("mask", bodies=bodies)
    online = compiler.library(source, *ONLINE, "--float", "f64").prepare({})
    exact = compiler.library(source, "--naive", "--float", "f64").prepare({})
    generator = numpy.random.default_rng(131)
    for sizes in SIZES:
        given = inputs_of(online, generator, *sizes)
        found, expected = online.run(**given), exact.run(**given)
        for name, value in expected.items():
            numpy.testing.assert_allclose(found[name], value, rtol=1e-11, atol=1e-12, err_msg=name)


def test_equal_maps_cancel(compiler):
    """lambda = 1 and equal maps: exactly 0."""
    source = text("causal", bodies={"each_query": BODIES["each_query"]})
    online = compiler.library(source, *ONLINE).prepare({})
    given = as_f32(inputs_of(online, numpy.random.default_rng(132), 2, 33, 150))
    given["p"], given["j"], given["g"] = given["q"], given["k"], numpy.ones_like(given["g"])
    assert (online.run(**given)["each_query_y"] == 0).all()


def test_infinite_and_unknown_scores(compiler):
    """They stay in their row, which is NaN as in the naive lowering."""
    source = text("all", bodies={"plain": BODIES["plain"]})
    online = compiler.library(source, *ONLINE).prepare({})
    naive = compiler.library(source, "--naive").prepare({})
    given = as_f32(inputs_of(online, numpy.random.default_rng(133), 1, 9, 150))
    given["q"][0, 0, 2, 0], given["q"][0, 1, 4, 1] = numpy.nan, numpy.inf
    found, expected = online.run(**given)["plain_y"], naive.run(**given)["plain_y"]
    numpy.testing.assert_array_equal(numpy.isnan(found), numpy.isnan(expected))
    assert numpy.isnan(found).any(axis=-1).sum() == 2
    known = ~numpy.isnan(expected)
    assert_close(found[known], expected[known])


def test_memory_of_a_block(compiler):
    """Beside the panels of keys and values there is room for a block of keys, whatever their number."""
    source = text("all", bodies={"plain": BODIES["plain"]})
    sizes = {}
    # A block of as many queries as rows are counted for.
    schedules = {"online": "", "resident": ",attention.query_block=24"}
    for algorithm, sizes_of in schedules.items():
        schedule = f"attention.algorithm={algorithm}{sizes_of}"
        context = compiler.library(source, "--schedule", schedule).prepare({}).context()
        for keys in (4096, 8192):
            given = {n: numpy.zeros((1, 2, 64 if n in "qp" else keys, VALUES if n == "v" else WIDTH), numpy.float32)
                     for n in "qpkjv"}  # fmt: skip
            sizes[algorithm, keys] = context.workspace_size(**given)
    panels = sizes["online", 8192] - sizes["online", 4096]
    rows = sizes["resident", 8192] - sizes["resident", 4096] - panels
    # Of two heads: keys in whole panels, and one panel of values.
    assert panels <= 2 * 4096 * 4 * (WIDTH + 64) and rows >= 4096 * 4 * 24, sizes
