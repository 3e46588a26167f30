# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A window on a GPU, on the emulator: a query has the bits that it has beside others, although the first
key that is looked at is another one."""

import os
import pathlib
import subprocess

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GATEFOLD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", ROOT / "build")) / "bin" / "gatefold"
MODEL = """import attention

model m(q: [T, 8], k: [S, 8], v: [S, 8]) -> [T, 8] {
  return dot_product(q, k, v, window=(WINDOW, 0))
}
"""


# More keys than one turn of the parts in which a product adds them, and fewer than a block of keys.
@pytest.mark.parametrize("window, element", [(170, "f32"), (170, "f16"), (25, "f32")])
@pytest.mark.parametrize("algorithm", ["resident", "online", "registers"])
def test_a_query_alone(tmp_path, algorithm, window, element):
    (tmp_path / "m.gf").write_text(MODEL.replace("WINDOW", str(window)))
    generator = numpy.random.default_rng(1)
    k, v, q = (generator.standard_normal((n, 8)).astype(numpy.float32) for n in (300, 300, 60))

    def run(queries):
        numpy.savez(tmp_path / "in.npz", q=queries, k=k, v=v)
        command = [GATEFOLD, "run", tmp_path / "m.gf", "--device", "emulator", "--target", "sm_80"]
        command += ["--schedule", f"attention.algorithm={algorithm}", "--float", element]
        command += ["--input", tmp_path / "in.npz", "--output-dir", tmp_path / "out"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return numpy.load(tmp_path / "out" / "output.npy")

    # The last ones, as all are aligned at the end.
    whole = run(q)
    for count in (18, 1):
        numpy.testing.assert_array_equal(run(q[-count:]), whole[-count:], str(count))
