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

model m(x: f32[N, 64], v: f32[N, 1, 64], zero: f32[N, 1, 1]) -> (
    copy: [N, 64], half: [N, 64], product: [N, 64, 1], attended: [N, 64], steps: [N, 64, 1], turned: [64, N]) {
  param cell: kept(), w: f32[1, 1]
  y, _ = scan(cell, x[:, :, None])
  return TYPE(x), TYPE(x * 0.5), TYPE(x[:, :, None] @ w.T),
    TYPE(dot_product(zero, zero, v)[:, 0]), TYPE(y), TYPE(x.T)
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
    """All middles between two numbers, and what is next to them in f32; in an attention, whose
    products may keep 22 bits of an f32, what is next to them in 21."""
    source = PLACES.replace("TYPE", element)
    for name in ("copy", "half", "product", "attended", "steps", "turned"):
        source = source.replace(f"{name}: [", f"{name}: {element}[")
    library = compiler.library(source, *PATHS[path]).prepare({"w": numpy.ones((1, 1))})
    numbers = every_number(element)
    numbers = numpy.unique(numbers[numpy.isfinite(numbers)].astype(float))
    if element == "f16":
        numbers = numpy.append(numbers, 65536.0)  # where infinity stands
    middles = ((numbers[1:] + numbers[:-1]) / 2).astype(numpy.float32)
    middles = middles[(middles == 0) | (abs(middles) >= 2.0**-123)]
    x = [middles, numpy.nextafter(middles, numpy.inf), numpy.nextafter(middles, -numpy.inf)]
    x = numpy.concatenate([*x, [numpy.inf, -numpy.inf, 1e38, -3.3961775e38, 3.4e38, 65519.996, -0.0]])
    # Both parts of 11 bits are normal numbers.
    v = middles[(middles == 0) | (abs(middles) >= 2.0**-103)]
    v = numpy.concatenate([v, v * numpy.float32(1 + 2.0**-20), v * numpy.float32(1 - 2.0**-20)])
    x, v = (numpy.resize(a.astype(numpy.float32), (len(x) // 64 + 1, 64)) for a in (x, v))
    given = {"x": x, "v": v[:, None], "zero": numpy.zeros((len(x), 1, 1))}
    for name, array in library.run(**given).items():
        values = {"half": x * numpy.float32(0.5), "attended": v}.get(name, x)
        with numpy.errstate(all="ignore"):
            expected = rounded(values, element)
        array = array.astype(numpy.float32)
        array = array.T if name == "turned" else array.reshape(x.shape)
        numpy.testing.assert_array_equal(array, expected, name)
    nothing = numpy.full((3, 64), numpy.nan, numpy.float32)
    given = {"x": nothing, "v": nothing[:, None], "zero": numpy.zeros((3, 1, 1))}
    for name, array in library.run(**given).items():
        assert numpy.isnan(array.astype(numpy.float32)).all(), name


INFINITIES = """
import attention

model m(x: f32[3, 1, 64], zero: f32[3, 1, 1]) -> TYPE[3, 1, 64] {
  return TYPE(dot_product(zero, zero, x))
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
def test_an_attention_keeps_infinities(compiler, path, element):
    library = compiler.library(INFINITIES.replace("TYPE", element), *PATHS[path]).prepare({})
    x = numpy.zeros((3, 1, 64), numpy.float32)
    x[0, 0, 5], x[1, 0, 7], x[1, 0, 8], x[2, 0, 1] = numpy.inf, -numpy.inf, 1e38, 3.4e38
    with numpy.errstate(all="ignore"):
        expected = rounded(x, element)
    found = library.run(x=x, zero=numpy.zeros((3, 1, 1)))["output"]
    numpy.testing.assert_array_equal(found.astype(numpy.float32), expected)
