# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every attention of the library over a cache of keys and values: token by token, or in chunks, the
bits of the whole sequence, whatever stands where nothing was written."""

import re

import numpy
from conftest import random_weights
from test_fast_against_naive import ATTENTIONS

LENGTH = 17
CUTS = [[1] * LENGTH, [9, 1, 1, 6], [0, 16, 1]]
CAPACITIES = (LENGTH, 40)
# Calls on queries, KEYS and VALUES of a head.
CALLS = {
    "dot_product": "dot_product(q, KEYS, VALUES",
    "window": "dot_product(q, KEYS, VALUES, window=(3, 0)",
    "additive": "additive(q, KEYS, VALUES, w",
    "diff_window": "diff_window(q, KEYS, VALUES, width=5",
    "differential": "differential(q, q * w, KEYS, KEYS * w, VALUES, 0.5",
    "scaled_differential": "scaled_differential(q, KEYS, VALUES, w, w, 2 * w, w",
    "sparse_differential": "sparse_differential(q, KEYS, VALUES",
    "alibi": "alibi(q, KEYS, VALUES, slope",
    "soft_capped": "soft_capped(q, KEYS, VALUES, cap=2",
    "sparse_dot_product": "sparse_dot_product(q, KEYS, VALUES, count=3",
    "mixed_maps": "mixed_maps(q, KEYS, VALUES, mix(x)[:, None]",
    "sigmoid_dot_product": "sigmoid_dot_product(q, KEYS, VALUES, -1",
    "with_sink": "with_sink(q, KEYS, VALUES, slope",
    "streaming": "streaming(q, KEYS, VALUES, first=2, recent=3",
    "prefix_causal": "prefix_causal(q, KEYS, VALUES, 2",
    "relative_bias": "relative_bias(q, KEYS, VALUES, table",
    "bucketed_bias": "bucketed_bias(q, KEYS, VALUES, buckets, max_distance=12",
}
RESULTS = ", ".join(f"{name}_y: [B, 2, T, 4]" for name in CALLS)
SHARED = """
  param to_q: linear(N=8), to_k: linear(N=8), to_v: linear(N=8), mix: linear(N=2)
  param w: [4], slope: [2], table: [7], buckets: [8]
  q = rotary(split_heads(to_q(x), 2), positions=PLACES)
  k = rotary(split_heads(to_k(x), 2), positions=PLACES)
  v = split_heads(to_v(x), 2)
"""


def calls(options, **names):
    text = ",\n      ".join(f"{call}, {options})" for call in CALLS.values())
    for name, value in names.items():
        text = text.replace(name, value)
    return f"  return {text}\n}}\n"


TEXT = f"""
import attention

model whole(x: [B, T, 6]) -> ({RESULTS}) {{{SHARED.replace("PLACES", "arange(T)")}
{calls("causal=true", KEYS="k", VALUES="v")}
model steps(x: [B, T, 6], n: i64[]) -> ({RESULTS}) {{
  state keys: [B, 2, C, 4], values: [B, 2, C, 4]{SHARED.replace("PLACES", "n + arange(T)")}
  keys' = append(keys, k, at=n)
  values' = append(values, v, at=n)
{calls("causal=true, offset=n", KEYS="keys'", VALUES="values'")}"""


def test_all_of_the_library_are_here():
    assert {re.match(r"\w+", call).group() for call in CALLS.values()} == set(ATTENTIONS)


def test_steps_give_what_the_whole_gives(compiler):
    whole, steps = (compiler.library(TEXT, "--entry", entry) for entry in ("whole", "steps"))
    generator = numpy.random.default_rng(41)
    weights = random_weights(whole, generator)
    whole.prepare(weights)
    steps.prepare(weights)
    x = generator.normal(size=(2, LENGTH, 6)).astype(numpy.float32)
    expected = whole.run(x=x)
    for cut in CUTS:
        for capacity in CAPACITIES:
            states = {
                name: numpy.full((2, 2, capacity, 4), numpy.nan, numpy.float32) for name in ("keys", "values")
            }
            done = 0
            for size in cut:
                part = slice(done, done + size)
                found = steps.run(x=x[:, part], n=numpy.int64(done), **states)
                states = {name: found[name] for name in states}
                for name in expected:
                    numpy.testing.assert_array_equal(
                        found[name], expected[name][:, :, part], f"{name} {cut} {done} {capacity}"
                    )
                done += size
            assert done == LENGTH
            for array in states.values():
                assert numpy.isnan(array[:, :, LENGTH:]).all() and numpy.isfinite(array[:, :, :LENGTH]).all()
    assert all(numpy.isfinite(array).all() for array in expected.values())
