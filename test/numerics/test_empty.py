# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of 0, fixed when compiling and open."""

import numpy
import pytest
from conftest import random_weights
from expressions import check_cases
from gatefold_library import GatefoldError


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


NO_KEYS = """
attention several(q: [T, D], k: [S, D], v: [S, E], m: [T, S], table: [9]) -> (y: [T, E], best: [T, 1], n: i64[T, 1]) {
  s = neighbour_difference(q @ k.T, 3) + m
  far = softmax(s, where=top_k(s, count=2), sink=1) @ v
  return softmax(s + S) @ v + far + q[:, :E], max(s, axis=1, keep=true) + mean(s, axis=1, keep=true), position + S
}
model m(q: [B, 2, T, 4], k: [B, 1, 0, 4], v: [B, 1, 0, 3], x: [B, T, 0], n: i64[B], table: [9]) ->
    (y: [B, 2, T, 3], best: [B, 2, T, 1], n: i64[B, 2, T, 1], lse: [B, 2, T], w: [B, 2, T, Z], z: [B, 2, T, 3],
     p: i64[B, 2, T, 1]) {
  y, best, n_, (lse, _), (w, _) = several(q, k, v, x[:, None], table, gqa=true, causal=true, lengths=2 * n,
                                          lse=true, weights=true)
  z, _, p = several(q, k, v, x[:, None], table, gqa=true, offset=5, window=(1, 1), mask=x[:, None] > 0)
  return y, best, n_, lse, w, z, p
}
"""


@pytest.mark.parametrize("options", [(), ("--naive",)])
def test_keys_fixed_to_nothing(compiler, options):
    """Every row is empty, as where a run has no keys."""
    library = compiler.library(NO_KEYS, *options).prepare({})
    for batch, queries in ((2, 5), (1, 1), (3, 65), (0, 2), (2, 0)):
        q = numpy.random.default_rng(queries).normal(size=(batch, 2, queries, 4)).astype("f4")
        none = numpy.zeros((batch, 1, 0, 4), "f4")
        given = {"q": q, "k": none, "v": none[..., :3], "x": numpy.zeros((batch, queries, 0), "f4"),
                 "n": numpy.zeros(batch, int), "table": numpy.zeros(9, "f4")}  # fmt: skip
        found = library.run(**given)
        numpy.testing.assert_array_equal(found["y"], q[..., :3])
        numpy.testing.assert_array_equal(found["z"], q[..., :3])
        assert (found["best"] == 0).all() and (found["lse"] == -numpy.inf).all()
        assert found["w"].shape == (batch, 2, queries, 0)
        place = numpy.broadcast_to(numpy.arange(queries)[:, None], (batch, 2, queries, 1))
        numpy.testing.assert_array_equal(found["n"], place - queries)
        numpy.testing.assert_array_equal(found["p"], place + 5)
        if batch:
            with pytest.raises(GatefoldError, match="a length that the run computed is not in 0..0"):
                library.run(**given | {"n": numpy.ones(batch, int)})


def test_queries_fixed_to_nothing(compiler):
    text = (
        "import attention\n"
        "model m(q: [B, 0, 4], k: [B, S, 4]) -> (y: [B, 0, 4], lse: [B, 0], w: [B, 0, S]) {\n"
        "  return dot_product(q, k, k, causal=true, lse=true, weights=true)\n}\n"
    )
    library = compiler.library(text).prepare({})
    found = library.run(q=numpy.zeros((2, 0, 4), "f4"), k=numpy.zeros((2, 3, 4), "f4"))
    assert [found[name].shape for name in ("y", "lse", "w")] == [(2, 0, 4), (2, 0), (2, 0, 3)]


NO_WIDTH = """
import cells
cell mixed(x: [I], y: [2]) -> ([I], [2], []) {
  state h: [I], g: [2]
  param w: [2, I], u: [I, I]
  h' = tanh(u @ h + x)
  g' = 0.5 * g + w @ x + y
  return h', g', sum(x)
}
model m(x: [B, T, 0], y: [B, T, 2], n: i64[B], first: bool[B, T]) ->
    (a: [B, T, 3], b: [B, T, 6], c: [B, T, 3], h: [B, T, 0], g: [B, T, 2], s: [B, T], p: [B, T, 3]) {
  param of_a: gru(H=3), of_b: lstm(H=3, layers=1, bidirectional=true), of_c: min_gru(H=3), of_m: mixed(), fc: linear(N=3)
  a, _ = scan(of_a, x, lengths=n, reset=first)
  b, _ = scan(of_b, x, lengths=n)
  c, _ = scan(of_c, x, reverse=true)
  (h, g, s), _ = scan(of_m, (x, y), lengths=n)
  return a, b, c, h, g, s, fc(x)
}
"""


@pytest.mark.parametrize("options", [(), ("--naive",)])
def test_inputs_of_no_width(compiler, options):
    """A product with them is 0."""
    library = compiler.library(NO_WIDTH, *options)
    generator = numpy.random.default_rng(142)
    given = weights(library)
    library.prepare(given)
    for batch, time in ((2, 5), (1, 1), (0, 2), (2, 0)):
        y = generator.normal(size=(batch, time, 2)).astype("f4")
        found = library.run(x=numpy.zeros((batch, time, 0), "f4"), y=y, n=numpy.full(batch, time),
                            first=numpy.zeros((batch, time), bool))  # fmt: skip
        assert {n: a.shape[2:] for n, a in found.items()} == {
            "a": (3,), "b": (6,), "c": (3,), "h": (0,), "g": (2,), "s": (), "p": (3,)}  # fmt: skip
        assert (found["s"] == 0).all() and (found["c"] == 0).all()
        numpy.testing.assert_array_equal(found["p"], numpy.broadcast_to(given["fc.bias"], found["p"].shape))
        expected = numpy.zeros((batch, 2))
        for t in range(time):
            expected = 0.5 * expected + y[:, t]
            numpy.testing.assert_allclose(found["g"][:, t], expected, rtol=1e-5, atol=1e-6)


ONE_KEY = """
attention centred(q: [T, D], k: [S, D], v: [S, 2]) -> [T, 2] {
  s = q @ k.T
  return softmax(s - sum(where(visible, s, 0), axis=1, keep=true)) @ v
}
model m(q: [B, 4, T, 3], k: [B, 2, S, 3], v: [B, 2, S, 2], n: i64[B]) -> [B, 4, T, 2] {
  return centred(q, k, v, gqa=true, causal=true, offset=n)
}
"""


@pytest.mark.parametrize("options", [(), ("--naive",)])
def test_a_key_that_is_known_to_be_the_only_one(compiler, options):
    """It is seen by its query, or by none."""
    library = compiler.library(ONE_KEY, "--dim", "T=1,S=1", *options).prepare({})
    generator = numpy.random.default_rng(3)
    q, k, v = (generator.normal(size=(3, *shape)).astype("f4") for shape in ((4, 1, 3), (2, 1, 3), (2, 1, 2)))
    found = library.run(q=q, k=k, v=v, n=numpy.array([0, -1, 2]))["output"]
    expected = v.repeat(2, axis=1) * numpy.array([1, 0, 1])[:, None, None, None]
    numpy.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("call", ["dot_product(q, k, v", "diff_window(q, k, v, width=3"])
@pytest.mark.parametrize("options", [(), ("--schedule", "attention.query_block=3"), ("--naive",)])
def test_keys_that_are_known_to_be_out_of_reach(compiler, options, call):
    text = f"""
import attention
model m(q: [B, T, 4], k: [B, S, 4], v: [B, S, 5]) -> [B, T, 5] {{
  return {call}, causal=true, window=(0, 0), offset=2*T)
}}
"""
    library = compiler.library(text, "--dim", "S=7,T=9", *options).prepare({})
    nothing = numpy.full((2, 7, 5), numpy.nan, "f4")
    found = library.run(q=numpy.ones((2, 9, 4), "f4"), k=nothing[:, :, :4], v=nothing)["output"]
    assert found.shape == (2, 9, 5) and (found == 0).all()
