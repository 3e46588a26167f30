# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scales of keys that become the query's, and what follows an attention in its rows: against float64, against what
is written, and with the same bits for any number of threads and any cut of the batch."""

import itertools
import math

import numpy
import pytest
from attention_references import softmax, visible
from conftest import assert_close

HEADS, KEY_HEADS, WIDTH, VALUES = 4, 2, 6, 5
SIZES = [(1, 1, 1), (2, 3, 7), (1, 50, 65), (2, 0, 5), (2, 4, 0), (0, 3, 3), (1, 1, 130)]
OPTIONS = {
    "resident": [],
    "naive": ["--naive"],
    "online": ["--schedule", "attention.algorithm=online,attention.key_block=64"],
}
INPUTS = f"""q: [B, {HEADS}, T, {WIDTH}], k: [B, {KEY_HEADS}, S, {WIDTH}], v: [B, {KEY_HEADS}, S, {VALUES}]"""

SCALES = f"""
import attention

attention blended(q: [T, D], k: [S, D], v: [S, E], a: [D], b: [D], c: []) -> [T, E] {{
  s = (a * q) @ (c * (k / b)).T + q @ (k * -b).T
  return softmax(s) @ v
}}

model m({INPUTS}, w: [{WIDTH}], w2: [{WIDTH}], heads: [{KEY_HEADS}, 1, {WIDTH}], sequence: [B, 1, 1, 1],
  along: [S, 1]) -> (
  maps: [B, {HEADS}, T, {VALUES}], before: [B, {HEADS}, T, {VALUES}], chain: [B, {HEADS}, T, {VALUES}],
  inside: [B, {HEADS}, T, {VALUES}], window: [B, {HEADS}, T, {VALUES}], left: [B, {HEADS}, T, {VALUES}]
) {{
  maps = scaled_differential(q, k, v, w, w2, w2, w, causal=true, gqa=true)
  before = dot_product(q, k * heads, v, gqa=true)
  chain = dot_product(q * w, sequence * (heads * k) / 3, v, causal=true, gqa=true)
  inside = blended(q, k, v, w, w2, 0.7, gqa=true)
  window = diff_window(q, k * w2, v, causal=true, gqa=true)
  left = dot_product(q, along * (k * w), v, gqa=true)
  return maps, before, chain, inside, window, left
}}
"""

TAILS = f"""
import attention

model m({INPUTS}, gain: [{VALUES}], gate: [B, {HEADS}, T, {VALUES}], each: [B, 1, T, 1], heads: [{HEADS}, 1, 1]) -> (
  norm: [B, {HEADS}, T, {VALUES}], gated: [B, {HEADS}, T, {VALUES}], capped: [B, {HEADS}, T, {VALUES}],
  weighed: [B, {HEADS}, T, {VALUES}], mean: [B, {HEADS}, T], merged: [B, T, {HEADS * VALUES}],
  two: [B, {HEADS}, T, {VALUES}]
) {{
  y = dot_product(q, k, v, causal=true, gqa=true)
  norm = 0.8 * (y / sqrt(mean(y**2, axis=-1, keep=true) + 0.01) * gain)
  z = dot_product(2 * q, k, v, gqa=true)
  gated = sigmoid(gate) * z + 0.5 * gate
  u = dot_product(3 * q, k, v, gqa=true)
  capped = heads * (2 * tanh(each * u / 2))
  x, l = dot_product(-q, k, v, causal=true, gqa=true, lse=true)
  weighed = x * sigmoid(l)[..., None]
  mean = mean(dot_product(0.5 * q, k, v, gqa=true), axis=-1)
  merged = tanh(merge_heads(gelu(dot_product(4 * q, k, v, gqa=true))))
  p = differential(q, -q, k, k, v, each, gqa=true)
  two = p - max(p, axis=-1, keep=true)
  return norm, gated, capped, weighed, mean, merged, two
}}
"""


def floats(generator, *shape):
    return generator.standard_normal(shape).astype(numpy.float32)


def given_of(generator, batch, queries, keys):
    return {
        "q": floats(generator, batch, HEADS, queries, WIDTH),
        "k": floats(generator, batch, KEY_HEADS, keys, WIDTH),
        "v": floats(generator, batch, KEY_HEADS, keys, VALUES),
    }


def wide_of(given):
    wide = {name: array.astype(numpy.float64) for name, array in given.items()}
    for name in "kv":
        wide[name] = numpy.repeat(wide[name], HEADS // KEY_HEADS, axis=1)
    return wide


def attend(q, k, v, scale=True, causal=False):
    """Of all heads; also the scores, -inf where a key is not seen."""
    scores = q @ k.swapaxes(-1, -2) / (numpy.sqrt(q.shape[-1]) if scale else 1)
    seen = visible(q.shape[-2], k.shape[-2], causal=causal)
    weights = numpy.zeros_like(scores)
    for place in numpy.ndindex(scores.shape[:2]):
        weights[place] = softmax(scores[place], seen)
    return weights @ v, numpy.where(seen, scores, -numpy.inf)


def expected_scales(n):
    group = HEADS // KEY_HEADS
    heads = numpy.repeat(n["heads"], group, axis=0)
    q, k, v, w, w2 = (n[name] for name in ("q", "k", "v", "w", "w2"))
    first = attend(q * w, k * w2, v, causal=True)[0]
    second = attend(q * w2, k * w, v, causal=True)[0]
    # The difference of each score from those beside it that the query sees.
    scores = attend(q, k * w2, v, causal=True)[1]
    seen = numpy.isfinite(scores)
    plain = numpy.where(seen, scores, 0)
    total = plain.copy()
    for step in (-1, 1):
        beside = numpy.zeros_like(plain)
        there = numpy.zeros_like(seen)
        own, other = (slice(1, None), slice(None, -1)) if step < 0 else (slice(None, -1), slice(1, None))
        beside[..., own] = plain[..., other]
        there[..., own] = seen[..., other]
        total += numpy.where(there, plain - beside, 0)
    window = numpy.zeros_like(first)
    for place in numpy.ndindex(total.shape[:2]):
        window[place] = softmax(total[place], seen[place]) @ v[place]
    blended = numpy.concatenate([0.7 * w * q, -n["w2"] * q], axis=-1)
    return {
        "maps": first - second,
        "before": attend(q, k * heads, v)[0],
        "chain": attend(q * w, n["sequence"] * heads * k / 3, v, causal=True)[0],
        "inside": attend(blended, numpy.concatenate([k / w2, k], axis=-1), v, scale=False)[0],
        "window": window,
        "left": attend(q, n["along"] * (k * w), v)[0],
    }


def expected_tails(n):
    def sigmoid(x):
        with numpy.errstate(over="ignore"):
            return 1 / (1 + numpy.exp(-x))

    q, k, v = n["q"], n["k"], n["v"]
    y = attend(q, k, v, causal=True)[0]
    z, u = attend(2 * q, k, v)[0], attend(3 * q, k, v)[0]
    x, scores = attend(-q, k, v, causal=True)
    with numpy.errstate(divide="ignore"):
        sums = numpy.log(numpy.exp(scores).sum(axis=-1))
    g = attend(4 * q, k, v)[0]
    erf = numpy.vectorize(math.erf, otypes=[float])
    g = numpy.tanh(0.5 * g * (1 + erf(g / numpy.sqrt(2)))) if g.size else g
    p = attend(q, k, v)[0] - n["each"] * attend(-q, k, v)[0]
    return {
        "norm": 0.8 * y / numpy.sqrt((y**2).mean(axis=-1, keepdims=True) + 0.01) * n["gain"],
        "gated": sigmoid(n["gate"]) * z + 0.5 * n["gate"],
        "capped": n["heads"] * (2 * numpy.tanh(n["each"] * u / 2)),
        "weighed": x * sigmoid(sums)[..., None],
        "mean": attend(0.5 * q, k, v)[0].mean(axis=-1),
        "merged": g.transpose(0, 2, 1, 3).reshape(g.shape[0], g.shape[2], HEADS * VALUES),
        "two": p - p.max(axis=-1, keepdims=True),
    }


def others_of(generator, name, batch, queries, keys):
    if name == "scales":
        return {
            "w": floats(generator, WIDTH),
            # Something to divide by.
            "w2": numpy.abs(floats(generator, WIDTH)) + numpy.float32(0.5),
            "heads": floats(generator, KEY_HEADS, 1, WIDTH),
            "sequence": floats(generator, batch, 1, 1, 1),
            "along": floats(generator, keys, 1),
        }
    return {
        "gain": floats(generator, VALUES),
        "gate": floats(generator, batch, HEADS, queries, VALUES),
        "each": floats(generator, batch, 1, queries, 1),
        "heads": floats(generator, HEADS, 1, 1),
    }


@pytest.mark.parametrize("name, text, reference", [("scales", SCALES, expected_scales), ("tails", TAILS, expected_tails)])
def test_against_float64(compiler, name, text, reference):
    libraries = {option: compiler.library(text, *more).prepare({}) for option, more in OPTIONS.items()}
    generator = numpy.random.default_rng(11)
    for size in SIZES:
        given = given_of(generator, *size) | others_of(generator, name, *size)
        expected = reference(wide_of(given))
        for option, library in libraries.items():
            found = library.run(**given)
            for result, value in expected.items():
                assert_close(found[result], value, (size, option, result))


@pytest.mark.parametrize("name, text", [("scales", SCALES), ("tails", TAILS)])
def test_the_same_bits(compiler, name, text):
    library = compiler.library(text).prepare({})
    generator = numpy.random.default_rng(12)
    given = given_of(generator, 3, 53, 70) | others_of(generator, name, 3, 53, 70)
    expected = library.context(1).run(**given)
    for threads in (2, 3, 7):
        for result, value in library.context(threads).run(**given).items():
            numpy.testing.assert_array_equal(value, expected[result], err_msg=f"{threads} {result}")
    per_sequence = {"q", "k", "v", "gate", "each", "sequence"}
    one = {key: array[1:2] if key in per_sequence else array for key, array in given.items()}
    for result, value in library.run(**one).items():
        numpy.testing.assert_array_equal(value, expected[result][1:2], err_msg=result)


EVERY = """
import attention

model m(q: [B, T, 1], k: [B, S, 1], v: [B, S, 1], a: [B, 1, 1], b: [B, 1, 1]) -> [B, T] {
  _, l = dot_product(q * a, k * b, v, lse=true)
  return l
}
"""


def test_every_zero_infinity_and_nan(compiler):
    """The log-sum-exp of one key is its score, or NaN where it is infinite: NaN wherever it was with scaled keys."""
    numbers = [0.0, -0.0, 1.5, -2.0, numpy.inf, -numpy.inf, numpy.nan]
    q, k, a, b = numpy.array(list(itertools.product(numbers, repeat=4)), numpy.float32).T[..., None, None]
    given = {"q": q, "k": k, "a": a, "b": b, "v": numpy.ones_like(q)}
    folded, written = (compiler.library(EVERY, *more).prepare({}).run(**given)["output"] for more in ([], ["--naive"]))
    numpy.testing.assert_array_equal(folded, written)
    with numpy.errstate(invalid="ignore"):
        score = ((q * a) * (k * b))[:, 0]
    numpy.testing.assert_array_equal(numpy.isnan(folded), numpy.isnan(score) | (score == numpy.inf))
    numpy.testing.assert_array_equal(folded[numpy.isfinite(score)], score[numpy.isfinite(score)])
