# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Log-sum-exps and weights of every attention of the library, against float64: of its maps, each written as
scores, the keys that it sees and its sink."""

import re

import attention_references as attentions
import numpy
import pytest
import test_attention_variants as variants
from attention_references import neighbour_difference, tanh, top_k
from conftest import ATOL, RTOL, lengths_of
from test_attention_variants import HEADS, VALUES, bucket, scores
from test_fast_against_naive import ATTENTIONS
from test_half_attentions import CORE

# These have no softmax, hence neither.
WITHOUT = ("sigmoid_dot_product",)
# These have no form in blocks of keys.
ONLY_RESIDENT = ("sparse", "sparse_dot_product")


def additive(n):
    return tanh(n.q[:, None, :] + n.k[None, :, :]) @ n.w


def scaled(n, scale):
    return (n.q * scale * n.w2) @ n.k.T / numpy.sqrt(n.q.shape[1])


def of_largest(n, temperatures, **kept):
    largest = top_k(scores(n), n.seen, **kept)
    return [(temperature * scores(n), largest) for temperature in temperatures]


def mixed(n):
    queries, keys = (numpy.split(array, variants.MAPS, axis=1) for array in (n.many_q, n.many_k))
    return [(attentions.scores(q, k), n.seen) for q, k in zip(queries, keys, strict=True)]


def relative(n):
    reach = len(n.table) // 2
    return n.table[numpy.clip(n.column - n.position, -reach, reach) + reach]


def bucketed(n):
    places = [
        [bucket(j - i, variants.BUCKETS, 20, True) for j in n.column[0]] for i in n.position[:, 0]
    ]
    return n.buckets[numpy.array(places, int).reshape(n.seen.shape)]


# name: of each softmax, in the order of the text, its scores, what it sees, and its sink.
MAPS = {
    "dot_product": lambda n: [(scores(n), n.seen)],
    "diff_window": lambda n: [(scores(n) + neighbour_difference(scores(n), n.seen, 3), n.seen)],
    "differential": lambda n: [(scores(n), n.seen), (-scores(n), n.seen)],
    "additive": lambda n: [(additive(n), n.seen)],
    "scaled": lambda n: [(scaled(n, n.w), n.seen), (scaled(n, n.w2), n.seen)],
    "sparse": lambda n: of_largest(n, (1, 0.5), fraction=0.5),
    "alibi": lambda n: [(scores(n) - n.slope * abs(n.position - n.column), n.seen)],
    "soft_capped": lambda n: [(2 * tanh(scores(n) / 2), n.seen)],
    "sparse_dot_product": lambda n: of_largest(n, (1,), count=3),
    "mixed_maps": mixed,
    "with_sink": lambda n: [(scores(n), n.seen, n.slope)],
    "streaming": lambda n: [(scores(n), n.seen & ((n.column < 2) | (n.position - n.column < 3)))],
    "prefix_causal": lambda n: [(scores(n), n.seen & ((n.column < n.prefix) | (n.column <= n.position)))],
    "relative_bias": lambda n: [(scores(n) + relative(n), n.seen)],
    "bucketed_bias": lambda n: [(n.q @ n.k.T + bucketed(n), n.seen)],
}
BODIES = {name: (CORE | variants.BODIES)[name] for name in MAPS}
COUNTS = dict.fromkeys(MAPS, 1) | {"differential": 2, "scaled": 2, "sparse": 2, "mixed_maps": variants.MAPS}
SHAPES = variants.SHAPES | {"lengths": "i64[B]", "offset": "i64[B]"}
RUNS = [(2, 3, 7), (1, 17, 17), (3, 1, 1), (1, 3, 65), (1, 2, 130), (2, 3, 0), (1, 0, 4)]


def text(names, log, with_weights):
    _, calls = variants.declared({name: BODIES[name] for name in names})
    lines, results = [], []
    for name, call in calls.items():
        targets = [[f"{name}_lse{i}" for i in range(COUNTS[name])]]
        types = {f"{name}_y": f"[B, {HEADS}, T, {VALUES}]"}
        types |= dict.fromkeys(targets[0], f"{log}[B, {HEADS}, T]")
        if with_weights:
            targets.append([f"{name}_map{i}" for i in range(COUNTS[name])])
            types |= dict.fromkeys(targets[1], f"[B, {HEADS}, T, S]")
        left = ", ".join(f"({', '.join(t)})" if len(t) > 1 else t[0] for t in targets)
        more = ", weights=true" if with_weights else ""
        options = f"lengths=lengths, offset=offset, causal=true, lse=true{more}"
        lines.append(f"  {name}_y, {left} = {call}, {options})")
        results += [f"{result}: {shape}" for result, shape in types.items()]
    inputs = ", ".join(f"{name}: {shape}" for name, shape in SHAPES.items())
    values = ", ".join(result.partition(":")[0] for result in results)
    head = f"import attention\n\nmodel m({inputs}) ->\n    ({', '.join(results)}) {{"
    return "\n".join([head, *lines, f"  return {values}", "}", ""])


def expected_of(name, head):
    """Every result of one head."""
    expected = {"y": BODIES[name][2](head)}
    for i, of_map in enumerate(MAPS[name](head)):
        expected[f"lse{i}"] = attentions.log_sum_exp(*of_map)
        expected[f"map{i}"] = attentions.softmax(*of_map)
    assert len(expected) == 1 + 2 * COUNTS[name]
    return expected


def check(library, names, dtype, rtol, atol):
    generator = numpy.random.default_rng(61)
    for batch, queries, keys in RUNS:
        inputs = variants.random_inputs(generator, batch, queries, keys)
        given = {n: a if n == "prefix" else a.astype(dtype) for n, a in inputs.items()}
        given["lengths"] = lengths_of(generator, batch, keys)
        given["offset"] = generator.integers(-2, keys + 2, batch)
        found = library.run(**given)
        for b, h in numpy.ndindex(batch, HEADS):
            seen = attentions.visible(
                queries, keys, causal=True, offset=given["offset"][b], length=given["lengths"][b]
            )
            head = variants.Head(inputs, b, h, seen, seen.any(axis=0), given["offset"][b])
            for name in names:
                for result, expected in expected_of(name, head).items():
                    if f"{name}_{result}" not in found:
                        continue
                    numpy.testing.assert_allclose(
                        found[f"{name}_{result}"][b, h].astype(numpy.float64), expected, rtol, atol,
                        err_msg=str((name, result, batch, queries, keys, b, h)),
                    )  # fmt: skip


def test_all_of_the_library_are_here():
    called = {re.match(r"\w+", body).group() for _, body, _ in BODIES.values()}
    assert called | set(WITHOUT) == set(ATTENTIONS)


# name: elements, their tolerances, what has no such form, whether weights are results, options of the driver.
PATHS = {
    "resident": ("f32", RTOL, ATOL, (), True, []),
    "online": ("f32", RTOL, ATOL, ONLY_RESIDENT, False,
               ["--schedule", "attention.algorithm=online,attention.key_block=64"]),
    "naive in f64": ("f64", 2e-12, 2e-12, (), True, ["--naive"]),
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_statistics(compiler, path):
    element, rtol, atol, without, with_weights, options = PATHS[path]
    names = [name for name in MAPS if name not in without]
    library = compiler.library(text(names, element, with_weights), "--float", element, *options).prepare({})
    check(library, names, {"f32": numpy.float32, "f64": numpy.float64}[element], rtol, atol)
