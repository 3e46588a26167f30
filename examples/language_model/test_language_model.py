# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both models at a small size against float64, from caches and anew."""

import pathlib

import numpy
import pytest

import language_model
from gatefold_library import GatefoldError, Library
from language_model import ENTRIES, Generator

SIZES = {"C": 24, "V": 19, "width": 32, "heads": 2, "blocks": 3}
KV_HEADS = 2


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def rms_norm(x, weight):
    return x / numpy.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5) * weight


def heads_of(x, count):
    return numpy.array(numpy.split(x, count, axis=1))


def rotary(x):
    """Turns neighbouring elements of [heads, T, D] by their place."""
    width = x.shape[2]
    angles = numpy.arange(x.shape[1])[:, None] * 10000.0 ** (-numpy.arange(0, width, 2) / width)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = numpy.empty_like(x)
    turned[..., 0::2] = even * numpy.cos(angles) - odd * numpy.sin(angles)
    turned[..., 1::2] = even * numpy.sin(angles) + odd * numpy.cos(angles)
    return turned


def causal_map(q, k):
    s = q @ k.T / numpy.sqrt(q.shape[1])
    s = numpy.where(numpy.tri(len(q), dtype=bool), s, -numpy.inf)
    e = numpy.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def differential_v1(w, x, heads, depth):
    q, k = (rotary(heads_of(x @ w(f"{name}_proj.weight").T, 2 * heads)) for name in "qk")
    v = heads_of(x @ w("v_proj.weight").T, heads)
    start = 0.8 - 0.6 * numpy.exp(-0.3 * depth)
    first, second = (w(f"lambda_q{i}") @ w(f"lambda_k{i}") for i in (1, 2))
    factor = numpy.exp(first) - numpy.exp(second) + start
    rows = []
    for h in range(heads):
        maps = [causal_map(q[i], k[i]) for i in (2 * h, 2 * h + 1)]
        rows.append((maps[0] - factor * maps[1]) @ v[h])
    rows = (1 - start) * rms_norm(numpy.array(rows), w("subln.weight"))
    return numpy.concatenate(list(rows), axis=1) @ w("out_proj.weight").T


def differential_v2(w, x, heads, depth):
    q = rotary(heads_of(x @ w("q_proj.weight").T, 2 * heads))
    k = rotary(heads_of(x @ w("k_proj.weight").T, KV_HEADS))
    v = heads_of(x @ w("v_proj.weight").T, KV_HEADS)
    factor = sigmoid(x @ w("lambda_proj.weight").T)
    rows = []
    for h in range(heads):
        shared = h * KV_HEADS // heads
        maps = [causal_map(q[i], k[shared]) for i in (2 * h, 2 * h + 1)]
        rows.append((maps[0] - factor[:, h : h + 1] * maps[1]) @ v[shared])
    return numpy.concatenate(rows, axis=1) @ w("o_proj.weight").T


def reference(weights, entry, tokens):
    """The logits behind the last token."""
    w = {name: array.astype(numpy.float64) for name, array in weights.items()}
    attend = {"v1": differential_v1, "v2": differential_v2}[entry]
    x = w["embed.weight"][tokens]
    for i in range(SIZES["blocks"]):
        own = lambda name, i=i: w[f"attend.{i}.{name}"]  # noqa: E731
        x = x + attend(own, rms_norm(x, w[f"input_norm.{i}.weight"]), SIZES["heads"], i)
        h = rms_norm(x, w[f"output_norm.{i}.weight"])
        gate, up, down = (w[f"mlp.{i}.{name}_proj.weight"].T for name in ("gate", "up", "down"))
        x = x + (h @ gate * sigmoid(h @ gate) * (h @ up)) @ down
    return rms_norm(x[-1], w["norm.weight"]) @ w["embed.weight"].T


@pytest.fixture(scope="module", params=ENTRIES)
def loaded(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("language_model")
    weights = language_model.random_weights(folder, request.param, **SIZES)
    library = Library(language_model.compile_library(folder, request.param, **SIZES))
    return request.param, library.prepare(weights), weights


def test_tokens_against_float64(loaded):
    entry, library, weights = loaded
    generator, prompt = Generator(library), [3, 18, 0, 7, 7]
    tokens, _ = generator.cached(prompt, 12)
    found = generator.logits.copy()
    again, _ = generator.anew(prompt, 12)
    assert again == tokens and len(tokens) == 12
    numpy.testing.assert_array_equal(generator.logits, found)
    expected = reference(weights, entry, [*prompt, *tokens[:-1]])
    numpy.testing.assert_allclose(found[0], expected, rtol=1.3e-6, atol=1e-5)
    assert tokens[-1] == expected.argmax()


def test_any_cut_gives_the_same_bits(loaded):
    _, library, _ = loaded
    generator, text = Generator(library), [5, 1, 4, 1, 3, 11, 2]
    generator.read(text)
    whole = generator.logits.copy()
    for cut in (1, 3, 6):
        for cache in generator.states.values():
            cache[:] = numpy.nan  # what was not appended is not read
        generator.read(text[:cut])
        generator.read(text[cut:], cut)
        numpy.testing.assert_array_equal(generator.logits, whole)


def test_a_full_cache_refuses_tokens(loaded):
    _, library, _ = loaded
    generator = Generator(library)
    with pytest.raises(GatefoldError, match="24"):
        generator.cached([1] * 20, 10)


def test_blocks_share_their_code(loaded, tmp_path):
    entry, library, _ = loaded
    size, _ = language_model.compile_cost(tmp_path, entry, **{**SIZES, "blocks": 1})
    assert pathlib.Path(library.path).stat().st_size < 1.4 * size
