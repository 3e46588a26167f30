# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is read from 16 bits and what is rounded to them, over all their numbers: nearest even,
infinity for what is too large, NaN. Denormal numbers of f16 are kept; those of bf16 are denormal in
f32 and taken as 0."""

import numpy
import pytest
from halves import PATHS, TOLERANCES, every_number, rounded

# Where a number is rounded: as it is, after a sum, as the result of a product, of an attention, of
# steps, turned.
PLACES = """
import attention

cell kept(x: [W]) -> [W] {
  state h: [W]
  h' = x
  return h'
}

model m(x: f32[N, 1], zero: f32[N, 1, 1]) -> (
    copy: [N, 1], half: [N, 1], product: [N, 1], attended: [N, 1], steps: [N, 1], turned: [1, N]) {
  param cell: kept(), w: f32[1, 1]
  y, _ = scan(cell, x)
  return TYPE(x), TYPE(x * 0.5), TYPE(x @ w.T),
    TYPE(dot_product(zero, zero, x[:, None])[:, 0]), TYPE(y), TYPE(x.T)
}
"""


def flushed(array):
    """Denormal numbers of f32 as 0 of their sign."""
    return numpy.where(abs(array) < 2.0**-126, numpy.copysign(0, array), array).astype(numpy.float32)


def assert_same(found, expected, what):
    """NaN for NaN, and each 0 with its sign."""
    numpy.testing.assert_array_equal(found, expected, what)
    known = ~numpy.isnan(expected)
    numpy.testing.assert_array_equal(numpy.signbit(found[known]), numpy.signbit(expected[known]), what)


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
def test_every_number_is_read(compiler, path, element):
    text = "model m(x: [N]) -> ([N], [N], [N], f32[N]) {\n  return x, -x, x * 3, f32(x) * 0.75\n}\n"
    library = compiler.library(text, "--float", element, *PATHS[path]).prepare({})
    for x in (every_number(element), every_number(element)[5:-2]):
        with numpy.errstate(all="ignore"):
            wide = x if element == "f16" else flushed(x)
            expected = [wide, -wide, rounded(wide * numpy.float32(3), element), flushed(wide * numpy.float32(0.75))]
        found = list(library.run(x=x).values())
        # What only passes may keep numbers that arithmetic takes as 0.
        if element == "bf16":
            found[0], found[1] = flushed(found[0]), flushed(found[1])
        for i, array in enumerate(expected):
            assert_same(found[i].astype(numpy.float32), array, str(i))


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
def test_every_store_rounds_to_nearest_even(compiler, path, element):
    """All middles between two numbers, and what is next to them in f32."""
    source = PLACES.replace("TYPE", element)
    for name in ("copy", "half", "product", "attended", "steps", "turned"):
        source = source.replace(f"{name}: [", f"{name}: {element}[")
    library = compiler.library(source, *PATHS[path]).prepare({"w": numpy.ones((1, 1))})
    numbers = every_number(element)
    numbers = numpy.unique(numbers[numpy.isfinite(numbers)].astype(float))
    if element == "f16":
        numbers = numpy.append(numbers, 65536.0)  # where infinity stands
    middles = ((numbers[1:] + numbers[:-1]) / 2).astype(numpy.float32)
    x = [middles, numpy.nextafter(middles, numpy.inf), numpy.nextafter(middles, -numpy.inf)]
    x = numpy.concatenate([*x, [numpy.inf, -numpy.inf, 1e38, -3.3961775e38, 3.4e38, 65519.996, -0.0]])
    x = x.astype(numpy.float32)
    x = x[(x == 0) | (abs(x) >= 2.0**-124)]
    found = library.run(x=x[:, None], zero=numpy.zeros((len(x), 1, 1)))
    for name, array in found.items():
        values = x * numpy.float32(0.5) if name == "half" else x
        with numpy.errstate(all="ignore"):
            expected = rounded(values, element)
        array = array.astype(numpy.float32).ravel()
        numpy.testing.assert_array_equal(array, expected, name)
    nothing = numpy.full((3, 1), numpy.nan, numpy.float32)
    for name, array in library.run(x=nothing, zero=numpy.zeros((3, 1, 1))).items():
        assert numpy.isnan(array.astype(numpy.float32)).all(), name
