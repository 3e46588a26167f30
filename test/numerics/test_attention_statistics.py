# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Log-sum-exps and weights that attentions return, against float64: of every algorithm, for rows
that see nothing, with sinks far above all scores, with grouped heads."""

import attention_references as attentions
import numpy
import pytest
from conftest import ATOL, RTOL, lengths_of
from halves import TOLERANCES, rounded

WIDTH, VALUES = 5, 7
TEXT = """
import attention

attention two(q: [T, D], k: [S, D], v: [S, E], z: [], g: [T, 1]) -> [T, E] {
  s = q @ k.T / sqrt(D)
  return softmax(s, sink=z) @ v - softmax(tanh(s), where=col % 3 != 1, sink=g) @ v
}

model m(q: [B, 4, T, 5], k: [B, 2, S, 5], v: [B, 2, S, 7], z: [], g: [B, 1, T, 1],
        n: i64[B], o: i64[B], d: [B, 1, T, S]) -> RESULTS {
  return CALLS
}
"""
CALLS = {
    "plain": "dot_product(q, k, v, gqa=true, bias=d",
    "causal": "dot_product(q, k, v, gqa=true, causal=true, lengths=n, offset=o",
    "two": "two(q, k, v, z, g, gqa=true, window=(40, 2), lengths=n",
}
# Of each call: results, beside the first one, with lse and with weights.
LOGS = {"plain": ["plain_lse"], "causal": ["causal_lse"], "two": ["two_lse0", "two_lse1"]}
MAPS = {name: [log.replace("lse", "map") for log in logs] for name, logs in LOGS.items()}
SIZES = [(2, 1, 1), (3, 5, 7), (1, 33, 65), (2, 3, 130), (2, 3, 0), (1, 0, 5)]


def text(with_logs, with_maps, log="f32"):
    """A model with every call, each of which gives its log-sum-exps, its weights, or both."""
    lines, names, types = [], [], []
    for name, call in CALLS.items():
        def targets(all_names):
            return all_names[0] if len(all_names) == 1 else f"({', '.join(all_names)})"

        given = [name]
        names.append(name)
        types.append(f"{name}: [B, 4, T, {VALUES}]")
        if with_logs:
            given.append(targets(LOGS[name]))
            names += LOGS[name]
            types += [f"{x}: {log}[B, 4, T]" for x in LOGS[name]]
            call += ", lse=true"
        if with_maps:
            given.append(targets(MAPS[name]))
            names += MAPS[name]
            types += [f"{x}: [B, 4, T, S]" for x in MAPS[name]]
            call += ", weights=true"
        lines.append(f"  {', '.join(given)} = {call})")
    whole = TEXT.replace("RESULTS", f"({', '.join(types)})")
    return whole.replace("  return CALLS", "\n".join(lines) + f"\n  return {', '.join(names)}")


def inputs_of(generator, batch, queries, keys):
    def normal(*shape):
        return generator.standard_normal(shape).astype(numpy.float32)

    bias = normal(batch, 1, queries, keys)
    bias[generator.random(bias.shape) < 0.3] = -numpy.inf
    return {
        "q": 3 * normal(batch, 4, queries, WIDTH), "k": normal(batch, 2, keys, WIDTH),
        "v": normal(batch, 2, keys, VALUES),
        # Sinks far above and far below every score.
        "z": numpy.array(200, numpy.float32), "g": 40 * normal(batch, 1, queries, 1),
        "n": lengths_of(generator, batch, keys), "o": generator.integers(-3, keys + 2, batch),
        "d": bias,
    }  # fmt: skip


def expected_of(given, b, h):
    """Of one head, every result by its name."""
    wide = {name: array.astype(numpy.float64) for name, array in given.items()}
    q, k, v = wide["q"][b, h], wide["k"][b, h // 2], wide["v"][b, h // 2]
    queries, keys = len(q), len(k)
    s, length = attentions.scores(q, k), int(given["n"][b])
    result = {}

    def add(name, scores, seen, sinks, number=""):
        result[f"{name}_map{number}"] = attentions.softmax(scores, seen, sinks)
        result[f"{name}_lse{number}"] = attentions.log_sum_exp(scores, seen, sinks)
        return attentions.weigh(result[f"{name}_map{number}"], v)

    with attentions.added_bias(wide["d"][b, 0]):
        result["plain"] = add("plain", s, attentions.visible(queries, keys), None)
    seen = attentions.visible(queries, keys, causal=True, offset=int(given["o"][b]), length=length)
    result["causal"] = add("causal", s, seen, None)
    seen = attentions.visible(queries, keys, window=(40, 2), length=length)
    some = seen & (numpy.arange(keys)[None, :] % 3 != 1)
    result["two"] = add("two", s, seen, wide["z"], "0")
    result["two"] = result["two"] - add("two", numpy.tanh(s), some, wide["g"][b, 0], "1")
    return result


def check(library, seed, tolerances=(RTOL, ATOL), given_as=lambda x: x, sizes=SIZES, scale=1):
    library.prepare({})
    for batch, queries, keys in sizes:
        given = inputs_of(numpy.random.default_rng(seed), batch, queries, keys)
        given = {name: given_as(array) for name, array in given.items()}
        found = library.run(**given)
        for b in range(batch):
            for h in range(4):
                for name, expected in expected_of(given, b, h).items():
                    if name not in found:
                        continue
                    numpy.testing.assert_allclose(
                        found[name][b, h].astype(numpy.float64), expected,
                        tolerances[0], scale * tolerances[1], err_msg=str((name, batch, queries, keys)),
                    )  # fmt: skip


OF_EVERY_ALGORITHM = {
    "naive": ["--schedule", "attention.algorithm=naive"],
    "resident": [],
    "online": ["--schedule", "attention.algorithm=online,attention.key_block=64,attention.query_block=18"],
}


@pytest.mark.parametrize("algorithm", OF_EVERY_ALGORITHM)
def test_log_sum_exp(compiler, algorithm):
    check(compiler.library(text(True, False), *OF_EVERY_ALGORITHM[algorithm]), 1)


@pytest.mark.parametrize("algorithm", ["naive", "resident"])
def test_both(compiler, algorithm):
    check(compiler.library(text(True, True), *OF_EVERY_ALGORITHM[algorithm]), 2)


def test_weights_alone(compiler):
    check(compiler.library(text(False, True)), 3, sizes=SIZES[1:2])


@pytest.mark.parametrize("element", TOLERANCES)
def test_in_half_floats(compiler, element):
    """The log-sum-exp is f32; weights are rounded as results are."""
    library = compiler.library(text(True, True), "--float", element)
    check(library, 5, TOLERANCES[element], lambda x: rounded(x, element), SIZES[1:3], scale=6)


def test_in_f64(compiler):
    library = compiler.library(text(True, True, "f64"), "--float", "f64")
    check(library, 4, (1e-12, 1e-12), lambda x: x.astype(numpy.float64) if x.dtype.kind == "f" else x)
