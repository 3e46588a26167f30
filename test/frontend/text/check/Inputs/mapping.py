# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs both entries of mapping.gf on the same data; their results are the same bits."""

import pathlib
import subprocess
import sys

import numpy

gatefold, text, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
random = numpy.random.default_rng(1)
shapes = {"x": (3, 2, 5, 4), "w": (2, 4), "s": (3, 1), "start": (6,)}
numpy.savez(
    folder / "inputs.npz",
    **{name: random.standard_normal(shape, numpy.float32) for name, shape in shapes.items()},
)
weights = folder / "weights.safetensors"
subprocess.run([gatefold, "init", text, "--entry", "mapped", "-o", weights], check=True)
for entry in ("mapped", "single"):
    results = folder / entry
    results.mkdir(exist_ok=True)
    subprocess.run(
        [gatefold, "run", text, "--entry", entry, "--weights", weights]
        + ["--input", folder / "inputs.npz", "--output-dir", results],
        check=True,
    )
for name in "abcd":
    mapped = numpy.load(folder / "mapped" / f"{name}.npy")
    single = numpy.load(folder / "single" / f"{name}.npy")
    assert numpy.abs(single).max() > 0.1
    assert numpy.array_equal(mapped, single), name
