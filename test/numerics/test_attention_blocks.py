# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bits of a query's row do not depend on which other queries, heads or rows of a batch are
computed with it, on how many make a block, or on how a sequence is cut into chunks."""

import numpy
import pytest
from conftest import assert_close

# name: queries, keys and others; the call
ATTENTIONS = {
    "dot_product": (["q"], ["k", "v"], [], ""),
    "differential": (["q", "p"], ["k", "j", "v"], ["l"], ""),
    "diff_window": (["q"], ["k", "v"], [], ", width=5"),
    "sparse_differential": (["q"], ["k", "v"], [], ""),
    "alibi": (["q"], ["k", "v"], ["s"], ""),
    "additive": (["q"], ["k", "v"], ["w"], ""),
}
# Beside what is chosen; three blocks of keys, where there is a form in such.
ALGORITHMS = {
    "resident": [],
    "online": ["--schedule", "attention.algorithm=online,attention.key_block=64"],
}
# Schedules where each query is a block.
ONE_QUERY = [
    "attention.query_block=1",
    "attention.algorithm=online,attention.query_block=1,attention.key_block=64",
]
VIEWS = {
    "causal": ", causal=true",
    "window": ", window=(70, 0)",
    "causal with lengths": ", causal=true, lengths=n",
}


def text(name, options):
    queries, keys, others, settings = ATTENTIONS[name]
    inputs = [f"{q}: [B, H, T, 7]" for q in queries]
    inputs += [f"{k}: [B, H, S, {5 if k == 'v' else 7}]" for k in keys]
    inputs += [{"l": "l: [B, H, T, 1]", "s": "s: []", "w": "w: [7]"}[o] for o in others]
    arguments = ", ".join([*queries, *keys, *others]) + settings + options + ", offset=o"
    return (
        f"import attention\nmodel m({', '.join(inputs)}, n: i64[B], o: i64[B]) -> [B, H, T, 5] {{\n"
        f"  return {name}({arguments})\n}}\n"
    )


def inputs_of(name, generator, batch, heads, size):
    queries, keys, others, _ = ATTENTIONS[name]
    widths = dict.fromkeys([*queries, *keys], 7) | {"v": 5, "l": 1}
    made = {
        n: generator.normal(size=(batch, heads, size, widths[n])).astype(numpy.float32)
        for n in [*queries, *keys, *(o for o in others if o == "l")]
    }
    if "s" in others:
        made["s"] = numpy.float32(0.1)
    if "w" in others:
        made["w"] = generator.normal(size=7).astype(numpy.float32)
    made["n"] = generator.integers(size // 2, size + 1, batch)
    made["o"] = numpy.zeros(batch, int)
    return made


def part(name, given, rows=slice(None), keys=slice(None), heads=slice(None), batch=slice(None)):
    queries, key_names, others, _ = ATTENTIONS[name]
    cut = {}
    for n, array in given.items():
        if n in queries or n == "l":
            array = array[batch, heads, rows]
        elif n in key_names:
            array = array[batch, heads, keys]
        elif n in ("n", "o"):
            array = array[batch]
        cut[n] = array if array.ndim == 0 else numpy.ascontiguousarray(array)
    return cut


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "algorithm, name",
    [(a, n) for a in ALGORITHMS for n in ATTENTIONS if (a, n) != ("online", "sparse_differential")],
)
def test_parts_have_the_bits_of_the_whole(compiler, algorithm, name, view):
    library = compiler.library(text(name, VIEWS[view]), *ALGORITHMS[algorithm]).prepare({})
    generator = numpy.random.default_rng(120)
    size = 150
    given = inputs_of(name, generator, 2, 2, size)
    whole = library.run(**given)["output"]
    assert numpy.isfinite(whole).all() and (whole != 0).any()

    def check(rows, **others):
        cut = part(name, given, rows=rows, **others)
        cut["o"] = cut["o"] + rows.start
        keys = cut["k"].shape[2]
        cut["n"] = numpy.minimum(cut["n"], keys)
        heads, batch = others.get("heads", slice(None)), others.get("batch", slice(None))
        numpy.testing.assert_array_equal(
            library.run(**cut)["output"], whole[batch, heads, rows], str((rows, others))
        )

    # Single queries, and blocks that begin anywhere, of one head or one row of the batch.
    for row in (0, 1, 29, 30, 64, 149):
        check(slice(row, row + 1))
    check(slice(7, 90), heads=slice(1, 2))
    check(slice(100, 150), batch=slice(0, 1))
    # Chunks: a query's keys are those before it, and no more exist yet. Neither the window nor
    # causality sees others.
    start = 0
    for end in (1, 38, 64, 65, 130, 150):
        check(slice(start, end), keys=slice(0, end))
        start = end


@pytest.mark.parametrize("algorithm", ["resident", "online"])
@pytest.mark.parametrize("name", ["dot_product", "differential"])
def test_the_block_of_queries_does_not_matter(compiler, name, algorithm):
    source = text(name, ", causal=true")
    given = inputs_of(name, numpy.random.default_rng(121), 1, 2, 167)
    chosen = f"attention.algorithm={algorithm}" + ",attention.key_block=64" * (algorithm == "online")
    libraries = [
        compiler.library(source, "--schedule", f"{chosen},attention.query_block={rows}").prepare({})
        for rows in (1, 5, 24, 100)
    ]
    first, *others = [library.run(**given)["output"] for library in libraries]
    for other in others:
        numpy.testing.assert_array_equal(other, first)
    naive = compiler.library(source, "--naive").prepare({})
    assert_close(first, naive.run(**given)["output"])


@pytest.mark.parametrize("name", ["dot_product", "differential"])
def test_threads_share_blocks(compiler, name):
    """Long enough for several threads to be worth it."""
    library = compiler.library(text(name, ", causal=true"), *ALGORITHMS["online"]).prepare({})
    given = inputs_of(name, numpy.random.default_rng(122), 2, 2, 500)
    one, *others = [library.context(threads).run(**given)["output"] for threads in (1, 2, 3)]
    for other in others:
        numpy.testing.assert_array_equal(other, one)


def test_memory_grows_with_the_keys_alone(compiler):
    """Keys and values in panels and a block of rows: no matrix of scores."""
    library = compiler.library(
        "import attention\nmodel m(q: [T, 64], k: [S, 64], v: [S, 64]) -> [T, 64] {\n"
        "  return dot_product(q, k, v)\n}\n"
    ).prepare({})
    context = library.context()
    sizes = {}
    for size in (1024, 4096, 8192):
        array = numpy.zeros((size, 64), numpy.float32)
        sizes[size] = context.workspace_size(q=array, k=array, v=array)
    assert sizes[8192] < 16 << 20, sizes
    assert sizes[8192] < 2.1 * sizes[4096] < 8.8 * sizes[1024]


def test_each_of_two_known_queries_alone(compiler):
    """So few have no panels of keys, but where each is a block of its own."""
    source = """import attention
attention raw(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  return where(visible, q @ k.T, 0) @ v
}
model m(q: [B, 2, 7], k: [B, S, 7], v: [B, S, 5], n: i64[B]) -> (a: [B, 2, 5], b: [B, 2, 5]) {
  return dot_product(q, k, v, causal=true), raw(q, k, v, lengths=n)
}
"""
    generator = numpy.random.default_rng(5)
    given = {
        "q": generator.normal(size=(2, 2, 7)).astype(numpy.float32),
        "k": generator.normal(size=(2, 150, 7)).astype(numpy.float32),
        "v": generator.normal(size=(2, 150, 5)).astype(numpy.float32),
        "n": numpy.array([150, 3]),
    }
    options = [("--naive",), *(("--schedule", schedule) for schedule in ONE_QUERY)]
    naive, *others = (compiler.library(source, *each).prepare({}).run(**given) for each in options)
    for found in others:
        for name in ("a", "b"):
            numpy.testing.assert_allclose(found[name], naive[name], rtol=2e-5, atol=2e-5)
