# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on numbers and tensors: broadcasting, products, integers, element types."""

import numpy
import pytest
from expressions import check_cases
from gatefold_library import GatefoldError

INPUTS = (
    "x: [B, T, 6], y: [T, 6], v: [6], s: [], c: [T, 1], r: [1, 6], k: i64[B, T], "
    "j: i32[T], m: bool[T, 6], n: bool[T]"
)


def runs(seed, sizes=((2, 5), (1, 1), (3, 64), (2, 65), (0, 3), (2, 0))):
    generator = numpy.random.default_rng(seed)

    def floats(*shape):
        return generator.normal(size=shape).astype(numpy.float32)

    for b, t in sizes:
        yield {
            "x": floats(b, t, 6), "y": floats(t, 6), "v": floats(6), "s": floats(),
            "c": floats(t, 1), "r": floats(1, 6),
            "k": generator.integers(-9, 10, (b, t)),
            "j": generator.integers(-9, 10, t).astype(numpy.int32),
            "m": generator.random((t, 6)) < 0.5, "n": generator.random(t) < 0.5,
        }  # fmt: skip


def test_broadcasting(compiler):
    cases = [
        ("x + y", lambda v: v.x + v.y),
        ("x - v", lambda v: v.x - v.v),
        ("v - x", lambda v: v.v - v.x),
        ("y * c", lambda v: v.y * v.c),
        ("c * r", lambda v: v.c * v.r),
        ("c + v", lambda v: v.c + v.v),
        ("c - c.T", lambda v: v.c - v.c.T),
        ("s * x", lambda v: v.s * v.x),
        ("x / (2 + abs(s))", lambda v: v.x / (2 + abs(v.s))),
        ("x[:, :, 0:1] * y", lambda v: v.x[:, :, 0:1] * v.y),
        ("y[:, None, :] * y[None]", lambda v: v.y[:, None, :] * v.y[None]),
        ("max(x, c)", lambda v: numpy.maximum(v.x, v.c)),
        ("min(c, r)", lambda v: numpy.minimum(v.c, v.r)),
        ("clamp(x, c, c + 1)", lambda v: numpy.minimum(numpy.maximum(v.x, v.c), v.c + 1)),
        ("where(m, x, c)", lambda v: numpy.where(v.m, v.x, v.c)),
        ("where(n[:, None], r, 0)", lambda v: numpy.where(v.n[:, None], v.r, 0)),
        ("where(n, s, 1)", lambda v: numpy.where(v.n, v.s, 1)),
        ("where(true, x, y)", lambda v: v.x + 0 * v.y),
        ("m and n[:, None]", lambda v: v.m & v.n[:, None]),
        ("m or x > 0", lambda v: v.m | (v.x > 0)),
        ("m == n[:, None]", lambda v: v.m == v.n[:, None]),
        ("x < c", lambda v: v.x < v.c),
        ("abs(x) ** (c / 4)", lambda v: abs(v.x) ** (v.c / 4)),
        ("x - mean(x, axis=-1, keep=true)", lambda v: v.x - v.x.mean(-1, keepdims=True)),
        ("x * ones((1, 6))", lambda v: v.x),
        ("sum(c, axis=1) + n_of(n)", lambda v: v.c[:, 0] + v.n),
    ]
    declarations = "func n_of(n: bool[]) -> [] {\n  return f32(n)\n}\n"
    check_cases(compiler, INPUTS, cases, list(runs(70)), declarations=declarations)


def test_integers(compiler):
    cases = [
        ("k + 3", lambda v: v.k + 3),
        ("2 - k", lambda v: 2 - v.k),
        ("k * k", lambda v: v.k * v.k),
        ("-k", lambda v: -v.k),
        ("k // 4", lambda v: v.k // 4),
        ("k % 4", lambda v: v.k % 4),
        ("k // -4", lambda v: v.k // -4),
        ("k % -4", lambda v: v.k % -4),
        ("k // j", lambda v: v.k // v.j),
        ("k % j", lambda v: v.k % v.j),
        ("100 // j", lambda v: numpy.int32(100) // v.j),
        ("k / 4", lambda v: v.k / 4),
        ("k ** 2", lambda v: v.k.astype(float) ** 2),
        ("k * 0.5", lambda v: v.k * 0.5),
        ("0.5 + j", lambda v: 0.5 + v.j.astype(float)),
        ("k + x[:, :, 0]", lambda v: v.k + v.x[:, :, 0]),
        ("j * y[:, 1]", lambda v: v.j.astype(float) * v.y[:, 1]),
        ("k // 0.5", lambda v: v.k // 0.5),
        ("k % 2.5", lambda v: v.k % 2.5),
        ("k > 2", lambda v: v.k > 2),
        ("k > 2.5", lambda v: v.k > 2.5),
        ("k == j", lambda v: v.k == v.j),
        ("max(k, j)", lambda v: numpy.maximum(v.k, v.j)),
        ("max(k, 0)", lambda v: numpy.maximum(v.k, 0)),
        ("min(k, 0.5)", lambda v: numpy.minimum(v.k, 0.5)),
        ("clamp(k, -2, 3)", lambda v: numpy.clip(v.k, -2, 3)),
        ("where(k > 0, k, j)", lambda v: numpy.where(v.k > 0, v.k, v.j)),
        ("where(k > 0, k, 0.5)", lambda v: numpy.where(v.k > 0, v.k, 0.5)),
        ("where(k > 0, x[:, :, 0], k)", lambda v: numpy.where(v.k > 0, v.x[:, :, 0], v.k)),
        ("sum(k, axis=1)", lambda v: v.k.sum(1)),
        ("mean(k, axis=1)", lambda v: v.k.mean(1) if v.k.shape[1] else 0.0 * v.k.sum(1)),
        ("exp(k / 8)", lambda v: numpy.exp(v.k / 8)),
        ("tanh(k)", lambda v: numpy.tanh(v.k)),
        ("abs(j) * relu(k)", lambda v: abs(v.j) * numpy.maximum(v.k, 0)),
        ("arange(T) - k", lambda v: numpy.arange(v.k.shape[1]) - v.k),
        ("T - j", lambda v: v.j.dtype.type(v.j.size) - v.j),
    ]
    check_cases(compiler, INPUTS, cases, list(runs(71)))


def test_integers_that_overflow_wrap(compiler):
    least = numpy.iinfo(numpy.int64).min
    k = numpy.array([least, least, 7, -7, 2**62, 0])
    j = numpy.array([-1, 0, 0, 0, 3, 0])
    with numpy.errstate(all="ignore"):
        check_cases(
            compiler, "k: i64[N], j: i64[N]",
            [
                ("k // j", lambda v: v.k // v.j),
                ("k % j", lambda v: v.k % v.j),
                ("k * 4", lambda v: v.k * 4),
                ("k - 1", lambda v: v.k - 1),
                ("-k", lambda v: -v.k),
                ("abs(k)", lambda v: abs(v.k)),
            ],
            [{"k": k, "j": j}],
        )  # fmt: skip


PRODUCTS = "a: [B, T, K], b: [B, K, S], c: [K, S], u: [K], w: [T, K], h: [H, B, T, K]"


def product_runs(sizes):
    generator = numpy.random.default_rng(72)
    for b, t, k, s, h in sizes:

        def floats(*shape, k=k):
            return (generator.normal(size=shape) / max(k, 1) ** 0.25).astype(numpy.float32)

        yield {"a": floats(b, t, k), "b": floats(b, k, s), "c": floats(k, s),
               "u": floats(k), "w": floats(t, k), "h": floats(h, b, t, k)}  # fmt: skip


def test_matrix_products(compiler):
    cases = [
        ("a @ b", lambda v: v.a @ v.b),
        ("a @ c", lambda v: v.a @ v.c),
        ("w @ c", lambda v: v.w @ v.c),
        ("w @ b", lambda v: v.w @ v.b),
        ("a @ u", lambda v: v.a @ v.u),
        ("u @ c", lambda v: v.u @ v.c),
        ("u @ b", lambda v: v.u @ v.b),
        ("u @ u", lambda v: v.u @ v.u),
        ("w @ u", lambda v: v.w @ v.u),
        ("a @ a.T", lambda v: v.a @ v.a.swapaxes(-1, -2)),
        ("c.T @ c", lambda v: v.c.T @ v.c),
        ("b.T @ a.T", lambda v: v.b.swapaxes(-1, -2) @ v.a.swapaxes(-1, -2)),
        ("h @ b", lambda v: v.h @ v.b),
        ("h @ c", lambda v: v.h @ v.c),
        ("h @ u", lambda v: v.h @ v.u),
        ("h @ h.T", lambda v: v.h @ v.h.swapaxes(-1, -2)),
        ("a[:, None] @ b[:, None]", lambda v: v.a[:, None] @ v.b[:, None]),
        ("a[None] @ b[:, None]", lambda v: v.a[None] @ v.b[:, None]),
        ("a @ c * 2", lambda v: v.a @ v.c * 2),
        ("u[None, :] @ c", lambda v: v.u[None, :] @ v.c),
        ("u[:, None] @ u[None, :]", lambda v: v.u[:, None] @ v.u[None, :]),
        ("w[:, None, :] @ c", lambda v: v.w[:, None, :] @ v.c),
        ("u @ c @ c.T", lambda v: v.u @ v.c @ v.c.T),
        ("sum(a * u, axis=-1)", lambda v: (v.a * v.u).sum(-1)),
    ]
    sizes = [(2, 5, 4, 3, 2), (1, 1, 1, 1, 1), (3, 17, 64, 65, 2), (2, 65, 7, 64, 1),
             (2, 3, 0, 4, 1), (0, 3, 4, 2, 1), (2, 0, 3, 0, 2)]  # fmt: skip
    check_cases(compiler, PRODUCTS, cases, list(product_runs(sizes)))


def test_products_of_integers(compiler):
    generator = numpy.random.default_rng(73)
    run = {"k": generator.integers(-5, 6, (2, 3)), "x": generator.normal(size=(3, 4)).astype("f4"),
           "j": generator.integers(-5, 6, (3, 4))}  # fmt: skip
    check_cases(
        compiler, "k: i64[A, 3], x: [3, 4], j: i64[3, 4]",
        [("k @ j", lambda v: v.k @ v.j), ("k @ x", lambda v: v.k @ v.x)],
        [run],
    )  # fmt: skip


def test_sizes_as_numbers(compiler):
    cases = [
        ("x / T", lambda v: v.x / v.x.shape[1]),
        ("x / sqrt(T)", lambda v: v.x / numpy.sqrt(v.x.shape[1])),
        ("x * (T - B)", lambda v: v.x * (v.x.shape[1] - v.x.shape[0])),
        ("x + T // 2 - T % 3", lambda v: v.x + v.x.shape[1] // 2 - v.x.shape[1] % 3),
        ("x * T ** 0.5", lambda v: v.x * v.x.shape[1] ** 0.5),
        ("x * (T / 2)", lambda v: v.x * (v.x.shape[1] / 2)),
        ("x + max(T, B) * min(T, 3)", lambda v: v.x + max(v.x.shape[:2]) * min(v.x.shape[1], 3)),
        ("x * tanh(T / B)", lambda v: v.x * numpy.tanh(v.x.shape[1] / v.x.shape[0])),
        ("ones((T, B)) * T", lambda v: numpy.ones(v.x.shape[1::-1]) * v.x.shape[1]),
        ("zeros(T + 1)", lambda v: numpy.zeros(v.x.shape[1] + 1)),
        ("ones((2 * T, B + 1))", lambda v: numpy.ones((2 * v.x.shape[1], v.x.shape[0] + 1))),
        ("arange(T * B)", lambda v: numpy.arange(v.x.shape[0] * v.x.shape[1])),
        ("arange(T // 2)", lambda v: numpy.arange(v.x.shape[1] // 2)),
        ("arange(T) / max(T - 1, 1)",
         lambda v: numpy.arange(v.x.shape[1]) / max(v.x.shape[1] - 1, 1)),
        ("where(arange(T) < T / 2, 1.5, 0)", lambda v: numpy.where(
            numpy.arange(v.x.shape[1]) < v.x.shape[1] / 2, 1.5, 0)),
        ("x * half", lambda v: v.x * 3),
        ("x + big", lambda v: v.x + 2.0**40),
        ("x + 20_000 * 1e-5", lambda v: v.x + 0.2),
        ("-x ** 2", lambda v: -(v.x**2)),
        ("x - -3", lambda v: v.x + 3),
        ("x + 2 ** -1", lambda v: v.x + 0.5),
        ("x * 2 ** 3 ** 2 / 512", lambda v: v.x),
        ("x + exp(0) + min(inf, 2)", lambda v: v.x + 3),
    ]  # fmt: skip
    generator = numpy.random.default_rng(74)
    data = [{"x": generator.normal(size=(b, t, 6)).astype(numpy.float32)}
            for b, t in [(2, 5), (1, 1), (3, 64), (1, 17), (2, 0)]]  # fmt: skip
    check_cases(compiler, "x: [B, T, M]", cases, data, "--dim", "M=6",
                body="  half = M / 2\n  big = 2 ** 40\n")  # fmt: skip


@pytest.mark.parametrize("text, words", [
    ("x: [3, 4]) -> [3, 4] {\n  return x + x[:, 0]", "do not fit"),
    ("x: [B, T], m: bool[B, T]) -> [B, T] {\n  return x + m", "does not apply to bool"),
    ("x: [B, T], d: f64[B, T]) -> [B, T] {\n  return x + d", "do not mix"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(compiler, text, words):
    with pytest.raises(AssertionError, match=words):
        compiler.library(f"model m({text}\n}}\n")


def test_an_open_one_does_not_stretch(compiler):
    """Two open dimensions that must agree: 1 beside 3 is an error of the run."""
    library = compiler.library("model m(x: [A], y: [C]) -> [A] {\n  return x + y\n}\n").prepare({})
    three, one = numpy.ones(3, numpy.float32), numpy.ones(1, numpy.float32)
    numpy.testing.assert_array_equal(library.run(x=three, y=three)["output"], [2, 2, 2])
    with pytest.raises(GatefoldError):
        library.run(x=three, y=one)
    with pytest.raises(GatefoldError):
        library.run(x=one, y=three)
