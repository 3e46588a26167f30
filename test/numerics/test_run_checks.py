# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a run itself computes and then counts or points with: indices, lengths, places."""

import numpy
import pytest
from conftest import assert_close, random_weights
from gatefold_library import GatefoldError

PATHS = ((), ("--naive",))


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


def refuses(library, message, **inputs):
    with pytest.raises(GatefoldError, match=message):
        library.run(**inputs)


def softmax(scores, axis=-1):
    e = numpy.exp(scores - scores.max(axis, keepdims=True, initial=-1e30))
    return e / e.sum(axis, keepdims=True)


STEPS = """
cell looked(x: i64[], far: i64[K], table: [N]) -> [] {
  state h: [] = 0, done: bool[] = false
  h' = h + take(table, 2 * x) + sum(take(table, 2 * far))
  done' = x == 0
  return h'
}
cell walk(table: [N]) -> i64[] {
  state at: i64[] = 0
  at' = i64(take(table, at)) + 1
  return at'
}
model m(x: i64[B, T], n: i64[B], far: i64[K], table: [N]) ->
    (y: [B, T], back: [B, T], until: [B, T], walked: i64[4]) {
  param c: looked(), w: walk()
  y, _ = scan(c, x, with=(far, table), lengths=n)
  back, _ = scan(c, x, with=(far, table), lengths=n, reverse=true)
  until, _ = scan(c, x, with=(far, table), until="done")
  walked, _ = scan(w, with=table, steps=4)
  return y, back, until, walked
}
"""


@pytest.mark.parametrize("options", PATHS)
def test_indices_in_a_step(compiler, options):
    """They count for the steps that a sequence takes, and for no others."""
    library = compiler.library(STEPS, *options).prepare({})
    table = numpy.float32([0, 1, 2, 3, 0, 5, 6])
    given = {
        "x": numpy.array([[1, 3, 0, 2], [2, 0, 9, -9], [0, 99, 0, 0]]),
        "n": numpy.array([4, 2, 0]), "far": numpy.array([0, 3]), "table": table,
    }  # fmt: skip
    found = library.run(**given)
    both = table[0] + table[6]
    numpy.testing.assert_array_equal(
        found["y"], [[2 + both, 8 + 2 * both, 8 + 3 * both, 8 + 4 * both],
                     [both, 2 * both, 0, 0], [0, 0, 0, 0]])  # fmt: skip
    numpy.testing.assert_array_equal(found["back"][0], found["y"][0][3] - numpy.float32(
        [0, 2 + both, 8 + 2 * both, 8 + 3 * both]))  # fmt: skip
    numpy.testing.assert_array_equal(found["until"][1], [both, 2 * both, 0, 0])
    numpy.testing.assert_array_equal(found["walked"], [1, 2, 3, 4])
    message = r"m\d+\.gf:4:12: an index that the run computed lies outside its table of N rows"
    refuses(library, message, **given | {"n": numpy.array([4, 3, 0])})
    refuses(library, message, **given | {"n": numpy.array([4, 2, 2])})
    other = given["x"].copy()
    other[0, 1] = 4
    refuses(library, message, **given | {"x": other})
    # The same for all sequences, and so for each that takes a step.
    refuses(library, r"m\d+\.gf:4:37: an index", **given | {"far": numpy.array([0, 4])})
    refuses(library, r"m\d+\.gf:10:13: an index", **given | {"table": numpy.float32([8] * 7)})
    refuses(library, r"m\d+\.gf:\d+:\d+: an index", **given | {"table": table[:0]})
    none = given | {"x": given["x"][:0], "n": given["n"][:0], "far": numpy.array([99, 99])}
    assert library.run(**none)["y"].shape == (0, 4)


ROWS = """
attention relative(q: [T, D], k: [S, D], v: [S, E], table: [N], shift: i64[]) -> [T, E] {
  s = q @ k.T / sqrt(D) + take(table, position - col)
  return softmax(s) @ v + take(table, row + shift)
}
model m(q: [B, 2, T, 4], k: [B, 2, S, 4], v: [B, 2, S, 3], table: [N], n: i64[B], shift: i64[B, 1]) ->
    [B, 2, T, 3] {
  return relative(q, k, v, table, shift, causal=true, lengths=n)
}
"""


@pytest.mark.parametrize("options", PATHS)
@pytest.mark.parametrize("queries, keys", [(1, 1), (5, 7), (65, 130)])
def test_indices_in_a_row(compiler, options, queries, keys):
    """Those of keys that a query does not see count for nothing."""
    library = compiler.library(ROWS, *options).prepare({})
    generator = numpy.random.default_rng(keys)
    q, k, v = floats(generator, 2, 2, queries, 4), floats(generator, 2, 2, keys, 4), floats(generator, 2, 2, keys, 3)
    table = floats(generator, keys)
    given = {"q": q, "k": k, "v": v, "table": table, "n": numpy.array([keys, (keys + 1) // 2]),
             "shift": numpy.array([[0], [keys - queries]])}  # fmt: skip
    found = library.run(**given)["output"]
    row, col = numpy.arange(queries)[:, None], numpy.arange(keys)[None, :]
    away = row + keys - queries - col
    for b in range(2):
        s = q[b].astype(float) @ k[b].astype(float).swapaxes(1, 2) / 2
        s = s + table.astype(float)[numpy.clip(away, 0, None)]
        weights = softmax(numpy.where((away >= 0) & (col < given["n"][b]), s, -numpy.inf))
        expected = weights @ v[b].astype(float) + table[row + given["shift"][b]]
        assert_close(found[b], expected)
    message = r"m\d+\.gf:3:27: an index that the run computed lies outside its table of N rows"
    refuses(library, message, **given | {"table": table[:-1], "shift": given["shift"] * 0 - queries})
    # Only the first of two sequences sees a key from so far.
    if keys > 1:
        few = given | {"n": numpy.array([0, 0]), "table": table[: keys - 1]}
        if queries < keys:
            few["shift"] = few["shift"] * 0
            library.run(**few)
    refuses(library, r"m\d+\.gf:4:27: an index", **given | {"shift": numpy.array([[0], [keys - queries + 1]])})
    none = given | {"q": q[:, :, :0], "table": table[:0]}
    assert library.run(**none)["output"].shape == (2, 2, 0, 3)


LENGTHS = """
import attention
cell running(x: [], row: [N], n: i64[]) -> (total: [], best: []) {
  state h: []
  h' = h + x
  return h' + sum(row, lengths=n - 1), max(row, lengths=n - 1)
}
model m(x: [B, T, 4], row: [B, T, N], n: i64[B], k: i64[B, T], m: bool[B, T]) ->
    (a: [B, T, 4], s: [B, T], h: [B], total: [B], place: i64[B], best: [B, T]) {
  param c: running(), d: running()
  a = dot_product(x, x, x, lengths=5 - n, causal=true)
  (s, best), h = scan(c, (x[:, :, 0], row, k), lengths=sum(i64(m), axis=1))
  return a, s, h, sum(x[:, :, 1], axis=1, lengths=5 - n), argmax(x[:, :, 2], axis=1, lengths=5 - n), best
}
"""


@pytest.mark.parametrize("options", PATHS)
def test_lengths(compiler, options):
    library = compiler.library(LENGTHS, *options).prepare({})
    generator = numpy.random.default_rng(7)
    x, row = floats(generator, 3, 5, 4), floats(generator, 3, 5, 6)
    n, k = numpy.array([0, 4, 2]), generator.integers(2, 8, (3, 5))
    m = numpy.zeros((3, 5), bool)
    m[0], m[1, 1:3] = True, True
    k[1, 2:], k[2] = -7, 99  # behind the ends
    found = library.run(x=x, row=row, n=n, k=k, m=m)
    w = x.astype(float)
    for b in range(3):
        length, steps = 5 - n[b], m[b].sum()
        for t in range(5):
            seen = slice(0, min(length, t + 1))
            assert_close(found["a"][b, t], softmax(w[b, seen] @ w[b, t] / 2) @ w[b, seen])
        assert_close(found["total"][b], w[b, :length, 1].sum())
        assert found["place"][b] == w[b, :length, 2].argmax()
        assert_close(found["h"][b], w[b, :steps, 0].sum())
        for t in range(5):
            live = t < steps
            some = row[b, t, : k[b, t] - 1].astype(float) if live else None
            assert_close(found["s"][b, t], w[b, : t + 1, 0].sum() + some.sum() if live else 0.0)
            assert_close(found["best"][b, t], some.max() if live else 0.0)
    given = {"x": x, "row": row, "n": n, "k": k, "m": m}
    refuses(library, r"m\d+\.gf:11:7: a length that the run computed is not in 0..T",
            **given | {"n": numpy.array([-1, 0, 2])})  # fmt: skip
    refuses(library, r"m\d+\.gf:11:7: a length", **given | {"n": numpy.array([0, 6, 2])})
    refuses(library, r"m\d+\.gf:13:59: argmax of no elements", **given | {"n": numpy.array([0, 5, 2])})
    for wrong, message in [(1, r":6:40: max of no elements"), (8, r":6:15: a length that the run computed is not in 0..N"),
                           (0, r":6:15: a length")]:  # fmt: skip
        other = k.copy()
        other[1, 1] = wrong
        refuses(library, rf"m\d+\.gf{message}", **given | {"k": other})


def test_places(compiler):
    text = """
import attention
cell recall(x: [2], C) -> [2] {
  state n: i64[] = 0, rows: [C, 2]
  rows' = append(rows, x[None, :], at=2 * n)
  n' = n + 1
  return rows'[0] + rows'[2]
}
model m(x: [B, T, 2], n: i64[B]) -> (y: [B, T, 2], z: [B, T, 2]) {
  state seen: [B, 8, 2]
  param c: recall(C=5)
  seen' = append(seen, x, at=3 * n)
  z, _ = scan(c, x)
  return dot_product(0 * x, seen', seen', lengths=3 * n + T), z
}
"""
    for options in PATHS:
        library = compiler.library(text, *options).prepare({})
        x = floats(numpy.random.default_rng(8), 2, 3, 2)
        found = library.run(x=x, n=numpy.array([1, 0]))
        seen = numpy.zeros((2, 8, 2))
        seen[0, 3:6], seen[1, :3] = x[0], x[1]
        assert_close(found["seen"], seen)
        for b, length in ((0, 6), (1, 3)):
            assert_close(found["y"][b], numpy.broadcast_to(seen[b, :length].mean(0), (3, 2)))
        assert_close(found["z"], x[:, :1] + numpy.concatenate([0 * x[:, :1], x[:, [1, 1]]], 1))
        for wrong in ([2, 0], [1, -1]):
            refuses(library, r":12:11: `append`: a place that the run computed leaves no room for T rows in a "
                    "capacity of 8", x=x, n=numpy.array(wrong))  # fmt: skip
        x = floats(numpy.random.default_rng(9), 2, 4, 2)
        refuses(library, r":5:11: `append`: a place .* no room for 1 rows in a capacity of 5",
                x=x, n=numpy.array([0, 0]))  # fmt: skip


WRITER = """
import attention
cell writer(forced: i64[], start: i64[], V, C, M) -> i64[] {
  state token: i64[] = start, n: i64[] = 0, keys: [C, M], values: [C, M]
  param embed: embedding(V=V, N=M), q: linear(N=M), k: linear(N=M), v: linear(N=M), head: linear(N=V)
  x = embed(token)
  keys' = append(keys, k(x)[None, :], at=n)
  values' = append(values, v(x)[None, :], at=n)
  a = dot_product(q(x)[None, :], keys', values', causal=true, offset=n)
  n' = n + 1
  token' = where(forced >= 0, forced, argmax(head(x + a[0])))
  return token'
}
model write(start: i64[B], forced: i64[B, 6]) -> i64[B, 6] {
  param w: writer(V=11, C=6, M=5)
  y, _ = scan(w, forced, with=start)
  return y
}
"""


def write(weights, start, forced):
    w = {name.removeprefix("w."): value.astype(float) for name, value in weights.items()}

    def linear(name, x):
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    out, keys, values, token = [], [], [], start
    for given in forced:
        x = w["embed.weight"][token]
        keys.append(linear("k", x))
        values.append(linear("v", x))
        scores = numpy.array(keys) @ linear("q", x) / numpy.sqrt(5)
        a = softmax(scores) @ numpy.array(values)
        token = given if given >= 0 else int(linear("head", x + a).argmax())
        out.append(token)
    return out


@pytest.mark.parametrize("options", PATHS)
def test_a_token_that_starts_from_an_input(compiler, options):
    """What it begins with is checked as an input, what it becomes later where that may be wrong."""
    library = compiler.library(WRITER, *options)
    weights = random_weights(library, numpy.random.default_rng(10))
    library.prepare(weights)
    start = numpy.array([0, 10, 3])
    forced = numpy.array([[-1] * 6, [4, -1, -1, 10, -1, -1], [-1, -9, 0, -1, -1, 5]])
    found = library.run(start=start, forced=forced)["output"]
    for b in range(3):
        assert list(found[b]) == write(weights, start[b], forced[b])
    refuses(library, r"`start`\[1\] is 11, expected 0..10", start=start + [0, 1, 0], forced=forced)
    # The last one is never looked up.
    library.run(start=start, forced=forced + numpy.array([0, 0, 0, 0, 0, 99]))
    forced[1, 3] = 11
    refuses(library, r"m\d+\.gf:6:7: an index that the run computed lies outside its table of 11 rows",
            start=start, forced=forced)  # fmt: skip


def test_what_a_slice_leaves_out_may_be_anything(compiler):
    library = compiler.library(
        "model m(x: [3], k: i64[3], n: i64[2]) -> ([2], []) {\n"
        "  return take(x, k[1:]), sum(x, lengths=n[1])\n}\n"
    ).prepare({})
    x = numpy.float32([1, 2, 4])
    found = library.run(x=x, k=numpy.array([3, 0, 2]), n=numpy.array([9, 2]))
    numpy.testing.assert_array_equal(found["output0"], [1, 4])
    assert found["output1"] == 3
    refuses(library, r"2:10: an index", x=x, k=numpy.array([0, 0, 3]), n=numpy.array([0, 0]))
    refuses(library, r"2:26: a length", x=x, k=numpy.array([0, 0, 0]), n=numpy.array([0, 4]))


def test_more_places_than_a_table_has(compiler):
    library = compiler.library(
        "model m(x: [B, T, 4], table: [N, 4]) -> [B, T, 4] {\n"
        "  param place: embedding(V=8, N=4)\n"
        "  return x + place(arange(T)) + take(table, arange(T))\n}\n"
    )
    weight = floats(numpy.random.default_rng(11), 8, 4)
    library.prepare({"place.weight": weight})
    for time in (0, 1, 8):
        x, table = floats(numpy.random.default_rng(12), 2, time, 4), floats(numpy.random.default_rng(13), time, 4)
        assert_close(library.run(x=x, table=table)["output"], x + weight[:time] + table)
    x = numpy.zeros((2, 9, 4), numpy.float32)
    refuses(library, r"m\d+\.gf:3:14: `arange\(T\)` counts beyond a table of 8 rows \(9 and 8.*T=9",
            x=x, table=numpy.zeros((9, 4), numpy.float32))  # fmt: skip
    refuses(library, r"m\d+\.gf:3:33: `arange\(T\)` counts beyond a table of N rows \(8 and 7.*",
            x=x[:, :8], table=numpy.zeros((7, 4), numpy.float32))  # fmt: skip
