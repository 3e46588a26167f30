# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""max, min and argmax over dimensions and lengths that a run may find to be 0."""

import numpy
import pytest
from conftest import assert_close
from gatefold_library import GatefoldError

TEXT = """
model m(x: [B, T, 3], k: i64[T, B]) -> (a: [B, 3], b: [B, 1, 3], c: i64[B, 3], d: i64[B], e: i64[T], f: [3]) {
  return (max(x, axis=1), min(x, axis=1, keep=true), argmax(x, axis=1), max(k, axis=0),
          argmax(k, axis=1), max(max(x, axis=1), axis=0))
}
"""


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


def fails(library, **inputs):
    with pytest.raises(GatefoldError, match=r"m\d*\.gf:\d+:\d+: (max|min|argmax) of no elements"):
        library.run(**inputs)


def test_open_dimensions(compiler):
    library = compiler.library(TEXT).prepare({})
    generator = numpy.random.default_rng(100)
    for batch, time in [(2, 5), (1, 1), (3, 17), (2, 64)]:
        x, k = floats(generator, batch, time, 3), generator.integers(-9, 9, (time, batch))
        found = library.run(x=x, k=k)
        assert_close(found["a"], x.max(1))
        assert_close(found["b"], x.min(1, keepdims=True))
        numpy.testing.assert_array_equal(found["c"], x.argmax(1))
        numpy.testing.assert_array_equal(found["d"], k.max(0))
        numpy.testing.assert_array_equal(found["e"], k.argmax(1))
        assert_close(found["f"], x.max((0, 1)))
    fails(library, x=numpy.zeros((2, 0, 3), numpy.float32), k=numpy.zeros((0, 2), int))
    fails(library, x=numpy.zeros((0, 2, 3), numpy.float32), k=numpy.zeros((2, 0), int))
    # A failed run leaves the model usable.
    assert_close(library.run(x=x, k=k)["a"], x.max(1))


def test_no_results_no_failure(compiler):
    library = compiler.library(
        "model m(x: [B, T, N]) -> (a: [B, N], b: i64[T, N]) {\n"
        "  return max(x, axis=1), argmax(x, axis=0)\n}\n"
    ).prepare({})
    for shape in [(0, 0, 2), (2, 0, 0), (0, 0, 0)]:
        found = library.run(x=numpy.zeros(shape, numpy.float32))
        assert found["a"].shape == (shape[0], shape[2]) and found["b"].shape == shape[1:]
    for shape in [(2, 0, 3), (0, 2, 3)]:
        fails(library, x=numpy.zeros(shape, numpy.float32))


def test_lengths(compiler):
    library = compiler.library(
        "model m(x: [B, T, 3], k: i64[B, T], n: i64[B], p: i32[B, T], r: [B, T, U]) ->\n"
        "    (a: [B, 3], b: [B, 1, 3], c: i64[B, 3], d: i64[B], e: i64[B, T]) {\n"
        "  return (max(x, axis=1, lengths=n), min(x, axis=1, lengths=n, keep=true),\n"
        "          argmax(x, axis=1, lengths=n), max(k, axis=1, lengths=n),\n"
        "          argmax(r, axis=2, lengths=p))\n}\n"
    ).prepare({})
    generator = numpy.random.default_rng(101)
    for batch, time, width in [(3, 5, 4), (1, 1, 1), (2, 17, 3), (0, 3, 2), (2, 0, 3), (0, 0, 0)]:
        given = {
            "x": floats(generator, batch, time, 3), "k": generator.integers(-9, 9, (batch, time)),
            "n": generator.integers(1, time + 1, batch) if time else numpy.zeros(batch, int),
            "p": generator.integers(1, width + 1, (batch, time)).astype(numpy.int32) if width
            else numpy.zeros((batch, time), numpy.int32),
            "r": floats(generator, batch, time, width),
        }  # fmt: skip
        for b, n in enumerate(given["n"]):  # padding is not read
            given["x"][b, n:], given["k"][b, n:] = numpy.nan, 99
            for t, p in enumerate(given["p"][b]):
                given["r"][b, t, p:] = numpy.inf
        if batch and not time:
            fails(library, **given)
            continue
        found = library.run(**given)
        for b, n in enumerate(given["n"]):
            x = given["x"][b, :n]
            assert_close(found["a"][b], x.max(0))
            assert_close(found["b"][b, 0], x.min(0))
            numpy.testing.assert_array_equal(found["c"][b], x.argmax(0))
            assert found["d"][b] == given["k"][b, :n].max()
            for t, p in enumerate(given["p"][b]):
                assert found["e"][b, t] == given["r"][b, t, :p].argmax()
        if batch:
            for name in ("n", "p"):
                none = given[name].copy()
                none[-1] = 0
                fails(library, **given | {name: none})


def test_one_length_for_all(compiler):
    library = compiler.library(
        "model m(x: [T, N], n: i64[]) -> [N] {\n  return max(x, axis=0, lengths=n)\n}\n"
    ).prepare({})
    x = floats(numpy.random.default_rng(102), 5, 3)
    assert_close(library.run(x=x, n=numpy.int64(2))["output"], x[:2].max(0))
    fails(library, x=x, n=numpy.int64(0))
    assert library.run(x=x[:, :0], n=numpy.int64(0))["output"].shape == (0,)


def test_in_a_step(compiler):
    """Only a step that runs needs elements."""
    library = compiler.library(
        "cell highest(x: [N]) -> [] {\n  state best: [] = -inf\n"
        "  best' = where(max(x) > best, max(x), best)\n  return best' + argmax(x)\n}\n"
        "model m(x: [B, T, N], n: i64[B]) -> (y: [B, T], last: [B]) {\n"
        "  param cell: highest()\n  y, last = scan(cell, x, lengths=n)\n  return y, last\n}\n"
    ).prepare({})
    generator = numpy.random.default_rng(103)
    for batch, time, width in [(2, 5, 4), (1, 3, 1), (2, 0, 3), (2, 0, 0), (0, 4, 0)]:
        x = floats(generator, batch, time, width)
        n = numpy.full(batch, time)
        found = library.run(x=x, n=n)
        if time and width:
            best = numpy.maximum.accumulate(x.max(2), axis=1)
            assert_close(found["y"], best + x.argmax(2))
            assert_close(found["last"], best[:, -1])
        else:
            assert (found["last"] == -numpy.inf).all()
    fails(library, x=numpy.zeros((2, 3, 0), numpy.float32), n=numpy.array([3, 0]))


def test_in_an_attention(compiler):
    """Over the keys there may be none, and the row is 0; elsewhere it is an error."""
    library = compiler.library(
        "attention widest(q: [T, D], k: [S, E], v: [S, E]) -> [T, E] {\n"
        "  s = max(q, axis=1, keep=true) * col\n"
        "  return softmax(s) @ v + max(s, axis=1, keep=true)\n}\n"
        "model m(q: [B, T, D], v: [B, S, 3]) -> [B, T, 3] {\n  return widest(q, v, v)\n}\n"
    ).prepare({})
    generator = numpy.random.default_rng(104)
    for batch, queries, keys, width in [(2, 3, 4, 5), (1, 1, 1, 1), (2, 3, 0, 2), (2, 0, 3, 0), (0, 3, 3, 0)]:
        q, v = floats(generator, batch, queries, width), floats(generator, batch, keys, 3)
        found = library.run(q=q, v=v)["output"]
        if 0 in (batch, queries):
            assert found.shape == (batch, queries, 3)
            continue
        s = q.max(2).astype(float)[:, :, None] * numpy.arange(keys)
        if not keys:
            assert_close(found, numpy.zeros((batch, queries, 3)))
            continue
        e = numpy.exp(s - s.max(2, keepdims=True))
        a = e / e.sum(2, keepdims=True)
        assert_close(found, a @ v.astype(float) + s.max(2, keepdims=True))
    fails(library, q=numpy.zeros((1, 2, 0), numpy.float32), v=floats(generator, 1, 2, 3))


def test_argmax_is_an_index(compiler):
    """The place of the largest lies within its dimension."""
    library = compiler.library(
        "model m(x: [B, N], table: [N, 2]) -> [B, 2] {\n  return take(table, argmax(x, axis=1))\n}\n"
    ).prepare({})
    generator = numpy.random.default_rng(105)
    x, table = floats(generator, 4, 6), floats(generator, 6, 2)
    x[2, 3] = numpy.nan
    assert_close(library.run(x=x, table=table)["output"], table[x.argmax(1)])
    fails(library, x=x[:, :0], table=table[:0])
