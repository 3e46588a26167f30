# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions NAME(w, panels, x, initial, y) of a library, NAME being the types of x
and w, of the initial values and of y, and compares y with float64.

Usage: narrow_products.py LIBRARY NAME...
"""

import ctypes
import sys

import numpy

WIDTH = 32
# The rounding of a stored number, relative.
HALF = {"f32": 2**-24, "f16": 2**-11, "bf16": 2**-8}


def store(array, type_):
    """The bits of float32 numbers in another type, rounded to the nearest, to even."""
    array = array.astype(numpy.float32)
    if type_ == "f32":
        return array
    if type_ == "f16":
        return array.astype(numpy.float16)
    bits = array.view(numpy.uint32).astype(numpy.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def load(array):
    if array.dtype == numpy.uint16:
        return (array.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    return array.astype(numpy.float64)


def descriptor(array):
    """What MLIR's C interface takes for a memref."""
    sizes = ctypes.c_int64 * array.ndim

    class Descriptor(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", sizes),
            ("strides", sizes),
        ]

    strides = [stride // array.itemsize for stride in array.strides]
    data = array.ctypes.data
    return ctypes.byref(Descriptor(data, data, 0, sizes(*array.shape), sizes(*strides)))


def check(library, name, generator, rows, terms, columns):
    stored, begun, given = name.split("_")
    uniform = lambda *shape: generator.uniform(-1, 1, shape)
    x, w = store(uniform(rows, terms), stored), store(uniform(columns, terms) / terms**0.5, stored)
    initial = store(uniform(columns), begun)
    panels = store(numpy.full((-(-columns // WIDTH), terms, WIDTH), 7.0), stored)
    y = store(numpy.full((rows, columns), 7.0), given)
    run = getattr(library, f"_mlir_ciface_{name}")
    run(*(descriptor(array) for array in (w, panels, x, initial, y)))
    expected = load(x) @ load(w).T + load(initial)
    # Sums are f32: below that of the result, their error is that of f32 alone.
    numpy.testing.assert_allclose(
        load(y), expected, rtol=1.01 * HALF[given], atol=3e-6, err_msg=f"{name} {rows} {terms} {columns}"
    )


def main(path, *names):
    library = ctypes.CDLL(path)
    generator = numpy.random.default_rng(90)
    for name in names:
        for sizes in [(1, 40, 70), (6, 600, 64), (7, 5, 33), (13, 3, 9), (12, 17, 100)]:
            check(library, name, generator, *sizes)


main(*sys.argv[1:])
