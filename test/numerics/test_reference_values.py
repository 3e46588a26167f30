# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single steps worked out by hand: the semantics' table of reference values."""

import numpy
import pytest
from conftest import Library  # noqa: F401  (the path of the Python interface)

TOLERANCE = 2e-6

W_Z, W_R, W_N = (0.5, -0.5), (1, -1), (0.3, 0.7)
R_Z = [[0.1, 0.2], [0.3, -0.4]]
R_R = [[0.5, -0.6], [-0.7, 0.8]]
R_N = [[0.9, -1], [1.1, 0.2]]
B_IH = {"z": (0.1, 0.2), "r": (-0.1, 0.3), "n": (0.05, -0.05)}
B_HH = {"z": (0, 0.1), "r": (0.2, -0.2), "n": (0.4, -0.3)}


def packed_gru():
    return {
        "weight_ih": numpy.array([*W_R, *W_Z, *W_N], numpy.float32)[:, None],
        "weight_hh": numpy.array(R_R + R_Z + R_N, numpy.float32),
        "bias_ih": numpy.array([*B_IH["r"], *B_IH["z"], *B_IH["n"]], numpy.float32),
        "bias_hh": numpy.array([*B_HH["r"], *B_HH["z"], *B_HH["n"]], numpy.float32),
    }


def article_gru():
    def both(gate):
        return numpy.add(B_IH[gate], B_HH[gate]).astype(numpy.float32)

    def column(values):
        return numpy.array(values, numpy.float32)[:, None]

    return {
        "w_z": column(W_Z), "w_r": column(W_R), "w": column(W_N),
        "u_z": numpy.array(R_Z, numpy.float32),
        "u_r": numpy.array(R_R, numpy.float32),
        "u": numpy.array(R_N, numpy.float32),
        "b_z": both("z"), "b_r": both("r"), "b": both("n"),
    }  # fmt: skip


def step_library(compiler, cell, settings, states, size, inputs=1):
    declared = ", ".join(f"{s}: [B, {size}]" for s in states)
    primed = ", ".join(f"{s}'" for s in states)
    names = ", ".join(states)
    if len(states) > 1:
        primed, names = f"({primed})", f"({names})"
    return compiler.library(
        f"""
import cells

model one(x: [B, {inputs}]) -> [B, {size}] {{
  state {declared}
  param cell: {cell}({settings}) as ""
  y, {primed} = step(cell, x, {names})
  return y
}}
"""
    )


@pytest.mark.parametrize(
    "cell, weights, expected",
    [
        ("gru", packed_gru, (0.679812, -0.348717)),
        ("gru_reset_before", packed_gru, (0.636476, -0.310121)),
        ("gru_article", article_gru, (0.714037, -0.021015)),
    ],
)
def test_gru(compiler, cell, weights, expected):
    library = step_library(compiler, cell, "H=2", ["h"], 2).prepare(weights())
    x, h = numpy.float32([[1]]), numpy.float32([[0.5, -1]])
    result = library.run(x=x, h=h)
    numpy.testing.assert_allclose(result["output"][0], expected, rtol=0, atol=TOLERANCE)


def test_lstm_peephole(compiler):
    library = step_library(compiler, "lstm_peephole", "H=1", ["h", "c"], 1)
    # The table gives W and R in the order i, o, f, c and P in i, o, f.
    library.prepare(
        {
            "weight_ih": numpy.float32([0.1, 0.3, 0.4, 0.2])[:, None],
            "weight_hh": numpy.float32([0.5, 0.7, 0.8, 0.6])[:, None],
            "peep_i": numpy.float32([0.1]),
            "peep_o": numpy.float32([0.2]),
            "peep_f": numpy.float32([0.3]),
        }
    )
    result = library.run(
        x=numpy.float32([[1]]), h=numpy.float32([[0.5]]), c=numpy.float32([[2]])
    )
    numpy.testing.assert_allclose(result["h"], 0.683162, rtol=0, atol=TOLERANCE)


def test_rnn_tanh_reverse_with_a_length(compiler):
    library = compiler.library(
        """
import cells

model one(x: [B, T, 1], lengths: i64[B]) -> (y: [B, T, 1], h: [B, 1]) {
  param cell: rnn_tanh(H=1) as ""
  y, h = scan(cell, x, lengths=lengths, reverse=true)
  return y, h
}
"""
    )
    one = numpy.float32([[1]])
    library.prepare({"weight_ih": one, "weight_hh": one})
    result = library.run(
        x=numpy.float32([[[1], [2], [3]]]), lengths=numpy.array([2])
    )
    numpy.testing.assert_allclose(
        result["y"][0, :, 0], (0.961396, 0.964028, 0), rtol=0, atol=TOLERANCE
    )
    numpy.testing.assert_allclose(result["h"], 0.961396, rtol=0, atol=TOLERANCE)


def test_slstm_stays_finite(compiler):
    states = {"h": 0, "c": 0, "n": 0, "m": -numpy.inf}
    library = compiler.library(
        """
import cells

model one(x: [B, 4]) -> [B, 1] {
  state h: [B, 1], c: [B, 1], n: [B, 1], m: [B, 1] = -inf
  param cell: slstm(H=1) as ""
  y, (h', c', n', m') = step(cell, x, (h, c, n, m))
  return y
}
"""
    )
    # The identity hands the gates i, f, z, o in as the input.
    library.prepare(
        {
            "weight_ih": numpy.eye(4, dtype=numpy.float32),
            "weight_hh": numpy.zeros((4, 1), numpy.float32),
        }
    )
    first = library.run(x=numpy.float32([[100, 0, 1, 0]]))
    numpy.testing.assert_allclose(first["h"], 0.380797, rtol=0, atol=TOLERANCE)
    numpy.testing.assert_allclose(first["m"], 100)
    second = library.run(
        x=numpy.float32([[-100, 200, 1, 0]]), **{s: first[s] for s in states}
    )
    assert all(numpy.isfinite(second[s]).all() for s in states)
    numpy.testing.assert_allclose(second["h"], 0.380797, rtol=0, atol=TOLERANCE)
    numpy.testing.assert_allclose(second["c"], first["c"])
