# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled detector against float64 NumPy and ONNX Runtime, on real speech."""

import os
import pathlib
import subprocess

import numpy
import pytest

import voice_activity
from gatefold_library import Library

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", HERE.parent.parent / "build"))
SOUNDS = sorted(pathlib.Path("/usr/share/sounds/alsa").glob("*.wav"))


@pytest.fixture(scope="module")
def library_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("voice") / "libsilero_vad.so"
    subprocess.run(
        [BUILD / "bin/gatefold", "compile", HERE / "silero_vad.gf", "-o", path], check=True
    )
    return path


@pytest.fixture(scope="module")
def recordings():
    assert SOUNDS, "Debian's alsa-utils is not installed"
    return {path.stem: voice_activity.read_frames(path) for path in SOUNDS}


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def convolve(x, weight, bias, stride, padding):
    """x [C, L], weight [N, C, K] -> [N, L']"""
    x = numpy.pad(x, ((0, 0), (padding, padding)))
    windows = numpy.lib.stride_tricks.sliding_window_view(x, weight.shape[2], axis=1)
    return numpy.einsum("clk,nck->nl", windows[:, ::stride], weight) + bias[:, None]


def reference(weights, frames):
    """The published model in float64, frame by frame, with its state carried."""
    w = {name: numpy.asarray(array, numpy.float64) for name, array in weights.items()}
    context, h, c = numpy.zeros(64), numpy.zeros(128), numpy.zeros(128)
    probabilities = []
    for frame in numpy.asarray(frames, numpy.float64):
        x = numpy.concatenate([context, frame])
        context = frame[-64:]
        x = numpy.pad(x, (0, 64), mode="reflect")
        spectrum = convolve(x[None], w["stft_conv.weight"], numpy.zeros(258), 128, 0)
        e = numpy.sqrt(spectrum[:129] ** 2 + spectrum[129:] ** 2)
        for i, stride in enumerate((1, 2, 2, 1), start=1):
            e = convolve(e, w[f"conv{i}.weight"], w[f"conv{i}.bias"], stride, 1)
            e = numpy.maximum(e, 0)
        gates = w["lstm_cell.weight_ih"] @ e[:, 0] + w["lstm_cell.bias_ih"]
        gates += w["lstm_cell.weight_hh"] @ h + w["lstm_cell.bias_hh"]
        i, f, g, o = numpy.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
        h = sigmoid(o) * numpy.tanh(c)
        logit = w["final_conv.weight"][0, :, 0] @ numpy.maximum(h, 0)
        probabilities.append(sigmoid(logit + w["final_conv.bias"][0]))
    return numpy.array(probabilities)


def test_safetensors_against_float64(library_path, recordings):
    weights = voice_activity.safetensors_weights()
    detector = voice_activity.Detector(Library(library_path).prepare(weights))
    for name, frames in recordings.items():
        found = detector.probabilities(frames)
        numpy.testing.assert_allclose(
            found, reference(weights, frames), rtol=0, atol=1e-5, err_msg=name
        )


def test_onnx_weights_against_onnxruntime(library_path, recordings):
    weights = voice_activity.onnx_weights()
    detector = voice_activity.Detector(Library(library_path).prepare(weights))
    peer = voice_activity.OnnxDetector()
    for name, frames in recordings.items():
        numpy.testing.assert_allclose(
            detector.probabilities(frames),
            peer.probabilities(frames),
            rtol=0,
            atol=1e-5,
            err_msg=name,
        )


def test_onnx_lstm_is_the_permuted_onnx_operator():
    """The gate order that onnx_weights relies on: the wheel's other ONNX file keeps
    the LSTM as an operator, in ONNX's order i, o, f, c."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(voice_activity.data_folder() / "silero_vad_16k_sequence.onnx")
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    (lstm,) = [node for node in model.graph.node if node.op_type == "LSTM"]
    ours = voice_activity.onnx_weights()
    for name, part in zip(lstm.input[1:3], ("weight_ih", "weight_hh")):
        i, o, f, c = numpy.split(arrays[name][0], 4)
        numpy.testing.assert_array_equal(
            numpy.concatenate([i, f, c, o]), ours[f"lstm_cell.{part}"]
        )


def test_speech_is_found_where_it_is(library_path, recordings):
    detector = voice_activity.Detector(
        Library(library_path).prepare(voice_activity.safetensors_weights())
    )
    for name, frames in recordings.items():
        found = voice_activity.segments(detector.probabilities(frames))
        assert bool(found) == (name != "Noise"), (name, found)


def test_the_stream_in_a_batch_is_the_stream_alone(library_path, recordings):
    """Rows of a batch do not change each other, to the bit."""
    library = Library(library_path).prepare(voice_activity.safetensors_weights())
    frames = list(recordings.values())
    count = min(len(f) for f in frames)
    detector = voice_activity.Detector(library)
    alone = numpy.stack([detector.probabilities(f[:count]) for f in frames])
    state, together = {}, []
    for i in range(count):
        result = library.run(samples=numpy.stack([f[i] for f in frames]), **state)
        together.append(result.pop("output")[:, 0])
        state = result
    numpy.testing.assert_array_equal(numpy.stack(together, axis=1), alone)


def test_segments():
    frame = voice_activity.SECONDS
    quiet, loud, between = [0.0] * 5, [0.9] * 10, [0.4] * 10
    assert voice_activity.segments(quiet) == []
    assert voice_activity.segments([]) == []
    assert voice_activity.segments([0.9] * 3 + quiet) == []  # too short
    assert voice_activity.segments(quiet + loud + quiet) == [(5 * frame, 15 * frame)]
    # Between OFF and ON speech goes on but does not begin.
    assert voice_activity.segments(between) == []
    assert voice_activity.segments(loud + between + loud + quiet) == [(0, 30 * frame)]
    # Speech up to the end of the recording.
    assert voice_activity.segments(quiet + loud) == [(5 * frame, 15 * frame)]
