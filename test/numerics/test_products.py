# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gf.pack and gf.linear: all numbers of rows of a tile and more, edges of panels, blocks
of k, widths of panels, processors."""

import numpy
import pytest
from conftest import assert_close

TERMS = (0, 1, 3, 4, 7, 17, 64, 200)
COLUMNS = (1, 7, 16, 17, 64, 65, 130)
ROWS = (*range(14), 64)


def processors():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        flags = next((line.split() for line in info if line.startswith("flags")), [])
    found = ["native"]
    if "sse2" in flags:
        found.append("x86-64")
    if "avx2" in flags:
        found.append("x86-64-v3")
    return found


def argument(name, type_, sizes, dimensions):
    return (
        f'tensor<{"?x" * len(sizes)}{type_}> {{gf.name = "{name}", '
        f"gf.shape = affine_map<()[{', '.join(dimensions)}] -> ({', '.join(sizes)})>}}"
    )


def program(width, type_="f32", along=0, rank=2, initial=None, split=False):
    """y = initial + x w' with panels of `width`; `split` in two parts along k."""
    leading = {1: (), 2: ("m",), 3: ("b", "m"), 4: ("b", "m", "m")}[rank]
    tensor = lambda rank, last="": f"tensor<{'?x' * rank}{last}{type_}>"
    x, y, w, panels = tensor(rank), tensor(rank), tensor(2), tensor(2, f"{width}x")
    start = {None: None, "row": tensor(1), "full": y}[initial]
    sizes = {None: (), "row": ("n",), "full": (*leading, "n")}[initial]
    dimensions = sorted({*leading, "n", "k"})
    open_sizes = {"x": (*leading, "k"), "w": ("n", "k") if along == 0 else ("k", "n")}
    if initial:
        open_sizes["i"] = sizes
    arguments = [
        f"%{name}: {argument(name, type_, each, dimensions)}" for name, each in open_sizes.items()
    ]
    begins = f"initial(%i : {start})" if initial else ""
    lines = [f"%c{i} = arith.constant {i} : index" for i in range(4)]
    lines += [
        f"%width = arith.constant {width} : index",
        f"%n = tensor.dim %w, %c{along} : {w}",
        f"%k = tensor.dim %w, %c{1 - along} : {w}",
        "%less = arith.subi %width, %c1 : index",
        "%more = arith.addi %n, %less : index",
        "%p = arith.divui %more, %width : index",
        f"%panels_to = tensor.empty(%p, %k) : {panels}",
        f"%panels = gf.pack %w along {along} into %panels_to : {w} into {panels} -> {panels}",
    ]
    rows = []
    for dim in range(rank - 1):
        lines.append(f"%m{dim} = tensor.dim %x, %c{dim} : {x}")
        rows.append(f"%m{dim}")
    lines.append(f"%to = tensor.empty({', '.join([*rows, '%n'])}) : {y}")
    types = f"{x}, {panels} -> {y}"
    if split:
        zeros, ones = ", ".join(["0"] * (rank - 1)), ", ".join(["1"] * rank)
        lines += ["%k0 = arith.divui %k, %c3 : index", "%k1 = arith.subi %k, %k0 : index"]
        for part, offset in (("0", "0"), ("1", "%k0")):
            place = ", ".join([*["0"] * (rank - 1), offset])
            size = ", ".join([*rows, f"%k{part}"])
            lines += [
                f"%x{part} = tensor.extract_slice %x[{place}] [{size}] [{ones}] : {x} to {x}",
                f"%p{part} = tensor.extract_slice %panels[0, {offset}, 0] [%p, %k{part}, {width}] "
                f"[1, 1, 1] : {panels} to {panels}",
            ]
        lines += [
            f"%y0 = gf.linear %x0, %p0 {begins} outs(%to : {y}) : {types}",
            f"%y = gf.linear %x1, %p1 initial(%y0 : {y}) outs(%y0 : {y}) : {types}",
        ]
    else:
        lines.append(f"%y = gf.linear %x, %panels {begins} outs(%to : {y}) : {types}")
    names = ", ".join(f'"{name}"' for name in dimensions)
    return (
        f"func.func @product({', '.join(arguments)})\n"
        f"    -> ({argument('y', type_, (*leading, 'n'), dimensions)})\n"
        f"    attributes {{gf.entry, gf.dimensions = [{names}]}} {{\n  "
        + "\n  ".join(lines)
        + f"\n  return %y : {y}\n}}\n"
    )


@pytest.fixture(scope="module")
def product(compiler, tmp_path_factory):
    """The run of a program, compiled for a processor."""
    folder = tmp_path_factory.mktemp("products")
    runs = {}

    def find(target="native", **options):
        text = program(**options)
        if (text, target) not in runs:
            path = folder / f"m{len(runs)}.mlir"
            path.write_text(text)
            library = compiler.library(path, f"--target={target}")
            library.prepare({})
            runs[text, target] = lambda **inputs: library.run(**inputs)["y"]
        return runs[text, target]

    return find


def numbers(generator, type_, *shape):
    return generator.uniform(-1, 1, shape).astype(type_)


def weights(generator, type_, columns, terms):
    return (numbers(generator, type_, columns, terms) / max(terms, 1) ** 0.5).astype(type_)


def expect(x, w, initial=0):
    return x.astype(numpy.float64) @ w.astype(numpy.float64).T + initial


@pytest.mark.parametrize("target", processors())
@pytest.mark.parametrize("width", [16, 64])
def test_every_number_of_rows(product, target, width):
    run = product(target, width=width, initial="row")
    generator = numpy.random.default_rng(80)
    for rows in ROWS:
        for terms, columns in [(17, 65), (64, 130), (3, 7)]:
            x = numbers(generator, "f4", rows, terms)
            w = weights(generator, "f4", columns, terms)
            start = numbers(generator, "f4", columns)
            assert_close(run(x=x, w=w, i=start), expect(x, w, start), (rows, terms, columns))


@pytest.mark.parametrize("target", processors())
@pytest.mark.parametrize("along", [0, 1])
def test_every_edge(product, target, along):
    run = product(target, width=64, along=along)
    generator = numpy.random.default_rng(81)
    for terms in TERMS:
        for columns in COLUMNS:
            x = numbers(generator, "f4", 7, terms)
            w = weights(generator, "f4", columns, terms)
            given = w if along == 0 else numpy.ascontiguousarray(w.T)
            assert_close(run(x=x, w=given), expect(x, w), (terms, columns))


@pytest.mark.parametrize("type_, name", [("f4", "f32"), ("f8", "f64")])
@pytest.mark.parametrize("width", [1, 5, 6, 8, 24, 48, 80, 128, 192])
def test_every_width(product, width, type_, name):
    """Of which vectors of some length do, do not, or only in parts make a panel."""
    run = product(width=width, type_=name, initial="full")
    generator = numpy.random.default_rng(82)
    for rows, terms, columns in [(1, 9, 1), (2, 64, 100), (5, 7, 200), (13, 33, 47)]:
        x = numbers(generator, type_, rows, terms)
        w = weights(generator, type_, columns, terms)
        start = numbers(generator, type_, rows, columns)
        found = run(x=x, w=w, i=start)
        assert found.dtype == x.dtype
        if type_ == "f8":
            numpy.testing.assert_allclose(found, expect(x, w, start), rtol=1e-13, atol=1e-14)
        else:
            assert_close(found, expect(x, w, start), (rows, terms, columns))


@pytest.mark.parametrize("rank", [1, 3, 4])
@pytest.mark.parametrize("initial", [None, "row", "full"])
def test_leading_dimensions(product, rank, initial):
    """Also with gaps between the rows of x, and between batches."""
    run = product(width=64, rank=rank, initial=initial)
    generator = numpy.random.default_rng(83)
    for batch, rows in [(1, 1), (3, 5), (2, 1), (1, 4), (0, 3), (3, 0)]:
        leading = {1: (), 3: (batch, rows), 4: (batch, rows, rows)}[rank]
        terms, columns = 19, 70
        w = weights(generator, "f4", columns, terms)
        wide = numbers(generator, "f4", *(2 * size for size in leading), terms + 3)
        views = [
            numpy.ascontiguousarray(wide[(*(slice(size) for size in leading), slice(terms))]),
            wide[(*(slice(size) for size in leading), slice(terms))],
            wide[(*(slice(0, 2 * size, 2) for size in leading), slice(terms))],
        ]
        for x in views:
            inputs, start = {}, 0
            if initial:
                start = numbers(generator, "f4", *(leading if initial == "full" else ()), columns)
                inputs["i"] = start
            assert_close(run(x=x, w=w, **inputs), expect(x, w, start), (batch, rows))


# So that k has several blocks.
TERMS_AND_COLUMNS = [(700, 70), (33, 129), (1500, 64)]


@pytest.mark.parametrize("target", processors())
def test_bits_do_not_depend_on_rows(product, target):
    """One row is the same alone and among others."""
    run = product(target, width=64, initial="row")
    generator = numpy.random.default_rng(84)
    for terms, columns in TERMS_AND_COLUMNS:
        x = numbers(generator, "f4", 31, terms)
        w = weights(generator, "f4", columns, terms)
        start = numbers(generator, "f4", columns)
        whole = run(x=x, w=w, i=start)
        assert_close(whole, expect(x, w, start))
        for first, count in [(0, 1), (30, 1), (3, 2), (5, 3), (7, 4), (2, 5), (9, 6), (1, 7), (4, 26)]:
            rows = slice(first, first + count)
            assert numpy.array_equal(run(x=x[rows], w=w, i=start), whole[rows]), (first, count)


@pytest.mark.parametrize("target", processors())
def test_bits_do_not_depend_on_parts(product, target):
    """The terms in one product or in two: a CPU adds them in order."""
    run = product(target, width=64, initial="row")
    parts = product(target, width=64, initial="row", split=True)
    generator = numpy.random.default_rng(84)
    for terms, columns in TERMS_AND_COLUMNS:
        x = numbers(generator, "f4", 31, terms)
        w = weights(generator, "f4", columns, terms)
        start = numbers(generator, "f4", columns)
        assert numpy.array_equal(parts(x=x, w=w, i=start), run(x=x, w=w, i=start))


def test_nothing_to_add(product):
    """Of no terms the initial value is left, or 0, whatever lay in the output."""
    generator = numpy.random.default_rng(85)
    x, w = numbers(generator, "f4", 9, 0), numbers(generator, "f4", 20, 0)
    start = numbers(generator, "f4", 20)
    assert numpy.array_equal(product(width=64)(x=x, w=w), numpy.zeros((9, 20)))
    found = product(width=64, initial="row")(x=x, w=w, i=start)
    assert numpy.array_equal(found, numpy.tile(start, (9, 1)))


def test_what_is_not_finite_stays_in_its_row_and_column(product):
    generator = numpy.random.default_rng(86)
    x, w = numbers(generator, "f4", 8, 40), weights(generator, "f4", 70, 40)
    x[3, 5], w[66, 7] = numpy.nan, numpy.inf
    found = product(width=64)(x=x, w=w)
    assert numpy.isnan(found[3]).all()
    others = numpy.delete(numpy.delete(found, 3, 0), 66, 1)
    assert numpy.isfinite(others).all()
    assert not numpy.isfinite(numpy.delete(found[:, 66], 3)).any()
