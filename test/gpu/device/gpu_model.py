# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled library on a GPU, by its C interface, and the driver's events. ctypes and NumPy only,
so that a machine needs neither Gatefold nor LLVM to run what was compiled elsewhere."""

import ctypes
import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "frontend" / "python"))
import gatefold_library as library  # noqa: E402

CUDA = 2
NO_DEVICE = 7


def sizes_of(description, dimensions):
    """A tensor's shape, whose sizes are numbers or expressions of open dimensions."""
    return [
        size if isinstance(size, int) else eval(size, {"__builtins__": {}}, dict(dimensions))
        for size in description["shape"]
    ]


class GpuModel:
    """Of a library the model on GPU 0, with weights and tensors on it."""

    def __init__(self, path):
        self.cpu = library.Library(path)
        self.model = ctypes.c_void_p()
        status = self.cpu.function("create_cuda")(0, ctypes.byref(self.model))
        self.context = ctypes.c_void_p()
        self.check(status)
        self.name = self.cpu.function("device", ctypes.c_char_p)(self.model).decode()
        self.memory = []

    def check(self, status):
        if status:
            handle, what = (self.context, "context_message") if self.context else (self.model, "message")
            words = self.cpu.function(what, ctypes.c_char_p)(handle) or b""
            raise library.GatefoldError(status, words.decode(errors="replace"))

    def prepare(self, weights):
        names, arrays, tensors = [], [], []
        elements = {p["name"]: p["element"] for p in self.cpu.parameters}
        for name, array in weights.items():
            arrays.append(library.converted(array, elements[name]))
            tensors.append(library.dl_tensor(arrays[-1], elements[name]))
            names.append(name.encode())
        c_names = (ctypes.c_char_p * max(len(names), 1))(*names)
        count = ctypes.c_size_t(len(names))
        self.check(self.cpu.function("prepare")(self.model, count, c_names, library.pointers(tensors)))
        create = self.cpu.function("context_create")
        self.check(create(self.model, ctypes.byref(self.context)))

    def set_stream(self, stream):
        self.check(self.cpu.function("context_stream")(self.context, ctypes.c_void_p(stream)))

    def place(self, host):
        """A tensor on the GPU of a host tensor's shape and type."""
        tensor = library.DLTensor()
        ctypes.memmove(ctypes.byref(tensor), ctypes.byref(host), ctypes.sizeof(tensor))
        count = 1
        for axis in range(host.ndim):
            count *= host.shape[axis]
        memory = ctypes.c_void_p()
        bytes_ = ctypes.c_size_t(count * host.dtype.bits // 8)
        self.check(self.cpu.function("allocate")(self.model, bytes_, ctypes.byref(memory)))
        self.memory.append(memory)
        tensor.data, tensor.device = memory.value, library.DLDevice(CUDA, 0)
        tensor.strides = None
        return tensor

    def copy(self, to, source):
        copy = self.cpu.function("copy")
        self.check(copy(self.context, ctypes.byref(to), ctypes.byref(source)))

    def bind(self, inputs, dimensions):
        """Copies inputs to the GPU, makes room for results."""
        self.release()
        arrays = []
        for description in self.cpu.inputs:
            array = library.converted(inputs[description["name"]], description["element"])
            arrays.append(numpy.ascontiguousarray(array))
        # Tensors on the GPU point to the shapes of these.
        self.input_hosts = library.Context.tensors(self.cpu.inputs, arrays)
        self.inputs = [self.place(host) for host in self.input_hosts]
        for to, source in zip(self.inputs, self.input_hosts):
            self.copy(to, source)
        self.outputs, self.output_hosts = {}, []
        for result in self.cpu.results:
            kind = library.ELEMENTS[result["element"]][0]
            self.outputs[result["name"]] = numpy.zeros(sizes_of(result, dimensions), kind)
        self.output_hosts = library.Context.tensors(self.cpu.results, self.outputs.values())
        self.results = [self.place(host) for host in self.output_hosts]
        self.c_inputs = library.pointers(self.inputs)
        self.c_results = library.pointers(self.results)
        self.check(self.cpu.function("context_reserve")(self.context, self.c_inputs))
        self.run_function = self.cpu.function("run")

    def launch(self):
        none = ctypes.c_size_t(0)
        self.check(self.run_function(self.context, self.c_inputs, self.c_results, None, none))

    def finish(self):
        self.check(self.cpu.function("context_finish")(self.context))

    def fetch(self):
        """The results by name; those of bf16 as float32."""
        for to, source in zip(self.output_hosts, self.results):
            self.copy(to, source)
        return {
            r["name"]: library.from_bf16(self.outputs[r["name"]])
            if r["element"] == "bf16"
            else self.outputs[r["name"]].copy()
            for r in self.cpu.results
        }

    def release(self):
        for memory in self.memory:
            self.cpu.function("free", None)(self.model, memory)
        self.memory = []

    def close(self):
        self.release()
        if self.context:
            self.cpu.function("context_destroy", None)(self.context)
        self.cpu.function("destroy", None)(self.model)


def random_inputs(descriptions, dimensions, bound, seed=0):
    """By name: floats of unit variance, lengths of 0, 1, all and others, bools, indices."""
    generator = numpy.random.default_rng(seed)
    inputs = {}
    for description in descriptions:
        shape, element = sizes_of(description, dimensions), description["element"]
        if "lengths" in description["name"]:
            longest = dimensions["S" if "source" in description["name"] else "T"]
            if description["name"] == "lengths" and "S" in dimensions:
                longest = dimensions["S"]
            values = generator.integers(0, longest + 1, shape)
            values.flat[:3] = [longest, min(1, longest), 0][: values.size]
        elif element == "bool":
            values = generator.random(shape) < 0.8
        elif element in ("i32", "i64"):
            values = generator.integers(0, bound, shape)
        else:
            values = generator.standard_normal(shape, numpy.float32)
        inputs[description["name"]] = values
    return inputs


def random_weights(parameters, seed=1):
    """Uniform within 1/sqrt(K), K the last dimension, as `gatefold init` makes them."""
    generator = numpy.random.default_rng(seed)
    weights = {}
    for parameter in parameters:
        shape = parameter["shape"]
        limit = 1 / numpy.sqrt(shape[-1] if shape else 1)
        weights[parameter["name"]] = generator.uniform(-limit, limit, shape).astype(numpy.float32)
    return weights


class Driver:
    """What the CUDA driver is asked for by name."""

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise RuntimeError(f"the CUDA driver cannot be opened: {error}") from None
        status = self.cuda.cuInit(0)
        if status == 34:
            raise RuntimeError("libcuda.so.1 is the stub of a CUDA toolkit, no driver")
        if status and status != 100:
            raise RuntimeError(f"the CUDA driver cannot be initialised: error {status}")
        count = ctypes.c_int(0)
        if status or self.cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            raise RuntimeError("the CUDA driver finds no GPU")

    def describe(self):
        """Of GPU 0 its name and capability, and the driver's version."""
        name = ctypes.create_string_buffer(200)
        device, major, minor, version = (ctypes.c_int(0) for _ in range(4))
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDeviceGetName", name, 200, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return {
            "gpu": name.value.decode(errors="replace"),
            "capability": 10 * major.value + minor.value,
            "driver": f"{version.value // 1000}.{version.value % 1000 // 10}",
        }

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: error {status}")

    def use_primary_context(self):
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def event(self):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def record(self, event, stream):
        self.call("cuEventRecord", event, ctypes.c_void_p(stream))

    def milliseconds(self, begin, end):
        self.call("cuEventSynchronize", end)
        elapsed = ctypes.c_float(0)
        # Since CUDA 13 the plain name is the newer one; both take the same.
        self.call("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
        return elapsed.value
