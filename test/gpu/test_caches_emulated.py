# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches on a GPU, on the emulator: tokens one after another give what the whole gives, and keys behind
the end are not read: they are NaN."""

import os
import pathlib
import subprocess

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GATEFOLD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", ROOT / "build")) / "bin" / "gatefold"
MODEL = """import attention

model m(q: [B, 2, T, 16], k: [B, 2, T, 16], v: [B, 2, T, 16], n: PLACE) -> [B, 2, T, 16] {
  state keys: [B, 2, C, 16], values: [B, 2, C, 16]
  keys' = append(keys, k, at=n)
  values' = append(values, v, at=n)
  return dot_product(q, keys', values', causal=true, offset=n)
}
"""


@pytest.mark.parametrize("place", ["i64[]", "i64[B]"])
@pytest.mark.parametrize("algorithm", ["registers", "resident"])
def test_steps_give_what_the_whole_gives(tmp_path, place, algorithm):
    source = tmp_path / "m.gf"
    source.write_text(MODEL.replace("PLACE", place))
    generator = numpy.random.default_rng(1)
    whole = {name: generator.standard_normal((2, 2, 5, 16)).astype(numpy.float32) for name in "qkv"}

    def run(begin, end, states):
        given = {name: array[:, :, begin:end] for name, array in whole.items()}
        given["n"] = numpy.array(begin) if place == "i64[]" else numpy.full(2, begin)
        numpy.savez(tmp_path / "in.npz", **given, **states)
        command = [GATEFOLD, "run", source, "--device", "emulator", "--target", "sm_80"]
        command += ["--schedule", f"attention.algorithm={algorithm}"]
        command += ["--input", tmp_path / "in.npz", "--output-dir", tmp_path / "out"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return {name: numpy.load(tmp_path / "out" / f"{name}.npy") for name in ("output", "keys", "values")}

    unwritten = numpy.full((2, 2, 9, 16), numpy.nan, numpy.float32)
    states = {"keys": unwritten, "values": unwritten}
    expected = run(0, 5, states)
    outputs = []
    for begin, end in [(0, 3), (3, 4), (4, 5)]:
        found = run(begin, end, states)
        outputs.append(found.pop("output"))
        states = found
    numpy.testing.assert_array_equal(numpy.concatenate(outputs, axis=2), expected["output"])
    for name, array in states.items():
        numpy.testing.assert_array_equal(array, expected[name], name)
        numpy.testing.assert_array_equal(array[:, :, :5], whole[name[0]], name)
