# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of 0, fixed when compiling and open."""

import numpy
import pytest
from conftest import random_weights
from expressions import check_cases


def weights(library):
    return random_weights(library, numpy.random.default_rng(140))



def bias(v):
    """Of the padding alone; without a batch it is no parameter of the model."""
    return v.weights.get("conv.bias", numpy.zeros(5))[:, None]


CASES = [
    ("x + 1", lambda v: v.x, 3),
    ("y + sum(x, axis=1)", lambda v: v.y, 2),
    ("y + mean(x, axis=1)", lambda v: v.y, 2),
    ("softmax(x, axis=1)", lambda v: v.x, 3),
    ("x @ y[:, :, None]", lambda v: v.x[..., :1], 3),
    ("x.T @ x", lambda v: numpy.zeros((v.x.shape[0], 4, 4)), 3),
    ("x @ x.T", lambda v: numpy.zeros((v.x.shape[0], 0, 0)), 3),
    ("concat(x, y[:, None], axis=1)", lambda v: v.y[:, None], 3),
    ("concat(y[:, None], x, x, y[:, None], axis=1)", lambda v: numpy.stack([v.y, v.y], 1), 3),
    ("concat(x, x, axis=2)", lambda v: numpy.zeros((v.x.shape[0], 0, 8)), 3),
    ("stack(x, x)", lambda v: numpy.zeros((2, *v.x.shape)), 4),
    ("pad(x.T, left=1, right=2)", lambda v: numpy.zeros((v.x.shape[0], 4, 3)), 3),
    ("pad(x, left=1)", lambda v: numpy.zeros((v.x.shape[0], 0, 5)), 3),
    ("flip(x, axis=1)", lambda v: v.x, 3),
    ("permute(x, (1, 0, 2))", lambda v: v.x.transpose(1, 0, 2), 3),
    ("reshape(x, (0, B, 2, 2))", lambda v: numpy.zeros((0, v.x.shape[0], 2, 2)), 4),
    ("split_heads(x, 2)", lambda v: numpy.zeros((v.x.shape[0], 2, 0, 2)), 4),
    ("rotary(x)", lambda v: v.x, 3),
    ("x[:, :, 1]", lambda v: v.x[:, :, 1], 2),
    ("x[:, 1:]", lambda v: v.x, 3),
    ("norm(x)", lambda v: v.x, 3),
    ("out(x)", lambda v: numpy.zeros((v.x.shape[0], 0, 3)), 3),
    ("conv(x.T)", lambda v: numpy.zeros((v.x.shape[0], 5, 2)) + bias(v), 3),
    ("short(x.T)", lambda v: numpy.zeros((v.x.shape[0], 5, 0)), 3),
    ("dot_product(x, x, x)", lambda v: v.x, 3),
    ("dot_product(y[:, None], x, x)", lambda v: numpy.zeros((v.x.shape[0], 1, 4)), 3),
    ("dot_product(x, y[:, None], y[:, None])", lambda v: v.x, 3),
    ("hidden", lambda v: v.x, 3),
    ("last", lambda v: v.y, 2),
    ("backward", lambda v: v.x, 3),
]
BODY = """
  param norm: layer_norm(), out: linear(N=3), rnn: gru(H=4), back: gru(H=4)
  param conv: conv1d(N=5, kernel=3, padding=2), short: conv1d(N=5, kernel=1)
  hidden, last = scan(rnn, x, init=y)
  backward, _ = scan(back, x, reverse=true)
"""
SCAN = "  param rnn: gru(H=4)\n  hidden, last = scan(rnn, x, init=y)\n"


@pytest.mark.parametrize(
    "fixed, batch", [("T=0", 1), ("T=0", 3), ("B=0,T=0", 0), ("", 0), ("", 1), ("", 3)]
)
def test_nothing_in_time(compiler, fixed, batch):
    y = numpy.random.default_rng(141).normal(size=(batch, 4)).astype(numpy.float32)
    run = {"x": numpy.zeros((batch, 0, 4), numpy.float32), "y": y}
    options = ["--dim", fixed] if fixed else []
    # Sizes that are known tell more than those of a run.
    only_fixed = ("reshape", "x[:, 1:]", "x @ x.T")
    only_open = ("dot_product(y",)
    left_out = only_open if fixed else only_fixed
    cases = [case for case in CASES if not case[0].startswith(left_out)]
    check_cases(compiler, "x: [B, T, 4], y: [B, 4]", cases, [run], *options, body=BODY,
                weights=weights)  # fmt: skip


def test_a_batch_fixed_to_nothing(compiler):
    run = {"x": numpy.zeros((0, 3, 4), numpy.float32), "y": numpy.zeros((0, 4), numpy.float32)}
    cases = [("hidden", lambda v: v.x, 3), ("last", lambda v: v.y, 2),
             ("dot_product(x, x, x, causal=true)", lambda v: v.x, 3)]  # fmt: skip
    check_cases(compiler, "x: [B, T, 4], y: [B, 4]", cases, [run], "--dim", "B=0", body=SCAN,
                weights=weights)  # fmt: skip


def test_keys_fixed_to_nothing_are_refused(compiler):
    text = (
        "import attention\n"
        "model m(q: [T, 4], k: [0, 4]) -> [T, 4] {\n  return dot_product(q, k, k)\n}\n"
    )
    with pytest.raises(AssertionError, match="not compiled yet: an attention over keys"):
        compiler.library(text)
