# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the library of Inputs/caches.gf on a GPU, token by token, in place and apart, beside the CPU:
run_caches.py LIBRARY"""

import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "frontend" / "python"))
from gatefold_cuda import CudaLibrary  # noqa: E402
from gatefold_library import GatefoldError, Library, dl_tensor  # noqa: E402


class OnGpu:
    """An array of the GPU, as other packages show theirs."""

    made = []

    def __init__(self, context, array, strides=None):
        self.context, self.array = context, numpy.ascontiguousarray(array)
        self.tensor = context.place(dl_tensor(self.array))
        self.put(self.array)
        self.made.append(self)
        self.__cuda_array_interface__ = {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (self.tensor.data, False),
            "strides": strides,
            "version": 3,
        }

    def put(self, array):
        self.context.copy(self.tensor, dl_tensor(array))

    def get(self):
        found = numpy.empty_like(self.array)
        self.context.copy(dl_tensor(found), self.tensor)
        return found


generator = numpy.random.default_rng(1)
cpu, gpu = Library(sys.argv[1]), CudaLibrary(sys.argv[1])
for library in (cpu, gpu):
    library.prepare({})
context = gpu.context()
keys = numpy.full((2, 2, 9, 16), numpy.nan, numpy.float32)
here, there = OnGpu(context, keys), OnGpu(context, keys)
for n, count in ((0, 2), (2, 1), (3, 2)):
    given = {
        "q": generator.standard_normal((2, 2, count, 16)).astype(numpy.float32),
        "k": generator.standard_normal((2, 2, count, 16)).astype(numpy.float32),
        "n": numpy.full(2, n),
    }
    expected = cpu.run(**given, keys=keys)
    inputs = {name: OnGpu(context, array) for name, array in given.items()}
    context.reserve({**inputs, "keys": here})
    # Apart first, which leaves the state.
    for place in (there, here):
        output = OnGpu(context, numpy.zeros_like(expected["output"]))
        context.launch({**inputs, "keys": here}, {"output": output, "keys": place})
        context.finish()
        numpy.testing.assert_allclose(output.get(), expected["output"], rtol=1.3e-6, atol=1e-5)
        numpy.testing.assert_array_equal(place.get(), expected["keys"])
        if place is there:
            numpy.testing.assert_array_equal(here.get(), keys)
    keys = expected["keys"]


def refused(n, state, place):
    inputs["n"].put(numpy.array([0, n]))
    try:
        context.launch({**inputs, "keys": state}, {"output": output, "keys": place})
        context.finish()
        print("nothing was refused")
    except GatefoldError as error:
        print(error.status, str(error).splitlines()[-1])


refused(8, here, here)
numpy.testing.assert_array_equal(here.get(), keys)
turned = OnGpu(context, keys, strides=(9 * 16 * 4, 2 * 9 * 16 * 4, 16 * 4, 4))
refused(0, turned, there)
for each in OnGpu.made:
    context.release(each.tensor)
context.close()
gpu.close()
cpu.close()
print("done")
