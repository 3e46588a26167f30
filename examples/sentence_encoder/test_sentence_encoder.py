# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The encoder's equations against float64 with small random weights, and, where the
packages are installed, the published similarities with the real ones."""

import math

import numpy
import pytest

import sentence_encoder
from measuring import gatefold
from gatefold_library import read_safetensors

WORDS, WIDTH, LAYERS, HEADS = 50, 48, 2, 4


def linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def layer_norm(w, name, x):
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / numpy.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12)
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def gelu(x):
    return x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2))) / 2


def softmax(s):
    e = numpy.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def block(w, name, x, heads):
    projected = (linear(w, f"{name}.attention.self.{part}", x) for part in ("query", "key", "value"))
    q, k, v = (numpy.array(numpy.split(part, heads, axis=1)) for part in projected)
    mixed = softmax(q @ k.swapaxes(1, 2) / math.sqrt(q.shape[2])) @ v
    mixed = linear(w, f"{name}.attention.output.dense", numpy.concatenate(list(mixed), axis=1))
    x = layer_norm(w, f"{name}.attention.output.LayerNorm", x + mixed)
    hidden = gelu(linear(w, f"{name}.intermediate.dense", x))
    return layer_norm(w, f"{name}.output.LayerNorm", x + linear(w, f"{name}.output.dense", hidden))


def reference(weights, tokens, layers, heads):
    """One sentence without padding."""
    w = {name: array.astype(numpy.float64) for name, array in weights.items()}
    x = w["embeddings.word_embeddings.weight"][tokens]
    x = x + w["embeddings.position_embeddings.weight"][: len(tokens)]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(w, "embeddings.LayerNorm", x)
    for i in range(layers):
        x = block(w, f"encoder.layer.{i}", x, heads)
    y = x.mean(axis=0)
    return y / numpy.sqrt((y**2).sum())


def test_small_encoder_against_float64(tmp_path):
    sizes = {"words": WORDS, "width": WIDTH, "layers": LAYERS, "heads": HEADS}
    options = [f"--arg={name}={value}" for name, value in sizes.items()]
    library = sentence_encoder.compile_library(tmp_path, *options)
    path = tmp_path / "weights.safetensors"
    gatefold("init", sentence_encoder.HERE / "sentence_encoder.gf", *options, "-o", path)
    weights = read_safetensors(path)
    # Rows that differ, as those of a table of words do.
    generator = numpy.random.default_rng(1)
    table = generator.normal(size=(WORDS, WIDTH)).astype(numpy.float32)
    weights["embeddings.word_embeddings.weight"] = table
    library.prepare(weights)
    lengths = numpy.array([17, 1, 9])
    tokens = generator.integers(0, WORDS, (3, 17))
    found = library.run(tokens=tokens, lengths=lengths)["output"]
    for row, length in enumerate(lengths):
        expected = reference(weights, tokens[row, :length], LAYERS, HEADS)
        numpy.testing.assert_allclose(found[row], expected, rtol=1.3e-6, atol=1e-5)
        alone = library.run(tokens=tokens[row : row + 1, :length], lengths=[length])["output"]
        numpy.testing.assert_array_equal(alone[0], found[row])


@pytest.mark.skipif(
    sentence_encoder.missing_packages() != [],
    reason="examples/sentence_encoder/run.sh --download has not installed "
    + ", ".join(sentence_encoder.missing_packages()),
)
def test_published_similarities(tmp_path):
    encoder = sentence_encoder.load(tmp_path)
    sentences = sentence_encoder.PUBLISHED_SENTENCES
    vectors = encoder(sentences)
    for (a, b), published in sentence_encoder.PUBLISHED.items():
        assert abs(vectors[a] @ vectors[b] - published) <= 0.5e-4
    weights = read_safetensors(sentence_encoder.package_folder() / "model.safetensors")
    ids = encoder.tokenizer.encode(sentences[0]).ids
    numpy.testing.assert_allclose(vectors[0], reference(weights, ids, 6, 12), rtol=0, atol=1e-5)
