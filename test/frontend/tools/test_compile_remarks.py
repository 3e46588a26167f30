# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gatefold compile --remarks`: what became of each recurrence and attention, and why."""

import re

import pytest
from driver import RECURRENCE_AND_ATTENTION, gatefold, write


def test_remarks(small):
    """Each recurrence and attention says what it became, at its place, and each
    pass what it did and why not."""
    path = small.parent / "remarks.o"
    text = write(small.parent / "remarks.gf", RECURRENCE_AND_ATTENTION)
    err = gatefold("compile", text, "-o", path, "--remarks").err
    assert f"{text}:5:10: remark: recurrence: steps, one after another" in err
    assert f"{text}:6:10: remark: attention: resident, a block of queries" in err
    assert re.search(r"cells\.gf:\d+:35: remark: not a linear recurrence: the next", err)
    assert err.count("[gf-choose-algorithms]") == 3
    assert "hoisted: one product over all steps [gf-hoist-input-projection]" in err
    assert "stays in the step: it depends on state #0 [gf-hoist-input-projection]" in err
    assert gatefold("compile", text, "-o", path).err == ""
    found = gatefold("compile", text, "-o", path, "--remarks", "--json").json["diagnostics"]
    assert {d["severity"] for d in found} == {"remark"}
    chosen = [d for d in found if d["message"].endswith("[gf-choose-algorithms]")]
    assert [d["line"] for d in chosen if d["file"] == str(text)] == [5, 6]


LINEAR = """import cells

cell min_lstm(x: [I]) -> [H] {
  state h: [H]
  param w_f: [H, I], w_i: [H, I], w: [H, I]
  f, i = sigmoid(w_f @ x), sigmoid(w_i @ x)
  h' = (f * h + i * (w @ x)) / (f + i)
  return h'
}

cell light_sru(x: [I]) -> [H] {
  state c: [H]
  param w: [H, I], w_f: [H, I], w_r: [H, I], v_r: [H]
  f, r = sigmoid(w_f @ x), sigmoid(w_r @ x + v_r * c)
  c' = f * c + (1 - f) * (w @ x)
  return r * c' + (1 - r) * tanh(c)
}

cell odd(x: [H]) -> [H] {
  state h: [H], m: [H]
  h' = h + sigmoid(x) * (tanh(x) - h)
  m' = 0.5 * m + tanh(h') * h
  return m
}

cell squared(x: [H]) -> [H] {
  state energy: [H]
  energy' = x + 0.1 * energy * energy
  return energy'
}

cell turning(x: [H]) -> [H] {
  state a: [H], b: [H]
  a' = x * a - b
  b' = x * b + a
  return a'
}

cell coupled(x: [I]) -> [H] {
  state h: [H]
  param u: [H, H], w: [H, I]
  h' = 0.9 * h + 0.1 * (u @ h) + w @ x
  return h'
}
"""


@pytest.mark.parametrize(
    "cell, expected",
    [
        ("min_gru", "linear.gf:{line}: remark: linear recurrence: scan, "),
        ("min_lstm", "linear.gf:{line}: remark: linear recurrence: scan, "),
        ("light_sru", "linear.gf:{line}: remark: linear recurrence: scan, "),
        ("odd", "linear.gf:{line}: remark: linear recurrence: scan, "),
        ("lstm", 'cells.gf:{}:58: remark: not a linear recurrence: the next "h" holds a product with "h" '),
        ("gru", 'cells.gf:{}:35: remark: not a linear recurrence: the next "h" holds a product with "h" '),
        ("sru", 'cells.gf:{}:7: remark: not a linear recurrence: the next "c" holds sigmoid of "c" '),
        ("squared", 'linear.gf:28:30: remark: not a linear recurrence: the next "energy" holds a product of "energy" with itself '),
        ("turning", 'linear.gf:34:14: remark: not a linear recurrence: the next "a" holds "a" beside "b" '),
        ("coupled", 'linear.gf:42:27: remark: not a linear recurrence: the next "h" holds a product with "h" '),
    ],
)  # fmt: skip
def test_remarks_of_linear_recurrences(small, cell, expected):
    """Algebra on the equations says which recurrences are scans, and what forbids it."""
    model = f"""
model m(x: [B, T, 8]) -> [B, T, 8] {{
  param cell: {cell}({"" if cell in ("odd", "squared", "turning") else "H=8"})
  y, _ = scan(cell, x)
  return y
}}
"""
    line = f"{LINEAR.count(chr(10)) + 4}:10"
    text = write(small.parent / "linear.gf", LINEAR + model)
    run = gatefold("compile", text, "--entry", "m", "--emit", "schedule", "--remarks")
    # Lines of the library are its own matter.
    place = re.escape(expected).replace(r"\{line\}", line).replace(r"\{\}", r"\d+")
    assert re.search(place, run.err)
    assert ('gf.algorithm = "scan"' in run.out) == ("remark: linear" in expected)


def test_remarks_of_the_naive_lowering(small):
    path = small.parent / "remarks.o"
    text = write(small.parent / "remarks.gf", RECURRENCE_AND_ATTENTION)
    err = gatefold("compile", text, "-o", path, "--remarks", "--naive").err
    assert f"{text}:5:10: remark: recurrence: naive, one time step" in err
    assert f"{text}:6:10: remark: attention: naive, one query's row" in err
    assert err.count("[gf-choose-algorithms]") == err.count("remark: ") == 2
