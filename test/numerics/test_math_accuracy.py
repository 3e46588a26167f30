# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The errors of every function of one argument in f32 over its whole range, in units in
the last place.

Each function meets about 2^22 numbers: all signs and exponents with fractions spread
evenly through them, and the neighbours of every place where the arithmetic changes its
form. References are in float64, at least; where NumPy has no such function (erf), a
series and a continued fraction.
"""

import math

import numpy
import pytest

LEAST = 2.0**-126
COUNT = 1 << 22


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def erf(x):
    """Taylor's series of sqrt(pi)/2 erf(x) exp(x^2) below 3, without cancellation; Lentz'
    continued fraction of erfc above."""
    x = numpy.asarray(x, numpy.float64)
    a = numpy.minimum(abs(x), 6.5)
    below = numpy.minimum(a, 3.0)
    term = below.copy()
    total = term.copy()
    for n in range(1, 60):
        term = term * (2 * below * below) / (2 * n + 1)
        total += term
    small = 2 / math.sqrt(math.pi) * numpy.exp(-below * below) * total
    above = numpy.maximum(a, 3.0)
    fraction = above.copy()
    for n in range(60, 0, -1):
        fraction = above + n / 2 / fraction
    large = 1 - numpy.exp(-above * above) / (math.sqrt(math.pi) * fraction)
    return numpy.where(numpy.isnan(x), x, numpy.copysign(numpy.where(a < 3, small, large), x))


LN2 = math.log(2)
ROOTS = [math.sqrt(0.5), math.sqrt(2)]
HALVES = [(k + 0.5) * LN2 for k in range(-130, 130)]
QUARTERS = [k * math.pi / 4 for k in range(-12800, 12800, 7)]
# Of each function: the largest error, the reference, the largest argument for which
# the error is promised, and where the arithmetic changes its form. What the project
# promises nothing for is held to 2.
FUNCTIONS = {
    "exp": (2, numpy.exp, math.inf, [-87.33654, 88.72283, *HALVES]),
    "exp2": (2, numpy.exp2, math.inf, [-126, 128, *[k + 0.5 for k in range(-130, 130)]]),
    "expm1": (2, numpy.expm1, math.inf, [-18, 89, *HALVES]),
    "log": (2, numpy.log, math.inf, [1, 2, 0.5, *ROOTS]),
    "log2": (2, numpy.log2, math.inf, [1, 2, 0.5, *ROOTS]),
    "log10": (2, numpy.log10, math.inf, [1, 10, 100, *ROOTS]),
    "log1p": (2, numpy.log1p, math.inf, [-1, 0, 1, *[r - 1 for r in ROOTS]]),
    "tanh": (2, numpy.tanh, math.inf, [9.02, *[h / 2 for h in HALVES]]),
    "sigmoid": (3, sigmoid, math.inf, [87.33654, -87.33654, 88, -88.7, *HALVES]),
    "erf": (4, erf, math.inf, [1, -1, 3, 3.9, 4]),
    "sin": (4, numpy.sin, 10000, QUARTERS),
    "cos": (4, numpy.cos, 10000, QUARTERS),
}


def samples(limit, borders):
    generator = numpy.random.default_rng(77)
    even = numpy.linspace(0, 2**32 - 1, COUNT).astype(numpy.uint32)
    bits = even ^ generator.integers(0, 1 << 9, COUNT, dtype=numpy.uint32)
    special = numpy.float32([0.0, -0.0, math.inf, -math.inf, math.nan, LEAST, -LEAST])
    borders = numpy.float32(borders).view(numpy.int32)
    near = (borders[:, None] + numpy.arange(-40, 41)).astype(numpy.int32).reshape(-1)
    x = numpy.concatenate([bits.view(numpy.float32), special, near.view(numpy.float32)])
    x = x[~(abs(x) > limit) | numpy.isinf(x) if math.isinf(limit) else ~(abs(x) > limit)]
    # Denormal numbers are taken as 0.
    return numpy.where(abs(x) < LEAST, numpy.copysign(numpy.float32(0), x), x)


def units(found, exact, *arguments):
    """The errors in units of `found`, where the exact result rounded to its type is
    neither infinite nor NaN (there it must be the same); and the arguments there."""
    kind = numpy.finfo(found.dtype)
    with numpy.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
    numpy.testing.assert_array_equal(numpy.isnan(found), numpy.isnan(rounded))
    same = found == rounded
    # At the edge of what overflows either neighbour will do.
    edge = abs(exact) > numpy.nextafter(kind.max, found.dtype.type(0))
    finite = numpy.isfinite(rounded) & numpy.isfinite(found)
    wrong = (numpy.isinf(rounded) | numpy.isinf(found)) & ~same & ~edge
    assert not wrong.any(), [x[wrong][:10] for x in arguments]
    with numpy.errstate(over="ignore"):
        unit = numpy.maximum(numpy.spacing(abs(rounded[finite])), numpy.spacing(kind.tiny))
    error = abs(found[finite].astype(exact.dtype) - exact[finite]) / unit
    # Denormal results are taken as 0.
    tiny = (abs(exact[finite]) < kind.tiny) & (abs(found[finite]) <= kind.tiny)
    error[same[finite] | tiny] = 0
    return error, *(x[finite] for x in arguments)


def in_f64(function, x):
    with numpy.errstate(all="ignore"):
        return numpy.asarray(function(x.astype(numpy.float64)), numpy.float64)


BODIES = {
    "sigmoid": """%one = arith.constant 1.0 : f32
    %negated = arith.negf %a : f32
    %power = math.exp %negated : f32
    %sum = arith.addf %power, %one : f32
    %c = arith.divf %one, %sum : f32""",
}


def module(rank, element="f32", functions=FUNCTIONS):
    """An entry that applies every function to a tensor of a rank."""
    tensor = f"tensor<{'?x' * rank}{element}>"
    kinds = ", ".join(['"parallel"'] * rank)
    loops = ", ".join(f"d{i}" for i in range(rank))
    symbols, dimensions = ("[s0]", '["N"]') if rank else ("", "[]")
    shape = f"gf.shape = affine_map<(){symbols} -> ({'s0' * rank})>"
    results = ", ".join(f'{tensor} {{gf.name = "{name}", {shape}}}' for name in functions)
    lines = [
        f"#map = affine_map<({loops}) -> ({loops})>",
        f'func.func @m(%x: {tensor} {{gf.name = "x", {shape}}})',
        f"    -> ({results})",
        f"    attributes {{gf.entry, gf.dimensions = {dimensions}}} {{",
    ]
    for name in functions:
        body = BODIES.get(name, f"%c = math.{name} %a : f32").replace("f32", element)
        lines.append(
            f"""  %{name} = linalg.generic {{indexing_maps = [#map, #map], iterator_types = [{kinds}]}}
      ins(%x : {tensor}) outs(%x : {tensor}) {{
  ^bb0(%a: {element}, %b: {element}):
    {body}
    linalg.yield %c : {element}
  }} -> {tensor}"""
        )
    names = ", ".join(f"%{name}" for name in functions)
    lines += [f"  return {names} : {', '.join([tensor] * len(functions))}", "}", ""]
    return "\n".join(lines)


def made(compiler, folder, rank, *options):
    path = folder / f"rank{rank}.mlir"
    path.write_text(module(rank))
    return compiler.library(path, *options).prepare({})


@pytest.fixture(scope="module")
def library(compiler, tmp_path_factory):
    return made(compiler, tmp_path_factory.mktemp("vectors"), 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(library, name):
    bound, function, limit, borders = FUNCTIONS[name]
    x = samples(limit, borders)
    error, of = units(library.run(x=x)[name], in_f64(function, x), x)
    worst = numpy.argmax(error)
    assert error[worst] <= bound, f"{name}({of[worst]!r}): {error[worst]} units"


def test_sine_and_cosine_far_away(library):
    """Beyond what is promised: as good up to 2^49, then within [-1, 1]."""
    x = numpy.float32(2.0) ** numpy.arange(13, 49) * numpy.linspace(1, 2, 997, dtype=numpy.float32)[:, None]
    x = x.reshape(-1)
    x = numpy.concatenate([x, -x])
    found = library.run(x=x)
    for name, function in (("sin", numpy.sin), ("cos", numpy.cos)):
        error, of = units(found[name], in_f64(function, x), x)
        assert error.max() <= 4, (name, of[numpy.argmax(error)])
    found = library.run(x=numpy.float32([1e20, -1e20, 1e38, -3e38]))
    assert (abs(found["sin"]) <= 1).all() and (abs(found["cos"]) <= 1).all()


def test_zeros_keep_their_sign(library):
    found = library.run(x=numpy.float32([0.0, -0.0]))
    for name in ("expm1", "log1p", "tanh", "erf", "sin"):
        assert list(numpy.signbit(found[name])) == [False, True], name


def test_the_same_bits_in_every_place(compiler, library, tmp_path):
    """In a vector, in what is left of a row behind its vectors, and alone."""
    x = numpy.random.default_rng(78).permutation(samples(math.inf, HALVES))[:1031]
    scalar = made(compiler, tmp_path, 0)
    found = library.run(x=x)
    for start in (1, 3, 1000, 1024, 1030):
        part = library.run(x=x[start:])
        for name in FUNCTIONS:
            numpy.testing.assert_array_equal(
                part[name].view(numpy.int32), found[name][start:].view(numpy.int32), name
            )
    for i, number in enumerate(x):
        alone = scalar.run(x=number)
        for name in FUNCTIONS:
            assert numpy.isnan(found[name][i]) and numpy.isnan(alone[name]) or (
                alone[name].view(numpy.int32) == found[name][i].view(numpy.int32)
            ), (name, number)
