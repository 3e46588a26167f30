# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Candidates: Gatefold, and whatever of ONNX Runtime, OpenVINO and PyTorch is installed.

A candidate is made for one case and one number of threads. `run()` computes once over
arrays that it bound before; `result()` is what it computed, laid out as Gatefold's.
"""

import importlib
import importlib.util
import pathlib
import subprocess
import sys
import time

import numpy

import onnx_graphs

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "frontend" / "python"))
from gatefold_library import Library  # noqa: E402


class Candidate:
    """`name`, `compile_seconds`, `run()`, `result()`."""

    def __init__(self, case, threads):
        self.case, self.threads = case, threads
        start = time.perf_counter()
        self.build()
        self.compile_seconds = time.perf_counter() - start


def is_current(library, program, source):
    """Whether the library was made by this compiler, with this runtime, of this text."""
    program = pathlib.Path(program)
    runtime = (program.parent.parent / "lib").glob("*.a")
    made_of = [program, pathlib.Path(source), *runtime]
    return library.exists() and all(
        part.stat().st_mtime <= library.stat().st_mtime for part in made_of
    )


class Gatefold(Candidate):
    name = "gatefold"
    flags = ()

    def build(self):
        case = self.case
        folder = pathlib.Path(self.folder) / ("naive" if self.flags else "fast")
        folder.mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() else "_" for c in case.name)
        path = folder / f"lib{name}.so"
        if not is_current(path, self.program, case.source):
            command = [self.program, "compile", case.source, "--entry", case.entry]
            command += ["-o", path, "--target", "native", *self.flags]
            sizes = ",".join(f"{k}={v}" for k, v in case.dimensions.items())
            command += ["--dim", sizes] if sizes else []
            subprocess.run(
                [str(part) for part in command], check=True, stdout=subprocess.DEVNULL
            )

    def prepare(self):
        name = "".join(c if c.isalnum() else "_" for c in self.case.name)
        folder = pathlib.Path(self.folder) / ("naive" if self.flags else "fast")
        self.library = Library(folder / f"lib{name}.so")
        names = {p["name"] for p in self.library.parameters}
        self.library.prepare({k: v for k, v in self.case.weights.items() if k in names})
        context = self.library.context()
        if hasattr(context, "set_threads"):
            context.set_threads(self.threads)
        self.outputs = context.run(**self.case.inputs)
        self.run = context.bound_run(self.case.inputs, self.outputs)

    def result(self):
        return self.outputs["output"]


class Naive(Gatefold):
    name = "gatefold --naive"
    flags = ("--naive",)


def peer_inputs(case):
    if not case.time_first:
        return case.inputs
    return {"x": numpy.ascontiguousarray(case.inputs["x"].transpose(1, 0, 2))}


class Onnx(Candidate):
    """A graph for one of the two runtimes of ONNX."""

    make = None  # from (inputs, weights) to bytes

    def prepare(self):
        pass

    def laid_out(self, result):
        return result.transpose(1, 0, 2) if self.case.time_first else result


class OnnxRuntime(Onnx):
    def build(self):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            self.make(), options, providers=["CPUExecutionProvider"]
        )
        self.binding = self.session.io_binding()
        self.bound = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(array)
            for name, array in self.inputs().items()
        }
        for name, array in self.bound.items():
            self.binding.bind_ortvalue_input(name, array)
        self.binding.bind_output(self.session.get_outputs()[0].name)

    def inputs(self):
        return peer_inputs(self.case)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def result(self):
        return self.laid_out(self.binding.copy_outputs_to_cpu()[0])


class OnnxRuntimeGraph(OnnxRuntime):
    name = "onnxruntime"

    def make(self):
        return graph(self.case)


class OnnxRuntimeOperator(OnnxRuntime):
    """The fused operator where the plain graph is another candidate."""

    name = "onnxruntime operator"

    def inputs(self):
        if self.case.family != "plain":
            return super().inputs()
        # [heads, T, D] -> [1, T, heads * D]
        return {
            name: numpy.ascontiguousarray(a.transpose(1, 0, 2)).reshape(1, a.shape[1], -1)
            for name, a in self.case.inputs.items()
        }

    def make(self):
        case = self.case
        if case.family == "plain":
            return onnx_graphs.multi_head(case.inputs, **case.options)
        return onnx_graphs.stacked("LSTM", case.inputs, case.weights, onnx_graphs.LSTM_ORDER)

    def result(self):
        if self.case.family != "plain":
            return super().result()
        heads, t, d = self.case.inputs["q"].shape
        return self.binding.copy_outputs_to_cpu()[0].reshape(t, heads, d).transpose(1, 0, 2)


class OpenVino(Onnx):
    name = "openvino"

    def build(self):
        import openvino

        core = openvino.Core()
        properties = {
            "INFERENCE_NUM_THREADS": self.threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
        }
        model = core.read_model(graph(self.case))
        self.request = core.compile_model(model, "CPU", properties).create_infer_request()
        self.arrays = peer_inputs(self.case)
        for name, array in self.arrays.items():
            self.request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

    def run(self):
        self.request.infer()

    def result(self):
        return self.laid_out(self.request.get_output_tensor(0).data.copy())


class VoiceOnnx(OnnxRuntime):
    """The model file of the package silero-vad, one frame after another."""

    name = "onnxruntime"

    def make(self):
        return voice_activity().onnx_path().read_bytes()

    def inputs(self):
        given = self.case.inputs
        return {
            "input": numpy.concatenate([given["context"], given["samples"]], axis=1),
            "state": numpy.stack([given["h"], given["c"]]),
            "sr": numpy.array(16000, numpy.int64),
        }


def voice_activity():
    folder = str(HERE.parent.parent / "examples" / "voice_activity")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("voice_activity")


def graph(case):
    family = case.family
    if family == "plain":
        return onnx_graphs.plain(case.inputs, **case.options)
    if family in ("two_maps", "neighbours"):
        return getattr(onnx_graphs, family)(case.inputs)
    makers = {
        "lstm_layer": onnx_graphs.lstm,
        "lstm_textbook_layer": onnx_graphs.lstm,
        "gru_layer": onnx_graphs.gru,
        "bilstm_layers": onnx_graphs.bilstm,
        "peephole_layer": onnx_graphs.peephole_scan,
        "layer_norm_layer": onnx_graphs.layer_norm_scan,
    }
    return makers[family](case.inputs, case.weights)


def candidates(case, wanted):
    """Classes of candidates for a case, of those names that `wanted` holds."""
    found = [Gatefold, Naive]
    if case.family == "voice":
        return found + ([VoiceOnnx] if importlib.util.find_spec("onnxruntime") else [])
    if importlib.util.find_spec("onnxruntime"):
        found.append(OnnxRuntimeGraph)
        if case.family in ("plain", "peephole_layer"):
            found.append(OnnxRuntimeOperator)
    if importlib.util.find_spec("openvino"):
        # Its importer takes LSTM and GRU; a Scan with tuples of states too.
        found.append(OpenVino)
    if importlib.util.find_spec("torch"):
        import torch_peers

        found += torch_peers.candidates(case)
    return [each for each in found if any(w in each.name for w in wanted)] if wanted else found
