# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The errors of every function in f64, and of powers, over their whole range, in units in
the last place, against extended precision.

Arguments are all signs and exponents with random fractions, the interval where a
function is neither constant nor its argument, and the neighbours of every place where
the arithmetic changes its form.
"""

import math

import numpy
import pytest
from test_math_accuracy import module, units

LEAST = 2.0**-1022
# Where it has no more bits than f64, it is no reference.
pytestmark = pytest.mark.skipif(
    numpy.finfo(numpy.longdouble).nmant < 60, reason="long double is double here"
)
extended = numpy.longdouble


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def erf(x):
    """Taylor's series of sqrt(pi)/2 erf(x) exp(x^2) below 3, without cancellation; Lentz'
    continued fraction of erfc above."""
    scale = extended("1.12837916709551257389615890312154517")  # 2/sqrt(pi)
    a = numpy.minimum(abs(x), extended(6.5))
    below = numpy.minimum(a, extended(3))
    term = below.copy()
    total = term.copy()
    for n in range(1, 90):
        term = term * (2 * below * below) / (2 * n + 1)
        total += term
    small = scale * numpy.exp(-below * below) * total
    above = numpy.maximum(a, extended(3))
    fraction = above.copy()
    for n in range(90, 0, -1):
        fraction = above + n / extended(2) / fraction
    large = 1 - numpy.exp(-above * above) * scale / 2 / fraction
    return numpy.where(numpy.isnan(x), x, numpy.copysign(numpy.where(a < 3, small, large), x))


LN2 = math.log(2)
ROOTS = [math.sqrt(0.5), math.sqrt(2)]
HALVES = [(k + 0.5) * LN2 for k in range(-1030, 1030)]
EDGES = [-1022 * LN2, 1024 * LN2]
# Of each function: the largest error, the reference, where most arguments are from, and
# where the arithmetic changes its form.
FUNCTIONS = {
    "exp": (2, numpy.exp, (-720, 720), [*EDGES, *HALVES]),
    "expm1": (2, numpy.expm1, (-40, 720), [-38, 710, *EDGES, *HALVES]),
    "log": (2, numpy.log, (0, 4), [1, 2, 0.5, *ROOTS]),
    "log1p": (2, numpy.log1p, (-1, 3), [-1, 0, 1, *[r - 1 for r in ROOTS]]),
    "tanh": (2, numpy.tanh, (-20, 20), [19.1, *[h / 2 for h in HALVES]]),
    "sigmoid": (3, sigmoid, (-720, 40), [*EDGES, 709, -709.5, *HALVES]),
    "erf": (2, erf, (-6.5, 6.5), [1, -1, 6, 5.8]),
}


def everywhere(generator, count):
    """Every sign and exponent, `count` times."""
    bits = numpy.arange(1 << 12, dtype=numpy.uint64)[:, None] << numpy.uint64(52)
    fractions = generator.integers(0, 1 << 52, (1 << 12, count), dtype=numpy.uint64)
    x = (bits | fractions).reshape(-1).view(numpy.float64)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, LEAST, -LEAST, 1.0, -1.0]
    x = numpy.concatenate([x, special])
    # Denormal numbers are taken as 0.
    return numpy.where(abs(x) < LEAST, numpy.copysign(0.0, x), x)


def samples(interval, borders):
    generator = numpy.random.default_rng(81)
    near = numpy.float64(borders).view(numpy.int64)[:, None] + numpy.arange(-20, 21)
    return numpy.concatenate([
        everywhere(generator, 16), generator.uniform(*interval, 200000),
        near.reshape(-1).view(numpy.float64),
        # The simplest fractions, where a product may be exact.
        numpy.linspace(*interval, 20001),
    ])  # fmt: skip


@pytest.fixture(scope="module")
def library(compiler, tmp_path_factory):
    path = tmp_path_factory.mktemp("double") / "m.mlir"
    path.write_text(module(1, "f64", FUNCTIONS))
    return compiler.library(path).prepare({})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(library, name):
    bound, function, interval, borders = FUNCTIONS[name]
    x = samples(interval, borders)
    with numpy.errstate(all="ignore"):
        exact = function(x.astype(extended))
    error, of = units(library.run(x=x)[name], exact, x)
    worst = numpy.argmax(error)
    assert error[worst] <= bound, f"{name}({of[worst]!r}): {error[worst]} units"


def test_zeros_keep_their_sign(library):
    found = library.run(x=numpy.float64([0.0, -0.0]))
    for name in ("expm1", "log1p", "tanh", "erf"):
        assert list(numpy.signbit(found[name])) == [False, True], name


def test_the_same_bits_in_every_place(compiler, library, tmp_path):
    """In a vector, in what is left of a row behind its vectors, and alone."""
    x = numpy.random.default_rng(78).permutation(samples((-720, 720), HALVES))[:519]
    path = tmp_path / "m.mlir"
    path.write_text(module(0, "f64", FUNCTIONS))
    scalar = compiler.library(path).prepare({})
    found = library.run(x=x)
    for start in (1, 3, 500, 512, 518):
        part = library.run(x=x[start:])
        for name in FUNCTIONS:
            numpy.testing.assert_array_equal(part[name], found[name][start:], name)
    for i, number in enumerate(x[:100]):
        alone = scalar.run(x=number)
        for name in FUNCTIONS:
            numpy.testing.assert_array_equal(alone[name], found[name][i], name)


@pytest.mark.parametrize("name, function", [("sin", numpy.sin), ("cos", numpy.cos)])
def test_sine_and_cosine_in_f64(compiler, name, function):
    """Against extended precision: near 0, near multiples of pi/2, at far positions."""
    text = f"model m(x: [N]) -> [N] {{\n  return {name}(x)\n}}\n"
    library = compiler.library(text, "--float", "f64").prepare({})
    generator = numpy.random.default_rng(79)
    quarters = numpy.arange(-20000, 20000) * (math.pi / 4)
    x = numpy.concatenate([
        quarters, numpy.nextafter(quarters, 1e9), generator.normal(size=100000) * 10,
        10.0 ** generator.uniform(-300, 0, 10000), generator.uniform(-1e7, 1e7, 100000),
        generator.uniform(-2.0**48, 2.0**48, 100000), [math.inf, -math.inf, math.nan, 0.0, -0.0],
    ])  # fmt: skip
    found = library.run(x=x)["output"]
    with numpy.errstate(invalid="ignore"):
        exact = function(x.astype(numpy.longdouble))
    numpy.testing.assert_array_equal(numpy.isnan(found), numpy.isnan(exact))
    finite = numpy.isfinite(found)
    found, exact, x = found[finite], exact[finite], x[finite]
    unit = numpy.spacing(abs(exact).astype(numpy.float64))
    error = abs(found - exact) / unit
    worst = numpy.argmax(error)
    assert error[worst] <= 2, (x[worst], error[worst])
    assert numpy.signbit(found[-1]) == (name == "sin") and not numpy.signbit(found[-2])


POWER = "model m(x: [N], y: [N]) -> [N] {\n  return x ** y\n}\n"


def power_samples(element):
    """Bases and exponents: any; such that the result is in range; whole exponents of
    negative bases; bases next to 1; results next to where they overflow and underflow."""
    generator = numpy.random.default_rng(82)
    with numpy.errstate(all="ignore"):
        any_x, any_y = (everywhere(generator, 16).astype(element) for _ in range(2))
        kind = numpy.finfo(element)
        any_x, any_y = (
            numpy.where(abs(v) < kind.tiny, numpy.copysign(element(0), v), v) for v in (any_x, any_y)
        )
        any_y = generator.permutation(any_y)
        base = generator.uniform(kind.minexp, kind.maxexp, 200000)
        result = generator.uniform(kind.minexp * 1.02, kind.maxexp * 1.02, 200000)
        near = 1 + generator.uniform(-1, 1, 100000) * 2.0 ** generator.integers(-kind.nmant, 0, 100000)
        edge = generator.choice([kind.minexp, kind.maxexp], 100000)
        whole = generator.integers(-40, 41, 100000)
        x = [2.0**base, near, 2.0 ** base[:100000], -generator.uniform(0, 20, 100000)]
        y = [result / base, edge / numpy.log2(near), edge / base[:100000], whole]
    return (
        numpy.concatenate([any_x, *x]).astype(element),
        numpy.concatenate([any_y, *y]).astype(element),
    )


@pytest.mark.parametrize("kind, bound", [("f32", 1), ("f64", 2)])
def test_powers(compiler, kind, bound):
    element = {"f32": numpy.float32, "f64": numpy.float64}[kind]
    library = compiler.library(POWER, "--float", kind).prepare({})
    x, y = power_samples(element)
    with numpy.errstate(all="ignore"):
        exact = numpy.power(x.astype(extended), y.astype(extended))
    error, base, exponent = units(library.run(x=x, y=y)["output"], exact, x, y)
    worst = numpy.argmax(error)
    assert error[worst] <= bound, (base[worst], exponent[worst], error[worst])


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_powers_of_special_numbers(compiler, kind):
    """C's annex F, which NumPy follows, signs of zeros included."""
    element = {"f32": numpy.float32, "f64": numpy.float64}[kind]
    library = compiler.library(POWER, "--float", kind).prepare({})
    inf, nan = math.inf, math.nan
    largest, least = numpy.finfo(element).max, numpy.finfo(element).tiny
    numbers = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 1e9, 2.0**24 - 1, 2.0**53 - 1, largest, least, inf]
    numbers = element([nan, *numbers, *[-v for v in numbers]])
    x, y = (v.reshape(-1) for v in numpy.meshgrid(numbers, numbers))
    found = library.run(x=x, y=y)["output"]
    with numpy.errstate(all="ignore"):
        expected = numpy.power(x, y)
    expected = numpy.where(abs(expected) < least, numpy.copysign(element(0), expected), expected)
    wrong = ~numpy.isclose(found, expected, rtol=3e-7, atol=0, equal_nan=True)
    wrong |= ~numpy.isnan(found) & (numpy.signbit(found) != numpy.signbit(expected))
    assert not wrong.any(), list(zip(x[wrong], y[wrong], found[wrong], expected[wrong]))[:10]
