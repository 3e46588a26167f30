# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models against float64, and what must be the same to the bit."""

import pathlib
import subprocess
import threading

import attention_references as attentions
import cell_references as cells
import numpy
import pytest
from conftest import GATEFOLD, ROOT, assert_close, lengths_of, random_weights
from gatefold_library import GatefoldError, write_safetensors

SENTIMENT = ROOT / "test" / "models" / "bilstm_diff_attention.gf"
HEADS = 4


def sentiment_reference(weights, tokens, lengths):
    w = {name: numpy.asarray(a, numpy.float64) for name, a in weights.items()}
    batch, time = tokens.shape
    lstm = {n.removeprefix("lstm."): a for n, a in w.items() if n.startswith("lstm.")}
    start = [numpy.zeros((4, batch, 128))] * 2
    h, _ = cells.stacked_scan(
        cells.lstm, lstm, w["embed.weight"][tokens], start, lengths, 128, 2, True
    )

    def heads(name, x):
        projected = x @ w[f"attention.{name}.weight"].T + w[f"attention.{name}.bias"]
        return projected.reshape(time, HEADS, 256 // HEADS).transpose(1, 0, 2)

    logits = numpy.zeros((batch, 2))
    for b, n in enumerate(lengths):
        seen = attentions.visible(time, time, length=n)
        q, k, v = (heads(name, h[b]) for name in ("query", "key", "value"))
        rows = [attentions.diff_window(seen, q[i], k[i], v[i]) for i in range(HEADS)]
        mixed = numpy.stack(rows, axis=1).reshape(time, 256)
        mean = mixed[:n].mean(axis=0) if n else numpy.zeros(256)
        logits[b] = w["classifier.weight"] @ mean + w["classifier.bias"]
    return logits


def test_bilstm_diff_attention(compiler):
    generator = numpy.random.default_rng(20)
    library = compiler.library(SENTIMENT)
    weights = random_weights(library, generator)
    # An embedding is a table, not a product: unit variance, as an input.
    table = generator.normal(size=(20000, 300)).astype(numpy.float32)
    weights["embed.weight"] = table
    library.prepare(weights)
    for batch, time in [(1, 1), (3, 7), (4, 17), (1, 65), (2, 0)]:
        tokens = generator.integers(0, 20000, (batch, time))
        lengths = lengths_of(generator, batch, time)
        result = library.run(tokens=tokens, lengths=lengths)["output"]
        assert_close(
            result, sentiment_reference(weights, tokens, lengths), (batch, time)
        )


def test_bad_data_is_an_error_and_computes_nothing(compiler):
    library = compiler.library(SENTIMENT)
    library.prepare(random_weights(library, numpy.random.default_rng(21)))
    tokens, lengths = numpy.zeros((2, 3), numpy.int64), numpy.array([3, 2])
    faults = {
        "`tokens`[1, 2] is 20000": (numpy.array([[0, 1, 2], [3, 4, 20000]]), lengths),
        "`tokens`[0, 1] is -1": (numpy.array([[0, -1, 2], [3, 4, 5]]), lengths),
        "`lengths`[0] is 4": (tokens, numpy.array([4, 2])),
        "`lengths`[1] is -1": (tokens, numpy.array([3, -1])),
        "`lengths` is [3]": (tokens, numpy.array([1, 2, 3])),
    }
    for words, (bad_tokens, bad_lengths) in faults.items():
        with pytest.raises(GatefoldError) as caught:
            library.run(tokens=bad_tokens, lengths=bad_lengths)
        assert words in str(caught.value), str(caught.value)
    library.run(tokens=tokens, lengths=lengths)  # and it still works


MIXED = """
import cells, attention

model mixed(x: [B, T, 6], lengths: i64[B]) -> (y: [B, T, 4], pooled: [B, 6], best: i64[B]) {
  state memory: [B, 6]
  param rnn: gru(H=6, layers=1), norm: layer_norm(), out: linear(N=4)
  h, _ = scan(rnn, x, lengths=lengths)
  a = dot_product(h, h, h, causal=true)
  n = norm(x + a)
  memory' = mean(n, axis=1, lengths=lengths) + 0.5 * memory
  y = out(n)
  return y, memory', argmax(memory', axis=1)
}
"""


def test_mixed_model(compiler):
    generator = numpy.random.default_rng(22)
    library = compiler.library(MIXED)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = {n: numpy.asarray(a, numpy.float64) for n, a in weights.items()}
    rnn = {
        n.removeprefix("rnn.").removesuffix("_l0"): a
        for n, a in w.items()
        if n.startswith("rnn.")
    }
    for batch, time in [(2, 5), (3, 1), (1, 17)]:
        x = generator.normal(size=(batch, time, 6)).astype(numpy.float32)
        memory = generator.normal(size=(batch, 6)).astype(numpy.float32)
        lengths = lengths_of(generator, batch, time)
        result = library.run(x=x, lengths=lengths, memory=memory)
        h, _ = cells.scan(
            cells.gru, rnn, x, [numpy.zeros((batch, 6))], lengths, 6
        )
        seen = attentions.visible(time, time, causal=True)
        a = numpy.stack([attentions.dot_product(seen, *[h[b]] * 3) for b in range(batch)])
        n = x + a
        n = n - n.mean(axis=2, keepdims=True)
        n = n / numpy.sqrt((n**2).mean(axis=2, keepdims=True) + 1e-5)
        n = n * w["norm.weight"] + w["norm.bias"]
        pooled = numpy.stack(
            [n[b, :k].mean(axis=0) if k else numpy.zeros(6) for b, k in enumerate(lengths)]
        )
        pooled = pooled + 0.5 * memory
        assert_close(result["y"], n @ w["out.weight"].T + w["out.bias"])
        assert_close(result["pooled"], pooled)
        assert_close(result["memory"], pooled)
        numpy.testing.assert_array_equal(result["best"], pooled.argmax(axis=1))


def test_run_and_library_give_the_same_bits(compiler, tmp_path):
    """`gatefold run` on the text (JIT) and on the library."""
    generator = numpy.random.default_rng(23)
    library = compiler.library(MIXED)
    weights = random_weights(library, generator)
    library.prepare(weights)
    write_safetensors(tmp_path / "w.safetensors", weights)
    x = generator.normal(size=(3, 7, 6)).astype(numpy.float32)
    lengths = numpy.array([7, 0, 4])
    numpy.savez(tmp_path / "inputs.npz", x=x, lengths=lengths)
    direct = library.run(x=x, lengths=lengths)
    text = tmp_path / "mixed.gf"
    text.write_text(MIXED)
    for file in (text, compiler.library_path(MIXED)):
        output = tmp_path / f"out-{pathlib.Path(file).suffix}"
        subprocess.run(
            [GATEFOLD, "run", file, "--weights", tmp_path / "w.safetensors",
             "--input", tmp_path / "inputs.npz", "--output-dir", output],
            check=True,
        )  # fmt: skip
        for name, array in direct.items():
            numpy.testing.assert_array_equal(numpy.load(output / f"{name}.npy"), array)


def test_many_threads_give_the_same_bits(compiler):
    generator = numpy.random.default_rng(24)
    library = compiler.library(MIXED)
    library.prepare(random_weights(library, generator))
    inputs = [
        {
            "x": generator.normal(size=(2, 11, 6)).astype(numpy.float32),
            "lengths": numpy.array([11, 5]),
        }
        for _ in range(8)
    ]
    alone = [library.run(**i) for i in inputs]
    found = [None] * len(inputs)

    def work(i):
        context = library.context()
        for _ in range(50):
            found[i] = context.run(**inputs[i])
        context.close()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(alone, found):
        for name in a:
            numpy.testing.assert_array_equal(a[name], b[name])


def test_strided_inputs(compiler):
    """Any strides: transposed, reversed and sliced arrays give the same bits."""
    generator = numpy.random.default_rng(25)
    library = compiler.library(MIXED)
    library.prepare(random_weights(library, generator))
    x = generator.normal(size=(4, 9, 6)).astype(numpy.float32)
    lengths = numpy.array([9, 3, 0, 5])
    whole = library.run(x=x, lengths=lengths)
    wide = numpy.zeros((4, 9, 12), numpy.float32)
    wide[..., ::2] = x
    views = [
        (numpy.asfortranarray(x), lengths),
        (wide[..., ::2], lengths),
        (x[::-1].copy()[::-1], numpy.repeat(lengths, 2)[::2]),
    ]
    for view, view_lengths in views:
        result = library.run(x=view, lengths=view_lengths)
        for name in whole:
            numpy.testing.assert_array_equal(result[name], whole[name])


AFFINE = """
model affine(x: [B, 3]) -> [B, 3] {
  param gain: [3] = 2, shift: [3]
  return gain * x + shift
}
"""


def test_a_weight_by_its_default(compiler):
    """Parameters with `= number` need not be given."""
    library = compiler.library(AFFINE)
    library.prepare({"shift": numpy.float32([1, 2, 3])})
    x = numpy.float32([[1, 1, 1]])
    numpy.testing.assert_array_equal(library.run(x=x)["output"], [[3, 4, 5]])
    again = compiler.library(AFFINE)
    with pytest.raises(GatefoldError) as caught:
        again.prepare({"gain": numpy.float32([1, 1, 1])})
    assert "`shift` [3] is not in the weights" in str(caught.value)
