# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optimised path against `--naive`, on the same program and the same data."""

import re

import numpy
import pytest
from conftest import ROOT, random_weights
from random_programs import Program

SIZES = [
    {"B": 1, "T": 1, "S": 1},
    {"B": 3, "T": 7, "S": 5},
    {"B": 2, "T": 65, "S": 70},
    {"B": 7, "T": 33, "S": 129},
    {"B": 2, "T": 0, "S": 3},
    {"B": 0, "T": 3, "S": 4},
]
MODELS = ROOT / "test" / "models"
LIBRARY = ROOT / "frontend" / "library"
CELLS = re.findall(r"^cell (\w+)", (LIBRARY / "cells.gf").read_text(), re.MULTILINE)
PROJECTED = ("lstm_projected", "lstm_clipped")
ATTENTIONS = re.findall(r"^attention (\w+)", (LIBRARY / "attention.gf").read_text(), re.MULTILINE)
LAYERS = LIBRARY / "differential_layers.gf"
# Texts of test/models and layers of the library: file, entry, options of the driver.
SAMPLES = [
    ("bilstm_diff_attention.gf", "sentiment", []),
    ("attn_seq2seq.gf", "translate", ["--dim", "I=9,J=5,O=7"]),
    ("differential_transformer.gf", "language_model", ["--dim", "V=20", "--arg", "depth=1", "--arg", "heads=2"]),
    (LAYERS, "differential_v2", ["--arg", "heads=4", "--arg", "kv_heads=2", "--dim", "M=24"]),
    (LAYERS, "adaptive_differential_layer", ["--arg", "heads=2", "--dim", "M=24"]),
    ("your_own_attention.gf", "encoder", []),
    ("your_own_cell.gf", "tagger", ["--dim", "I=11"]),
]


def inputs_of(library, generator, sizes):
    """Data for a library's inputs: integers are lengths up to T (or S), or tokens."""
    inputs = {}
    for description in library.inputs:
        name = description["name"]
        shape = [sizes[s] if isinstance(s, str) else s for s in description["shape"]]
        if description["element"] == "bool":
            array = generator.random(shape) < 0.3
        elif description["element"].startswith("i"):
            over_keys = name in ("source_lengths", "memory_lengths", "keys")
            bound = 19 if name == "tokens" else sizes["S" if over_keys else "T"]
            array = generator.integers(0, bound + 1, shape)
        else:
            array = generator.normal(size=shape).astype(
                numpy.float64 if description["element"] == "f64" else numpy.float32
            )
        inputs[name] = array
    return inputs


def compare(compiler, text, *options, seed=0, sizes=SIZES, rtol=2e-5, atol=2e-5):
    fast = compiler.library(text, *options)
    naive = compiler.library(text, *options, "--naive")
    generator = numpy.random.default_rng(seed)
    weights = random_weights(fast, generator)
    fast.prepare(weights)
    naive.prepare(weights)
    for known in sizes:
        inputs = inputs_of(fast, generator, known)
        expected = naive.run(**inputs)
        found = fast.run(**inputs)
        for name in expected:
            numpy.testing.assert_allclose(
                found[name], expected[name], rtol=rtol, atol=atol, err_msg=f"{name} at {known}"
            )


@pytest.mark.parametrize("file, entry, options", SAMPLES)
def test_samples(compiler, file, entry, options):
    compare(compiler, MODELS / file, "--entry", entry, *options)


# One width and one layer are enough for what differs from another cell in an operation or two.
CELLS_ALIKE = ("rnn_relu", "lstm_clipped", "lstm_coupled", "lstm_layer_norm", "min_lstm")


@pytest.mark.parametrize(
    "cell, width", [(cell, width) for cell in CELLS for width in ((7,) if cell in CELLS_ALIKE else (7, 32))]
)
def test_cells(compiler, cell, width):
    """Both directions, two layers, ragged."""
    sizes = f"H={width}" + (f", P={width}" if cell in PROJECTED else "")
    text = f"""import cells
model m(x: [B, T, {width}], lengths: i64[B]) -> [B, T, {2 * width}] {{
  param rnn: {cell}({sizes}, layers=2, bidirectional=true)
  y, _ = scan(rnn, x, lengths=lengths)
  return y
}}
"""
    if cell in ("sru", *PROJECTED, *CELLS_ALIKE):
        # A second layer reads both directions, which sru and the projected ones cannot take.
        text = text.replace(", layers=2, bidirectional=true", "").replace(
            f"T, {2 * width}]", f"T, {width}]"
        )
    compare(compiler, text)


def test_states_side_by_side(compiler):
    """New states go together into a sequence, of which a product is computed behind the steps, or that is
    the result; and one of them is a part of another state."""
    text = """cell decoder(y: [8]) -> [11] {
  state s: [8], context: [8]
  param v: [8, 8], out: [11, 16]
  s' = tanh(y + context + s)
  context' = v @ s'
  return out @ concat(s', context')
}
cell recorder(y: [8]) -> [16] {
  state both: [16], o: [8]
  param v: [8, 16]
  o' = tanh(y + o)
  both' = concat(tanh(v @ both), o')
  return both'
}
model m(x: [B, T, 8]) -> (y: [B, T, 11], both: [B, T, 16]) {
  param first: decoder(), second: recorder()
  y, _ = scan(first, x)
  both, _ = scan(second, x)
  return y, both
}
"""
    compare(compiler, text)


# What each takes beside q, k and v, and what it is called with.
EXTRA = {
    "additive": ("w: [16]", "w"),
    "scaled_differential": ("lq1: [16], lk1: [16], lq2: [16], lk2: [16]", "lq1, lk1, lq2, lk2"),
    "alibi": ("slope: []", "slope"),
    "sparse_dot_product": ("", "count=5"),
    "mixed_maps": ("mix: [B, 2, T, 2]", "mix"),
    "sigmoid_dot_product": ("shift: []", "shift"),
    "with_sink": ("sinks: [2]", "sinks"),
    "streaming": ("", "recent=20"),
    "prefix_causal": ("keys: i64[B]", "keys[:, None]"),
    "relative_bias": ("table: [2, 31]", "table"),
    "bucketed_bias": ("buckets: [2, 32]", "buckets"),
}
VIEWS = ["", ", causal=true", ", window=(3, 2)", ", lengths=keys"]
# One view is enough for what differs from another attention in an operation or two.
ALIKE = {name for name in EXTRA if name not in ("additive", "scaled_differential", "alibi")}


def attentions_text(names, options):
    """A model of one result for each."""
    heads = [f"{n}: [B, 2, {size}, 16]" for n, size in zip(("q", "p", "k", "l"), "TTSS")]
    inputs = dict.fromkeys([*heads, "v: [B, 2, S, 24]", "weight: [B, 2, T, 1]"])
    calls = []
    for name in names:
        more, given = EXTRA.get(name, ("", ""))
        inputs |= dict.fromkeys(re.findall(r"\w+: (?:i64)?\[.*?\]", more))
        call = ["q, p, k, l, v, weight" if name == "differential" else "q, k, v", given]
        calls.append(f"{name}({', '.join(filter(None, call))}{options})")
    if "keys" in options:
        inputs["keys: i64[B]"] = None
    results = ", ".join(f"of_{name}: [B, 2, T, 24]" for name in names)
    return f"""import attention
model m({", ".join(inputs)}) -> ({results}) {{
  return {", ".join(calls)}
}}
"""


@pytest.mark.parametrize("options", VIEWS)
@pytest.mark.parametrize("name", [name for name in ATTENTIONS if name not in ALIKE])
def test_attentions(compiler, name, options):
    compare(compiler, attentions_text([name], options))


def test_attentions_alike(compiler):
    compare(compiler, attentions_text([name for name in ATTENTIONS if name in ALIKE], ", lengths=keys"))


@pytest.mark.parametrize("seed", range(100, 130))
def test_random_programs(compiler, seed):
    program = Program(seed, steps=24, jumps=False)
    compare(compiler, program.text, seed=seed, rtol=1e-4, atol=1e-4)


def test_in_f64(compiler):
    compare(
        compiler, MODELS / "bilstm_diff_attention.gf", "--float", "f64", rtol=1e-10, atol=1e-10
    )
