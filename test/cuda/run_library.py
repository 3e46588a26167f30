# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the library of Inputs/tagger.gf on a GPU and on the CPU: run_library.py LIBRARY

The driver is the one that is found; see README.md for the one whose GPU is the emulator.
"""

import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "frontend" / "python"))
from gatefold_cuda import CudaLibrary  # noqa: E402
from gatefold_library import GatefoldError, Library, dl_tensor  # noqa: E402


class OnGpu:
    """An array of the GPU, as other packages show theirs."""

    def __init__(self, context, array):
        self.context, self.array = context, numpy.ascontiguousarray(array)
        self.tensor = context.place(dl_tensor(self.array))
        context.copy(self.tensor, dl_tensor(self.array))
        self.__cuda_array_interface__ = {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (self.tensor.data, False),
            "version": 3,
        }

    def fetch(self):
        self.context.copy(dl_tensor(self.array), self.tensor)
        self.context.release(self.tensor)
        return self.array


generator = numpy.random.default_rng(1)
cpu, gpu = Library(sys.argv[1]), CudaLibrary(sys.argv[1])
print(gpu.describe_device())
weights = {
    p["name"]: generator.uniform(-0.4, 0.4, p["shape"]).astype(numpy.float32)
    for p in cpu.parameters
}
for library in (cpu, gpu):
    library.prepare(weights)
for batch, time in ((3, 5), (1, 1), (2, 0), (4, 7)):
    tokens = generator.integers(0, 11, (batch, time))
    lengths = generator.integers(0, time + 1, batch)
    expected = cpu.run(tokens=tokens, lengths=lengths)["output"]
    found = gpu.run(tokens=tokens, lengths=lengths)["output"]
    assert found.shape == (batch, time, 5)
    numpy.testing.assert_allclose(found, expected, rtol=1.3e-6, atol=1e-5)
tokens = numpy.zeros((3, 4), numpy.int64)
tokens[2, 1], tokens[2, 3] = 11, -1
try:
    gpu.run(tokens=tokens, lengths=numpy.array([4, 0, 2]))
    print("nothing was refused")
except GatefoldError as error:
    print(error.status, error)
found = gpu.run(tokens=tokens * 0, lengths=numpy.array([4, 0, 2]))["output"]
assert numpy.isfinite(found).all()

# Arrays that are on the GPU.
context = gpu.context()
tokens, lengths = generator.integers(0, 11, (2, 3)), numpy.array([3, 1])
inputs = {"tokens": OnGpu(context, tokens), "lengths": OnGpu(context, lengths)}
outputs = {"output": OnGpu(context, numpy.zeros((2, 3, 5), numpy.float32))}
context.reserve(inputs)
context.launch(inputs, outputs)
context.finish()
expected = cpu.run(tokens=tokens, lengths=lengths)["output"]
numpy.testing.assert_allclose(outputs["output"].fetch(), expected, rtol=1.3e-6, atol=1e-5)
for array in inputs.values():
    array.fetch()
context.close()
gpu.close()
cpu.close()
print("done")
