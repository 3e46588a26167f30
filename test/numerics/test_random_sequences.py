# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrences and attentions at random, as the compiler is given their sizes or not, in each float
type: both paths against NumPy; the same bits on more threads, for a row alone and in parts."""

import random

import numpy
from expressions import difference
from halves import rounded
from random_attentions import Attentions
from random_recurrences import Recurrences
from random_sequences import Batch, generator_of
from random_written import Written

# Programs of as many neighbouring seeds are one model: to start, to link and to load take a good part of the time.
TOGETHER = 6
SEEDS = {"test_recurrences": range(138), "test_attentions": range(120), "test_written": range(42)}
SIZES = [
    {"B": 2, "T": 5, "S": 3}, {"B": 1, "T": 1, "S": 1}, {"B": 3, "T": 0, "S": 2}, {"B": 0, "T": 3, "S": 1},
    {"B": 3, "T": 9, "S": 70},
]  # fmt: skip
# What is fixed when compiling.
KNOWN = [
    {}, {}, {}, {"T": 1}, {"T": 0}, {"B": 1}, {"B": 0}, {"S": 1}, {"T": 1, "S": 1, "B": 1}, {"T": 5},
    {"S": 7, "T": 9}, {"B": 2}, {"B": 2, "T": 3, "S": 4}, {"T": 2, "S": 1},
]  # fmt: skip
ELEMENTS = ["f64", "f32", "f64", "f16", "f64", "bf16"]
TOLERANCES = {"f64": (1e-8, 1e-9), "f32": (1e-4, 1e-4), "f16": (4e-3, 4e-3), "bf16": (4e-2, 3e-2)}
ATTENTION_SCHEDULES = ["", "", "attention.algorithm=resident,attention.query_block=2", "attention.query_block=3"]
SCHEDULES = {
    Recurrences: ["", "", "recurrence.algorithm=steps,recurrence.step_rows=3", "recurrence.directions=apart"],
    Attentions: ATTENTION_SCHEDULES,
    Written: ATTENTION_SCHEDULES,
}


def weights_of(libraries, seed, element):
    """By name, as `gatefold init` scales them: what a path finds to be of no use is no parameter of its
    library."""
    weights = {}
    for parameter in (p for library in libraries for p in library.parameters):
        shape = parameter["shape"]
        width = 1 / numpy.sqrt(shape[-1]) if shape and shape[-1] else 1
        array = generator_of(seed)(parameter["name"]).uniform(-width, width, shape).astype(numpy.float32)
        weights[parameter["name"]] = rounded(array, element) if element in ("f16", "bf16") else array
    for library in libraries:
        library.prepare({p["name"]: weights[p["name"]] for p in library.parameters})
    return {name: array.astype(numpy.float64) for name, array in weights.items()}


def compare(compiler, make, seeds):
    number = seeds[0] // TOGETHER
    choose = random.Random(number)
    element = ELEMENTS[number % len(ELEMENTS)]
    batch = Batch([make(seed, element, f"_{seed}") for seed in seeds])
    text = batch.text
    known = {name: size for name, size in choose.choice(KNOWN).items() if f"[{name}," in text or f", {name}," in text}
    options = ["--float", element]
    if known:
        options += ["--dim", ",".join(f"{name}={size}" for name, size in known.items())]
    schedule = choose.choice(SCHEDULES[make])
    fast = compiler.library(text, *options, *(["--schedule", schedule] if schedule else []))
    naive = compiler.library(text, *options, "--naive")
    w = weights_of((fast, naive), number, element)
    rtol, atol = TOLERANCES[element]
    shared = fast.context(2)
    for sizes in SIZES:
        sizes = {**sizes, **known}
        sizes["C"] = sizes["T"] + sizes["S"]
        inputs = batch.draw(generator_of(number), sizes, element)
        found, slow, two = fast.run(**inputs), naive.run(**inputs), shared.run(**inputs)
        for name, expected in batch.run(inputs, w, sizes).items():
            for path, result in (("naive", slow), ("fast", found)):
                message = difference(result[name], expected, False, rtol, atol)
                assert message is None, f"{path} {name} at {sizes}, {options}, {schedule}: {message}\n{text}"
            assert two[name].tobytes() == found[name].tobytes(), (name, sizes, options, schedule, text)
        if sizes["T"] > 1 and "T" not in known and any(p.parts for p in batch.programs):
            for name, result in batch.run_in_parts(fast, inputs, sizes["T"] // 2).items():
                same = result.tobytes() == found[name].tobytes()
                assert same, f"{name} in parts at {sizes}, {options}, {schedule}\n{text}"
        if sizes["B"] > 1 and "B" not in known:

            def last(array, shape):
                return array.take([sizes["B"] - 1], axis=shape.index("B")) if "B" in shape else array

            alone = fast.run(**{n: last(a, batch.inputs[n].shape) for n, a in inputs.items()})
            for name, (_, shape) in batch.results:
                same = numpy.array_equal(last(found[name], shape), alone[name])
                assert same, f"{name} of a row alone at {sizes}, {options}, {schedule}\n{text}"
    shared.close()


def test_recurrences(compiler, random_seeds):
    compare(compiler, Recurrences, random_seeds)


def test_attentions(compiler, random_seeds):
    compare(compiler, Attentions, random_seeds)


def test_written(compiler, random_seeds):
    compare(compiler, Written, random_seeds)
