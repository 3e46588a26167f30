# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of f16 and bf16 share: rounding, tolerances, models with their weights."""

import numpy
from conftest import random_weights
from gatefold_library import from_bf16, to_bf16

# Of each type: rtol, atol.
TOLERANCES = {"f16": (1e-3, 1e-3), "bf16": (1.6e-2, 1e-3)}
PATHS = {"fast": [], "naive": ["--naive"]}


def rounded(array, element):
    """To the nearest numbers of 16 bits, as float32; other types as they are."""
    array = numpy.asarray(array)
    if array.dtype.kind != "f":
        return array
    if element == "f16":
        with numpy.errstate(over="ignore"):
            return array.astype(numpy.float16).astype(numpy.float32)
    return from_bf16(to_bf16(array.astype(numpy.float32)))


def every_number(element):
    """All of a type's 65536, as float32."""
    bits = numpy.arange(1 << 16, dtype=numpy.uint16)
    if element == "bf16":
        return from_bf16(bits)
    return bits.view(numpy.float16).astype(numpy.float32)


def assert_near(found, expected, element, what=""):
    rtol, atol = TOLERANCES[element]
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    numpy.testing.assert_allclose(
        found.astype(numpy.float64), expected, rtol=rtol, atol=atol, err_msg=str(what)
    )


def weights_of(library, generator, element):
    weights = random_weights(library, generator)
    return {name: rounded(array, element) for name, array in weights.items()}


def prepared(compiler, generator, text, element, *options):
    library = compiler.library(text, "--float", element, *options)
    weights = weights_of(library, generator, element)
    return library.prepare(weights), weights
