# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured: a model of models.gf, its sizes, its operations, its peers.

A case is sized by `scale`: 1 for the benchmark, less for a quick check that all
candidates agree.
"""

import dataclasses
import pathlib

import numpy

HERE = pathlib.Path(__file__).resolve().parent
WIDTH = 64  # of queries and keys


@dataclasses.dataclass
class Case:
    name: str
    entry: str
    inputs: dict
    # Multiplications and additions of one run, each counted as one.
    operations: float
    # --dim of the compilation.
    dimensions: dict = dataclasses.field(default_factory=dict)
    source: pathlib.Path = HERE / "models.gf"
    # Uniform within +-1/sqrt(K), as `gatefold init` makes them; filled in by name
    # and shape once the library is compiled.
    weights: dict = dataclasses.field(default_factory=dict)
    # Largest absolute difference between candidates.
    tolerance: float = 2e-4
    # What peers.py offers for it.
    family: str = ""
    options: dict = dataclasses.field(default_factory=dict)
    # Before this one in the recurrence's time axis for peers: [T, B, I].
    time_first: bool = False


def random(generator, *shape):
    return generator.standard_normal(shape, dtype=numpy.float32)


def plain(n, heads=1, causal=False):
    generator = numpy.random.default_rng(n)
    inputs = {name: random(generator, heads, n, WIDTH) for name in "qkv"}
    pairs = heads * n * n / (2 if causal else 1)
    suffix = " causal" if causal else ""
    suffix += f" heads={heads}" if heads > 1 else ""
    return Case(
        f"attention N={n}{suffix}",
        "plain_causal" if causal else "plain",
        inputs,
        4 * pairs * WIDTH,
        family="plain",
        options={"causal": causal},
    )


def differential(n):
    generator = numpy.random.default_rng(n + 1)
    inputs = {name: random(generator, n, WIDTH) for name in ("q1", "q2", "k1", "k2")}
    inputs["v"] = random(generator, n, 2 * WIDTH)
    inputs["lambda"] = numpy.array(0.3, numpy.float32)
    return Case(
        f"differential N={n}",
        "two_maps",
        inputs,
        8 * n * n * WIDTH,
        family="two_maps",
    )


def window(n):
    generator = numpy.random.default_rng(n + 2)
    inputs = {name: random(generator, n, WIDTH) for name in "qkv"}
    return Case(
        f"diff-window 3 N={n}",
        "neighbours",
        inputs,
        4 * n * n * WIDTH,
        family="neighbours",
    )


def recurrence(kind, entry, hidden, batch, steps, gates=4, layers=1, directions=1, **options):
    generator = numpy.random.default_rng(hidden + batch)
    inputs = {"x": random(generator, batch, steps, hidden)}
    macs = 0
    for layer in range(layers):
        width = hidden * (directions if layer else 1)
        macs += directions * gates * hidden * (width + hidden)
    return Case(
        f"{kind} {hidden}x{batch}",
        entry,
        inputs,
        2.0 * macs * batch * steps,
        dimensions={"H": hidden},
        family=entry,
        options=options,
        time_first=True,
    )


def voice():
    """One frame of 32 ms of examples/voice_activity, which scale does not change."""
    generator = numpy.random.default_rng(0)
    inputs = {
        "samples": 0.1 * random(generator, 1, 512),
        "context": 0.1 * random(generator, 1, 64),
        "h": 0.1 * random(generator, 1, 128),
        "c": 0.1 * random(generator, 1, 128),
    }
    macs = 258 * 256 * 4 + 128 * 129 * 3 * 4 + 64 * 128 * 3 * 2 + 64 * 64 * 3
    macs += 128 * 64 * 3 + 2 * 512 * 128 + 128
    return Case(
        "voice frame",
        "silero_vad",
        inputs,
        2.0 * macs,
        dimensions={"B": 1},
        source=HERE.parent.parent / "examples" / "voice_activity" / "silero_vad.gf",
        family="voice",
    )


def all_cases(scale=1.0):
    size = lambda n: max(2, int(n * scale))  # noqa: E731
    steps = size(200)
    cases = [plain(size(n)) for n in (512, 2048, 8192)]
    cases += [plain(size(n), causal=True) for n in (512, 2048)]
    cases += [plain(size(1024), heads=8), plain(size(1024), heads=8, causal=True)]
    cases += [differential(size(n)) for n in (512, 2048, 8192)]
    cases += [window(size(2048))]
    for hidden, batch in ((128, 1), (256, 8), (512, 32)):
        hidden = size(hidden)
        cases.append(recurrence("LSTM", "lstm_layer", hidden, batch, steps))
        cases.append(recurrence("LSTM textbook", "lstm_textbook_layer", hidden, batch, steps))
        cases.append(recurrence("GRU", "gru_layer", hidden, batch, steps, gates=3))
    cases.append(
        recurrence("BiLSTM 2 layers", "bilstm_layers", size(128), 8, steps, layers=2, directions=2)
    )
    for hidden, batch in ((128, 1), (256, 8)):
        hidden = size(hidden)
        cases.append(recurrence("peephole LSTM", "peephole_layer", hidden, batch, steps))
        cases.append(recurrence("layer-norm LSTM", "layer_norm_layer", hidden, batch, steps))
    cases.append(voice())
    return cases


def fill_weights(case, parameters):
    """Random weights for the parameters that a library names; published ones for the
    voice model."""
    if case.family == "voice":
        import peers

        case.weights.update(peers.voice_activity().onnx_weights())
        return
    generator = numpy.random.default_rng(len(case.name))
    for parameter in parameters:
        shape = parameter["shape"]
        bound = shape[-1] ** -0.5
        case.weights[parameter["name"]] = generator.uniform(-bound, bound, shape).astype(
            numpy.float32
        )
    # The textbook's four pairs of matrices are the rows of the other form.
    if case.entry == "lstm_textbook_layer":
        names = {"w": "weight_ih", "u": "weight_hh", "b": "bias_ih"}
        for short, name in names.items():
            parts = [case.weights[f"rnn.{short}_{gate}"] for gate in "ifco"]
            case.weights["rnn." + name] = numpy.concatenate(parts)
        case.weights["rnn.bias_hh"] = numpy.zeros_like(case.weights["rnn.bias_ih"])
