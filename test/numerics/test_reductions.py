# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sum, mean, max, min, argmax, softmax; rotary; what bad data does not reach."""

import numpy
import pytest
from conftest import lengths_of
from expressions import check_cases
from gatefold_library import GatefoldError

INPUTS = "x: [B, T, 6], z: [B, T, 4], n: i64[B], k: i64[T, 5], m: bool[B, T], c: bool[6], e: [0, 6]"
RUNS = [(2, 5), (1, 1), (3, 17), (2, 64), (3, 65), (2, 0), (0, 3)]


def data(batch, time):
    generator = numpy.random.default_rng(90)
    z = generator.normal(size=(batch, time, 4)).astype(numpy.float32)
    lengths = lengths_of(generator, batch, time)
    for b in range(batch):  # what is padding is not read
        z[b, lengths[b] :] = numpy.nan
    return {
        "x": generator.normal(size=(batch, time, 6)).astype(numpy.float32),
        "z": z, "n": lengths, "k": generator.integers(-5, 6, (time, 5)),
        "m": generator.random((batch, time)) < 0.5, "c": generator.random(6) < 0.5,
        "e": numpy.zeros((0, 6), numpy.float32),
    }  # fmt: skip


def by_length(function):
    """Of the first entries of each; 0 of none."""

    def reduced(v):
        rows = [function(v.z[b, :n]) if n else numpy.zeros(4) for b, n in enumerate(v.n)]
        return numpy.stack(rows) if rows else numpy.zeros((0, 4))

    return reduced


def mean(a, axis, keep=False):
    count = max(a.shape[axis], 1)
    return a.sum(axis=axis, keepdims=keep) / count


def softmax(x, axis=-1, where=None):
    where = numpy.broadcast_to(True if where is None else where, x.shape)
    x = numpy.where(where, x, -numpy.inf)
    largest = x.max(axis=axis, keepdims=True, initial=-numpy.inf)
    powers = numpy.where(where, numpy.exp(x - numpy.where(numpy.isinf(largest), 0, largest)), 0)
    total = powers.sum(axis=axis, keepdims=True)
    return powers / numpy.where(total == 0, 1, total)


def test_reductions(compiler):
    cases = [
        ("sum(x, axis=0)", lambda v: v.x.sum(0)),
        ("sum(x, axis=1)", lambda v: v.x.sum(1)),
        ("sum(x, axis=-1)", lambda v: v.x.sum(-1)),
        ("sum(x, axis=1, keep=true)", lambda v: v.x.sum(1, keepdims=True)),
        ("sum(sum(x, axis=2), axis=0)", lambda v: v.x.sum((0, 2))),
        ("sum(reshape(x, -1))", lambda v: v.x.sum()),
        ("mean(x, axis=0)", lambda v: mean(v.x, 0)),
        ("mean(x, axis=1, keep=true)", lambda v: mean(v.x, 1, True)),
        ("mean(x, axis=2)", lambda v: mean(v.x, 2)),
        ("mean(k, axis=0)", lambda v: mean(v.k, 0)),
        ("sum(k, axis=0)", lambda v: v.k.sum(0)),
        ("sum(f32(m), axis=1)", lambda v: v.m.sum(1) * 1.0),
        ("max(x, axis=2)", lambda v: v.x.max(2)),
        ("min(x, axis=2, keep=true)", lambda v: v.x.min(2, keepdims=True)),
        ("max(k, axis=1)", lambda v: v.k.max(1)),
        ("min(k, axis=-1)", lambda v: v.k.min(1)),
        ("argmax(x, axis=-1)", lambda v: v.x.argmax(2)),
        ("argmax(x, axis=2, keep=true)", lambda v: v.x.argmax(2)[..., None]),
        ("argmax(k, axis=1)", lambda v: v.k.argmax(1)),
        ("argmax(abs(k), axis=1)", lambda v: abs(v.k).argmax(1)),
        ("sum(z, axis=1, lengths=n)", by_length(lambda rows: rows.sum(0))),
        ("mean(z, axis=1, lengths=n)", by_length(lambda rows: rows.mean(0))),
        ("mean(z, axis=1, lengths=n, keep=true)", lambda v: by_length(
            lambda rows: rows.mean(0))(v)[:, None]),
        ("sum(x, axis=2, lengths=3)", lambda v: v.x[..., :3].sum(2)),
        ("max(x, axis=2, lengths=3)", lambda v: v.x[..., :3].max(2)),
        ("sum(x, axis=2, lengths=0)", lambda v: 0 * v.x.sum(2)),
        ("sum(e, axis=0)", lambda v: numpy.zeros(6)),
        ("mean(e, axis=0)", lambda v: numpy.zeros(6)),
        ("max(e, axis=1)", lambda v: numpy.zeros(0)),
        ("sum(x[:, :, 0:0], axis=2)", lambda v: 0 * v.x.sum(2)),
        ("softmax(x)", lambda v: softmax(v.x)),
        ("softmax(x, axis=1)", lambda v: softmax(v.x, 1)),
        ("softmax(x, axis=0)", lambda v: softmax(v.x, 0)),
        ("softmax(x, where=c)", lambda v: softmax(v.x, -1, v.c)),
        ("softmax(x, where=m[:, :, None])", lambda v: softmax(v.x, -1, v.m[..., None])),
        ("softmax(x, axis=1, where=m[:, :, None])", lambda v: softmax(v.x, 1, v.m[..., None])),
        ("softmax(x, where=false)", lambda v: 0 * v.x),
        ("softmax(x * 1000)", lambda v: softmax(v.x * 1000)),
        ("softmax(k)", lambda v: softmax(v.k)),
        ("softmax(where(x > 9, x, -inf))", lambda v: 0 * v.x),
        ("x - mean(x, axis=1, keep=true)", lambda v: v.x - mean(v.x, 1, True)),
    ]
    check_cases(compiler, INPUTS, cases, [data(b, t) for b, t in RUNS])


def test_special_values(compiler):
    nan, inf = numpy.nan, numpy.inf
    x = numpy.float32([
        [1, nan, 3, nan], [nan, -inf, inf, 0], [inf, inf, -inf, 1], [-inf] * 4, [2, 2, 2, 2],
        [-0.0, 0.0, -0.0, 0.0], [1, 5, 5, 3], [-inf, -3, -inf, -3], [3e38, 3e38, -3e38, 0],
    ])  # fmt: skip
    cases = [
        ("max(x, axis=1)", lambda v: v.x.max(1)),
        ("min(x, axis=1)", lambda v: v.x.min(1)),
        ("argmax(x, axis=1)", lambda v: v.x.argmax(1)),
        ("argmax(-x, axis=1)", lambda v: (-v.x).argmax(1)),
        ("argmax(where(x > 2, 1, 0), axis=1)", lambda v: (v.x > 2).argmax(1)),
        ("sum(where(abs(x) < 100, x, 0), axis=1)",
         lambda v: numpy.where(abs(v.x) < 100, v.x, 0).sum(1)),
        ("softmax(where(x < inf, x, 0))", lambda v: softmax(numpy.where(v.x < inf, v.x, 0))),
    ]  # fmt: skip
    check_cases(compiler, "x: [R, 4]", cases, [{"x": x}])


def test_nothing_has_no_largest(compiler):
    for name in ("max", "min", "argmax"):
        element = "i64" if name == "argmax" else ""
        text = f"model m(x: [B, 0]) -> {element}[B] {{\n  return {name}(x, axis=1)\n}}\n"
        with pytest.raises(AssertionError, match="of nothing"):
            compiler.library(text)


def test_rows_do_not_reach_each_other(compiler):
    """A bad row leaves the bits of the others."""
    library = compiler.library(
        "model m(x: [B, T, 6]) -> (a: [B, T, 6], b: [B, T], c: [B, T, 4], d: [B, T, 6]) {\n"
        "  param norm: layer_norm(), out: linear(N=4)\n"
        "  return softmax(x), sum(x, axis=-1), out(x), norm(x)\n}\n"
    )
    generator = numpy.random.default_rng(91)
    library.prepare({p["name"]: generator.normal(size=p["shape"]) for p in library.parameters})
    x = generator.normal(size=(4, 17, 6)).astype(numpy.float32)
    clean = library.run(x=x)
    bad = x.copy()
    bad[1, 3], bad[2, 0, 5] = numpy.nan, numpy.inf
    found = library.run(x=bad)
    touched = numpy.zeros((4, 17), bool)
    touched[1, 3] = touched[2, 0] = True
    for name, array in clean.items():
        numpy.testing.assert_array_equal(found[name][~touched], array[~touched])
        assert not numpy.isfinite(found[name][1, 3]).any()
    # And the number of the other rows makes no difference.
    for name, array in library.run(x=x[2:3]).items():
        numpy.testing.assert_array_equal(array[0], clean[name][2])


def rotary(x, positions, interleaved=False, base=10000.0):
    width = x.shape[-1]
    half = width // 2
    angle = numpy.asarray(positions)[..., None] * base ** (-2.0 * numpy.arange(half) / width)
    cosine, sine = numpy.cos(angle), numpy.sin(angle)
    first = numpy.s_[..., ::2] if interleaved else numpy.s_[..., :half]
    second = numpy.s_[..., 1::2] if interleaved else numpy.s_[..., half:]
    x, cosine, sine = numpy.broadcast_arrays(
        x[first] + 1j * x[second], cosine, sine
    )  # fmt: skip
    turned = x * (cosine + 1j * sine)
    result = numpy.empty((*turned.shape[:-1], width))
    result[first], result[second] = turned.real, turned.imag
    return result


def test_rotary(compiler):
    def steps(v):
        return numpy.arange(v.x.shape[-2])

    cases = [
        ("rotary(x)", lambda v: rotary(v.x, steps(v))),
        ("rotary(x, interleaved=true)", lambda v: rotary(v.x, steps(v), True)),
        ("rotary(x, base=500)", lambda v: rotary(v.x, steps(v), base=500.0)),
        ("rotary(x, positions=p)", lambda v: rotary(v.x, v.p[:, None])),
        ("rotary(x, positions=p, interleaved=true)", lambda v: rotary(v.x, v.p[:, None], True)),
        ("rotary(x[0, 0], positions=q)", lambda v: rotary(v.x[0, 0], v.q)),
        ("rotary(x[0, 0])", lambda v: rotary(v.x[0, 0], steps(v))),
        ("rotary(x, positions=q)", lambda v: rotary(v.x, v.q)),
        ("rotary(x, positions=arange(T) + 3_000_000)",
         lambda v: rotary(v.x, steps(v) + 3_000_000)),
        ("rotary(x, positions=7)", lambda v: rotary(v.x, 7)),
        ("rotary(x, positions=T)", lambda v: rotary(v.x, v.x.shape[2])),
        ("rotary(x, positions=arange(T) / 2)", lambda v: rotary(v.x, steps(v) / 2)),
        ("rotary(x[..., :2])", lambda v: rotary(v.x[..., :2], steps(v))),
    ]  # fmt: skip
    generator = numpy.random.default_rng(92)
    runs = [
        {
            "x": generator.normal(size=(b, h, t, 8)).astype(numpy.float32),
            "p": generator.integers(0, 5_000_000, (b, t)),
            "q": generator.integers(0, 2**31 - 1, t).astype(numpy.int32),
        }
        for b, h, t in [(2, 3, 5), (1, 1, 1), (2, 2, 65), (1, 2, 0)]
    ]
    # p is [B, T] beside [B, H, T, 8].
    cases = [(e.replace("=p", "=p[:, None]"), f) for e, f in cases]
    check_cases(compiler, "x: [B, H, T, 8], p: i64[B, T], q: i32[T]", cases, runs)


def test_one_length_for_all(compiler):
    """Lengths and indices of rank 0."""
    cases = [
        ("sum(x, axis=0, lengths=n)", lambda v: v.x[: v.n].sum(0)),
        ("mean(x, axis=0, lengths=n)", lambda v: v.x[: v.n].mean(0) if v.n else 0 * v.x.sum(0)),
        ("sum(x[:, 0], lengths=n)", lambda v: v.x[: v.n, 0].sum()),
        ("take(x, i)", lambda v: v.x[v.i]),
        ("take(x[:, 1], i)", lambda v: v.x[v.i, 1]),
    ]
    x = numpy.random.default_rng(93).normal(size=(5, 3)).astype(numpy.float32)
    runs = [{"x": x, "n": numpy.int64(n), "i": numpy.int64(i)} for n, i in [(3, 4), (0, 0), (5, 2)]]
    check_cases(compiler, "x: [T, 3], n: i64[], i: i64[]", cases, runs)


def test_lengths_out_of_range(compiler):
    library = compiler.library(
        "model m(x: [B, T], n: i64[B]) -> [B] {\n  return sum(x, axis=1, lengths=n)\n}\n"
    ).prepare({})
    x = numpy.ones((2, 3), numpy.float32)
    numpy.testing.assert_array_equal(library.run(x=x, n=numpy.array([3, 0]))["output"], [3, 0])
    for bad in (4, -1):
        with pytest.raises(GatefoldError, match="`n`"):
            library.run(x=x, n=numpy.array([3, bad]))
