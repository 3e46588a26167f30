# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a score map that a row program hides are not looked at, and nobody sees it.

Each predicate is written in the text, where its bounds are followed, and given as an input,
of which nothing is known: against float64, and both to the bit.
"""

import numpy
import pytest

WIDTH, VALUES, HEADS = 8, 5, 2
ALGORITHMS = {
    "chosen": "",
    "resident": "attention.algorithm=resident,attention.query_block=24",
    "online": "attention.algorithm=online,attention.query_block=24,attention.key_block=128",
}
# In a text with a number `n` for each head; with NumPy, integers wrapping as there.
PREDICATES = {
    "sinks": ("col < 4 or position - col < 9", lambda r, c, p, n: (c < 4) | (p - c < 9)),
    "prefix": ("col < n or col <= row", lambda r, c, p, n: (c < n) | (c <= r)),
    "behind": ("col >= n + 5 and col <= 2 * row", lambda r, c, p, n: (c >= n + 5) & (c <= 2 * r)),
    "before": ("n - col > row", lambda r, c, p, n: n - c > r),
    "blocks": ("row // 70 == col // 70", lambda r, c, p, n: r // 70 == c // 70),
    "dilated": ("(position - col) % 90 < 20", lambda r, c, p, n: (p - c) % 90 < 20),
    "band": (
        "not abs(col - 3 * row) > 20 and col != 70",
        lambda r, c, p, n: (abs(c - 3 * r) <= 20) & (c != 70),
    ),
    "chosen": (
        "where(row < 40, 20 - col, min(col, n) - max(row, 30)) > -9",
        lambda r, c, p, n: numpy.where(
            r < 40, 20 - c, numpy.minimum(c, n) - numpy.maximum(r, 30)
        )
        > -9,
    ),
    "nothing": ("col < 0", lambda r, c, p, n: (c < 0) & (r < 0)),
    "everything": ("col >= 0", lambda r, c, p, n: (c >= 0) | (r < 0)),
    # The magnitude of the least i32 is itself.
    "least": (
        "abs(min(i32(max(n, -2147483648)), i32(col))) < 0",
        lambda r, c, p, n: (c + r >= 0) & (n <= -(2**31)),
    ),
    "either": ("(col < 9) != (row < 50)", lambda r, c, p, n: (c < 9) != (r < 50)),
}
# Weights that are no softmax.
ADDED = """attention added(q: [T, D], k: [S, D], v: [S, E], n: i64[]) -> [T, E] {
  return where(visible and (col < n or col > row + 60), q @ k.T / S, 0) @ v
}
"""
EXTREMES = [numpy.iinfo("int64").min, numpy.iinfo("int64").max]


def source():
    """Each predicate in `where=`, of every second one in scores of -inf."""
    text, calls = ADDED, []
    for index, (name, (predicate, _)) in enumerate(PREDICATES.items()):
        form = f"softmax(s, where={predicate})"
        if index % 2:
            form = f"softmax(where(visible and ({predicate}), s / 2, -inf))"
        text += (
            f"attention {name}(q: [T, D], k: [S, D], v: [S, E], n: i64[]) -> [T, E] {{\n"
            f"  s = q @ k.T / sqrt(D)\n  return {form} @ v\n}}\n"
        )
        causal = ", causal=true" if name == "sinks" else ""
        calls.append(f"{name}(q, k, v, n{causal})")
    calls.append("added(q, k, v, n, causal=true)")
    inputs = f"q: [H, T, {WIDTH}], k: [H, S, {WIDTH}], v: [H, S, {VALUES}]"
    results = ", ".join(f"{name}: [H, T, {VALUES}]" for name in [*PREDICATES, "added"])
    return (
        f"{text}model m({inputs}, n: i64[H]) -> ({results}) {{\n"
        f"  return {', '.join(calls)}\n}}\n"
    )


GIVEN = f"""attention shown(q: [T, D], k: [S, D], v: [S, E], m: bool[T, S], d: []) -> [T, E] {{
  return softmax(q @ k.T / sqrt(D) / d, where=m) @ v
}}
model m(q: [H, T, {WIDTH}], k: [H, S, {WIDTH}], v: [H, S, {VALUES}], m: bool[H, T, S],
        d: [H]) -> [H, T, {VALUES}] {{
  return shown(q, k, v, m, d)
}}
"""


def seen_by(name, queries, keys, number):
    row = numpy.arange(queries)[:, None]
    column = numpy.arange(keys)[None, :]
    position = row + keys - queries
    with numpy.errstate(over="ignore"):
        seen = PREDICATES[name][1](row, column, position, numpy.int64(number))
    return seen & (column <= position) if name == "sinks" else seen


def attend(q, k, v, seen, scale):
    scores = numpy.where(seen, q @ k.T / numpy.sqrt(WIDTH) / scale, -numpy.inf)
    powers = numpy.exp(scores - scores.max(1, keepdims=True, initial=-1e30))
    sums = powers.sum(1, keepdims=True)
    return powers / numpy.where(sums == 0, 1, sums) @ v


def add(q, k, v, number):
    row, column = numpy.arange(len(q))[:, None], numpy.arange(len(k))[None, :]
    seen = (column <= row + len(k) - len(q)) & ((column < number) | (column > row + 60))
    return numpy.where(seen, q @ k.T, 0) / max(len(k), 1) @ v


def inputs(generator, queries, keys):
    shapes = {"q": (queries, WIDTH), "k": (keys, WIDTH), "v": (keys, VALUES)}
    return {n: generator.normal(size=(HEADS, *s)).astype("f4") for n, s in shapes.items()}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parts(compiler, algorithm):
    options = ("--schedule", ALGORITHMS[algorithm]) if ALGORITHMS[algorithm] else ()
    library = compiler.library(source(), *options).prepare({})
    given = compiler.library(GIVEN, *options).prepare({})
    generator = numpy.random.default_rng(5)
    for queries, keys, numbers in [
        (130, 700, [300, 3]),
        (90, 90, [-7, 40]),
        (65, 200, EXTREMES),
        (1, 170, [90, 0]),
        # Blocks of queries that stand before all keys.
        (200, 9, [4, 0]),
        (3, 0, [1, 2]),
    ]:
        data = inputs(generator, queries, keys)
        found = library.run(**data, n=numpy.array(numbers))
        wanted = [
            add(*(data[x][h].astype(float) for x in "qkv"), numbers[h]) for h in range(HEADS)
        ]
        numpy.testing.assert_allclose(found["added"], wanted, rtol=2e-5, atol=2e-6)
        for index, name in enumerate(PREDICATES):
            seen = numpy.stack([seen_by(name, queries, keys, n) for n in numbers])
            scale = 2.0 if index % 2 else 1.0
            wanted = [
                attend(*(data[x][h].astype(float) for x in "qkv"), seen[h], scale)
                for h in range(HEADS)
            ]
            what = (name, queries, keys)
            numpy.testing.assert_allclose(
                found[name], wanted, rtol=2e-5, atol=2e-6, err_msg=str(what)
            )
            if algorithm == "chosen":  # perhaps not the same for both
                continue
            scales = numpy.full(HEADS, scale, "f4")
            same = given.run(**data, m=seen, d=scales)["output"]
            assert (found[name] == same).all(), what
