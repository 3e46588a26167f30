# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bits of a result do not depend on the number of threads."""

import re
import subprocess

import numpy
import pytest
from conftest import GATEFOLD, ROOT, random_weights
from test_fast_against_naive import CELLS, MODELS, SAMPLES, inputs_of

THREADS = (1, 2, 3, 7)
# Batches that are split among threads and such that are not, with few steps and many;
# all large enough for several threads to be worth it.
SIZES = [
    {"B": 1, "T": 130, "S": 150},
    {"B": 5, "T": 33, "S": 40},
    {"B": 40, "T": 9, "S": 7},
    {"B": 3, "T": 0, "S": 2},
    {"B": 0, "T": 5, "S": 3},
]
FEW_ROWS = [{"B": b, "T": t} for b, t in [(1, 130), (1, 127), (3, 33), (2, 2), (2, 1), (1, 0)]]


def check(compiler, text, *options, sizes=SIZES):
    library = compiler.library(text, *options)
    generator = numpy.random.default_rng(7)
    library.prepare(random_weights(library, generator))
    contexts = [library.context(threads) for threads in THREADS]
    for known in sizes:
        inputs = inputs_of(library, generator, known)
        alone = contexts[0].run(**inputs)
        for threads, context in zip(THREADS[1:], contexts[1:]):
            for again in range(3):
                found = context.run(**inputs)
                for name, value in alone.items():
                    assert value.tobytes() == found[name].tobytes(), (name, known, threads, again)
    for context in contexts:
        context.close()


@pytest.mark.parametrize("file, entry, options", SAMPLES)
def test_samples(compiler, file, entry, options):
    check(compiler, MODELS / file, "--entry", entry, *options)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("width", [96, 128])
def test_cells(compiler, cell, width):
    is_projected = cell in ("lstm_projected", "lstm_clipped")
    sizes = f"H={width}" + (f", P={width}" if is_projected else "")
    check(
        compiler,
        f"""import cells
model m(x: [B, T, {width}], lengths: i64[B]) -> ([B, T, {width}], [B, T, {width}]) {{
  param rnn: {cell}({sizes})
  param back: {cell}({sizes})
  y, _ = scan(rnn, x, lengths=lengths)
  z, _ = scan(back, x, lengths=lengths, reverse=true)
  return y, z
}}
""",
    )


@pytest.mark.parametrize("options", ["", ", causal=true", ", window=(30, 2)"])
@pytest.mark.parametrize("name", ["dot_product", "differential"])
def test_attentions(compiler, name, options):
    two = name == "differential"
    heads = [f"{n}: [B, 2, T, 64]" for n in (("q1", "q2") if two else ("q",))]
    heads += [f"{n}: [B, 2, S, 64]" for n in (("k1", "k2") if two else ("k",))]
    call = "q1, q2, k1, k2, v, weight" if two else "q, k, v"
    weight = ", weight: [B, 2, T, 1]" if two else ""
    check(
        compiler,
        f"""import attention
model m({", ".join(heads)}, v: [B, 2, S, 64]{weight}) -> [B, 2, T, 64] {{
  return {name}({call}{options})
}}
""",
    )


def test_rows_and_norms(compiler):
    """Products, functions and statistics of rows in a row, and along columns."""
    check(
        compiler,
        """model m(x: [B, T, 128]) -> ([B, T, 128], [B, 512], [T, 128]) {
  param a: linear(N=512)
  param b: linear(N=128)
  param n: layer_norm()
  h = gelu(a(x))
  return n(b(h) + x), max(h, axis=1), mean(x, axis=0)
}
""",
        # A largest element of no steps is an error.
        sizes=[sizes for sizes in SIZES if sizes["T"] != 0][:3],
    )


def test_something_is_shared(compiler, tmp_path):
    """These tests compare something: a team is asked for, and has barriers."""
    source = tmp_path / "m.gf"
    source.write_text(
        """import cells
model m(x: [B, T, 128]) -> [B, T, 128] {
  param rnn: lstm(H=128)
  y, _ = scan(rnn, x)
  return y
}
"""
    )
    code = subprocess.run(
        [GATEFOLD, "compile", source, "--emit", "bufferize"], capture_output=True, text=True
    ).stdout
    assert "gf.team_barrier" in code and "gf.team_rank" in code
    useful = code[code.index("@gatefold_useful_ranks") :]
    assert re.search(r"llvm.load|arith.constant [2-9]", useful)


def test_states_of_few_rows(compiler):
    """Few rows, so that a step is shared and its states alternate between two buffers:
    odd and even numbers of steps, and of steps in a block; states as results; two states
    that change places; a state that is read as it was; new sequences within the steps."""
    check(
        compiler,
        """import cells
cell exchange(x: [128]) -> [128] {
  state a: [128], b: [128], n: i64[]
  param w: [128, 128], u: [128, 128]
  before = a + b
  a' = tanh(w @ b + x)
  b' = tanh(u @ a)
  n' = n + 1
  return before
}
model m(x: [B, T, 128], lengths: i64[B], starts: bool[B, T], h: [B, 128]) -> (
    [B, T, 128], [B, 128], [B, 128], [B, T, 128], [B, 128], i64[B], [B, T, 128]) {
  param one: lstm(H=128), two: exchange(), three: gru(H=128)
  y, (s, c) = scan(one, x, init=(h, h))
  z, (a, b, n) = scan(two, x, lengths=lengths)
  w, _ = scan(three, x, lengths=lengths, reset=starts, reverse=true)
  return y, s, c, z, b, n, w
}
""",
        sizes=FEW_ROWS,
    )
