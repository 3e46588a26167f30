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
  bias: [T, S], mask: bool[B, 1, 1, S], slope: [{HEADS}, 1, 1], shift: [B, {HEADS}, T, 1]"""

# name: a text, and its scores in NumPy, of which -inf hides a key. Each has queries of its
# own, since equal products would become one that all read.
WRITTEN = {
    "plain": ("softmax(q @ k.T) @ v", lambda n: n["s"]),
    "scaled": ("softmax(q @ k.T / sqrt(5)) @ v", lambda n: n["s"] / numpy.sqrt(5)),
    "before": ("softmax((q * 0.3) @ k.T) @ v", lambda n: n["s"] * 0.3),
    "turned": ("softmax(q @ k.T) @ turned.T", lambda n: n["s"]),
    "biased": ("softmax(0.5 * (q @ k.T) + bias) @ v", lambda n: 0.5 * n["s"] + n["bias"]),
    "masked": ("softmax(q @ k.T, where=mask) @ v", lambda n: numpy.where(n["mask"], n["s"], -numpy.inf)),
    "hidden": ("softmax(where(mask, q @ k.T, -inf)) @ v", lambda n: numpy.where(n["mask"], n["s"], -numpy.inf)),
    "mixed": ("softmax(slope * tanh(q @ k.T) - shift) @ v",
              lambda n: n["slope"] * numpy.tanh(n["s"]) - n["shift"]),
    "twice": ("softmax(q @ k.T + (q * 0.1) @ (2 * k).T) @ v", lambda n: 1.2 * n["s"]),
    "causal": ("softmax(where(arange(T)[:, None] >= arange(S)[None, :], q @ k.T, -inf)) @ v",
               lambda n: numpy.where(numpy.tri(*n["s"].shape[-2:], dtype=bool), n["s"], -numpy.inf)),
}  # fmt: skip


def softmax(scores):
    """Of each row; 0 where every score is -inf."""
    largest = scores.max(axis=-1, keepdims=True, initial=-numpy.inf)
    powers = numpy.exp(scores - numpy.where(largest == -numpy.inf, 0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / numpy.where(total == 0, 1, total)


def text():
    results = ", ".join(f"{n}_y: [B, {HEADS}, T, {VALUES}]" for n in [*WRITTEN, "library"])
    lines = "".join(
        f"  q = queries[{i}]\n  {name}_y = {line}\n" for i, (name, (line, _)) in enumerate(WRITTEN.items())
    )
    returned = ", ".join(f"{n}_y" for n in [*WRITTEN, "library"])
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
    return {name: array.astype(numpy.float32) for name, array in given.items()} | {"mask": mask}


def expected_of(given):
    n = {name: a.astype(numpy.float64) if a.dtype.kind == "f" else a for name, a in given.items()}
    for name, (_, scores), q in zip(WRITTEN, WRITTEN.values(), n["queries"]):
        n["s"] = q @ n["k"].swapaxes(-1, -2)
        yield name, softmax(scores(n)) @ n["v"]


def test_each_becomes_an_attention(tmp_path):
    (tmp_path / "m.gf").write_text(text())
    command = [GATEFOLD, "compile", tmp_path / "m.gf", "--emit", "fuse", "-o", "-"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.count("= gf.attention ") == len(WRITTEN) + 1
    assert "linalg.contract" not in found


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
    library = compiler.library(text(), "--float", "f16").prepare({})
    given = inputs_of(numpy.random.default_rng(173), 2, 7, 17)
    given = {name: rounded(array, "f16") for name, array in given.items()}
    passed = {n: a.astype(numpy.float16) if a.dtype.kind == "f" else a for n, a in given.items()}
    found = library.run(**passed)
    for name, expected in expected_of(given):
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


def test_one_order_of_bits(compiler):
    """Whatever the number of threads, and one batch row by itself."""
    library = compiler.library(text()).prepare({})
    given = inputs_of(numpy.random.default_rng(175), 3, 33, 70)
    one, *others = [library.context(threads).run(**given) for threads in (1, 2, 3, 7)]
    apart = {n: a[1:2] if n in ("k", "v", "turned", "mask", "shift") else a for n, a in given.items()}
    apart["queries"] = given["queries"][:, 1:2]
    others.append(library.run(**apart))
    for name in one:
        for other in others[:-1]:
            numpy.testing.assert_array_equal(other[name], one[name], name)
        numpy.testing.assert_array_equal(others[-1][name], one[name][1:2], name)


def test_memory_grows_with_the_queries_alone(compiler):
    """No matrix of scores: 64 MiB of them at the largest size."""
    library = compiler.library(
        "model m(q: [T, 64], k: [S, 64], v: [S, 64]) -> [T, 64] {\n"
        "  return softmax(q @ k.T / 8) @ v\n}\n"
    ).prepare({})
    context = library.context()
    sizes = {}
    for size in (1024, 4096):
        array = numpy.zeros((size, 64), numpy.float32)
        sizes[size] = context.workspace_size(q=array, k=array, v=array)
    assert sizes[4096] < 8 << 20, sizes
    assert sizes[4096] < 4.4 * sizes[1024], sizes
