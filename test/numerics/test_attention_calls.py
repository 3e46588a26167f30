# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call of an attention maps, groups and hides, and what its body computes,
against NumPy in float64."""

import numpy
import pytest
from conftest import assert_close
from gatefold_library import GatefoldError

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 6, 5, 7, 4
generator = numpy.random.default_rng(11)


def floats(*shape):
    return generator.standard_normal(shape).astype(numpy.float32)


INPUTS = {
    "q": floats(BATCH, HEADS, QUERIES, WIDTH),
    "k": floats(BATCH, 2, KEYS, WIDTH),
    "v": floats(BATCH, 3, KEYS, WIDTH),
    "b": floats(BATCH, 1, QUERIES, KEYS),
    "z": floats(HEADS),
    "g": floats(BATCH, HEADS, QUERIES, 1),
    "w": floats(WIDTH),
    "sq": generator.integers(0, 2, (BATCH, QUERIES)).astype(numpy.int64),
    "sk": generator.integers(0, 2, (BATCH, KEYS)).astype(numpy.int64),
    "n": numpy.array([7, 3], numpy.int64),
}
X = {name: array.astype(numpy.float64) for name, array in INPUTS.items()}
K = X["k"].repeat(3, axis=1)
V = X["v"].repeat(2, axis=1)
SCORES = X["q"] @ K.transpose(0, 1, 3, 2)
ROW, COL = numpy.arange(QUERIES)[:, None], numpy.arange(KEYS)[None, :]
POSITION = ROW + KEYS - QUERIES
LENGTHS = COL < INPUTS["n"][:, None, None, None]
SEGMENTS = (INPUTS["sq"][:, :, None] == INPUTS["sk"][:, None, :])[:, None]

HEAD = """attention mine(q: [T, D], k: [S, D], v: [S, E], z: [], g: [T, 1], w: [D], b: [T, S]) ->
    [T, E] {
  BODY
}

func score(a: [D], c: [D], w: [D]) -> [] {
  return tanh(a + c) @ w
}

model m(q: [2, 6, T, 4], k: [2, 2, S, 4], v: [2, 3, S, 4], b: [2, 1, T, S], z: [6],
        g: [2, 6, T, 1], w: [4], sq: i64[2, T], sk: i64[2, S], n: i64[2]) -> RESULT {
  return CALL
}
"""


def softmax(scores, seen=True, sink=None):
    scores = numpy.where(seen, scores, -numpy.inf)
    largest = scores.max(axis=-1, keepdims=True)
    largest = numpy.where(numpy.isfinite(largest), largest, 0)
    weights = numpy.exp(scores - largest)
    total = weights.sum(axis=-1, keepdims=True)
    empty = total == 0
    if sink is not None:
        total = total + numpy.exp(sink - largest)
    return numpy.where(empty, 0, weights / numpy.where(total == 0, 1, total))


def top(scores, seen, count):
    kept = numpy.zeros(scores.shape, bool)
    for place in numpy.ndindex(scores.shape[:-1]):
        visible = [j for j in range(KEYS) if numpy.broadcast_to(seen, scores.shape)[place][j]]
        visible.sort(key=lambda j: (-scores[place][j], j))
        kept[place][visible[: min(len(visible), count)]] = True
    return kept


def additive():
    sums = X["q"][..., :, None, :] + K[..., None, :, :]
    return numpy.tanh(sums) @ X["w"]


Z = X["z"][:, None, None]
CAUSAL = COL <= POSITION
# body, options of the call, value
CASES = {
    "grouped": ("return softmax(q @ k.T) @ v", "", softmax(SCORES) @ V),
    "bias": ("return softmax(q @ k.T) @ v", "bias=b", softmax(SCORES + X["b"]) @ V),
    "mask": (
        "return softmax(q @ k.T) @ v",
        "mask=b > 0",
        softmax(SCORES, X["b"] > 0) @ V,
    ),
    "segments": (
        "return softmax(q @ k.T) @ v",
        "segments=(sq, sk)",
        softmax(SCORES, SEGMENTS) @ V,
    ),
    "lengths and window": (
        "return softmax(q @ k.T) @ v",
        "lengths=n, window=(2, 1), offset=1",
        softmax(SCORES, LENGTHS & (COL >= ROW - 1) & (COL <= ROW + 2)) @ V,
    ),
    "a scalar of each head": (
        "return softmax(q @ k.T - z * abs(position - col)) @ v",
        "causal=true",
        softmax(SCORES - Z * abs(POSITION - COL), CAUSAL) @ V,
    ),
    "a number of each query": (
        "return softmax(g * (q @ k.T)) @ v * g",
        "",
        softmax(X["g"] * SCORES) @ V * X["g"],
    ),
    "sink": (
        "return softmax(q @ k.T, sink=z) @ v",
        "causal=true",
        softmax(SCORES, CAUSAL, Z) @ V,
    ),
    "where": (
        "return softmax(q @ k.T, where=abs(row - col) >= 2 or b > 0) @ v",
        "",
        softmax(SCORES, (abs(ROW - COL) >= 2) | (X["b"] > 0)) @ V,
    ),
    "top_k": (
        "s = q @ k.T\n  return softmax(s, where=top_k(s, count=2)) @ v",
        "causal=true",
        softmax(SCORES, top(SCORES, CAUSAL, 2)) @ V,
    ),
    "additive": (
        "return softmax(tanh(q[:, None, :] + k[None, :, :]) @ w) @ v",
        "",
        softmax(additive()) @ V,
    ),
    "a func of a query and a key": (
        "return softmax(score(q[:, None, :], k[None, :, :], w)) @ v",
        "",
        softmax(additive()) @ V,
    ),
    "a pair and reductions": (
        "s = q @ k.T + b\n  p = softmax(s) - mean(s, axis=1, keep=true)\n"
        "  return p @ v / (max(s, axis=1, keep=true)**2 + 1)",
        "",
        (
            (softmax(SCORES + X["b"]) - (SCORES + X["b"]).mean(axis=-1, keepdims=True)) @ V
        )
        / ((SCORES + X["b"]).max(axis=-1, keepdims=True) ** 2 + 1),
    ),
    "visible": (
        "return where(visible, sigmoid(q @ k.T), 0) @ v",
        "causal=true",
        numpy.where(CAUSAL, 1 / (1 + numpy.exp(-SCORES)), 0) @ V,
    ),
    "keys alone": (
        "return softmax((q * w) @ (k * w).T) @ tanh(v)",
        "",
        softmax((X["q"] * X["w"]) @ (K * X["w"]).transpose(0, 1, 3, 2)) @ numpy.tanh(V),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_call(compiler, name):
    body, options, expected = CASES[name]
    call = "mine(q, k, v, z, g, w, b, gqa=true" + (f", {options})" if options else ")")
    text = HEAD.replace("BODY", body).replace("CALL", call)
    # The largest of no keys is an error of the run, which open sizes could meet.
    fixed = ("--dim", "S=7") if "max(s" in body else ()
    library = compiler.library(text.replace("RESULT", "[2, 6, T, 4]"), *fixed)
    library.prepare({})
    assert_close(library.run(**INPUTS)["output"], expected, name)


KNOWN = """
import attention, cells

model m(q: [B, T, 4], k: [B, S, 4]) -> (a: [B, T, 4], y: [B, S, 4], h: [B, 4]) {
  param c: rnn_tanh(H=4)
  y, h = scan(c, k, lengths=3)
  return dot_product(q, k, k, lengths=3), y, h
}
"""


def test_lengths_that_are_known(compiler):
    """As the same lengths for all sequences; more than there are is refused by the run."""
    library = compiler.library(KNOWN)
    library.prepare({p["name"]: floats(*p["shape"]) / 2 for p in library.parameters})
    q, k = floats(2, 5, 4), floats(2, 7, 4)
    k[:, 3:] = numpy.nan
    found = library.run(q=q, k=k)
    less = library.run(q=q, k=numpy.ascontiguousarray(k[:, :3]))
    for name in ("a", "h"):
        numpy.testing.assert_array_equal(found[name], less[name], name)
    numpy.testing.assert_array_equal(found["y"][:, :3], less["y"])
    assert (found["y"][:, 3:] == 0).all()
    with pytest.raises(GatefoldError, match="lengths is 3, found a size of S"):
        library.run(q=q, k=k[:, :2])
