# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bits of an element do not depend on its place in a vector, on the length of its
row or on the other rows; every element type has lanes."""

import pathlib

import numpy
import pytest
from conftest import assert_close


def targets():
    """This processor, and narrower ones whose instructions it has."""
    try:
        flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    except OSError:
        flags = set()
    needs = {"x86-64-v2": {"sse4_2"}, "x86-64-v3": {"avx2", "fma", "f16c"}}
    return ["native", *[target for target, needed in needs.items() if needed <= flags]]


@pytest.fixture(params=targets())
def target(request):
    return f"--target={request.param}"


def prepared(compiler, text, *options):
    library = compiler.library(text, *options)
    library.prepare({})
    return library


# Around one, two and many vectors of 4, 8 and 16 lanes.
WIDTHS = (1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 71)
WIDEST = max(WIDTHS)

# A product of what all lanes share, sums that could be fused with it, functions with
# and without an instruction, choices, indices.
ELEMENTWISE = """model m(x: [N, M], z: [N, M], s: [N], b: [M], k: i64[N]) -> (
    a0: [N, M], a1: [N, M], a2: [N, M], a3: [N, M], a4: bool[N, M], a5: i64[N, M],
    a6: [N, M]) {
  return (x * z + s[:, None] * 1.7, x + s[:, None] * s[:, None],
    tanh(x) * sigmoid(z) + b, where(k[:, None] > 0, x, z) / (1 + b * b),
    (x > z) and (k[:, None] > 0), k[:, None] * 3 + i64(z * 5), exp(x) * s[:, None] - z)
}
"""


def elementwise_data(rows):
    generator = numpy.random.default_rng(5)
    x, z = generator.standard_normal((2, rows, WIDEST)).astype(numpy.float32)
    s, b = generator.standard_normal((2, rows, WIDEST)).astype(numpy.float32)
    return x, z, s[:, 0], b[0], generator.integers(-2, 3, rows)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_elements_have_the_same_bits_in_every_place(compiler, target, rows):
    library = prepared(compiler, ELEMENTWISE, target)
    x, z, s, b, k = elementwise_data(5)
    whole = library.run(x=x, z=z, s=s, b=b, k=k)
    for width in WIDTHS:
        for first in {0, WIDEST - width, (WIDEST - width) // 2}:
            part = slice(first, first + width)
            found = library.run(
                x=x[:rows, part], z=z[:rows, part], s=s[:rows], b=b[part], k=k[:rows]
            )
            for name, values in found.items():
                numpy.testing.assert_array_equal(
                    values, whole[name][:rows, part], f"{name} {width} from {first}"
                )


def rows_of(rows, width):
    """Two operands."""
    generator = numpy.random.default_rng(width)
    return generator.standard_normal((2, rows, width)).astype(numpy.float32)


REDUCTIONS = """model m(x: [N, M], z: [N, M]) -> (
    a0: [N], a1: [N], a2: [N], a3: [N], a4: [N, M], a5: [M], a6: i64[N]) {
  return (sum(x, axis=1), max(x, axis=1), min(x, axis=1), sum(x * z, axis=1),
    softmax(x, axis=1), sum(x * z, axis=0), sum(i64(x > 0), axis=1))
}
"""


def reduction_references(x, z):
    x, z = x.astype(numpy.float64), z.astype(numpy.float64)
    power = numpy.exp(x - x.max(axis=1, keepdims=True))
    return {
        "a0": x.sum(axis=1),
        "a1": x.max(axis=1),
        "a2": x.min(axis=1),
        "a3": (x * z).sum(axis=1),
        "a4": power / power.sum(axis=1, keepdims=True),
        "a5": (x * z).sum(axis=0),
        "a6": (x > 0).sum(axis=1),
    }


@pytest.mark.parametrize("width", [*WIDTHS, 257, 1000])
def test_rows_do_not_depend_on_each_other(compiler, target, width):
    library = prepared(compiler, REDUCTIONS, target)
    x, z = rows_of(7, width)
    whole = library.run(x=x, z=z)
    for name, expected in reduction_references(x, z).items():
        assert_close(whole[name], expected, name)
    for rows in (slice(0, 1), slice(3, 7), slice(6, 7), slice(1, 3)):
        part = library.run(x=x[rows], z=z[rows])
        for name in whole.keys() - {"a5"}:
            numpy.testing.assert_array_equal(part[name], whole[name][rows], name)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_neutral_behind_a_row_changes_nothing(compiler, target, width):
    library = prepared(compiler, REDUCTIONS, target)
    x, z = rows_of(3, width)
    short = library.run(x=x, z=z)

    def longer(value, more):
        return numpy.pad(x, ((0, 0), (0, more)), constant_values=value)

    for more in (1, 5, 16, 47):
        zero = numpy.pad(z, ((0, 0), (0, more)))
        found = library.run(x=longer(0, more), z=zero)
        for name in ("a0", "a3", "a6"):
            numpy.testing.assert_array_equal(found[name], short[name], f"{name} {more}")
        found = library.run(x=longer(-numpy.inf, more), z=zero)
        numpy.testing.assert_array_equal(found["a1"], short["a1"])
        numpy.testing.assert_array_equal(found["a4"][:, :width], short["a4"])


@pytest.mark.parametrize("width", WIDTHS)
def test_not_a_number_reaches_its_row_alone(compiler, target, width):
    library = prepared(compiler, REDUCTIONS, target)
    x, z = rows_of(3, width)
    clean = library.run(x=x, z=z)
    for place in {0, width // 2, width - 1}:
        bad = x.copy()
        bad[1, place] = numpy.nan
        found = library.run(x=bad, z=z)
        for name in ("a0", "a1", "a2", "a3", "a4"):
            assert numpy.isnan(found[name][1]).all(), (name, place)
            numpy.testing.assert_array_equal(found[name][::2], clean[name][::2])


ARG_MAX = """model m(x: [N, M], k: i64[N, M], n: i64[N]) -> (
    a0: i64[N], a1: i64[N], a2: i64[N], a3: i64[M]) {
  return (argmax(x, axis=1), argmax(k, axis=1), argmax(x, axis=1, lengths=n), argmax(x, axis=0))
}
"""


@pytest.mark.parametrize("width", [*WIDTHS, 257, 1000])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_the_first_of_the_largest(compiler, target, kind, width):
    library = prepared(compiler, ARG_MAX, target, "--float", kind)
    generator = numpy.random.default_rng(width)
    # Few values, so that most rows have equal ones; zeros of both signs are equal.
    x = generator.integers(-2, 3, (60, width)) * generator.choice([-1.0, 1.0], (60, width))
    x[10:20] = generator.standard_normal((10, width))
    x[20:30] = -numpy.inf
    x[30:40] = numpy.where(generator.random((10, width)) < 2 / width, numpy.nan, x[30:40])
    x[40] = numpy.nan
    k = generator.integers(-3, 4, (60, width))
    k[50:] = numpy.iinfo(numpy.int64).min
    n = generator.integers(1, width + 1, 60)
    found = library.run(x=x.astype({"f32": numpy.float32, "f64": numpy.float64}[kind]), k=k, n=n)
    numpy.testing.assert_array_equal(found["a0"], x.argmax(1))
    numpy.testing.assert_array_equal(found["a1"], k.argmax(1))
    numpy.testing.assert_array_equal(found["a2"], [row[:m].argmax() for row, m in zip(x, n)])
    numpy.testing.assert_array_equal(found["a3"], x.argmax(0))


def typed_module(kind, down, up):
    """x through memory of another element type and back, with a transposition between
    so that it is memory."""
    return f"""
#rows = affine_map<(i, j) -> (i, j)>
func.func @m(%x: tensor<?x?xf32> {{gf.name = "x", gf.shape = affine_map<()[n, m] -> (n, m)>}})
    -> (tensor<?x?xf32> {{gf.name = "y", gf.shape = affine_map<()[n, m] -> (m, n)>}})
    attributes {{gf.entry, gf.dimensions = ["N", "M"]}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %small = tensor.empty(%n, %m) : tensor<?x?x{kind}>
  %a = linalg.generic {{indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}}
      ins(%x : tensor<?x?xf32>) outs(%small : tensor<?x?x{kind}>) {{
  ^bb0(%in: f32, %out: {kind}):
    %v = {down}
    linalg.yield %v : {kind}
  }} -> tensor<?x?x{kind}>
  %turned = tensor.empty(%m, %n) : tensor<?x?x{kind}>
  %t = linalg.transpose ins(%a : tensor<?x?x{kind}>) outs(%turned : tensor<?x?x{kind}>) permutation = [1, 0]
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = linalg.generic {{indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}}
      ins(%t : tensor<?x?x{kind}>) outs(%e : tensor<?x?xf32>) {{
  ^bb0(%in: {kind}, %out: f32):
    %v = {up}
    linalg.yield %v : f32
  }} -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}}
"""


TYPES = {
    "f64": ("arith.extf %in : f32 to f64", "arith.truncf %in : f64 to f32", lambda x: x),
    "i8": ("arith.fptosi %in : f32 to i8", "arith.sitofp %in : i8 to f32", numpy.trunc),
    "i16": ("arith.fptosi %in : f32 to i16", "arith.sitofp %in : i16 to f32", numpy.trunc),
    "i32": ("arith.fptosi %in : f32 to i32", "arith.sitofp %in : i32 to f32", numpy.trunc),
    "i64": ("arith.fptosi %in : f32 to i64", "arith.sitofp %in : i64 to f32", numpy.trunc),
    "i1": ("arith.cmpf ogt, %in, %one : f32", "arith.uitofp %in : i1 to f32", lambda x: x > 1),
}  # fmt: skip
SHAPES = [(1, 1), (3, 7), (16, 16), (17, 33), (40, 5), (0, 3), (64, 65)]


@pytest.mark.parametrize("kind", TYPES)
def test_element_types(compiler, target, kind, tmp_path):
    down, up, expected = TYPES[kind]
    text = typed_module(kind, down, up)
    text = text.replace("  %c0 =", "  %one = arith.constant 1.0 : f32\n  %c0 =", 1)
    source = tmp_path / f"{kind}.mlir"
    source.write_text(text)
    library = prepared(compiler, source, target)
    generator = numpy.random.default_rng(9)
    for rows, width in SHAPES:
        x = (generator.standard_normal((rows, width)) * 20).astype(numpy.float32)
        found = library.run(x=x)["y"]
        numpy.testing.assert_array_equal(found, expected(x).astype(numpy.float32).T)


HALVES = """
#rows = affine_map<(i, j) -> (i, j)>
func.func @m(%x: tensor<?x?xf32> {gf.name = "x", gf.shape = affine_map<()[n, m] -> (n, m)>},
    %h: tensor<?x?xKIND> {gf.name = "h", gf.shape = affine_map<()[n, m] -> (n, m)>})
    -> (tensor<?x?xKIND> {gf.name = "down", gf.shape = affine_map<()[n, m] -> (n, m)>},
        tensor<?x?xf32> {gf.name = "up", gf.shape = affine_map<()[n, m] -> (n, m)>})
    attributes {gf.entry, gf.dimensions = ["N", "M"]} {
  %down = arith.truncf %x : tensor<?x?xf32> to tensor<?x?xKIND>
  %up = arith.extf %h : tensor<?x?xKIND> to tensor<?x?xf32>
  return %down, %up : tensor<?x?xKIND>, tensor<?x?xf32>
}
"""


def to_bfloat16(x):
    """The upper half of the bits, rounded to the nearest, ties to even."""
    bits = x.view(numpy.uint32).astype(numpy.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_halves(compiler, target, kind, tmp_path):
    source = tmp_path / f"{kind}.mlir"
    source.write_text(HALVES.replace("KIND", kind))
    library = prepared(compiler, source, target)
    generator = numpy.random.default_rng(9)
    for rows, width in SHAPES:
        x = (generator.standard_normal((rows, width)) * 20).astype(numpy.float32)
        down = x.astype(numpy.float16) if kind == "f16" else to_bfloat16(x)
        up = down if kind == "f16" else (down.astype(numpy.uint32) << 16).view(numpy.float32)
        found = library.run(x=x, h=down)
        numpy.testing.assert_array_equal(found["down"].astype(numpy.float32), up)
        numpy.testing.assert_array_equal(found["up"], up.astype(numpy.float32))
