# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled sentiment model against float64 NumPy, ragged, and its memory."""

import os
import pathlib
import subprocess

import numpy
import pytest

import sentiment
from gatefold_library import Library, read_safetensors

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", HERE.parent.parent / "build"))


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """What run.sh leaves."""
    folder = tmp_path_factory.mktemp("sentiment")
    text = HERE / "sentiment.gf"

    def gatefold(*arguments):
        subprocess.run(
            [BUILD / "bin/gatefold", *arguments], check=True, stdout=subprocess.DEVNULL
        )

    gatefold("init", text, "--seed", "1", "-o", folder / "sentiment.safetensors")
    gatefold("compile", text, "-o", folder / "libsentiment.so")
    gatefold("compile", text, "-o", folder / "libsentiment_naive.so", "--naive")
    (folder / "phases").mkdir()
    for phase in sentiment.PHASES:
        path = folder / "phases" / f"{phase}.mlir"
        gatefold("compile", text, "--emit", phase, "-o", path)
    return folder


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def lstm(w, x, suffix):
    """x [T, I] -> [T, H]"""
    part = lambda name: w[f"lstm.{name}{suffix}"]  # noqa: E731
    h = c = numpy.zeros(part("weight_hh").shape[1])
    outputs = []
    for step in x:
        gates = part("weight_ih") @ step + part("bias_ih")
        gates += part("weight_hh") @ h + part("bias_hh")
        i, f, g, o = numpy.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
        h = sigmoid(o) * numpy.tanh(c)
        outputs.append(h)
    return numpy.array(outputs)


def reference(weights, tokens):
    """One text without padding, as the equations say it."""
    w = {name: numpy.asarray(array, numpy.float64) for name, array in weights.items()}
    x = w["embed.weight"][tokens]
    for layer in range(2):
        forward = lstm(w, x, f"_l{layer}")
        backward = lstm(w, x[::-1], f"_l{layer}_reverse")[::-1]
        x = numpy.concatenate([forward, backward], axis=1)
    linear = lambda name, x: x @ w[f"{name}.weight"].T + w[f"{name}.bias"]  # noqa: E731
    heads = []
    projected = [linear(f"attention.{name}", x) for name in ("query", "key", "value")]
    for q, k, v in zip(*(numpy.split(p, sentiment.HEADS, axis=1) for p in projected)):
        s = q @ k.T / numpy.sqrt(q.shape[1])
        difference = numpy.zeros_like(s)
        difference[:, 1:] += s[:, 1:] - s[:, :-1]
        difference[:, :-1] += s[:, :-1] - s[:, 1:]
        s = s + difference
        p = numpy.exp(s - s.max(axis=1, keepdims=True))
        heads.append(p / p.sum(axis=1, keepdims=True) @ v)
    return linear("classifier", numpy.concatenate(heads, axis=1).mean(axis=0))


@pytest.mark.parametrize("name", ["sentiment", "sentiment_naive"])
def test_against_float64(output, name):
    weights = read_safetensors(output / "sentiment.safetensors")
    library = Library(output / f"lib{name}.so").prepare(weights)
    lengths = [29, 7, 1, 40, 2]
    tokens, counts = sentiment.ragged_batch(lengths)
    found = library.run(tokens=tokens, lengths=counts)["output"]
    for row, length in enumerate(lengths):
        expected = reference(weights, tokens[row, :length])
        numpy.testing.assert_allclose(found[row], expected, rtol=1.3e-6, atol=1e-5)


def test_a_text_does_not_depend_on_its_batch(output, capsys):
    assert sentiment.show_ragged(sentiment.load(output))
    assert capsys.readouterr().out.count("same bits") == 6


def test_memory_is_linear_in_the_length(output):
    context = sentiment.load(output).context()

    def workspace(length):
        tokens, counts = sentiment.ragged_batch([length])
        return context.workspace_size(tokens=tokens, lengths=counts)

    sizes = [workspace(length) for length in (1024, 2048, 4096, 8192)]
    growth = numpy.diff(sizes) / numpy.diff([1024, 2048, 4096, 8192])
    # Rows of a block of queries may be fewer for longer texts, never more.
    assert growth.max() <= 1.25 * growth.min()
    scores = 4 * sentiment.HEADS * 8192**2
    assert sizes[-1] < scores / 8


def test_phases_show_what_became_of_the_operations(output):
    table = sentiment.show_phases(output / "phases")
    assert table["import"]["gf.recurrence"] == 4 and table["import"]["gf.attention"] == 1
    # Query, key and value are one product.
    assert table["fuse"]["linalg.contract"] == table["import"]["linalg.contract"] - 2
    assert table["tile"]["gf.recurrence"] == table["tile"]["gf.attention"] == 0
    assert table["cpu"]["gf.linear"] == 0
