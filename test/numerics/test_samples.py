# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of test/models and the layers of the library against float64 programs, and streams: chunk by chunk the
same bits as the whole sequence."""

import math

import attention_references as attentions
import cell_references as cells
import numpy
import pytest
from cell_references import sigmoid, tanh
from conftest import ROOT, assert_close, lengths_of, random_weights
from test_functions import rotary

MODELS = ROOT / "test" / "models"
LAYERS = ROOT / "frontend" / "library" / "differential_layers.gf"


def wide(weights):
    return {name: array.astype(numpy.float64) for name, array in weights.items()}


def part(w, prefix, suffix=""):
    return {
        name.removeprefix(prefix).removesuffix(suffix): array
        for name, array in w.items()
        if name.startswith(prefix) and name.endswith(suffix)
    }


erf = numpy.vectorize(math.erf, otypes=[float])


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


def rms_norm(x, weight=1.0):
    return x / numpy.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5) * weight


def layer_norm(x, w):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / numpy.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5) * w["weight"] + w["bias"]


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return x * (1 + erf(x / numpy.sqrt(2))) / 2


def heads_of(x, count):
    """[T, count * D] as [count, T, D]."""
    return x.reshape(len(x), count, x.shape[1] // count).transpose(1, 0, 2)


def merged(heads):
    return numpy.concatenate(list(heads), axis=1)


def turned(x):
    return rotary(x, numpy.arange(x.shape[1]), interleaved=True)


def lambda_of(w, depth):
    """What lambda begins with in training, and what it is."""
    start = 0.8 - 0.6 * numpy.exp(-0.3 * depth)
    first, second = w["lambda_q1"] @ w["lambda_k1"], w["lambda_q2"] @ w["lambda_k2"]
    return start, numpy.exp(first) - numpy.exp(second) + start


def differential_v1(w, x, heads, depth, kv_heads=None):
    """x [T, M]."""
    kv_heads = kv_heads or heads
    causal = attentions.visible(len(x), len(x), causal=True)
    q = turned(heads_of(x @ w["q_proj.weight"].T, 2 * heads))
    k = turned(heads_of(x @ w["k_proj.weight"].T, 2 * kv_heads))
    v = heads_of(x @ w["v_proj.weight"].T, kv_heads)
    start, weight = lambda_of(w, depth)
    rows = []
    for h in range(heads):
        g = h // (heads // kv_heads)
        rows.append(
            attentions.differential(
                causal, q[2 * h], q[2 * h + 1], k[2 * g], k[2 * g + 1], v[g], weight
            )
        )
    rows = (1 - start) * rms_norm(numpy.array(rows), w["subln.weight"])
    return merged(rows) @ w["out_proj.weight"].T


def differential_llama(w, x, heads, kv_heads, depth):
    """As DiffLlama computes it: keys and values repeated, then everything in halves."""
    causal = attentions.visible(len(x), len(x), causal=True)
    group, half = heads // kv_heads, heads // 2

    def projected(name, count):
        return heads_of(x @ w[f"{name}_proj.weight"].T, count)

    q = rotary(projected("q", heads), numpy.arange(len(x)))
    k = rotary(projected("k", kv_heads), numpy.arange(len(x))).repeat(group, axis=0)
    v = projected("v", kv_heads).repeat(group, axis=0)
    start, weight = lambda_of(w, depth)
    rows = [
        attentions.differential(
            causal, q[h], q[h + half], k[h], k[h + half], numpy.concatenate([v[h], v[h + half]], axis=1), weight
        )
        for h in range(half)
    ]
    return merged((1 - start) * rms_norm(numpy.array(rows))) @ w["o_proj.weight"].T


def differential_v2(w, x, heads, kv_heads):
    causal = attentions.visible(len(x), len(x), causal=True)
    q = turned(heads_of(x @ w["q_proj.weight"].T, 2 * heads))
    k = turned(heads_of(x @ w["k_proj.weight"].T, kv_heads))
    v = heads_of(x @ w["v_proj.weight"].T, kv_heads)
    weight = sigmoid(x @ w["lambda_proj.weight"].T)
    rows = []
    for h in range(heads):
        g = h // (heads // kv_heads)
        rows.append(
            attentions.differential(
                causal, q[2 * h], q[2 * h + 1], k[g], k[g], v[g], weight[:, h : h + 1]
            )
        )
    return merged(numpy.array(rows)) @ w["o_proj.weight"].T


def scaled_heads(w, x, heads):
    q, k, v = (heads_of(x @ w[f"w{n}.weight"].T, heads) for n in "qkv")
    seen = numpy.ones((len(x), len(x)), bool)

    def attend(number, h):
        product = attentions.scores(
            q[h] * w[f"lambda_q{number}"][h], k[h] * w[f"lambda_k{number}"][h]
        )
        return attentions.weigh(attentions.softmax(product, seen), v[h])

    return merged(numpy.array([attend(1, h) - attend(2, h) for h in range(heads)]))


def gate(w, x):
    hidden = gelu(x @ w["0.weight"].T + w["0.bias"])
    return sigmoid(hidden @ w["2.weight"].T + w["2.bias"])


def language_model(w, tokens, depth, heads):
    x = w["embed.weight"][tokens]
    for i in range(depth):
        layer = part(w, f"layers.{i}.")
        x = x + differential_v1(
            part(layer, "self_attn."), rms_norm(x, layer["input_norm.weight"]), heads, i
        )
        h = rms_norm(x, layer["output_norm.weight"])
        mlp = part(layer, "mlp.")
        h = silu(h @ mlp["gate_proj.weight"].T) * (h @ mlp["up_proj.weight"].T)
        x = x + h @ mlp["down_proj.weight"].T
    return rms_norm(x, w["norm.weight"]) @ w["embed.weight"].T


def test_differential_language_model(compiler):
    """Two layers, four heads, tied to the embedding. The model's width stands in its
    text; 512 of it would only cost time."""
    text = (MODELS / "differential_transformer.gf").read_text()
    assert "N=512" in text
    library = compiler.library(
        text.replace("N=512", "N=32"),
        "--dim=V=19", "--arg=depth=2", "--arg=heads=4",
    )  # fmt: skip
    generator = numpy.random.default_rng(60)
    weights = random_weights(library, generator)
    weights["embed.weight"] *= 4
    library.prepare(weights)
    assert sum(name.startswith("embed") for name in weights) == 1
    for batch, time in [(2, 7), (1, 1), (1, 65), (3, 0), (0, 3)]:
        tokens = generator.integers(0, 19, (batch, time))
        found = library.run(tokens=tokens)["output"]
        expected = [language_model(wide(weights), row, 2, 4) for row in tokens]
        assert_close(found, numpy.reshape(expected, (batch, time, 19)), (batch, time))


FUNCTIONS = {
    "differential_v1": (["--arg=heads=2", "--arg=depth=3"], lambda w, x: differential_v1(w, x, 2, 3)),
    "differential_v1 of shared keys": (
        ["--arg=heads=4", "--arg=kv_heads=2"],
        lambda w, x: differential_v1(w, x, 4, 0, kv_heads=2),
    ),
    "differential_llama": (
        ["--arg=heads=8", "--arg=kv_heads=4", "--arg=depth=1"],
        lambda w, x: differential_llama(w, x, 8, 4, 1),
    ),
    "differential_v2": (
        ["--arg=heads=4", "--arg=kv_heads=2"],
        lambda w, x: differential_v2(w, x, 4, 2),
    ),
    "scaled_differential_layer": (
        ["--arg=heads=2"],
        lambda w, x: scaled_heads(w, x, 2) @ w["wo.weight"].T,
    ),
    "adaptive_differential_layer": (
        ["--arg=heads=2"],
        lambda w, x: (scaled_heads(w, x, 2) * gate(part(w, "gate."), x)) @ w["wo.weight"].T,
    ),
    "adaptive_gate": (["--lead=2"], gate),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_differential_layers(compiler, name):
    options, reference = FUNCTIONS[name]
    library = compiler.library(LAYERS, f"--entry={name.split()[0]}", "--dim=M=16", *options)
    generator = numpy.random.default_rng(61)
    weights = random_weights(library, generator)
    library.prepare(weights)
    for batch, time in [(2, 7), (1, 1), (1, 17), (1, 0)]:
        x = floats(generator, batch, time, 16)
        expected = numpy.array([reference(wide(weights), row) for row in x.astype(numpy.float64)])
        assert_close(library.run(x=x)["output"], expected, (batch, time))


def near_far_flat(q, k, v, slope, mix, seen):
    time = len(q)
    distance = abs(numpy.arange(time)[:, None] - numpy.arange(time)[None, :])
    s = attentions.scores(q, k)
    near = attentions.softmax(s - slope * distance, seen)
    far = attentions.softmax(30 * tanh(s / 30), seen & (distance >= 8))
    flat = attentions.softmax(s / 2, seen)
    return attentions.weigh(mix[:, :1] * near + mix[:, 1:2] * far - mix[:, 2:] * flat, v)


def test_your_own_attention(compiler):
    library = compiler.library(MODELS / "your_own_attention.gf")
    generator = numpy.random.default_rng(62)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = wide(weights)
    for batch, time in [(2, 17), (1, 1), (1, 90), (3, 0)]:
        x = floats(generator, batch, time, 64)
        seen = attentions.visible(time, time, causal=True, window=(64, 0))
        expected = []
        for row in x.astype(numpy.float64):
            qkv = heads_of(row @ w["attention.qkv.weight"].T + w["attention.qkv.bias"], 12)
            mix = sigmoid(row @ w["attention.mix.weight"].T + w["attention.mix.bias"])
            heads = [
                near_far_flat(
                    qkv[h], qkv[4 + h], qkv[8 + h], w["attention.slope"][h],
                    heads_of(mix, 4)[h], seen,
                )
                for h in range(4)
            ]  # fmt: skip
            mixed = merged(numpy.array(heads)) @ w["attention.out.weight"].T
            mixed = mixed + w["attention.out.bias"]
            expected.append(layer_norm(row + mixed, part(w, "norm.")))
        assert_close(library.run(x=x)["output"], numpy.array(expected), (batch, time))


def layer_norm_lstm(w, x, state):
    h, c = state

    def normal(name, x):
        x = x - x.mean()
        return w[f"norm_{name}.gain"] * x / numpy.sqrt((x**2).mean() + 1e-5) + w[f"norm_{name}.shift"]

    i, f, g, o = numpy.split(normal("x", w["w"] @ x) + normal("h", w["u"] @ h), 4)
    c = sigmoid(f + w["peep_f"] * c) * c + sigmoid(i + w["peep_i"] * c) * tanh(g)
    h = sigmoid(o + w["peep_o"] * c) * tanh(normal("c", c))
    return h, (h, c)


def test_your_own_cell(compiler):
    """Restarts are sequences of their own, in both directions of both layers."""
    library = compiler.library(MODELS / "your_own_cell.gf", "--dim=I=6")
    generator = numpy.random.default_rng(63)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = wide(weights)
    for batch, time in [(3, 7), (1, 1), (2, 33), (2, 0)]:
        x = floats(generator, batch, time, 6)
        first = generator.random((batch, time)) < 0.25
        lengths = lengths_of(generator, batch, time)
        rows = numpy.zeros((batch, time, 128))
        for b, n in enumerate(lengths):
            borders = [0, *(t for t in range(1, n) if first[b, t]), n]
            for begin, end in zip(borders, borders[1:]):
                piece, _ = cells.stacked_scan(
                    layer_norm_lstm,
                    part(w, "encoder."),
                    x[b : b + 1, begin:end].astype(numpy.float64),
                    [numpy.zeros((4, 1, 64))] * 2,
                    [end - begin],
                    64,
                    2,
                    True,
                )
                rows[b, begin:end] = piece[0]
        expected = rows @ w["tag.weight"].T + w["tag.bias"]
        found = library.run(x=x, first=first, lengths=lengths)["output"]
        assert_close(found, expected, (batch, time))


def test_attn_seq2seq(compiler):
    library = compiler.library(MODELS / "attn_seq2seq.gf", "--dim=I=5,J=3,O=4")
    generator = numpy.random.default_rng(64)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = wide(weights)
    for batch, keys, time in [(3, 7, 4), (1, 1, 1), (1, 17, 3), (2, 0, 2), (1, 3, 0)]:
        source, target = floats(generator, batch, keys, 5), floats(generator, batch, time, 3)
        lengths = lengths_of(generator, batch, keys)
        memory, (h, c) = cells.stacked_scan(
            cells.lstm, part(w, "encoder."), source.astype(numpy.float64),
            [numpy.zeros((2, batch, 256))] * 2, lengths, 256, 1, True,
        )  # fmt: skip
        expected = numpy.zeros((batch, time, 4))
        for b, n in enumerate(lengths):
            state = (numpy.concatenate(h[:, b]), numpy.concatenate(c[:, b]))
            for t in range(time):
                seen = attentions.visible(1, keys, length=n)
                context = attentions.dot_product(seen, state[0][None], memory[b], memory[b])[0]
                y = numpy.concatenate([target[b, t], context])
                _, state = cells.lstm(part(w, "decoder.rnn."), y, state)
                y = numpy.concatenate([state[0], context])
                expected[b, t] = w["decoder.fc.weight"] @ y + w["decoder.fc.bias"]
        given = {"source": source, "source_lengths": lengths, "target": target}
        found = library.run(**given)["output"]
        assert_close(found, expected, (batch, keys, time))
        for b, n in enumerate(lengths):
            source[b, n:] = numpy.nan
        numpy.testing.assert_array_equal(library.run(**given)["output"], found)


STREAM = """
import cells

cell counted(x: [I]) -> (mean: [I], n: i64[]) {
  state total: [I], n: i64[] = 0, seen: bool[] = false
  total' = total + x
  n' = n + 1
  seen' = seen or x[0] > 1
  return where(seen', total' / n', 0), n'
}

model stream(chunk: [B, T, 8]) -> (y: [B, T, 5], mean: [B, T, 8], count: i64[B, T]) {
  state h: [2, B, 16], c: [2, B, 16], g: [B, 16], total: [B, 8], k: i64[B] = 0
  state seen: bool[B], past: [B, 2, 8]
  param rnn: lstm(H=16, layers=2), mini: min_gru(H=16), conv: conv1d(N=8, kernel=3)
  param head: linear(N=5), counter: counted()
  whole = concat(past, chunk, axis=1)
  past' = whole[:, T:]
  x = conv(whole.T).T
  a, (h', c') = scan(rnn, x, init=(h, c))
  b, g' = scan(mini, a, init=g)
  (mean, count), (total', k', seen') = scan(counter, x, init=(total, k, seen))
  return head(b), mean, count
}
"""


def test_a_stream_is_the_whole_to_the_bit(compiler):
    library = compiler.library(STREAM)
    generator = numpy.random.default_rng(65)
    weights = random_weights(library, generator)
    library.prepare(weights)
    batch, time = 3, 65
    x = floats(generator, batch, time, 8)
    states = [s["name"] for s in library.inputs if s["role"] == "state"]
    whole = library.run(chunk=x)
    for cuts in [(1,) * 65, (64, 1), (1, 64), (3, 7, 17, 38)]:
        carried, pieces, begin = {}, [], 0
        for size in cuts:
            result = library.run(chunk=x[:, begin : begin + size], **carried)
            carried = {state: result[state] for state in states}
            pieces.append(result)
            begin += size
        for name in ("y", "mean", "count"):
            joined = numpy.concatenate([p[name] for p in pieces], axis=1)
            numpy.testing.assert_array_equal(joined, whole[name], (name, cuts))
        for state in states:
            numpy.testing.assert_array_equal(carried[state], whole[state], (state, cuts))
    w = wide(weights)
    padded = numpy.concatenate([numpy.zeros((batch, 2, 8)), x], axis=1)
    kernel = w["conv.weight"]
    conv = sum(padded[:, k : k + time] @ kernel[:, :, k].T for k in range(3)) + w["conv.bias"]
    a, _ = cells.stacked_scan(
        cells.lstm, part(w, "rnn."), conv, [numpy.zeros((2, batch, 16))] * 2, [time] * batch, 16, 2, False
    )
    b, _ = cells.scan(cells.min_gru, part(w, "mini."), a, [numpy.zeros((batch, 16))], [time] * batch, 16)
    assert_close(whole["y"], b @ w["head.weight"].T + w["head.bias"])
    count = numpy.arange(1, time + 1)
    numpy.testing.assert_array_equal(whole["count"], numpy.broadcast_to(count, (batch, time)))
    seen = numpy.logical_or.accumulate(conv[..., :1] > 1, axis=1)
    assert_close(whole["mean"], numpy.where(seen, conv.cumsum(axis=1) / count[:, None], 0))


def conv1d(x, w, stride=1, padding=0):
    """x [C, L]."""
    kernel = w["weight"]
    x = numpy.pad(x, ((0, 0), (padding, padding)))
    count = (x.shape[1] - kernel.shape[2]) // stride + 1
    columns = [x[:, t * stride : t * stride + kernel.shape[2]] for t in range(count)]
    bias = w.get("bias", numpy.zeros(len(kernel)))
    return numpy.stack(
        [numpy.tensordot(kernel, c, axes=2) + bias for c in columns], axis=1
    )


def test_silero_vad(compiler):
    """Three frames of a stream."""
    library = compiler.library(ROOT / "examples" / "voice_activity" / "silero_vad.gf")
    generator = numpy.random.default_rng(66)
    weights = random_weights(library, generator)
    for name, array in weights.items():
        if array.ndim == 3:  # a sum over the channels too
            array /= numpy.float32(numpy.sqrt(array.shape[1]))
    library.prepare(weights)
    w = wide(weights)
    batch = 2
    states = {n: numpy.zeros((batch, s)) for n, s in [("context", 64), ("h", 128), ("c", 128)]}
    carried = {}
    for _ in range(3):
        samples = floats(generator, batch, 512)
        found = library.run(samples=samples, **carried)
        carried = {name: found[name] for name in states}
        for b in range(batch):
            frame = numpy.concatenate([states["context"][b], samples[b].astype(numpy.float64)])
            x = numpy.pad(frame, (0, 64), mode="reflect")[None]
            spectrum = conv1d(x, part(w, "stft_conv."), stride=128)
            e = numpy.sqrt(spectrum[:129] ** 2 + spectrum[129:] ** 2)
            for k, stride in [(1, 1), (2, 2), (3, 2), (4, 1)]:
                e = numpy.maximum(conv1d(e, part(w, f"conv{k}."), stride, 1), 0)
            h, (h, c) = cells.lstm(
                part(w, "lstm_cell."), e[:, 0], (states["h"][b], states["c"][b])
            )
            states["context"][b], states["h"][b], states["c"][b] = samples[b, 448:], h, c
            last = conv1d(numpy.maximum(h, 0)[:, None], part(w, "final_conv."))
            assert_close(found["output"][b], sigmoid(last).mean(axis=1))
            for name, state in states.items():
                assert_close(found[name][b], state[b], name)


def test_in_f64(compiler):
    """The same language model with `--float f64`: to the last bits but a few."""
    text = (MODELS / "differential_transformer.gf").read_text().replace("N=512", "N=16")
    library = compiler.library(
        text, "--dim=V=11", "--arg=depth=1", "--arg=heads=2", "--float=f64"
    )
    generator = numpy.random.default_rng(67)
    weights = wide(random_weights(library, generator))
    library.prepare(weights)
    tokens = generator.integers(0, 11, (2, 9))
    found = library.run(tokens=tokens)["output"]
    assert found.dtype == numpy.float64
    expected = [language_model(weights, row, 1, 2) for row in tokens]
    numpy.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
