# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts at random against NumPy, each at several sizes."""

import numpy
import pytest
from conftest import random_weights
from expressions import difference
from random_programs import Program

SIZES = [(1, 1), (3, 7), (2, 17), (1, 64), (2, 65), (7, 3), (2, 0), (0, 3)]


def inputs_of(generator, batch, time, element):
    known = {"B": batch, "T": time}
    return {
        name: generator.normal(size=[known.get(s, s) for s in shape]).astype(element)
        for name, shape in Program.INPUTS.items()
    }


SEEDS = range(30)


def test_random_program(compiler, random_seed):
    seed = random_seed
    double = seed % 3 != 0
    program = Program(seed, steps=24, jumps=double)
    library = compiler.library(program.text, "--float", "f64" if double else "f32")
    generator = numpy.random.default_rng(seed)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = {name: array.astype(numpy.float64) for name, array in weights.items()}
    tolerance = dict(rtol=1e-9, atol=1e-10) if double else dict(rtol=1e-4, atol=1e-4)
    for batch, time in SIZES:
        inputs = inputs_of(generator, batch, time, "f8" if double else "f4")
        found = library.run(**inputs)
        for name, expected in program.run(inputs, w).items():
            message = difference(found[name], expected, False, **tolerance)
            assert message is None, f"{name} at B={batch}, T={time}: {message}\n{program.text}"
