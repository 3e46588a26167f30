# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The four layers against float64, and the comparison itself, for few tokens."""

import math

import numpy
import pytest

import attention_cost
from attention_cost import HEADS, LAYERS, WIDTH
from gatefold_library import read_safetensors

LENGTHS = (16, 33)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cost")
    attention_cost.make(folder)
    return folder


def softmax(s, seen=True):
    e = numpy.where(seen, numpy.exp(s - s.max(axis=1, keepdims=True)), 0)
    return e / e.sum(axis=1, keepdims=True)


def largest(s, fraction):
    """The largest scores of each row, the first where scores are equal."""
    kept = numpy.zeros(s.shape, bool)
    count = max(1, math.floor(fraction * s.shape[1]))
    places = numpy.argsort(-s, axis=1, kind="stable")[:, :count]
    numpy.put_along_axis(kept, places, True, axis=1)
    return kept


def weights_of_values(name, w, head, q, k):
    if name == "standard":
        return softmax(q @ k.T / 8)
    if name == "sparse":
        s = q @ k.T / 8
        kept = largest(s, 0.1)
        return softmax(s, kept) - softmax(s / 2, kept)
    scales = [(w[f"maps.lambda_q{i}"][head], w[f"maps.lambda_k{i}"][head]) for i in (1, 2)]
    first, second = (softmax((q * scale_q) @ (k * scale_k).T / 8) for scale_q, scale_k in scales)
    return first - second


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def gelu(x):
    return x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2))) / 2


def reference(name, w, x):
    own = "" if name in ("standard", "sparse") else "maps."
    heads = numpy.split(x @ w[f"{own}qkv.weight"].T, 3 * HEADS, axis=1)
    results = []
    for head in range(HEADS):
        q, k, v = (heads[head + i * HEADS] for i in range(3))
        results.append(weights_of_values(name, w, head, q, k) @ v)
    y = numpy.concatenate(results, axis=1)
    if name == "adaptive":
        hidden = gelu(x @ w["gate.down.weight"].T + w["gate.down.bias"])
        y = y * sigmoid(hidden @ w["gate.up.weight"].T + w["gate.up.bias"])
    return y @ w["out.weight"].T


@pytest.mark.parametrize("name", LAYERS)
def test_layers_against_float64(folder, name):
    arrays = read_safetensors(folder / f"{name}.safetensors")
    w = {key: array.astype(numpy.float64) for key, array in arrays.items()}
    library = attention_cost.load(folder, name)
    for length in (1, *LENGTHS):
        x = attention_cost.tokens(length)
        found = library.run(x=x)["output"][0]
        expected = reference(name, w, x[0].astype(numpy.float64))
        numpy.testing.assert_allclose(found, expected, rtol=1.3e-6, atol=1e-5)


def test_the_comparison(folder, capsys):
    rows = attention_cost.measure(folder, LENGTHS, rounds=1)
    attention_cost.show(rows)
    attention_cost.draw(rows, folder / "cost.png")
    assert (folder / "cost.png").stat().st_size > 10_000
    assert capsys.readouterr().out.count("adaptive") == len(LENGTHS)
    assert len(rows) == len(LENGTHS) * len(LAYERS)
    for row in rows:
        assert row["seconds"] > 0 and 0 <= row["growth"] <= row["bytes"] + 2**22
    # Projections are the same, 2 * T * M * 4M of them; a second map adds half of the products
    # with scores and values, a gate what its two products cost.
    for length in LENGTHS:
        count = {r["layer"]: r["operations"] for r in rows if r["length"] == length}
        projections, map_products = 8 * length * WIDTH**2, 2 * length**2 * WIDTH
        assert projections + 2 * map_products < count["standard"]
        assert map_products < count["differential"] - count["standard"] < 1.5 * map_products
        gate = count["adaptive"] - count["differential"]
        assert length * WIDTH**2 <= gate < 1.1 * length * WIDTH**2
    # Bytes grow with the length, though the maps do with its square.
    for name in LAYERS:
        counted = attention_cost.counted(name)
        short, middle, long = (counted.at(length)[1] for length in (2048, 4096, 8192))
        assert long - middle <= 2.2 * (middle - short)
