# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the speech in recordings with a compiled Silero VAD.

Prints the speech segments of each file and a timeline, writes a picture of
waveform and speech probability, and says how many times faster than real time
it runs, beside ONNX Runtime on the same frames in the same run.
"""

import argparse
import importlib.util
import pathlib
import statistics
import sys
import time

import numpy
import onnx
import onnx.numpy_helper
import soundfile
import soxr

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "frontend" / "python"))
from gatefold_library import Library, read_safetensors  # noqa: E402

RATE = 16000
FRAME = 512
CONTEXT = 64
SECONDS = FRAME / RATE

# A segment begins where the probability reaches ON and ends where it stays
# under OFF for SILENCE; shorter ones than SPEECH are dropped. The values are
# those of the package's own utilities.
ON, OFF = 0.5, 0.35
SPEECH, SILENCE = 0.25, 0.1

# Names of the ONNX file's initialisers, which are those of another checkpoint of
# the same architecture, and ours.
ONNX_NAMES = {
    "stft_conv.weight": "model.stft.forward_basis_buffer",
    **{
        f"conv{i + 1}.{part}": f"model.encoder.{i}.reparam_conv.{part}"
        for i in range(4)
        for part in ("weight", "bias")
    },
    **{
        f"lstm_cell.{part}": f"model.decoder.rnn.{part}"
        for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    },
    "final_conv.weight": "model.decoder.decoder.2.weight",
    "final_conv.bias": "model.decoder.decoder.2.bias",
}


def data_folder():
    """Where the package silero-vad keeps its files; importing it would need PyTorch."""
    spec = importlib.util.find_spec("silero_vad")
    return pathlib.Path(spec.submodule_search_locations[0]) / "data"


def safetensors_weights():
    return read_safetensors(data_folder() / "silero_vad_16k.safetensors")


def onnx_path():
    return data_folder() / "silero_vad_op18_ifless.onnx"


def onnx_weights():
    """The weights of the ONNX file under our names. Its LSTM is written out with
    PyTorch's gate order, so nothing is permuted."""
    initialisers = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for tensor in onnx.load(onnx_path()).graph.initializer
    }
    return {ours: initialisers[theirs] for ours, theirs in ONNX_NAMES.items()}


def read_frames(path):
    """A recording as frames [n, 512] at 16 kHz, the last one padded with zeros."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    samples = soxr.resample(samples.mean(axis=1), rate, RATE)
    count = -(-len(samples) // FRAME)
    padded = numpy.zeros(count * FRAME, numpy.float32)
    padded[: len(samples)] = samples
    return padded.reshape(count, FRAME)


class Detector:
    """The compiled model with its streaming state, one frame at a time."""

    def __init__(self, library):
        self.inputs = {
            "samples": numpy.zeros((1, FRAME), numpy.float32),
            "context": numpy.zeros((1, CONTEXT), numpy.float32),
            "h": numpy.zeros((1, 128), numpy.float32),
            "c": numpy.zeros((1, 128), numpy.float32),
        }
        # A state may be updated in place: its result is the same memory.
        self.output = numpy.zeros((1, 1), numpy.float32)
        outputs = {"output": self.output} | {
            name: self.inputs[name] for name in ("context", "h", "c")
        }
        self.call = library.context().bound_run(self.inputs, outputs)

    def reset(self):
        for name in ("context", "h", "c"):
            self.inputs[name][:] = 0

    def probabilities(self, frames):
        self.reset()
        result = numpy.empty(len(frames))
        samples = self.inputs["samples"]
        for i, frame in enumerate(frames):
            samples[0] = frame
            self.call()
            result[i] = self.output[0, 0]
        return result


class OnnxDetector:
    """The same by ONNX Runtime, on the wheel's own model, one thread."""

    def __init__(self):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            str(onnx_path()), options, providers=["CPUExecutionProvider"]
        )
        self.rate = numpy.array(RATE, numpy.int64)

    def probabilities(self, frames):
        window = numpy.zeros((1, CONTEXT + FRAME), numpy.float32)
        state = numpy.zeros((2, 1, 128), numpy.float32)
        result = numpy.empty(len(frames))
        for i, frame in enumerate(frames):
            window[0, CONTEXT:] = frame
            output, state = self.session.run(
                None, {"input": window, "state": state, "sr": self.rate}
            )
            result[i] = output[0, 0]
            window[0, :CONTEXT] = frame[-CONTEXT:]
        return result


def segments(probabilities):
    """Speech as (start, end) in seconds."""
    found, start, quiet = [], None, 0
    quiet_frames = max(1, round(SILENCE / SECONDS))
    for i, probability in enumerate(list(probabilities) + [0.0] * quiet_frames):
        if probability >= ON:
            start = i if start is None else start
            quiet = 0
        elif start is not None and probability < OFF:
            quiet += 1
            if quiet == quiet_frames:
                end = i - quiet + 1
                if (end - start) * SECONDS >= SPEECH:
                    found.append((start * SECONDS, end * SECONDS))
                start, quiet = None, 0
        else:
            quiet = 0
    return found


def timeline(probabilities, width=72):
    """One character for each stretch of time, as high as its largest probability."""
    levels = " ▁▂▃▄▅▆▇█"
    parts = numpy.array_split(probabilities, min(width, len(probabilities)))
    return "".join(levels[min(8, int(part.max() * 8.999))] for part in parts)


def write_picture(path, recordings):
    """Waveform and probability of each recording, one above the other."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(recordings), 1, figsize=(9, 1.7 * len(recordings)), squeeze=False
    )
    for axis, (name, frames, probabilities) in zip(axes[:, 0], recordings):
        samples = frames.reshape(-1)
        axis.plot(numpy.arange(len(samples)) / RATE, samples, linewidth=0.4, color="0.6")
        peak = max(abs(samples).max(), 1e-6)
        axis.set_ylim(-1.1 * peak, 1.1 * peak)
        axis.set_yticks([])
        axis.set_title(name, fontsize=8, loc="left", pad=2)
        for start, end in segments(probabilities):
            axis.axvspan(start, end, color="tab:green", alpha=0.15, linewidth=0)
        right = axis.twinx()
        right.step(
            numpy.arange(len(probabilities)) * SECONDS,
            probabilities,
            where="post",
            color="tab:blue",
            linewidth=1.2,
        )
        right.axhline(ON, color="tab:red", linewidth=0.6, linestyle="--")
        right.set_ylim(0, 1.02)
        right.tick_params(labelsize=6)
        axis.set_xlim(0, len(samples) / RATE)
        axis.tick_params(labelsize=6)
    axes[-1, 0].set_xlabel("seconds", fontsize=8)
    figure.text(0.995, 0.5, "speech probability", rotation=90, va="center", ha="right", fontsize=8)
    figure.tight_layout(rect=(0, 0, 0.985, 1))
    temporary = path.with_name(f".{path.name}.tmp.png")
    figure.savefig(temporary, dpi=130)
    temporary.replace(path)


def timed(function, argument):
    start = time.perf_counter()
    function(argument)
    return time.perf_counter() - start


def speeds(detector, peer, all_frames, rounds):
    """Seconds of audio a second, of both, interleaved: medians over the rounds."""
    ours, theirs = [], []
    for _ in range(rounds):
        for frames in all_frames:
            audio = len(frames) * SECONDS
            ours.append(audio / timed(detector.probabilities, frames))
            theirs.append(audio / timed(peer.probabilities, frames))
    ratios = [a / b for a, b in zip(ours, theirs)]
    return statistics.median(ours), statistics.median(theirs), ratios


def report_speed(detector, peer, recordings, rounds):
    all_frames = [frames for _, frames, _ in recordings if len(frames)]
    ours, theirs, ratios = speeds(detector, peer, all_frames, rounds)
    quartiles = statistics.quantiles(ratios, n=4)
    print(f"\nframe by frame, one thread, medians of {len(ratios)} interleaved runs:")
    print(f"  Gatefold      {ours:7.0f} times faster than real time")
    print(f"  ONNX Runtime  {theirs:7.0f} times faster than real time")
    print(
        f"  Gatefold / ONNX Runtime {statistics.median(ratios):.2f} "
        f"(half of the runs within {quartiles[0]:.2f} .. {quartiles[2]:.2f})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", nargs="+", type=pathlib.Path)
    parser.add_argument("--library", required=True, help="libsilero_vad.so")
    parser.add_argument("--picture", type=pathlib.Path, help="where the picture goes")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the timing")
    arguments = parser.parse_args()

    detector = Detector(Library(arguments.library).prepare(safetensors_weights()))
    recordings = []
    for path in arguments.recordings:
        try:
            frames = read_frames(path)
        except (OSError, soundfile.SoundFileError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
        probabilities = detector.probabilities(frames)
        recordings.append((path.name, frames, probabilities))
        speech = segments(probabilities)
        words = ", ".join(f"{start:.2f} - {end:.2f} s" for start, end in speech)
        print(f"{path.name}: {words or 'no speech'}")
        if len(frames):
            seconds = len(frames) * SECONDS
            print(f"  |{timeline(probabilities)}| {seconds:.1f} s")

    # The ONNX file holds another checkpoint: its weights, in our program, must give
    # what ONNX Runtime computes.
    peer = OnnxDetector()
    same = Detector(Library(arguments.library).prepare(onnx_weights()))
    largest = max(
        (
            abs(same.probabilities(frames) - peer.probabilities(frames)).max()
            for _, frames, _ in recordings
            if len(frames)
        ),
        default=0.0,
    )
    count = sum(len(frames) for _, frames, _ in recordings)
    print(
        f"\nthe ONNX file's weights: over {count} frames the largest difference "
        f"from ONNX Runtime's probability is {largest:.1e}"
    )
    if count:
        report_speed(same, peer, recordings, arguments.rounds)
    if arguments.picture and recordings:
        write_picture(arguments.picture, recordings)
        print(f"\npicture: {arguments.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
