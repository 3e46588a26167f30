# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that are equal, parts of each other, or begin from one value: each stands
in memory of its own."""

import cell_references as cells
import numpy
from conftest import random_weights
from expressions import check_cases


def test_results_that_share(compiler):
    def square(v):
        return v.x @ v.x.T

    cases = [
        ("x", lambda v: v.x), ("x", lambda v: v.x), ("x.T", lambda v: v.x.T),
        ("y", lambda v: v.x + 1), ("y", lambda v: v.x + 1), ("z", lambda v: v.x + 1),
        ("y[0]", lambda v: v.x[0] + 1), ("y * 2", lambda v: 2 * v.x + 2),
        ("ones((2, 3))", lambda v: numpy.ones((2, 3))),
        ("ones((2, 3))", lambda v: numpy.ones((2, 3))),
        ("reshape(y, -1)", lambda v: (v.x + 1).reshape(-1)),
        ("c", lambda v: square(v) @ v.x), ("c[1]", lambda v: (square(v) @ v.x)[1]),
        ("k", lambda v: v.k), ("k", lambda v: v.k),
        ("x @ x.T", square), ("x @ x.T", square), ("y @ x.T", lambda v: (v.x + 1) @ v.x.T),
        ("sum(x, axis=0)", lambda v: v.x.sum(0)), ("sum(y, axis=0)", lambda v: (v.x + 1).sum(0)),
        ("5 + g", lambda v: v.g + 5), ("g", lambda v: v.g), ("-g", lambda v: -v.g),
    ]  # fmt: skip
    generator = numpy.random.default_rng(150)
    runs = [
        {"x": generator.normal(size=(t, 3)).astype("f4"), "k": numpy.arange(4),
         "g": numpy.float32(3)}
        for t in (2, 5, 17)
    ]  # fmt: skip
    body = "  y = x + 1\n  z = y\n  c = x @ x.T @ x\n"
    check_cases(compiler, "x: [T, 3], k: i64[K], g: []", cases, runs, body=body)


BODY = """
  param a: gru(H=3), b: gru(H=3), c: lstm(H=3)
  start = u * 1
  y1, h1 = scan(a, x, init=start)
  y2, h2 = scan(b, x, init=start)
  y3, h3 = scan(b, x, init=start, reverse=true)
  y4, (h4, c4) = scan(c, x, init=(start, start))
  y5, (h5, c5) = scan(c, x, init=(h4, c4))
"""


def test_scans_that_start_from_one_value(compiler):
    def run(v, name, cell, states, reverse=False):
        w = {n[2:]: a for n, a in v.weights.items() if n.startswith(f"{name}.")}
        x = v.x[:, ::-1] if reverse else v.x
        lengths = numpy.full(len(x), x.shape[1])
        y, states = cells.scan(cell, w, x, [s + 0.0 for s in states], lengths, 3)
        return [y[:, ::-1] if reverse else y, *states]

    def gru(name, part, reverse=False):
        return lambda v: run(v, name, cells.gru, [v.u], reverse)[part]

    def lstm(part, again):
        def expected(v):
            result = run(v, "c", cells.lstm, [v.u, v.u])
            return (run(v, "c", cells.lstm, result[1:]) if again else result)[part]

        return expected

    cases = [
        ("start", lambda v: v.u, 2),
        ("y1", gru("a", 0), 3), ("h1", gru("a", 1), 2),
        ("y2", gru("b", 0), 3), ("h2", gru("b", 1), 2),
        ("y3", gru("b", 0, True), 3), ("h3", gru("b", 1, True), 2),
        ("h1 + h2", lambda v: gru("a", 1)(v) + gru("b", 1)(v), 2),
        ("y4", lstm(0, False), 3), ("h4", lstm(1, False), 2), ("c4", lstm(2, False), 2),
        ("y5", lstm(0, True), 3), ("h5", lstm(1, True), 2), ("c5", lstm(2, True), 2),
    ]  # fmt: skip
    generator = numpy.random.default_rng(151)
    runs = [
        {"x": generator.normal(size=(b, t, 2)).astype("f4"),
         "u": generator.normal(size=(b, 3)).astype("f4")}
        for b, t in [(2, 5), (1, 1), (3, 17), (2, 0)]
    ]  # fmt: skip
    check_cases(
        compiler, "x: [B, T, 2], u: [B, 3]", cases, runs, body=BODY,
        weights=lambda library: random_weights(library, numpy.random.default_rng(152)),
    )  # fmt: skip
