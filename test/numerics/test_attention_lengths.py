# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lengths and offsets of each head, and attentions whose body reads no query or no key."""

import numpy
import pytest
from conftest import assert_close

TEXT = """
import attention
attention mixed(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  s = tanh(q @ k.T)
  return (softmax(s) - softmax(s, where=top_k(s, count=3))) @ v + max(s, axis=1, keep=true)
}
model m(q: [B, 4, T, 6], k: [B, 2, S, 6], v: [B, 2, S, 3], n: i64[B, 4], o: i64[B, 4]) ->
    (plain: [B, 4, T, 3], folded: [B, 4, T, 3], mixed: [B, 4, T, 3]) {
  return (dot_product(q, k, v, gqa=true, causal=true, lengths=n, offset=o),
          diff_window(q, k, v, gqa=true, window=(4, 2), lengths=n, offset=o),
          mixed(q, k, v, gqa=true, lengths=n))
}
"""


def softmax(scores, seen):
    scores = numpy.where(seen, scores, -numpy.inf)
    largest = scores.max(-1, keepdims=True, initial=-1e30)
    e = numpy.where(seen, numpy.exp(scores - largest), 0)
    total = e.sum(-1, keepdims=True)
    return e / numpy.where(total == 0, 1, total)


def differences(scores, seen):
    """Of each visible score from its visible neighbours."""
    result = numpy.zeros_like(scores)
    for shift in (-1, 1) if scores.size else ():
        other, there = numpy.roll(scores, shift, 1), numpy.roll(seen, shift, 1)
        edge = -1 if shift < 0 else 0
        there[:, edge] = False
        result += numpy.where(there, scores - other, 0)
    return result


def reference(q, k, v, n, o):
    row, col = numpy.arange(len(q))[:, None], numpy.arange(len(k))[None, :]
    k, v = (numpy.nan_to_num(x).astype(float) for x in (k, v))
    q, short = q.astype(float), col < n
    s = q @ k.T / numpy.sqrt(6)
    plain = softmax(s, short & (col <= row + o)) @ v
    near = short & (col >= row + o - 4) & (col <= row + o + 2)
    folded = softmax(s + differences(s, near), near) @ v
    s = numpy.tanh(q @ k.T)
    short = numpy.broadcast_to(short, s.shape)
    ranks = numpy.argsort(numpy.argsort(numpy.where(short, -s, numpy.inf), axis=1, kind="stable"), axis=1)
    mixed = (softmax(s, short) - softmax(s, short & (ranks < 3))) @ v
    best = numpy.where(short, s, -numpy.inf).max(1, keepdims=True, initial=-1e30) if n else 0
    return plain, folded, mixed + best


ONLINE = ("--schedule", "attention.algorithm=online,attention.key_block=64")


@pytest.mark.parametrize("options", [(), ("--naive",), ONLINE])
def test_of_each_head(compiler, options):
    text = TEXT
    if options == ONLINE:  # which ranks no scores
        text = text.replace("mixed(q, k, v, gqa=true, lengths=n)", "0 * v[:, :, :1]").replace(
            "mixed: [B, 4, T, 3]", "unused: [B, 2, U, 3]")  # fmt: skip
    library = compiler.library(text, *options).prepare({})
    for batch, queries, keys in [(2, 5, 7), (1, 1, 1), (2, 17, 70), (2, 3, 0), (0, 2, 3)]:
        generator = numpy.random.default_rng(keys)
        q, k, v = (generator.normal(size=shape).astype("f4") for shape in [
            (batch, 4, queries, 6), (batch, 2, keys, 6), (batch, 2, keys, 3)])  # fmt: skip
        n = generator.integers(0, keys + 1, (batch, 4))
        n[:1, 0] = 0
        o = generator.integers(-2, keys + 2, (batch, 4))
        for b in range(batch):  # behind the ends of both heads that share it
            for h in range(2):
                k[b, h, n[b, 2 * h : 2 * h + 2].max() :] = numpy.nan
                v[b, h, n[b, 2 * h : 2 * h + 2].max() :] = numpy.nan
        found = library.run(q=q, k=k, v=v, n=n, o=o)
        for b in range(batch):
            for h in range(4):
                expected = reference(q[b, h], k[b, h // 2], v[b, h // 2], n[b, h], o[b, h])
                for name, value in zip(("plain", "folded", "mixed"), expected):
                    if name in found:
                        assert_close(found[name][b, h], value, (name, b, h))


@pytest.mark.parametrize("options", [(), ("--naive",)])
def test_without_queries_or_keys(compiler, options):
    """What is computed of pairs, or of a query alone."""
    library = compiler.library(
        "attention weigh(s: [T, S], v: [S, 2]) -> [T, 2] {\n  return softmax(s) @ v\n}\n"
        "attention total(s: [T, S], q: [T, 2]) -> [T, 2] {\n"
        "  return q + sum(softmax(s) * s, axis=1, keep=true)\n}\n"
        "attention bare(s: [T, S]) -> [T, 1] {\n  return sum(softmax(s) * s, axis=1, keep=true) + row\n}\n"
        "model m(s: [B, T, S], v: [S, 2], q: [B, T, 2], n: i64[B]) -> (a: [B, T, 2], b: [B, T, 2], c: [B, T, 1]) {\n"
        "  return weigh(s, v, causal=true), total(s, q, lengths=n), bare(s)\n}\n",
        *options,
    ).prepare({})
    for batch, queries, keys in [(2, 5, 7), (1, 1, 1), (2, 65, 33), (2, 3, 0)]:
        generator = numpy.random.default_rng(keys)
        s, v, q = (generator.normal(size=shape).astype("f4") for shape in [
            (batch, queries, keys), (keys, 2), (batch, queries, 2)])  # fmt: skip
        n = generator.integers(0, keys + 1, batch)
        found = library.run(s=s, v=v, q=q, n=n)
        row, col = numpy.arange(queries)[:, None], numpy.arange(keys)[None, :]
        for b in range(batch):
            wide = s[b].astype(float)
            assert_close(found["a"][b], softmax(wide, col <= row + keys - queries) @ v.astype(float))
            weights = softmax(wide, col < n[b])
            assert_close(found["b"][b], q[b] + (weights * wide).sum(1, keepdims=True))
            assert_close(found["c"][b], row + (softmax(wide, col >= 0) * wide).sum(1, keepdims=True))
