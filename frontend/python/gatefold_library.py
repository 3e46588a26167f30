# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A library that `gatefold compile` made, called from Python.

    library = Library("build/libspeech.so")
    library.prepare(read_safetensors("speech.safetensors"))
    results = library.run(samples=x, h=h, c=c)       # {"output": ..., "h": ..., ...}

Only ctypes and NumPy. The C interface is that of runtime/README.md; arrays go
in and out as DLPack tensors without a copy, whatever their strides.
"""

import ctypes
import json
import struct

import numpy


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Description(ctypes.Structure):
    """The head of gatefold_description: all that a program needs is in `json`."""

    _fields_ = [
        ("abi_version", ctypes.c_int32),
        ("symbol_count", ctypes.c_int32),
        ("name", ctypes.c_char_p),
        ("json", ctypes.c_char_p),
    ]


# NumPy has no bf16: its arrays are uint16, the upper halves of float32, or those of
# ml_dtypes.
ELEMENTS = {
    "f16": (numpy.float16, 2, 16),
    "bf16": (numpy.uint16, 4, 16),
    "f32": (numpy.float32, 2, 32),
    "f64": (numpy.float64, 2, 64),
    "i32": (numpy.int32, 0, 32),
    "i64": (numpy.int64, 0, 64),
    "bool": (numpy.bool_, 6, 8),
}
CPU = 1
ABI_VERSION = 6


class GatefoldError(Exception):
    """A call was refused; `status` is its gatefold_status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def to_bf16(array):
    """Rounded to nearest even, as uint16; what is bf16 already stays."""
    if array.dtype == numpy.uint16:
        return array
    if array.dtype.name == "bfloat16":
        return array.view(numpy.uint16)
    array = numpy.asarray(array, dtype=numpy.float32)
    bits = array.view(numpy.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return numpy.where(numpy.isnan(array), bits >> 16 | 0x40, rounded).astype(numpy.uint16)


def from_bf16(array):
    return (array.astype(numpy.uint32) << 16).view(numpy.float32)


def converted(array, element, casting="unsafe"):
    """An array of an element type of the interface."""
    array = numpy.asarray(array)
    if element == "bf16":
        return to_bf16(array)
    kind = ELEMENTS[element][0]
    return array if array.dtype == kind else array.astype(kind, casting=casting)


def dl_tensor(array, element=None):
    """A DLTensor over an array's memory, which the caller keeps alive; `element` where
    the array's type does not say it."""
    code, bits = next(
        (code, bits)
        for name, (dtype, code, bits) in ELEMENTS.items()
        if (name == element if element else array.dtype == dtype)
    )
    rank = array.ndim
    tensor = DLTensor()
    tensor.data = array.ctypes.data
    tensor.device = DLDevice(CPU, 0)
    tensor.ndim = rank
    tensor.dtype = DLDataType(code, bits, 1)
    tensor.shape = (ctypes.c_int64 * rank)(*array.shape)
    tensor.strides = (ctypes.c_int64 * rank)(
        *(stride // array.itemsize for stride in array.strides)
    )
    return tensor


def pointers(tensors):
    array = (ctypes.POINTER(DLTensor) * max(len(tensors), 1))()
    for i, tensor in enumerate(tensors):
        array[i] = ctypes.pointer(tensor)
    return array


class Library:
    """One compiled model. After `prepare`, `context()` gives each thread its own."""

    def __init__(self, path, name=None, threads=1):
        """`name`: what the symbols begin with; by default NAME of libNAME.so.
        `threads`: how many `run` may use; 0: the cores that this process may use."""
        self.threads = threads
        self.path = str(path)
        base = self.path.rsplit("/", 1)[-1]
        self.name = name or base.removeprefix("lib").removesuffix(".so")
        self.library = ctypes.CDLL(self.path)
        describe = self.function("describe", ctypes.POINTER(Description))
        head = describe().contents
        if head.abi_version != ABI_VERSION:
            message = f"{path}: interface version {head.abi_version}, expected {ABI_VERSION}"
            raise GatefoldError(6, message)
        self.description = json.loads(head.json.decode())
        self.inputs = self.description["inputs"]
        self.results = self.description["results"]
        self.parameters = self.description["parameters"]
        self.model = ctypes.c_void_p()
        self.create()
        self.own_context = None

    def create(self):
        self.check(self.function("create")(ctypes.byref(self.model)))

    def function(self, name, result=ctypes.c_int):
        function = getattr(self.library, f"{self.name}_{name}")
        function.restype = result
        return function

    def check(self, status):
        if status:
            message = self.function("message", ctypes.c_char_p)(self.model)
            raise GatefoldError(status, (message or b"").decode(errors="replace"))

    def prepare(self, weights):
        """Takes weights by parameter name; converts floats to the parameter's type."""
        elements = {p["name"]: p["element"] for p in self.parameters}
        names, arrays, tensors = [], [], []
        for name, array in weights.items():
            element = elements.get(name)
            array = converted(array, element) if element else numpy.asarray(array)
            names.append(name)
            arrays.append(array)
            tensors.append(dl_tensor(array, element))
        c_names = (ctypes.c_char_p * max(len(names), 1))(
            *(name.encode() for name in names)
        )
        self.check(
            self.function("prepare")(
                self.model, ctypes.c_size_t(len(names)), c_names, pointers(tensors)
            )
        )
        return self

    def close(self):
        """Gives back the model; contexts are closed before."""
        if self.own_context is not None:
            self.own_context.close()
            self.own_context = None
        self.function("destroy", None)(self.model)
        self.model = None

    def context(self, threads=1):
        return Context(self, threads)

    def run(self, **inputs):
        if self.own_context is None:
            self.own_context = self.context(self.threads)
        return self.own_context.run(**inputs)


class Context:
    """What one thread needs to run a prepared model."""

    def __init__(self, library, threads=1):
        """`threads`: how many a run may use; 0: the cores that this process may use."""
        self.library = library
        self.handle = ctypes.c_void_p()
        library.check(
            library.function("context_create")(library.model, ctypes.byref(self.handle))
        )
        self.run_function = library.function("run")
        self.set_threads(threads)

    def set_threads(self, threads):
        """They are started here and sleep between runs. The bits of the results do
        not depend on their number."""
        set_function = self.library.function("context_threads")
        self.check(set_function(self.handle, ctypes.c_size_t(threads)))

    def close(self):
        self.library.function("context_destroy", None)(self.handle)
        self.handle = None

    def check(self, status):
        if status:
            message = self.library.function("context_message", ctypes.c_char_p)
            raise GatefoldError(
                status, (message(self.handle) or b"").decode(errors="replace")
            )

    def bind(self, inputs):
        """The inputs in order, as arrays of the right element; a state may be left
        out where all its sizes are numbers or symbols of other inputs."""
        arrays = []
        unknown = set(inputs) - {i["name"] for i in self.library.inputs}
        if unknown:
            raise TypeError(f"no input is named {sorted(unknown)}")
        for description in self.library.inputs:
            element = description["element"]
            if description["name"] in inputs:
                array = inputs[description["name"]]
                arrays.append(converted(array, element, casting="same_kind"))
            elif description["role"] == "state" and "initial" in description:
                shape = self.state_shape(description, inputs)
                initial = numpy.full(shape, float(description["initial"]))
                arrays.append(converted(initial, element))
            else:
                raise TypeError(f"the input {description['name']!r} is not given")
        return arrays

    def state_shape(self, state, inputs):
        known = {}
        for description in self.library.inputs:
            if description["name"] in inputs:
                shape = numpy.shape(inputs[description["name"]])
                known.update(
                    (size, found)
                    for size, found in zip(description["shape"], shape)
                    if isinstance(size, str)
                )
        return [s if isinstance(s, int) else known[s] for s in state["shape"]]

    def run(self, **inputs):
        """Results by name, as new arrays; those of bf16 as float32. Inputs that are
        states may be left out: they then start as declared."""
        arrays = self.bind(inputs)
        tensors = self.tensors(self.library.inputs, arrays)
        c_inputs = pointers(tensors)
        results = self.library.results
        shapes = self.result_shapes(tensors)
        outputs = {
            r["name"]: numpy.empty(shape, dtype=ELEMENTS[r["element"]][0])
            for r, shape in zip(results, shapes)
        }
        result_tensors = self.tensors(results, outputs.values())
        self.check(
            self.run_function(
                self.handle, c_inputs, pointers(result_tensors), None, ctypes.c_size_t(0)
            )
        )
        for r in results:
            if r["element"] == "bf16":
                outputs[r["name"]] = from_bf16(outputs[r["name"]])
        return outputs

    def result_shapes(self, tensors):
        """The shape of each result for these inputs, DLTensors."""
        results = self.library.results
        shapes = [(ctypes.c_int64 * max(len(r["shape"]), 1))() for r in results]
        shape_pointers = (ctypes.POINTER(ctypes.c_int64) * max(len(shapes), 1))()
        for i, shape in enumerate(shapes):
            shape_pointers[i] = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        function = self.library.function("result_shapes")
        self.check(function(self.handle, pointers(tensors), shape_pointers))
        return [shape[: len(r["shape"])] for r, shape in zip(results, shapes)]

    @staticmethod
    def tensors(descriptions, arrays):
        return [dl_tensor(a, d["element"]) for d, a in zip(descriptions, arrays)]

    def workspace_size(self, **inputs):
        """Bytes of workspace that a run of these inputs needs."""
        tensors = [dl_tensor(array) for array in self.bind(inputs)]
        size = ctypes.c_size_t()
        function = self.library.function("workspace_size")
        self.check(function(self.handle, pointers(tensors), ctypes.byref(size)))
        return size.value

    def bound_run(self, inputs, outputs):
        """A call without arguments that runs over the same arrays each time: the least
        that Python can do for one frame of a stream. `inputs` and `outputs`: arrays
        by name, kept alive by the call; those of bf16 are uint16."""
        arrays = [inputs[i["name"]] for i in self.library.inputs]
        results = [outputs[r["name"]] for r in self.library.results]
        input_tensors = self.tensors(self.library.inputs, arrays)
        result_tensors = self.tensors(self.library.results, results)
        c_inputs, c_results = pointers(input_tensors), pointers(result_tensors)
        size = ctypes.c_size_t(0)
        keep = (arrays, results, input_tensors, result_tensors)

        def call(keep=keep):
            self.check(self.run_function(self.handle, c_inputs, c_results, None, size))

        return call


def read_safetensors(path):
    """Arrays by name of a safetensors file that is trusted (those of bf16 as float32);
    the programs' own reader checks everything."""
    kinds = {
        **{"F16": numpy.float16, "BF16": numpy.uint16},
        **{"F32": numpy.float32, "F64": numpy.float64},
        **{"I32": numpy.int32, "I64": numpy.int64, "BOOL": numpy.bool_},
    }
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        kind = kinds[entry["dtype"]]
        array = numpy.frombuffer(data[slice(*entry["data_offsets"])], dtype=kind)
        array = from_bf16(array) if entry["dtype"] == "BF16" else array
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def write_safetensors(path, arrays):
    """Writes f32 arrays by name."""
    header, offset = {}, 0
    arrays = {n: numpy.ascontiguousarray(a, numpy.float32) for n, a in arrays.items()}
    for name, array in arrays.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(array.tobytes())
