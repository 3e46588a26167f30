# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of which all is known before a run: sizes, offset and window, at random. What is
computed of these is folded, and blocks begin and end at numbers: before the first key, behind the
last, at none. Keys that no query sees hold no numbers."""

import random

import attention_references as attentions
import numpy
import pytest

CALLS = {
    "dot_product": "dot_product(q, k, v{})",
    "diff_window 3": "diff_window(q, k, v, width=3{})",
    "diff_window 5": "diff_window(q, k, v, width=5{})",
    "differential": "differential(q, -q, k, k, v, 0.3{})",
    "alibi": "alibi(q, k, v, 0.1{})",
}
WIDTH, VALUES = 8, 5


def choose(name, number):
    """Queries, keys, restrictions and options of a call."""
    choice = random.Random(f"{name} {number}").choice
    queries, keys = choice((1, 2, 9, 17, 40, 130)), choice((1, 3, 7, 16, 45, 100))
    restrictions, options = {}, ""
    if choice((True, False, False)):
        restrictions["causal"] = True
        options += ", causal=true"
    if choice((True, True, False)):
        restrictions["window"] = window = (choice((0, 2, 9, 20)), choice((0, 1, 4, 30)))
        options += f", window={window}"
    offset = choice((None, -40, -5, 0, 1, 18, 60))
    if offset is not None:
        restrictions["offset"] = offset
        options += f", offset=0 - {-offset}" if offset < 0 else f", offset={offset}"
    return queries, keys, restrictions, options


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("name", CALLS)
def test_hidden_keys(compiler, name, number):
    queries, keys, restrictions, options = choose(name, number)
    source = f"""import attention
model m(q: [2, {queries}, {WIDTH}], k: [2, {keys}, {WIDTH}], v: [2, {keys}, {VALUES}]) -> [2, {queries}, {VALUES}] {{
  return {CALLS[name].format(options)}
}}
"""
    generator = numpy.random.default_rng(number)
    given = {
        "q": generator.standard_normal((2, queries, WIDTH)).astype("f4"),
        "k": generator.standard_normal((2, keys, WIDTH)).astype("f4"),
        "v": generator.standard_normal((2, keys, VALUES)).astype("f4"),
    }
    expected = compiler.library(source, "--naive").prepare({}).run(**given)["output"]
    hidden = ~attentions.visible(queries, keys, **restrictions).any(axis=0)
    for matrix in ("k", "v"):
        given[matrix] = given[matrix].copy()
        given[matrix][:, hidden] = numpy.nan
    found = compiler.library(source).prepare({}).run(**given)["output"]
    numpy.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5, err_msg=source)
