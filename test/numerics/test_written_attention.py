# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention that a text writes out on whole tensors: as the library's, and in memory that
grows with the queries alone."""

import subprocess

import numpy
import pytest
from conftest import GATEFOLD, assert_close
from halves import assert_near, rounded

WIDTH, VALUES, HEADS = 5, 3, 2
SIZES = [(1, 1, 1), (2, 3, 7), (3, 17, 65), (1, 64, 1), (2, 1, 17), (2, 0, 5), (2, 4, 0), (0, 3, 3)]
INPUTS = f"""queries: [N, B, {HEADS}, T, {WIDTH}], k: [B, {HEADS}, S, {WIDTH}], v: [B, {HEADS}, S, {VALUES}], turned: [B, {HEADS}, {VALUES}, S],
  bias: [T, S], mask: bool[B, 1, 1, S], slope: [{HEADS}, 1, 1], shift: [B, {HEADS}, T, 1],
  length: i64[B], past: i64[B], least: i64[], query_part: i64[B, T], key_part: i64[B, S], table: [9], of_heads: [9, {HEADS}], head_first: [{HEADS}, 9]"""
ROW, COLUMN = "arange(T)[:, None]", "arange(S)[None, :]"


def where(condition, scores):
    return numpy.where(condition, scores, -numpy.inf)


# name: a text, and its weights in NumPy, where a score of -inf hides a key. Each has queries
# of its own, since equal products would become one that all read.
WRITTEN = {
    "plain": ("softmax(q @ k.T) @ v", lambda n: softmax(n["s"])),
    "scaled": ("softmax(q @ k.T / sqrt(5)) @ v", lambda n: softmax(n["s"] / numpy.sqrt(5))),
    "before": ("softmax((q * 0.3) @ k.T) @ v", lambda n: softmax(n["s"] * 0.3)),
    "turned": ("softmax(q @ k.T) @ turned.T", lambda n: softmax(n["s"])),
    "biased": ("softmax(0.5 * (q @ k.T) + bias) @ v", lambda n: softmax(0.5 * n["s"] + n["bias"])),
    "masked": ("softmax(q @ k.T, where=mask) @ v", lambda n: softmax(where(n["mask"], n["s"]))),
    "hidden": ("softmax(where(mask, q @ k.T, -inf)) @ v", lambda n: softmax(where(n["mask"], n["s"]))),
    "mixed": ("softmax(slope * tanh(q @ k.T) - shift) @ v",
              lambda n: softmax(n["slope"] * numpy.tanh(n["s"]) - n["shift"])),
    "twice": ("softmax(q @ k.T + (q * 0.1) @ (2 * k).T) @ v", lambda n: softmax(1.2 * n["s"])),
    # Comparisons of indices.
    "causal": (f"softmax(where({ROW} >= {COLUMN}, q @ k.T, -inf)) @ v",
               lambda n: softmax(where(n["row"] >= n["column"], n["s"]))),
    "aligned": (f"softmax(where({COLUMN} <= {ROW} + (S - T), q @ k.T / 2, -inf)) @ v",
                lambda n: softmax(where(n["column"] <= n["row"] + n["S"] - n["T"], n["s"] / 2))),
    "added": (f"softmax(q @ k.T + where({ROW} >= {COLUMN}, 0, -inf)) @ v",
              lambda n: softmax(where(n["row"] >= n["column"], n["s"]))),
    "finite": (f"softmax(q @ k.T + where({ROW} >= {COLUMN}, 0, -1000000000)) @ v",
               lambda n: softmax(n["s"] + numpy.where(n["row"] >= n["column"], 0, -1e9))),
    "window": (f"softmax(q @ k.T, where={COLUMN} <= {ROW} and {ROW} - {COLUMN} < 4) @ v",
               lambda n: softmax(where((n["column"] <= n["row"]) & (n["row"] - n["column"] < 4), n["s"]))),
    "recent": (f"softmax(where({ROW} - {COLUMN} > 3, -inf, q @ k.T)) @ v",
               lambda n: softmax(where(n["row"] - n["column"] <= 3, n["s"]))),
    "band": (f"softmax(where(abs({ROW} - {COLUMN}) < 3, q @ k.T, -inf)) @ v",
             lambda n: softmax(where(abs(n["row"] - n["column"]) < 3, n["s"]))),
    "ring": (f"softmax(where(abs(abs({ROW} - {COLUMN}) - 3) < 2, q @ k.T, -inf)) @ v",
             lambda n: softmax(where(abs(abs(n["row"] - n["column"]) - 3) < 2, n["s"]))),
    "lengths": (f"softmax(q @ k.T, where=({COLUMN} < length[:, None])[:, None, None]) @ v",
                lambda n: softmax(where(n["column"] < n["length"], n["s"]))),
    "cached": (f"softmax(where({COLUMN}[None, None] <= {ROW}[None, None] + past[:, None, None, None], q @ k.T, -inf)) @ v",
               lambda n: softmax(where(n["column"] <= n["row"] + n["past"], n["s"]))),
    "either": (f"softmax(q @ k.T, where={COLUMN} <= {ROW} or {COLUMN} < 2) @ v",
               lambda n: softmax(where((n["column"] <= n["row"]) | (n["column"] < 2), n["s"]))),
    "slopes": (f"softmax(q @ k.T - slope * abs({ROW} - {COLUMN})) @ v",
               lambda n: softmax(n["s"] - n["slope"] * abs(n["row"] - n["column"]))),
    "looked_up": (f"softmax(q @ k.T + take(table, clamp({COLUMN} - {ROW}, -4, 4) + 4)) @ v",
                  lambda n: softmax(n["s"] + n["table"][numpy.clip(n["column"] - n["row"], -4, 4) + 4])),
    "of_heads": (f"softmax(q @ k.T + permute(take(of_heads, clamp({COLUMN} - {ROW}, -4, 4) + 4), (2, 0, 1))) @ v",
                 lambda n: softmax(n["s"] + n["of_heads"].T[:, numpy.clip(n["column"] - n["row"], -4, 4) + 4])),
    "head_first": (f"softmax(q @ k.T + slope * permute(take(head_first.T, abs({COLUMN} - {ROW}) % 9), (2, 0, 1))[None]) @ v",
                   lambda n: softmax(n["s"] + n["slope"] * n["head_first"][:, abs(n["column"] - n["row"]) % 9])),
    "by_hand": (f"softmax(where((({COLUMN} < length[:, None])[:, None, None] and {ROW} >= {COLUMN}) and mask, q @ k.T, -inf)) @ v",
                lambda n: softmax(where((n["column"] < n["length"]) & n["mask"] & (n["row"] >= n["column"]), n["s"]))),
    "parts": ("softmax(q @ k.T, where=(query_part[:, :, None] == key_part[:, None, :])[:, None]) @ v",
              lambda n: softmax(where(n["query_part"] == n["key_part"], n["s"]))),
    # Several softmaxes.
    "differing": ("(softmax(q @ k.T) - slope * softmax((q * 0.3) @ (2 * k).T)) @ v",
                  lambda n: softmax(n["s"]) - n["slope"] * softmax(0.6 * n["s"])),
    "of_one": ("(softmax(q @ k.T) - shift * softmax(0.5 * (q @ k.T))) @ v",
               lambda n: softmax(n["s"]) - n["shift"] * softmax(0.5 * n["s"])),
    "three": ("(softmax(q @ k.T) + (0.3 * softmax(2 * (q @ k.T)) - softmax(0 * (q @ k.T)))) @ v",
              lambda n: softmax(n["s"]) + 0.3 * softmax(2 * n["s"]) - softmax(0 * n["s"])),
    "half_causal": (f"(softmax(where({ROW} >= {COLUMN}, q @ k.T, -inf)) - 0.5 * softmax(q @ k.T)) @ v",
                    lambda n: softmax(where(n["row"] >= n["column"], n["s"])) - 0.5 * softmax(n["s"])),
    "both_causal": (f"(softmax(where({ROW} >= {COLUMN}, q @ k.T, -inf)) - 0.5 * softmax(where({COLUMN} <= {ROW}, 2 * (q @ k.T), -inf))) @ v",
                    lambda n: softmax(where(n["row"] >= n["column"], n["s"])) - 0.5 * softmax(where(n["row"] >= n["column"], 2 * n["s"]))),
    "apart": ("softmax(q @ k.T) @ v - shift * (softmax(0.5 * (q @ k.T)) @ v)",
              lambda n: softmax(n["s"]) - n["shift"] * softmax(0.5 * n["s"])),
    # Two products whose queries are read one behind the other, amid many values.
    "conditions": (
        f"(softmax(where({COLUMN} % 2 == 0 and {ROW} >= {COLUMN}, (k @ (q * 0.5).T).T + bias + where({ROW} + {COLUMN} < 9, 0, -inf), -inf))"
        f" - 0.5 * softmax((k @ q.T).T + where((({COLUMN} <= {ROW} + S and {COLUMN} - {ROW} < 2) and abs({ROW} - {COLUMN}) <= 2) and {COLUMN} < least"
        f" and {COLUMN} % 2 == 0 and {COLUMN} % 2 == 0, 0, -inf))) @ v",
        lambda n: softmax(where((n["column"] % 2 == 0) & (n["row"] >= n["column"]) & (n["row"] + n["column"] < 9), 0.5 * n["s"] + n["bias"]))
        - 0.5 * softmax(where((n["column"] - n["row"] < 2) & (abs(n["row"] - n["column"]) <= 2) & (n["column"] < n["least"]) & (n["column"] % 2 == 0), n["s"])),
    ),
    # Without a softmax.
    "sigmoids": ("sigmoid(q @ k.T / sqrt(5) - 1) @ v", lambda n: 1 / (1 + numpy.exp(1 - n["s"] / numpy.sqrt(5)))),
    "rectified": ("(v.T @ relu(0.2 * (k @ q.T))).T", lambda n: numpy.maximum(0.2 * n["s"], 0)),
    "decaying": (f"((q @ k.T) * where({ROW} >= {COLUMN}, exp(({COLUMN} - {ROW}) * abs(slope)), 0)) @ v",
                 lambda n: n["s"] * numpy.tril(numpy.exp(-abs(n["row"] - n["column"]) * abs(n["slope"])))),
    "hidden_products": (f"where(mask and {ROW} >= {COLUMN}, (q @ k.T) * shift, 0) @ v",
                        lambda n: numpy.where(n["mask"] & (n["row"] >= n["column"]), n["s"] * n["shift"], 0)),
    "gated_products": ("(tanh(0.3 * (q @ k.T)) * sigmoid((q * 0.2) @ (k * 2).T)) @ v",
                       lambda n: numpy.tanh(0.3 * n["s"]) / (1 + numpy.exp(-0.4 * n["s"]))),
    # Turned around.
    "keys_first": ("softmax((k @ q.T).T) @ v", lambda n: softmax(n["s"])),
    "columns": ("softmax(k @ q.T, axis=2).T @ v", lambda n: softmax(n["s"])),
    "values_first": ("(v.T @ softmax(q @ k.T).T).T", lambda n: softmax(n["s"])),
    "heads_first": ("permute(softmax(permute(q, (1, 0, 2, 3)) @ permute(k, (1, 0, 3, 2))) @ permute(v, (1, 0, 2, 3)), (1, 0, 2, 3))",
                    lambda n: softmax(n["s"])),
}  # fmt: skip
ATTENTIONS = len(WRITTEN) + 1  # One of them is two.


def softmax(scores):
    """Of each row; 0 where every score is -inf."""
    largest = scores.max(axis=-1, keepdims=True, initial=-numpy.inf)
    powers = numpy.exp(scores - numpy.where(largest == -numpy.inf, 0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / numpy.where(total == 0, 1, total)


def text(names=tuple(WRITTEN)):
    results = ", ".join(f"{n}_y: [B, {HEADS}, T, {VALUES}]" for n in [*names, "library"])
    lines = "".join(
        f"  q = queries[{i}]\n  {name}_y = {line}\n"
        for i, (name, (line, _)) in enumerate(WRITTEN.items())
        if name in names
    )
    returned = ", ".join(f"{n}_y" for n in [*names, "library"])
    return (
        f"import attention\nmodel m({INPUTS}) -> ({results}) {{\n{lines}"
        f"  library_y = dot_product(queries[1], k, v)\n  return {returned}\n}}\n"
    )


def inputs_of(generator, batch, queries, keys):
    normal = generator.standard_normal
    mask = generator.random((batch, 1, 1, keys)) < 0.6
    mask[:1] = False
    bias = normal((queries, keys))
    bias[generator.random(bias.shape) < 0.2] = -numpy.inf
    bias[:1] = -numpy.inf
    given = {
        "queries": normal((len(WRITTEN), batch, HEADS, queries, WIDTH)),
        "k": normal((batch, HEADS, keys, WIDTH)),
        "v": normal((batch, HEADS, keys, VALUES)),
        "bias": bias,
        "slope": normal((HEADS, 1, 1)),
        "shift": normal((batch, HEADS, queries, 1)),
    }
    given["turned"] = given["v"].swapaxes(-1, -2).copy()
    given["table"], given["of_heads"], given["head_first"] = normal(9), normal((9, HEADS)), normal((HEADS, 9))
    integers = {
        # Also beyond the keys, and before them.
        "length": generator.integers(-1, keys + 3, batch),
        "past": generator.integers(-3, keys + 1, batch),
        "least": generator.integers(0, keys + 1),
        "query_part": generator.integers(0, 3, (batch, queries)),
        "key_part": generator.integers(0, 3, (batch, keys)),
    }
    integers = {name: numpy.asarray(numbers) for name, numbers in integers.items()}
    return {name: array.astype(numpy.float32) for name, array in given.items()} | {"mask": mask} | integers


def expected_of(given):
    n = {name: a.astype(numpy.float64) if a.dtype.kind == "f" else a for name, a in given.items()}
    n["T"], n["S"] = n["bias"].shape
    n["row"], n["column"] = numpy.arange(n["T"])[:, None], numpy.arange(n["S"])[None, :]
    for name in ("length", "past"):
        n[name] = n[name][:, None, None, None]
    n["query_part"], n["key_part"] = n["query_part"][:, None, :, None], n["key_part"][:, None, None, :]
    for name, (_, weights), q in zip(WRITTEN, WRITTEN.values(), n["queries"]):
        n["s"] = q @ n["k"].swapaxes(-1, -2)
        yield name, weights(n) @ n["v"]


def test_each_becomes_an_attention(tmp_path):
    (tmp_path / "m.gf").write_text(text())
    command = [GATEFOLD, "compile", tmp_path / "m.gf", "--emit", "fuse", "-o", "-"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    attentions = [line for line in found.splitlines() if "= gf.attention " in line]
    assert len(attentions) == ATTENTIONS + 1
    assert "linalg.contract" not in found
    # What is given for queries and keys alone.
    assert sum("pairs(" in line for line in attentions) == 6
    assert "tensor<?x?xi1>" not in found and "tensor<?x?xi64>" not in found.split("gf.attention")[1]


@pytest.mark.parametrize("path", [[], ["--naive"]], ids=["fast", "naive"])
def test_written_out(compiler, path):
    """A row that sees no key is 0, as in the library's attention."""
    library = compiler.library(text(), *path).prepare({})
    generator = numpy.random.default_rng(171)
    for sizes in SIZES:
        given = inputs_of(generator, *sizes)
        found = library.run(**given)
        for name, expected in expected_of(given):
            assert_close(found[f"{name}_y"], expected, (name, sizes))


def test_as_the_library(compiler):
    """But for a quotient where the library has a product."""
    library = compiler.library(text()).prepare({})
    found = library.run(**inputs_of(numpy.random.default_rng(172), 2, 33, 70))
    assert_close(found["scaled_y"], found["library_y"].astype(numpy.float64))


def test_f16(compiler):
    names = ("scaled", "biased", "added", "finite", "lengths", "looked_up", "differing", "of_one", "columns",
             "of_heads", "by_hand", "sigmoids", "decaying", "gated_products")  # fmt: skip
    library = compiler.library(text(names), "--float", "f16").prepare({})
    given = inputs_of(numpy.random.default_rng(173), 2, 7, 17)
    given = {name: rounded(array, "f16") for name, array in given.items()}
    passed = {n: a.astype(numpy.float16) if a.dtype.kind == "f" else a for n, a in given.items()}
    found = library.run(**passed)
    for name, expected in expected_of(given):
        if name in names:
            assert_near(found[f"{name}_y"], expected, "f16", name)


def test_weights_that_are_returned(compiler):
    """They are stored, and the product with the values reads them."""
    library = compiler.library(
        "model m(q: [T, 4], k: [S, 4], v: [S, 3]) -> (y: [T, 3], w: [T, S]) {\n"
        "  w = softmax(q @ k.T)\n  return w @ v, w\n}\n"
    ).prepare({})
    generator = numpy.random.default_rng(174)
    q, k, v = (generator.standard_normal(s).astype(numpy.float32) for s in [(7, 4), (9, 4), (9, 3)])
    found = library.run(q=q, k=k, v=v)
    s = q.astype(numpy.float64) @ k.astype(numpy.float64).T
    assert_close(found["w"], softmax(s))
    assert_close(found["y"], softmax(s) @ v)


def test_numbers_far_beyond_all_keys(compiler):
    """Comparisons with the greatest and the least integers hide all keys, or none."""
    source = "model m(q: [T, 4], k: [S, 4], v: [S, 3], n: i64[]) -> (upto: [T, 3], below: [T, 3], near: [T, 3], after: [T, 3]) {\n"
    source += f"  s = q @ k.T\n  i = {ROW}\n  j = {COLUMN}\n"
    conditions = ["j <= n", "j < n", "j - i < n", "i - j <= n"]
    source += f"  return {', '.join(f'softmax({i + 1} * s, where={c}) @ v' for i, c in enumerate(conditions))}\n}}\n"
    library = compiler.library(source).prepare({})
    generator = numpy.random.default_rng(176)
    given = {n: generator.standard_normal(s).astype(numpy.float32) for n, s in {"q": (5, 4), "k": (9, 4), "v": (9, 3)}.items()}
    for number in (-(2**63), 2**63 - 1):
        found = library.run(**given, n=numpy.asarray(number))
        for factor, result in enumerate(found.values(), 1):
            scores = factor * given["q"].astype(numpy.float64) @ given["k"].T.astype(numpy.float64)
            assert_close(result, softmax(scores if number > 0 else scores - numpy.inf) @ given["v"], number)


def test_one_order_of_bits(compiler):
    """Whatever the number of threads, and one batch row by itself."""
    library = compiler.library(text()).prepare({})
    given = inputs_of(numpy.random.default_rng(175), 3, 33, 70)
    one, *others = [library.context(threads).run(**given) for threads in (1, 2, 3, 7)]
    shared = ("queries", "bias", "slope", "table", "of_heads", "head_first", "least")
    apart = {n: a if n in shared else a[1:2] for n, a in given.items()}
    apart["queries"] = given["queries"][:, 1:2]
    others.append(library.run(**apart))
    for name in one:
        for other in others[:-1]:
            numpy.testing.assert_array_equal(other[name], one[name], name)
        numpy.testing.assert_array_equal(others[-1][name], one[name][1:2], name)


def test_memory_grows_with_the_queries_alone(compiler):
    """No matrix of scores, nor one that a text makes of indices: 256 MiB at the largest size."""
    scores = ["s", "where({c}, s, -inf)", "s + where({c}, 0, -1000000000)", "s + take(table, clamp(j - i, -4, 4) + 4)"]
    maps = [f"softmax({text.format(c='j <= i')})" for text in scores]
    maps += ["softmax(s) - 0.5 * softmax(2 * s)", "sigmoid(s)", "s * where(j <= i, 0.9 ** (i - j), 0)"]
    lines = "".join(
        f"  s = {index + 1} * (q @ k.T)\n  y = y + ({text}) @ v\n" for index, text in enumerate(maps)
    )
    library = compiler.library(
        "model m(q: [T, 64], k: [S, 64], v: [S, 64], table: [9]) -> [T, 64] {\n"
        f"  i = arange(T)[:, None]\n  j = arange(S)[None, :]\n  y = 0\n{lines}  return y\n}}\n"
    ).prepare({})
    context = library.context()
    sizes = {}
    for size in (2048, 8192):
        array = numpy.zeros((size, 64), numpy.float32)
        given = {"q": array, "k": array, "v": array, "table": numpy.zeros(9, numpy.float32)}
        sizes[size] = context.workspace_size(**given)
    assert sizes[8192] < 32 << 20, sizes
    assert sizes[8192] < 4.4 * sizes[2048], sizes
