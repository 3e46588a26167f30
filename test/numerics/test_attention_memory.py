# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that attentions take beside their inputs and results: what grows with their length,
never a matrix of scores. Nothing runs here: a context says how large a workspace a run needs."""

import re

import numpy
import pytest
from conftest import ROOT
from test_attention_variants import BODIES, declared

WIDTH, LENGTH = 64, 8192
LIMIT = 16 << 20
# Of one head. A matrix of scores would take 256 MiB at the full length, one of bits 8.
SHAPES = {
    **dict.fromkeys(("q", "other_q"), f"[T, {WIDTH}]"),
    **dict.fromkeys(("k", "other_k", "v"), f"[S, {WIDTH}]"),
    "w": f"[{WIDTH}]", "w2": f"[{WIDTH}]", "slope": "[]", "g": "[T, 1]", "b": "[T, S]", "c": "[1, S]",
    "many_q": f"[T, {3 * WIDTH}]", "many_k": f"[S, {3 * WIDTH}]", "mix": "[T, 3]",
    "table": "[257]", "buckets": "[32]", "prefix": "i64[]",
    "n": "i64[]", "m": "bool[T, S]", "qs": "i64[T]", "ks": "i64[S]",
}  # fmt: skip
# Beside the variants: the core of the library, and what a call may hide or give.
CALLS = {
    "plain": "dot_product(q, k, v",
    "causal": "dot_product(q, k, v, causal=true",
    "window": "dot_product(q, k, v, causal=true, window=(128, 0)",
    "lengths": "dot_product(q, k, v, causal=true, offset=prefix, lengths=n",
    "mask": "dot_product(q, k, v, mask=m",
    "bias": "dot_product(q, k, v, bias=b",
    "segments": "dot_product(q, k, v, segments=(qs, ks)",
    "folded": "diff_window(q, k, v",
    "folded_causal": "diff_window(q, k, v, width=5, causal=true",
    "not_folded": "diff_window(q, k, v, mask=m",
    "differential": "differential(q, other_q, k, other_k, v, g",
    "differential_of_one_key": "differential(q, other_q, k, k, v, 0.5, causal=true",
}
LINES, VARIANTS = declared(BODIES)
CALLS |= VARIANTS
# Some unlike ones in each model, but for those with many panels: together they keep the limit of one.
LARGE = ["maps_of_several_values", "mixed_maps"]
OTHERS = [name for name in CALLS if name not in LARGE]
GROUPS = [*([name] for name in LARGE), *(OTHERS[first::8] for first in range(8))]


def text(names):
    calls = [CALLS[name] for name in names]
    words = set(re.findall(r"\w+", " ".join(calls)))
    inputs = ", ".join(f"{name}: {shape}" for name, shape in SHAPES.items() if name in words)
    results = ", ".join(f"{name}_y: [T, {WIDTH}]" for name in names)
    values = ",\n      ".join(f"{call})" for call in calls)
    return "\n".join(LINES) + f"\nmodel m({inputs}) -> ({results}) {{\n  return {values}\n}}\n"


def workspace(library, length, threads):
    """Bytes; arrays that nobody writes take no memory themselves."""
    sizes = {"T": length, "S": length}
    elements = {"f32": numpy.float32, "i64": numpy.int64, "bool": bool}
    given = {
        d["name"]: numpy.zeros([sizes.get(size, size) for size in d["shape"]], elements[d["element"]])
        for d in library.inputs
    }
    context = library.context(threads)
    size = context.workspace_size(**given)
    context.close()
    return size


def test_every_attention_of_the_library_is_here():
    library = (ROOT / "frontend" / "library" / "attention.gf").read_text()
    called = {call.partition("(")[0] for call in CALLS.values()}
    assert not set(re.findall(r"^attention (\w+)", library, re.M)) - called


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_memory_grows_with_the_length(compiler, names):
    """Panels of keys and values, and a block of rows for each thread."""
    library = compiler.library(text(names)).prepare({})
    half, whole = (workspace(library, length, 1) for length in (LENGTH // 2, LENGTH))
    assert whole < LIMIT, (names, whole)
    assert whole < 2.1 * half, (names, half, whole)
    # Those of the model together; one alone takes half of this.
    more = (workspace(library, LENGTH, 9) - whole) / 8
    assert more < 2 << 20, (names, more)


# Unlike ones; by what they take: one row of scores for each query, two, or more. Those that sort, or
# have more maps than two, take more than the limit.
MANY = {
    **dict.fromkeys(["plain", "mask", "soft_capped"], LIMIT),
    **dict.fromkeys(["differential", "folded_causal", "not_folded"], LIMIT),
    **dict.fromkeys(["sparse", "mixed_maps"], 18 << 20),
}


@pytest.mark.parametrize("name", MANY)
def test_memory_of_many_threads(compiler, name):
    """The limit holds for 16 threads: where there are many keys a block has few queries."""
    library = compiler.library(text([name])).prepare({})
    assert workspace(library, LENGTH, 16) < MANY[name]
