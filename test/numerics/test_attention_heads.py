# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stands in front of the splitting of heads and behind their merging: scales, norms, gates and residuals, which
become part of the rows. Against float64 on every path, in f16, and with the same bits however a batch is cut."""

import numpy
import pytest
from attention_references import softmax, visible
from conftest import assert_close
from halves import assert_near, rounded

HEADS, WIDTH = 3, 4
ALL = HEADS * WIDTH
SIZES = [(1, 1, 1), (2, 3, 7), (1, 50, 65), (2, 0, 5), (2, 4, 0), (0, 3, 3), (1, 33, 33)]
OPTIONS = {
    "fast": [],
    "naive": ["--naive"],
    "online": ["--schedule", "attention.algorithm=online,attention.key_block=64"],
}
TEXT = f"""
import attention

model m(q: [B, T, {ALL}], k: [B, S, {ALL}], v: [B, S, {ALL}], wide: [B, T, {ALL}], row: [{ALL}], each: [B, 1, 1],
  lengths: i64[B], mask: bool[B, 1, T, S]) -> (
  gated: [B, T, {ALL}], normed: [B, T, {ALL}], residual: [B, T, {ALL}], pooled: [B, T, {HEADS}], returned: [B, T, {ALL}],
  heads: [B, T, {ALL}]
) {{
  values = split_heads(v, {HEADS})
  y = dot_product(split_heads(q * 0.5, {HEADS}), split_heads(k * row, {HEADS}), values, lengths=lengths)
  gated = sigmoid(wide) * merge_heads(y)
  z = dot_product(split_heads(q, {HEADS}), split_heads(row * (k / 2), {HEADS}), values, mask=mask, causal=true)
  normed = merge_heads(z / sqrt(mean(z**2, axis=-1, keep=true) + 0.01)) * row * tanh(wide)
  u = dot_product(split_heads(each * q * row, {HEADS}), split_heads(k * each, {HEADS}), values, causal=true)
  residual = merge_heads(u) + q
  pooled = permute(max(dot_product(split_heads(2 * q, {HEADS}), split_heads(k, {HEADS}), values), axis=-1), (0, 2, 1)) / 3
  # Heads that something else reads, and a norm over all of them.
  returned = merge_heads(dot_product(split_heads(3 * q, {HEADS}), split_heads(k, {HEADS}), values))
  heads = returned / sqrt(mean(returned**2, axis=-1, keep=true) + 0.01)
  return gated, normed, residual, pooled, returned, heads
}}
"""


def given_of(generator, batch, queries, keys):
    def floats(*shape):
        return generator.standard_normal(shape).astype(numpy.float32)

    return {
        "q": floats(batch, queries, ALL),
        "k": floats(batch, keys, ALL),
        "v": floats(batch, keys, ALL),
        "wide": floats(batch, queries, ALL),
        "row": floats(ALL),
        "each": floats(batch, 1, 1),
        "lengths": generator.integers(0, keys + 1, batch),
        "mask": generator.random((batch, 1, queries, keys)) < 0.7,
    }


def split(x):
    return x.reshape(*x.shape[:2], HEADS, WIDTH).transpose(0, 2, 1, 3)


def merge(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], ALL)


def attend(q, k, v, seen):
    scores = split(q) @ split(k).swapaxes(-1, -2) / numpy.sqrt(WIDTH)
    seen = numpy.broadcast_to(seen, scores.shape)
    weights = numpy.zeros_like(scores)
    for place in numpy.ndindex(scores.shape[:2]):
        weights[place] = softmax(scores[place], seen[place])
    return weights @ split(v)


def expected_of(given):
    n = {name: array.astype(numpy.float64) if array.dtype.kind == "f" else array for name, array in given.items()}
    q, k, v, wide, row = (n[name] for name in ("q", "k", "v", "wide", "row"))
    queries, keys = q.shape[1], k.shape[1]
    causal = visible(queries, keys, causal=True)
    near = (numpy.arange(keys) < n["lengths"][:, None])[:, None, None]
    z = attend(q, row * k / 2, v, n["mask"] & causal)
    every = numpy.ones((queries, keys), bool)
    last = attend(2 * q, k, v, every)
    returned = merge(attend(3 * q, k, v, every))
    return {
        "gated": merge(attend(0.5 * q, k * row, v, near)) / (1 + numpy.exp(-wide)),
        "normed": merge(z / numpy.sqrt((z**2).mean(axis=-1, keepdims=True) + 0.01)) * row * numpy.tanh(wide),
        "residual": merge(attend(n["each"] * q * row, k * n["each"], v, causal)) + q,
        "pooled": last.max(axis=-1).transpose(0, 2, 1) / 3,
        "returned": returned,
        "heads": returned / numpy.sqrt((returned**2).mean(axis=-1, keepdims=True) + 0.01),
    }


@pytest.mark.parametrize("option", OPTIONS)
def test_against_float64(compiler, option):
    library = compiler.library(TEXT, *OPTIONS[option]).prepare({})
    generator = numpy.random.default_rng(31)
    for size in SIZES:
        given = given_of(generator, *size)
        found = library.run(**given)
        for name, expected in expected_of(given).items():
            assert_close(found[name], expected, (size, name))


def test_f16(compiler):
    library = compiler.library(TEXT, "--float", "f16").prepare({})
    given = {name: rounded(array, "f16") for name, array in given_of(numpy.random.default_rng(32), 2, 7, 17).items()}
    found = library.run(**{n: a.astype(numpy.float16) if a.dtype.kind == "f" else a for n, a in given.items()})
    for name, expected in expected_of(given).items():
        assert_near(found[name], expected, "f16", name)


def test_the_same_bits(compiler):
    library = compiler.library(TEXT).prepare({})
    given = given_of(numpy.random.default_rng(33), 3, 53, 70)
    expected = library.context(1).run(**given)
    for threads in (2, 3, 7):
        for name, value in library.context(threads).run(**given).items():
            numpy.testing.assert_array_equal(value, expected[name], err_msg=f"{threads} {name}")
    one = {name: array if name == "row" else array[1:2] for name, array in given.items()}
    for name, value in library.run(**one).items():
        numpy.testing.assert_array_equal(value, expected[name][1:2], err_msg=name)


OPEN = """
import attention

model m(q: [B, H, T, D], k: [B, H, S, D], v: [B, H, S, E], row: [D], gate: [B, H, T, E], gain: [E]) -> (
  scaled: [B, H, T, E], gated: [B, H, T, E], turned: [B, T, H, E]
) {
  scaled = dot_product(q * row * 0.3, k * row, v)
  gated = sigmoid(gate) * dot_product(2 * q, k, v) * gain
  u = dot_product(1.1 * q, k, v)
  turned = permute(u / sqrt(mean(u**2, axis=-1, keep=true) + 0.01), (0, 2, 1, 3)) * permute(gate, (0, 2, 1, 3))
  return scaled, gated, turned
}
"""


def test_sizes_that_are_not_known(compiler):
    """Of heads and of their elements: 1 is a size, and no axis to be left out."""
    library = compiler.library(OPEN).prepare({})
    generator = numpy.random.default_rng(34)
    for batch, heads, queries, keys, width, values in [(1, 1, 1, 1, 1, 1), (2, 3, 7, 9, 5, 4), (2, 1, 4, 3, 1, 3), (1, 4, 2, 0, 3, 1), (1, 3, 0, 2, 2, 2)]:
        shapes = {
            "q": (batch, heads, queries, width),
            "k": (batch, heads, keys, width),
            "v": (batch, heads, keys, values),
            "row": (width,),
            "gate": (batch, heads, queries, values),
            "gain": (values,),
        }
        given = {name: generator.standard_normal(shape).astype(numpy.float32) for name, shape in shapes.items()}
        n = {name: array.astype(numpy.float64) for name, array in given.items()}

        def of(q, k):
            scores = q @ k.swapaxes(-1, -2) / numpy.sqrt(width)
            seen = numpy.ones(scores.shape[-2:], bool)
            weights = numpy.zeros_like(scores)
            for place in numpy.ndindex(scores.shape[:2]):
                weights[place] = softmax(scores[place], seen)
            return weights @ n["v"]

        u = of(1.1 * n["q"], n["k"])
        expected = {
            "scaled": of(n["q"] * n["row"] * 0.3, n["k"] * n["row"]),
            "gated": of(2 * n["q"], n["k"]) * n["gain"] / (1 + numpy.exp(-n["gate"])),
            "turned": (u / numpy.sqrt((u**2).mean(axis=-1, keepdims=True) + 0.01) * n["gate"]).transpose(0, 2, 1, 3),
        }
        found = library.run(**given)
        for name, result in expected.items():
            assert_close(found[name], result, (name, batch, heads, queries, keys, width, values))
