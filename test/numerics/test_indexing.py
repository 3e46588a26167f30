# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices as NumPy's basic ones, on fixed and on open dimensions; functions that only
move elements. Everything to the bit."""

import numpy
import pytest
from expressions import check_cases
from gatefold_library import GatefoldError


# A result of a model has no size that is cut to another, but a func may be given
# such a tensor. The sum by places tells the values and their number; of small whole
# numbers it is exact.
WEIGH = """
func weigh(x: [N]) -> [] {
  return sum((x + 100) * (arange(N) + 1))
}
"""


def weigh(array, axis):
    places = numpy.arange(array.shape[axis]) + 1.0
    return numpy.tensordot(array + 100.0, places, ([axis], [0]))


def data(seed, batch, time, width=6):
    generator = numpy.random.default_rng(seed)
    return {
        "x": generator.integers(-99, 99, (batch, time, width)).astype(numpy.float32),
        "k": generator.integers(-99, 99, (time, 4)),
        "m": generator.random((batch, time)) < 0.5,
    }


INPUTS = "x: [B, T, 6], k: i64[T, 4], m: bool[B, T]"

# Slices are cut to the size, whatever it is.
SLICES = [
    "1:", ":3", ":-1", "-2:", "-3:-1", "2:5", "::2", "1::2", "::3", "5:2", "-100:100",
    "100:", ":-100", "1:-1:2", "-4:4", "3:-3", ":0", "0:1", ":",
]  # fmt: skip


def python_index(text):
    return eval(f"numpy.index_exp[{text}]")


def index_cases(pattern, name, axis):
    """Slices along `axis`, weighed along it."""
    to_last = {(3, 0): "permute({}, (1, 2, 0))", (3, 1): "{}.T", (2, 0): "{}.T"}
    for part in SLICES:
        text = pattern.format(part)
        index = python_index(text)
        rank = {"x": 3, "k": 2, "m": 2, "v": 1}[name]
        moved = to_last.get((rank, axis), "{}").format(f"{name}[{text}]")

        def expected(v, index=index):
            return weigh(getattr(v, name)[index], axis)

        yield f"weigh(f32({moved}))", expected


@pytest.mark.parametrize(
    "pattern, name, axis",
    [
        ("{}", "x", 0), (":, {}", "x", 1), ("..., {}", "x", 2), ("..., {}, :", "x", 1),
        ("{}", "k", 0), (":, {}", "k", 1), ("{}", "m", 0), (":, {}", "m", 1),
    ],
)  # fmt: skip
def test_slices(compiler, pattern, name, axis):
    sizes = [(b, t) for t in (0, 1, 2, 3, 4, 5, 7, 17) for b in (1, 5)] + [(0, 3), (17, 1)]
    runs = [data(80, b, t) for b, t in sizes]
    cases = list(index_cases(pattern, name, axis))
    check_cases(compiler, INPUTS, cases, runs, exact=True, declarations=WEIGH)


def test_slices_of_a_fixed_size(compiler):
    for size in (0, 1, 2, 5, 6):
        cases = [(f"x[{p}]", lambda v, i=python_index(p): v.x[i]) for p in SLICES]
        cases += [(f"x[{p}, 1]", lambda v, i=python_index(p): v.x[i][:, 1]) for p in SLICES]
        run = {"x": numpy.arange(size * 2, dtype=numpy.float32).reshape(size, 2)}
        check_cases(compiler, f"x: [{size}, 2]", cases, [run], exact=True)


def test_indices(compiler):
    texts = [
        "0", "-1", "1", ":, 1", ":, -2", "0, 1", "-1, -1, -1", "..., 0", "..., -1", "0, ..., 2",
        "None", ":, None", "..., None", "None, ..., None", "0, None", ":, None, 1, 2:4",
        "..., None, :", "0, ..., ::2", "...", "1, ...", ":, :, :, None", "None, None, 0",
        ":, 1, 1:", "::2, 1, ::3", "1, 1, 1:2", "0, 0, 0",
    ]  # fmt: skip
    cases = [(f"x[{t}]", lambda v, i=python_index(t): v.x[i]) for t in texts]
    cases += [
        ("x.T", lambda v: v.x.swapaxes(1, 2)),
        ("x.T.T", lambda v: v.x),
        ("x[0].T", lambda v: v.x[0].T),
        ("x.T[:, 1:3, None]", lambda v: v.x.swapaxes(1, 2)[:, 1:3, None]),
        ("k.T[0]", lambda v: v.k.T[0]),
        ("x[:, 2 - 1, 12 // 4]", lambda v: v.x[:, 1, 3]),
    ]
    runs = [data(82, b, t) for b, t in [(2, 3), (2, 7), (3, 17), (5, 65)]]
    check_cases(compiler, INPUTS, cases, runs, exact=True)


def test_indices_made_of_sizes(compiler):
    cases = [
        ("x[:, T - 1]", lambda v: v.x[:, -1]),
        ("x[:, T // 2]", lambda v: v.x[:, v.x.shape[1] // 2]),
        ("weigh(x[:, :T // 2].T)", lambda v: weigh(v.x[:, : v.x.shape[1] // 2], 1)),
        ("weigh(x[:, T // 2:].T)", lambda v: weigh(v.x[:, v.x.shape[1] // 2 :], 1)),
        ("weigh(x[:, T - 3:].T)", lambda v: weigh(v.x[:, v.x.shape[1] - 3 :], 1)),
        ("weigh(x[:, :B].T)", lambda v: weigh(v.x[:, : v.x.shape[0]], 1)),
        ("weigh(x[:, -B:].T)", lambda v: weigh(v.x[:, -v.x.shape[0] :], 1)),
        ("weigh(x[:, B:T:2].T)", lambda v: weigh(v.x[:, v.x.shape[0] : v.x.shape[1] : 2], 1)),
        ("x[:, -T]", lambda v: v.x[:, 0]),
        ("x[B - 1]", lambda v: v.x[-1]),
        ("weigh(x[:, 1:T - 1].T)", lambda v: weigh(v.x[:, 1 : v.x.shape[1] - 1], 1)),
    ]
    runs = [data(83, b, t) for b, t in [(2, 3), (1, 3), (4, 3), (3, 17)]]
    check_cases(compiler, INPUTS, cases, runs, exact=True, declarations=WEIGH)


def test_an_index_that_a_run_does_not_have_is_its_error(compiler):
    library = compiler.library(
        "model m(x: [T, 2]) -> [4] {\n  return concat(x[2], x[-3])\n}\n"
    ).prepare({})
    x = numpy.arange(8, dtype=numpy.float32).reshape(4, 2)
    numpy.testing.assert_array_equal(library.run(x=x)["output"], [*x[2], *x[-3]])
    for size in (0, 1, 2):
        with pytest.raises(GatefoldError, match="out of range"):
            library.run(x=x[:size])


def test_a_bound_of_changing_sign_is_an_error_of_the_run(compiler):
    """NumPy would count it from the other end."""
    library = compiler.library(
        WEIGH + "model m(x: [T], y: [B, 1]) -> (a: [], b: []) {\n"
        "  return weigh(x[T - 3:]), weigh(x[:-B])\n}\n"
    ).prepare({})
    x, y = numpy.arange(4, dtype=numpy.float32), numpy.ones((2, 1), numpy.float32)
    found = library.run(x=x, y=y)
    assert found["a"] == weigh(x[1:], 0) and found["b"] == weigh(x[:-2], 0)
    with pytest.raises(GatefoldError, match="bound T - 3 of a slice is negative"):
        library.run(x=x[:2], y=y)
    with pytest.raises(GatefoldError, match="bound -B of a slice is 0"):
        library.run(x=x, y=y[:0])


def test_joining_and_moving(compiler):
    cases = [
        ("concat(x, y)", lambda v: numpy.concatenate([v.x, v.y], -1)),
        ("concat(x, zeros((B, 2, 6)), y, axis=1)",
         lambda v: numpy.concatenate([v.x, numpy.zeros((v.x.shape[0], 2, 6)), v.y], 1)),
        ("concat(zeros((1, T, 6)), x, axis=0)",
         lambda v: numpy.concatenate([numpy.zeros((1, *v.x.shape[1:])), v.x])),
        ("weigh(concat(x[:, :2], y[:, 1:], axis=1).T)",
         lambda v: weigh(numpy.concatenate([v.x[:, :2], v.y[:, 1:]], 1), 1)),
        ("concat(x)", lambda v: v.x),
        ("concat(k, k, axis=-2)", lambda v: numpy.concatenate([v.k, v.k])),
        ("concat(k, zeros((T, 1)))", lambda v: numpy.pad(v.k, ((0, 0), (0, 1))) + 0.0),
        ("concat(m, m, axis=0)", lambda v: numpy.concatenate([v.m, v.m])),
        ("stack(x, y)", lambda v: numpy.stack([v.x, v.y])),
        ("stack(x, y, -x, axis=2)", lambda v: numpy.stack([v.x, v.y, -v.x], 2)),
        ("stack(x, y, axis=-1)", lambda v: numpy.stack([v.x, v.y], -1)),
        ("stack(m, m, axis=1)", lambda v: numpy.stack([v.m, v.m], 1)),
        ("flip(x, axis=0)", lambda v: v.x[::-1]),
        ("flip(x, axis=-1)", lambda v: v.x[..., ::-1]),
        ("flip(k, axis=0)", lambda v: v.k[::-1]),
        ("flip(flip(x, axis=1), axis=2)", lambda v: v.x[:, ::-1, ::-1]),
        ("permute(x, (1, 0, 2))", lambda v: v.x.transpose(1, 0, 2)),
        ("permute(x, (-1, 0, 1))", lambda v: v.x.transpose(2, 0, 1)),
        ("permute(x, (0, 1, 2))", lambda v: v.x),
        ("reshape(x, (B * T, 6))", lambda v: v.x.reshape(-1, 6)),
        ("reshape(x, (B, T, 2, 3))", lambda v: v.x.reshape(*v.x.shape[:2], 2, 3)),
        ("reshape(x, (T, B, 6))", lambda v: v.x.reshape(v.x.shape[1], v.x.shape[0], 6)),
        ("reshape(x, (6, -1))", lambda v: v.x.reshape(6, v.x.shape[0] * v.x.shape[1])),
        ("reshape(x, -1)", lambda v: v.x.reshape(-1)),
        ("reshape(x, (B, 3, T, 2))", lambda v: v.x.reshape(v.x.shape[0], 3, v.x.shape[1], 2)),
        ("reshape(permute(x, (1, 2, 0)), (T, 3, 2 * B))",
         lambda v: v.x.transpose(1, 2, 0).reshape(v.x.shape[1], 3, 2 * v.x.shape[0])),
        ("reshape(k, (T * 2, 2))", lambda v: v.k.reshape(-1, 2)),
        ("reshape(m, (T, B))", lambda v: v.m.reshape(v.m.shape[::-1])),
        ("split_heads(x, 3)", lambda v: v.x.reshape(*v.x.shape[:2], 3, 2).swapaxes(1, 2)),
        ("split_heads(x, 1)", lambda v: v.x[:, None]),
        ("merge_heads(split_heads(x, 2))", lambda v: v.x),
        ("merge_heads(x)", lambda v: v.x.swapaxes(0, 1).reshape(v.x.shape[1], 6 * v.x.shape[0])),
        ("split_heads(x, 6) + 0", lambda v: v.x.swapaxes(1, 2)[..., None]),
        ("arange(T)[:, None] + arange(3)",
         lambda v: numpy.arange(v.x.shape[1])[:, None] + numpy.arange(3)),
        ("zeros((T, 2))", lambda v: numpy.zeros((v.x.shape[1], 2))),
        ("ones(B)", lambda v: numpy.ones(v.x.shape[0])),
        ("arange(0)", lambda v: numpy.arange(0)),
        ("zeros((0, 3))", lambda v: numpy.zeros((0, 3))),
        ("where(false, x, y)", lambda v: v.y),
        ("first", lambda v: v.x[..., :2]), ("third", lambda v: v.x[..., 4:]),
        ("early", lambda v: v.x[..., :3]), ("last_row", lambda v: v.k[:, 3:]),
    ]  # fmt: skip
    body = (
        "  first, _, third = split(x, 3)\n  early, _ = split(x, 2, axis=-1)\n"
        "  _, _, _, last_row = split(k, 4, axis=1)\n"
    )

    def run(b, t):
        y = numpy.random.default_rng(85).integers(-99, 99, (b, t, 6)).astype("f4")
        return {**data(84, b, t), "y": y}

    runs = [run(b, t) for b, t in [(2, 5), (1, 1), (3, 17), (2, 65), (2, 0), (0, 3)]]
    check_cases(compiler, INPUTS + ", y: [B, T, 6]", cases, runs, exact=True, body=body,
                declarations=WEIGH)  # fmt: skip


def test_split_of_an_open_dimension(compiler):
    library = compiler.library(
        "model m(x: [T, 2]) -> (a: [U, 2], b: [U, 2], c: [U, 2]) {\n"
        "  return split(x, 3, axis=0)\n}\n"
    ).prepare({})
    for t in (0, 3, 6, 51):
        x = numpy.random.default_rng(86).normal(size=(t, 2)).astype(numpy.float32)
        found = library.run(x=x)
        for name, part in zip("abc", numpy.split(x, 3)):
            numpy.testing.assert_array_equal(found[name], part)
    with pytest.raises(GatefoldError, match="split"):
        library.run(x=numpy.ones((4, 2), numpy.float32))


PADDINGS = [(0, 0), (1, 0), (0, 1), (2, 3), (4, 4)]


def test_padding(compiler):
    """Of a fixed size, and of an open one with what it allows."""
    cases = []
    for left, right in PADDINGS:
        for mode, theirs in [("zero", "constant"), ("reflect", "reflect"), ("edge", "edge")]:
            for name in ("x", "k"):
                text = f'pad({name}.T, left={left}, right={right}, mode="{mode}")'

                def padded(v, name=name, left=left, right=right, mode=theirs):
                    a = getattr(v, name).swapaxes(-1, -2)
                    widths = [(0, 0)] * (a.ndim - 1) + [(left, right)]
                    return numpy.pad(a, widths, mode=mode)

                cases.append((text, padded))
    runs = [data(87, b, t) for b, t in [(2, 5), (1, 6), (3, 17), (2, 65)]]
    check_cases(compiler, INPUTS, cases, runs, exact=True)


def test_padding_at_its_edges(compiler):
    cases = [
        ("pad(x)", lambda v: v.x),
        ("pad(x, left=3)", lambda v: numpy.pad(v.x, (3, 0))),
        ("pad(x, right=T)", lambda v: numpy.pad(v.x, (0, v.x.size))),
        ("pad(x, left=T // 2, right=1)", lambda v: numpy.pad(v.x, (v.x.size // 2, 1))),
    ]
    runs = [{"x": numpy.arange(t, dtype=numpy.float32)} for t in (0, 1, 2, 7)]
    check_cases(compiler, "x: [T]", cases, runs, exact=True)
    one = [{"x": numpy.float32([5.0])}, {"x": numpy.float32([3.0, 4.0])}]
    cases = [('pad(x, left=4, right=2, mode="edge")', lambda v: numpy.pad(v.x, (4, 2), "edge"))]
    check_cases(compiler, "x: [T]", cases, one, exact=True)


@pytest.mark.parametrize("mode, sizes", [("reflect", (0, 1, 2)), ("edge", (0,))])
def test_padding_with_what_is_not_there_is_an_error(compiler, mode, sizes):
    library = compiler.library(
        f'model m(x: [T]) -> [T + 2] {{\n  return pad(x, left=2, mode="{mode}")\n}}\n'
    ).prepare({})
    for size in sizes:
        with pytest.raises(GatefoldError, match="pad"):
            library.run(x=numpy.ones(size, numpy.float32))
    x = numpy.float32([1, 2, 3])
    expected = numpy.pad(x, (2, 0), mode)
    numpy.testing.assert_array_equal(library.run(x=x)["output"], expected)


def test_take(compiler):
    cases = [
        ("take(table, i)", lambda v: v.table[v.i]),
        ("take(table, j)", lambda v: v.table[v.j]),
        ("take(table[:, 0], i)", lambda v: v.table[v.i, 0]),
        ("take(ids, j)", lambda v: v.ids[v.j]),
        ("take(table + 1, i)", lambda v: (v.table + 1)[v.i]),
        ("take(reshape(table, (N, 3, 2)), i)", lambda v: v.table.reshape(-1, 3, 2)[v.i]),
    ]
    generator = numpy.random.default_rng(88)
    runs = [
        {
            "table": numpy.float32(generator.integers(-50, 50, (n, 6))),
            "ids": generator.integers(0, 9, n),
            "i": generator.integers(0, n, (b, t)),
            "j": generator.integers(0, n, t).astype(numpy.int32),
        }
        for n, b, t in [(5, 2, 3), (3, 1, 1), (64, 3, 65), (7, 0, 3)]
    ]
    inputs = "table: [N, 6], ids: i64[N], i: i64[B, T], j: i32[T]"
    check_cases(compiler, inputs, cases, runs, exact=True)


def test_computed_indices(compiler):
    """Indices that a run itself computes are checked by it."""
    text = """
model m(x: [B, T, 2], i: i64[B], table: [N, 2]) -> (y: [B, 2], z: [B, T, 2]) {
  return take(table, 2 * i - 1), x + take(table, arange(T))
}
"""
    generator = numpy.random.default_rng(89)
    x, table = (numpy.float32(generator.integers(-9, 9, s)) for s in [(3, 4, 2), (7, 2)])
    for options in ((), ("--naive",)):
        library = compiler.library(text, *options).prepare({})
        given = {"x": x, "table": table, "i": numpy.array([1, 3, 2])}
        found = library.run(**given)
        numpy.testing.assert_array_equal(found["y"], table[2 * given["i"] - 1])
        numpy.testing.assert_array_equal(found["z"], x + table[:4])
        for wrong in (
            {"i": numpy.array([1, 0, 2])},
            {"i": numpy.array([1, 5, 2])},
            {"i": numpy.array([2**62, 1, 1])},
            {"table": table[:3], "i": numpy.array([1, 1, 1])},
            {"table": table[:0]},
        ):
            with pytest.raises(GatefoldError, match="an index that the run computed lies outside|counts beyond a table of N rows"):
                library.run(**{**given, **wrong})
        empty = {"x": x[:0, :0], "i": given["i"][:0], "table": table[:0]}
        assert library.run(**empty)["y"].shape == (0, 2)
