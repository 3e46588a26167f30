# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrences and attentions at random, as the compiler is given their sizes or not, in each float
type: both paths against NumPy; the same bits on more threads and for a row alone."""

import random

import numpy
import pytest
from conftest import random_weights
from expressions import difference
from halves import rounded
from random_attentions import Attentions
from random_recurrences import Recurrences

# One of each float type.
SEEDS = (0, 1, 3, 5)
SIZES = [
    {"B": 2, "T": 5, "S": 3}, {"B": 1, "T": 1, "S": 1}, {"B": 3, "T": 0, "S": 2}, {"B": 0, "T": 3, "S": 1},
    {"B": 3, "T": 9, "S": 70},
]  # fmt: skip
# What is fixed when compiling.
KNOWN = [
    {}, {}, {}, {"T": 1}, {"T": 0}, {"B": 1}, {"S": 1}, {"T": 1, "S": 1, "B": 1}, {"T": 5}, {"S": 7, "T": 9}, {"B": 2},
    {"B": 2, "T": 3, "S": 4}, {"T": 2, "S": 1},
]  # fmt: skip
TOLERANCES = {"f64": (1e-8, 1e-9), "f32": (1e-4, 1e-4), "f16": (4e-3, 4e-3), "bf16": (4e-2, 3e-2)}
SCHEDULES = {
    Recurrences: ["", "", "recurrence.algorithm=steps,recurrence.step_rows=3", "recurrence.directions=apart"],
    Attentions: ["", "", "attention.algorithm=resident,attention.query_block=2", "attention.query_block=3"],
}


def inputs_of(program, generator, sizes, element):
    inputs = {}
    for name, (kind, shape) in program.inputs.items():
        shape = [sizes.get(s, s) for s in shape]
        if kind == "bool":
            array = generator.random(shape) < 0.3
        elif kind == "i64":
            low, end = {"offset": (-2, sizes["S"] + 1), "steps_in": (0, sizes["T"] + 1)}.get(name, (0, 5))
            if name in ("seen", "keys_in"):
                end = sizes["S"] + 1
            array = generator.integers(low, end, shape)
            if name.startswith("segments"):
                array = numpy.sort(array // 2, axis=-1)
        else:
            array = generator.normal(size=shape)
            if name == "bias_in":
                array[generator.random(shape) < 0.2] = -numpy.inf
            array = array.astype(numpy.float64 if element == "f64" else numpy.float32)
            array = rounded(array, element) if element in ("f16", "bf16") else array
        inputs[name] = array
    return inputs


def compare(compiler, make, seed, element):
    choose = random.Random(seed)
    program = make(seed, jumps=element == "f64")
    text = program.text.replace("LSE[", "f64[" if element == "f64" else "f32[")
    known = {name: size for name, size in choose.choice(KNOWN).items() if f"[{name}," in text or f", {name}," in text}
    options = ["--float", element]
    if known:
        options += ["--dim", ",".join(f"{name}={size}" for name, size in known.items())]
    schedule = choose.choice(SCHEDULES[make])
    fast = compiler.library(text, *options, *(["--schedule", schedule] if schedule else []))
    naive = compiler.library(text, *options, "--naive")
    generator = numpy.random.default_rng(seed)
    # What a path finds to be of no use is no parameter of its library.
    weights = random_weights(naive, generator)
    weights |= {n: a for n, a in random_weights(fast, generator).items() if n not in weights}
    if element in ("f16", "bf16"):
        weights = {name: rounded(array, element) for name, array in weights.items()}
    for library in (fast, naive):
        library.prepare({p["name"]: weights[p["name"]] for p in library.parameters})
    w = {name: array.astype(numpy.float64) for name, array in weights.items()}
    rtol, atol = TOLERANCES[element]
    shared = fast.context(2)
    for sizes in SIZES:
        sizes = {**sizes, **known}
        inputs = inputs_of(program, generator, sizes, element)
        found, slow, two = fast.run(**inputs), naive.run(**inputs), shared.run(**inputs)
        for name, expected in program.run(inputs, w, sizes).items():
            for path, result in (("naive", slow), ("fast", found)):
                message = difference(result[name], expected, False, rtol, atol)
                assert message is None, f"{path} {name} at {sizes}, {options}, {schedule}: {message}\n{text}"
            assert two[name].tobytes() == found[name].tobytes(), (name, sizes, options, schedule, text)
        if sizes["B"] > 1 and "B" not in known:

            def last(array, shape):
                return array.take([sizes["B"] - 1], axis=shape.index("B")) if "B" in shape else array

            alone = fast.run(**{n: last(a, program.inputs[n][1]) for n, a in inputs.items()})
            for name, (_, shape) in program.results:
                same = numpy.array_equal(last(found[name], shape), alone[name])
                assert same, f"{name} of a row alone at {sizes}, {options}, {schedule}\n{text}"
    shared.close()


@pytest.mark.parametrize("make", [Recurrences, Attentions])
def test_random_sequences(compiler, make, random_seed):
    compare(compiler, make, random_seed, ["f64", "f32", "f64", "f16", "f64", "bf16"][random_seed % 6])
