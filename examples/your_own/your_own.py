# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a user's own cell and a user's own attention beside NumPy.

Says how far the compiled results, fast and naive, and NumPy in f32 are from NumPy in
float64, and how long the three of f32 take, called in turns.
"""

import argparse
import pathlib
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import references  # noqa: E402
from measuring import gatefold, in_turns  # noqa: E402
from gatefold_library import Library, read_safetensors  # noqa: E402

# |result - expected| <= ABSOLUTE + RELATIVE * |expected|, for f32.
ABSOLUTE, RELATIVE = 1e-5, 1.3e-6
CELL_SIZES = ((8, 200), (1, 400))
ATTENTION_SIZES = ((1, 512), (1, 2048))


def tagger_inputs(batch, time, generator):
    """Rows of several sentences, the first row as long as there is room."""
    lengths = generator.integers(0, time + 1, batch)
    lengths[0] = time
    return {
        "x": generator.normal(size=(batch, time, 40)).astype(numpy.float32),
        "first": generator.random((batch, time)) < 0.1,
        "lengths": lengths,
    }


def encoder_inputs(batch, time, generator):
    return {"x": generator.normal(size=(batch, time, 256)).astype(numpy.float32)}


TEXTS = {
    "your_own_cell": (tagger_inputs, references.tagger, CELL_SIZES),
    "your_own_attention": (encoder_inputs, references.encoder, ATTENTION_SIZES),
}


def random_weights(folder, name):
    """As `gatefold init` makes them, but gains, shifts and slopes vary too. A gain near 1
    where a state is normalised would make the cell chaotic: each rounding, whoever makes
    it, would grow from step to step."""
    path = folder / f"{name}.safetensors"
    gatefold("init", HERE / f"{name}.gf", "--seed", "1", "-o", path)
    generator = numpy.random.default_rng(1)
    weights = read_safetensors(path)
    for parameter, array in weights.items():
        if array.ndim == 1:
            scale = 0.5 if ".norm_h.gain" in parameter else 1
            noise = 0.1 * generator.random(array.shape)
            weights[parameter] = (scale * array + noise).astype(numpy.float32)
    return weights


def libraries(folder, name, weights):
    """The fast and the naive library, prepared."""
    prepared = []
    for suffix, options in (("", ()), ("_naive", ("--naive",))):
        path = folder / f"lib{name}{suffix}.so"
        gatefold("compile", HERE / f"{name}.gf", "-o", path, *options)
        prepared.append(Library(path).prepare(weights))
    return prepared


def difference(found, expected):
    return abs(found - expected).max(initial=0)


def within(found, expected):
    return bool((abs(found - expected) <= ABSOLUTE + RELATIVE * abs(expected)).all())


def compare(folder, sizes=None, rounds=5):
    """One row for each text and size: name, batch, time, the differences from float64 and
    the seconds of fast, naive and NumPy, whether both results are good."""
    rows = []
    for name, (make_inputs, reference, own_sizes) in TEXTS.items():
        weights = random_weights(folder, name)
        fast, naive = libraries(folder, name, weights)
        for batch, time in sizes or own_sizes:
            inputs = make_inputs(batch, time, numpy.random.default_rng(2))
            ways = [
                lambda: fast.run(**inputs)["output"],
                lambda: naive.run(**inputs)["output"],
                lambda: reference(weights, **inputs, kind=numpy.float32),
            ]
            found = [way() for way in ways]
            expected = reference(weights, **inputs)
            differences = [difference(f, expected) for f in found]
            good = all(within(f, expected) for f in found[:2])
            rows.append((name, batch, time, differences, in_turns(ways, rounds), good))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the timing")
    arguments = parser.parse_args()
    rows = compare(arguments.output, rounds=arguments.rounds)
    columns = "".join(f"{way:>10}" for way in ("fast", "naive", "NumPy f32"))
    print(f"{'':28}{'largest difference from float64':32}milliseconds, one thread")
    print(f"{'text':20}{'B':>2}{'T':>6}{columns}  {columns}  naive/fast")
    for name, batch, time, differences, seconds, good in rows:
        errors = "".join(f"{d:10.1e}" for d in differences)
        times = "".join(f"{1e3 * s:10.2f}" for s in seconds)
        ratio = seconds[1] / seconds[0]
        print(f"{name:20}{batch:2}{time:6}{errors}  {times}{ratio:12.1f}")
        if not good:
            print(f"further from float64 than {ABSOLUTE} + {RELATIVE} of it")
    return 0 if all(row[-1] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
