# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A library with code for GPUs, called from Python.

    library = CudaLibrary("build/libspeech.so")        # GatefoldError where there is no GPU
    library.prepare(read_safetensors("speech.safetensors"))
    results = library.run(samples=x, h=h, c=c)          # NumPy there and back

    context = library.context()
    context.set_stream(stream.cuda_stream)
    context.reserve({"samples": x})
    context.launch({"samples": x}, {"output": y})       # arrays of the GPU; returns at once
    context.finish()

Arrays of the GPU are what has `__cuda_array_interface__`, as those of CuPy, Numba and
PyTorch do; PyTorch's bfloat16 tensors are given as views of 16-bit integers.
"""

import ctypes

import numpy

from gatefold_library import ELEMENTS, Context, DLDevice, DLTensor, Library, dl_tensor, from_bf16, pointers

CUDA = 2
NO_DEVICE = 7


def device_tensor(array, element, device):
    """A DLTensor over an array of the GPU, which the caller keeps alive."""
    interface = array.__cuda_array_interface__
    shape = tuple(interface["shape"])
    dtype = numpy.dtype(interface["typestr"])
    expected = numpy.dtype(ELEMENTS[element][0])
    if dtype != expected and not (element == "bf16" and dtype.itemsize == 2):
        raise TypeError(f"an array of {dtype} for {element}")
    strides = interface.get("strides")
    # The memory of the host is not looked at.
    stand_in = numpy.lib.stride_tricks.as_strided(
        numpy.empty(1, expected), shape, strides or packed(shape, dtype.itemsize)
    )
    tensor = dl_tensor(stand_in, element)
    tensor.data = interface["data"][0]
    tensor.device = DLDevice(CUDA, device)
    return tensor


def packed(shape, size):
    strides = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= max(extent, 1)
    return tuple(strides)


class CudaLibrary(Library):
    """One compiled model on a GPU."""

    def __init__(self, path, name=None, device=0):
        self.device = device
        super().__init__(path, name)

    def create(self):
        function = self.function("create_cuda")
        self.check(function(ctypes.c_int32(self.device), ctypes.byref(self.model)))

    def describe_device(self):
        return self.function("device", ctypes.c_char_p)(self.model).decode()

    def context(self, threads=1):
        return CudaContext(self)


class CudaContext(Context):
    """Runs on one stream."""

    def set_stream(self, stream):
        """`stream`: the address of a cudaStream_t; 0: the default one."""
        function = self.library.function("context_stream")
        self.check(function(self.handle, ctypes.c_void_p(stream)))

    def gpu_tensors(self, descriptions, arrays):
        return [
            device_tensor(arrays[d["name"]], d["element"], self.library.device)
            for d in descriptions
        ]

    def reserve_tensors(self, tensors):
        function = self.library.function("context_reserve")
        self.check(function(self.handle, pointers(tensors)))

    def reserve(self, inputs):
        """Makes room for runs of such inputs: launch allocates nothing."""
        self.reserve_tensors(self.gpu_tensors(self.library.inputs, inputs))

    def launch(self, inputs, outputs):
        """Puts a run on the stream. Arrays by name; they stay alive until it is done."""
        c_inputs = pointers(self.gpu_tensors(self.library.inputs, inputs))
        c_results = pointers(self.gpu_tensors(self.library.results, outputs))
        size = ctypes.c_size_t(0)
        self.check(self.run_function(self.handle, c_inputs, c_results, None, size))

    def finish(self):
        """Waits; an error where the last run found one."""
        self.check(self.library.function("context_finish")(self.handle))

    def run(self, **inputs):
        """As on the CPU: from arrays of the host to new ones."""
        library = self.library
        host = self.tensors(library.inputs, self.bind(inputs))
        results = [
            numpy.empty(shape, ELEMENTS[r["element"]][0])
            for r, shape in zip(library.results, self.result_shapes(host))
        ]
        host_results = self.tensors(library.results, results)
        placed = []
        try:
            for tensor in host + host_results:
                placed.append(self.place(tensor))
            on_gpu, results_on_gpu = placed[: len(host)], placed[len(host) :]
            for to, tensor in zip(on_gpu, host):
                self.copy(to, tensor)
            self.reserve_tensors(on_gpu)
            self.check(
                self.run_function(
                    self.handle,
                    pointers(on_gpu),
                    pointers(results_on_gpu),
                    None,
                    ctypes.c_size_t(0),
                )
            )
            self.finish()
            for to, tensor in zip(host_results, results_on_gpu):
                self.copy(to, tensor)
        finally:
            for tensor in placed:
                self.release(tensor)
        return {
            r["name"]: from_bf16(array) if r["element"] == "bf16" else array
            for r, array in zip(library.results, results)
        }

    def bind(self, inputs):
        return [numpy.ascontiguousarray(array) for array in super().bind(inputs)]

    def place(self, tensor):
        """Memory of the GPU for a contiguous tensor of the host."""
        size = tensor.dtype.bits // 8
        for d in range(tensor.ndim):
            size *= tensor.shape[d]
        memory = ctypes.c_void_p()
        library = self.library
        library.check(
            library.function("allocate")(
                library.model, ctypes.c_size_t(size), ctypes.byref(memory)
            )
        )
        placed = DLTensor()
        ctypes.pointer(placed)[0] = tensor
        placed.host = tensor  # its shape is read
        placed.data = memory
        placed.device = DLDevice(CUDA, library.device)
        return placed

    def release(self, tensor):
        function = self.library.function("free", None)
        function(self.library.model, ctypes.c_void_p(tensor.data))

    def copy(self, to, tensor):
        function = self.library.function("copy")
        self.check(function(self.handle, ctypes.byref(to), ctypes.byref(tensor)))

