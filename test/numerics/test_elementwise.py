# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise functions: special values, accuracy in units in the last place."""

import math

import numpy
import pytest
from expressions import check_cases

erf = numpy.vectorize(math.erf, otypes=[numpy.float64])
TINY = float(numpy.finfo(numpy.float32).tiny)
LARGEST = float(numpy.finfo(numpy.float32).max)
SPECIAL = numpy.float32(
    [
        *(0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5),
        *(TINY, -TINY, 1e-30, -1e-30, 1e-7, -1e-7, 1e7, -1e7, 1e30, -1e30),
        *(LARGEST, -LARGEST, 88.0, -88.0, 88.8, -88.8, 104.0, -104.0, 20.0, -20.0),
    ]
)


def sigmoid(x):
    return numpy.where(x < 0, numpy.exp(x) / (1 + numpy.exp(x)), 1 / (1 + numpy.exp(-x)))


def softplus(x):
    return numpy.maximum(x, 0) + numpy.log1p(numpy.exp(-abs(x)))


def rounded(function):
    """Denormal results of float32 taken as 0."""

    def call(v):
        result = numpy.asarray(function(v))
        if result.dtype.kind != "f":
            return result
        return numpy.where(abs(result) < TINY, numpy.copysign(0.0, result), result)

    return call


SPECIAL_CASES = [
    ("exp(x)", lambda v: numpy.exp(v.x)),
    ("log(x)", lambda v: numpy.log(v.x)),
    ("sqrt(x)", lambda v: numpy.sqrt(v.x)),
    ("tanh(x)", lambda v: numpy.tanh(v.x)),
    ("erf(x)", lambda v: erf(v.x)),
    ("abs(x)", lambda v: abs(v.x)),
    ("sigmoid(x)", lambda v: sigmoid(numpy.maximum(v.x, -700.0))),
    ("log_sigmoid(x)", lambda v: -softplus(-v.x)),
    ("softplus(x)", lambda v: softplus(v.x)),
    ("relu(x)", lambda v: numpy.maximum(v.x, 0)),
    ("-x", lambda v: -v.x),
    ("1 / x", lambda v: 1 / v.x),
    ("x ** 2", lambda v: v.x**2),
    ("x ** -3", lambda v: v.x**-3.0),
    ("x ** 0", lambda v: v.x**0),
    # NumPy takes a square root here, which differs from pow at -inf.
    ("x ** 0.5", lambda v: numpy.power(v.x, numpy.full(v.x.shape, 0.5))),
    ("2 ** x", lambda v: 2.0**v.x),
    ("x > 0", lambda v: v.x > 0),
    ("x == x", lambda v: v.x == v.x),
    ("x != x", lambda v: v.x != v.x),
    ("not x <= 0", lambda v: ~(v.x <= 0)),
    ("bool(x)", lambda v: v.x != 0),
    ("where(x < 0, x, 7)", lambda v: numpy.where(v.x < 0, v.x, 7)),
]


def test_special_values(compiler):
    cases = [(e, as_float32(rounded(f))) for e, f in SPECIAL_CASES]
    check_cases(compiler, "x: [N]", cases, [{"x": SPECIAL}], rtol=1e-6, atol=0)


def as_float32(function):
    """Rounded to float32 and back, so that what is too large is infinite."""

    def call(v):
        result = numpy.asarray(function(v))
        if result.dtype.kind != "f":
            return result
        return result.astype(numpy.float32).astype(numpy.float64)

    return call


def test_zeros_keep_their_sign(compiler):
    x = numpy.float32([0.0, -0.0])
    same = ["x", "tanh(x)", "erf(x)", "sin(x)", "sqrt(x)", "x * 3", "x / 7", "x + x",
            "x ** 3", "silu(x)", "-(-x)", "where(x == 0, x, 1)"]  # fmt: skip
    cases = [(e, lambda v: v.x) for e in same]
    cases += [("-x", lambda v: -v.x), ("abs(x)", lambda v: abs(v.x)), ("0 - x", lambda v: 0 - v.x),
              ("x * -1", lambda v: -v.x), ("1 / x", lambda v: 1 / v.x)]  # fmt: skip
    check_cases(compiler, "x: [N]", cases, [{"x": x}], exact=True)


def test_silu_and_gelu(compiler):
    finite = SPECIAL[numpy.isfinite(SPECIAL)]
    x = numpy.float32([*finite, math.inf, math.nan])
    check_cases(
        compiler, "x: [N]",
        [
            ("silu(x)", as_float32(lambda v: v.x * sigmoid(v.x))),
            ("gelu(x)", as_float32(lambda v: v.x * 0.5 * (1 + erf(v.x / math.sqrt(2))))),
        ],
        [{"x": x}],
    )  # fmt: skip


PAIRS = [
    ("max(x, y)", lambda v: numpy.maximum(v.x, v.y)),
    ("min(x, y)", lambda v: numpy.minimum(v.x, v.y)),
    ("max(x, 0.5)", lambda v: numpy.maximum(v.x, 0.5)),
    ("min(1, y)", lambda v: numpy.minimum(1, v.y)),
    ("clamp(x, -1, y)", lambda v: numpy.minimum(numpy.maximum(v.x, -1), v.y)),
    ("clamp(x, y, 2)", lambda v: numpy.minimum(numpy.maximum(v.x, v.y), 2)),
    ("x + y", lambda v: v.x + v.y),
    ("x - y", lambda v: v.x - v.y),
    ("x * y", lambda v: v.x * v.y),
    ("x / y", lambda v: v.x / v.y),
    ("where(x < y, x, y)", lambda v: numpy.where(v.x < v.y, v.x, v.y)),
    ("x < y", lambda v: v.x < v.y),
    ("x <= y", lambda v: v.x <= v.y),
    ("x > y", lambda v: v.x > v.y),
    ("x >= y", lambda v: v.x >= v.y),
    ("x == y", lambda v: v.x == v.y),
    ("x != y", lambda v: v.x != v.y),
    ("x > 0 and not y > 0 or x == y", lambda v: (v.x > 0) & ~(v.y > 0) | (v.x == v.y)),
    ("(x > 0) == (y > 0)", lambda v: (v.x > 0) == (v.y > 0)),
    ("(x > 0) != (y > 0)", lambda v: (v.x > 0) != (v.y > 0)),
]


def test_pairs_of_special_values(compiler):
    x, y = (a.reshape(-1) for a in numpy.meshgrid(SPECIAL, SPECIAL))
    cases = [(e, as_float32(rounded(f))) for e, f in PAIRS]
    check_cases(compiler, "x: [N], y: [N]", cases, [{"x": x, "y": y}], exact=False,
                rtol=1e-7, atol=0)  # fmt: skip


REMAINDERS = [
    ("x // y", numpy.floor_divide),
    ("x % y", numpy.remainder),
]


def test_division_that_rounds_down(compiler):
    """In float64, where NumPy's own rounding is the reference; and special values."""
    generator = numpy.random.default_rng(60)
    x, y = (a.reshape(-1) for a in numpy.meshgrid(SPECIAL, SPECIAL))
    near = numpy.float32(generator.integers(-50, 51, 500) * 0.25)
    by = numpy.float32(generator.integers(-9, 10, 500) * 0.5)
    some = numpy.float32(generator.normal(size=500) * 100)
    runs = [{"x": x, "y": y}, {"x": near, "y": by}, {"x": some, "y": near}]

    def in_float32(function):
        return lambda v: rounded(lambda v: function(v.float32["x"], v.float32["y"]))(v)

    check_cases(
        compiler, "x: [N], y: [N]", [(e, in_float32(f)) for e, f in REMAINDERS], runs,
        rtol=1e-6, atol=0,
    )  # fmt: skip


def spread(generator, low, high, count=60000):
    """Both signs, uniform and by orders of magnitude."""
    magnitudes = numpy.exp(generator.uniform(math.log(low), math.log(high), count))
    signs = generator.choice([-1.0, 1.0], count)
    even = generator.uniform(-high, high, count)
    return numpy.concatenate([magnitudes * signs, even]).astype(numpy.float32)


ACCURACY = {
    "exp": (2, (1e-30, 104.0), numpy.exp),
    "log": (2, (TINY, LARGEST), lambda x: numpy.log(abs(x))),
    "tanh": (2, (1e-30, 12.0), numpy.tanh),
    "sigmoid": (3, (1e-30, 104.0), sigmoid),
    "erf": (4, (1e-30, 5.0), erf),
    "sin": (4, (1e-30, 10000.0), numpy.sin),
    "cos": (4, (1e-30, 10000.0), numpy.cos),
    "sqrt": (0.5, (TINY, LARGEST), lambda x: numpy.sqrt(abs(x))),
}


@pytest.fixture(scope="module")
def accuracy_library(compiler):
    results = ", ".join(f"{name}_of: [N]" for name in ACCURACY)
    values = ", ".join(
        f"{name}(abs(x))" if name in ("log", "sqrt") else f"{name}(x)" for name in ACCURACY
    )
    text = f"model m(x: [N]) -> ({results}) {{\n  return {values}\n}}\n"
    return compiler.library(text).prepare({})


@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy(accuracy_library, name):
    units, (low, high), function = ACCURACY[name]
    generator = numpy.random.default_rng(61)
    with numpy.errstate(over="ignore"):
        x = spread(generator, low, high)
    x = x[numpy.isfinite(x)]
    if name == "log":  # where the result is small
        x = numpy.append(x, numpy.float32(1 + generator.normal(size=20000) * 1e-3))
    found = accuracy_library.run(x=x)[f"{name}_of"].astype(numpy.float64)
    with numpy.errstate(all="ignore"):
        expected = function(x.astype(numpy.float64))
        nearest = expected.astype(numpy.float32)
    normal = (abs(expected) >= TINY) & numpy.isfinite(nearest)
    unit = numpy.spacing(abs(nearest[normal])).astype(numpy.float64)
    errors = abs(found[normal] - expected[normal]) / unit
    worst = errors.argmax()
    assert errors[worst] <= units, (x[normal][worst], found[normal][worst], errors[worst])
    # What is denormal is 0 or the smallest normal number.
    small = abs(expected) < TINY
    assert (abs(found[small]) <= TINY).all()
    infinite = numpy.isinf(nearest)
    numpy.testing.assert_array_equal(found[infinite], nearest[infinite])


def test_functions_on_numbers(compiler):
    """Of fixed numbers and of sizes."""
    functions = {
        "exp": numpy.exp, "log": numpy.log, "sqrt": numpy.sqrt, "sin": numpy.sin,
        "cos": numpy.cos, "tanh": numpy.tanh, "erf": erf, "abs": abs,
        "sigmoid": sigmoid, "log_sigmoid": lambda x: -softplus(-x),
        "softplus": softplus, "relu": lambda x: numpy.maximum(x, 0),
        "silu": lambda x: x * sigmoid(x), 
        "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    }  # fmt: skip
    cases = []
    for name, f in functions.items():
        cases.append((f"x + {name}(0.7)", lambda v, f=f: v.x + f(numpy.float64(0.7))))
        cases.append((f"x + {name}(N / 4)", lambda v, f=f: v.x + f(v.x.size / 4)))
    cases += [
        ("x + abs(-3)", lambda v: v.x + 3),
        ("x * max(N, 4)", lambda v: v.x * max(v.x.size, 4)),
        ("x * min(N / 2, 1.5)", lambda v: v.x * min(v.x.size / 2, 1.5)),
        ("x * clamp(N, 2, 5)", lambda v: v.x * min(max(v.x.size, 2), 5)),
        ("x + 2 ** N", lambda v: v.x + 2.0**v.x.size),
        ("x + 2 ** -1", lambda v: v.x + 0.5),
        ("x + N ** 2", lambda v: v.x + v.x.size**2),
        ("x + -N // 2", lambda v: v.x + -v.x.size // 2),
        ("x + -N % 3", lambda v: v.x + -v.x.size % 3),
        ("x + 7 // -2", lambda v: v.x + 7 // -2),
        ("x + N / 3", lambda v: v.x + v.x.size / 3),
        ("x + N // 3 * 2", lambda v: v.x + v.x.size // 3 * 2),
    ]
    generator = numpy.random.default_rng(62)
    runs = [{"x": generator.normal(size=n).astype(numpy.float32)} for n in (1, 3, 7)]
    check_cases(compiler, "x: [N]", cases, runs)


def test_conversions(compiler):
    x = numpy.float32([0.0, 0.9, -0.9, 1.5, -1.5, 2.5, 1e6, -1e6, 123456.7])
    k = numpy.array([0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 100, 5], numpy.int64)
    c = numpy.arange(9) % 2 == 0
    cases = [
        ("i64(x)", lambda v: v.x.astype(numpy.int64)),
        ("i32(x)", lambda v: v.x.astype(numpy.int32)),
        ("i64(i32(k))", lambda v: v.k),
        ("f32(k)", lambda v: v.k.astype(numpy.float32)),
        ("f32(f64(x) * 3)", lambda v: (v.x * 3).astype(numpy.float32)),
        ("f32(c)", lambda v: v.c.astype(numpy.float32)),
        ("i64(c)", lambda v: v.c.astype(numpy.int64)),
        ("i32(c) + i32(k // 2**20)", lambda v: (v.c + v.k // 2**20).astype(numpy.int32)),
        ("bool(k)", lambda v: v.k != 0),
        ("bool(x)", lambda v: v.x != 0),
        ("f32(i64(2.9)) + x", lambda v: v.x + 2),
        ("f32(true) + x", lambda v: v.x + 1),
    ]
    check_cases(compiler, "x: [N], k: i64[N], c: bool[N]", cases,
                [{"x": x, "k": k, "c": c}], exact=True)  # fmt: skip


def test_conversions_of_what_does_not_fit(compiler):
    """To the nearest that does; NaN to something that does."""
    x = numpy.float32([numpy.inf, -numpy.inf, 1e30, -1e30, 3e9, -3e9])
    cases = [
        ("i32(x)", lambda v: numpy.clip(v.x, -(2**31), 2**31 - 128).astype(numpy.int32)),
        ("i64(x) // 2**40", lambda v: numpy.int64(
            [2**23 - 1, -(2**23), 2**23 - 1, -(2**23), 0, -1])),
    ]  # fmt: skip
    check_cases(compiler, "x: [N]", cases, [{"x": x}])


def test_float64_models(compiler):
    generator = numpy.random.default_rng(63)
    x = numpy.concatenate([generator.normal(size=300) * 3, [0.0, 1e-9, 30.0, -30.0]])
    cases = [
        ("exp(x)", lambda v: numpy.exp(v.x)),
        ("log(abs(x) + 1)", lambda v: numpy.log(abs(v.x) + 1)),
        ("tanh(x)", lambda v: numpy.tanh(v.x)),
        ("sigmoid(x)", lambda v: sigmoid(v.x)),
        ("erf(x)", lambda v: erf(v.x)),
        ("sin(x)", lambda v: numpy.sin(v.x)),
        ("cos(x)", lambda v: numpy.cos(v.x)),
        ("softplus(x)", lambda v: softplus(v.x)),
        ("x ** 1.5", lambda v: v.x**1.5),
        ("x * 0.1", lambda v: v.x * 0.1),
        ("softmax(x)", lambda v: numpy.exp(v.x) / numpy.exp(v.x).sum()),
        ("mean(x)", lambda v: v.x.mean()),
        ("layer(x)", lambda v: v.x / numpy.sqrt((v.x**2).mean() + 1e-5)),
    ]
    check_cases(
        compiler, "x: [N]", cases, [{"x": x}], "--float", "f64", rtol=1e-13, atol=1e-13,
        body="  param layer: rms_norm(affine=false)\n",
    )  # fmt: skip
