# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that become one, biases that are added first, and what is prepared from weights."""

import collections
import re
import subprocess

import numpy
import pytest
from conftest import GATEFOLD, assert_close, lengths_of, random_weights

SCAN = """import cells
model m(x: [B, T, 7]) -> [B, T, {size}] {{
  param rnn: {cell}(H={size})
  h, _ = scan(rnn, x)
  return h
}}
"""


def run_operations(tmp_path, text, *options):
    """How often each operation stands in the run of a text, before buffers."""
    source = tmp_path / "m.gf"
    source.write_text(text)
    result = subprocess.run(
        [GATEFOLD, "compile", source, "--emit", "split", "-o", "-", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    run = result.stdout.split("@gatefold_run_entry", 1)[1].split("func.func", 1)[0]
    operations = collections.Counter(re.findall(r"^ *(?:%\S+ = )?([a-z_]+\.[a-z_]+)", run, re.M))
    # One for each argument, read or not.
    del operations["bufferization.to_tensor"]
    return operations


def test_eight_matrices_have_the_step_of_two(tmp_path):
    two = run_operations(tmp_path, SCAN.format(cell="lstm", size=24))
    eight = run_operations(tmp_path, SCAN.format(cell="lstm_textbook", size=24))
    assert two["gf.linear"] == 2 and two["gf.pack"] == 0
    assert two == eight


@pytest.mark.parametrize("size", [1, 3, 17, 64])
def test_eight_matrices_compute_the_bits_of_two(compiler, size):
    generator = numpy.random.default_rng(size)
    two = compiler.library(SCAN.format(cell="lstm", size=size))
    eight = compiler.library(SCAN.format(cell="lstm_textbook", size=size))
    parts = random_weights(eight, generator)
    eight.prepare(parts)

    def together(kind):
        return numpy.concatenate([parts[f"rnn.{kind}_{gate}"] for gate in "ifco"])

    two.prepare(
        {
            "rnn.weight_ih": together("w"),
            "rnn.weight_hh": together("u"),
            "rnn.bias_ih": together("b"),
            "rnn.bias_hh": numpy.zeros(4 * size, numpy.float32),
        }
    )
    for batch, time in [(1, 1), (3, 65), (2, 0), (0, 2)]:
        x = generator.normal(size=(batch, time, 7)).astype(numpy.float32)
        numpy.testing.assert_array_equal(two.run(x=x)["output"], eight.run(x=x)["output"])


DIRECTIONS = """import cells
model m(x: [B, T, 7], n: i64[B]) -> [B, T, 2*{size}] {{
  param rnn: {cell}(H={size}, layers=2, bidirectional=true)
  h, _ = scan(rnn, x, lengths=n)
  return h
}}
"""


@pytest.mark.parametrize("width", [5, 16, 48, 0])
def test_widths_of_panels_have_the_same_bits(compiler, width):
    """A sum's order is along k alone, so the width of panels changes no bit; a plain loop has its own order."""
    text = DIRECTIONS.format(cell="lstm", size=17)
    chosen = compiler.library(text)
    other = compiler.library(text, "--schedule", f"product.panel_width={width}")
    generator = numpy.random.default_rng(1)
    weights = random_weights(chosen, generator)
    chosen.prepare(weights)
    other.prepare(weights)
    x, n = generator.normal(size=(3, 20, 7)).astype(numpy.float32), numpy.array([20, 0, 7])
    expected = chosen.run(x=x, n=n)["output"]
    result = other.run(x=x, n=n)["output"]
    if width:
        numpy.testing.assert_array_equal(result, expected)
    else:
        numpy.testing.assert_allclose(result, expected, atol=1e-6)


JOINED = ("--schedule", "recurrence.directions=joined")


def test_products_have_the_width_that_is_asked_for(tmp_path):
    """With 0 no product is packed."""
    text = DIRECTIONS.format(cell="lstm", size=24)
    assert run_operations(tmp_path, text, "--schedule", "product.panel_width=8")["gf.linear"] > 0
    assert run_operations(tmp_path, text, "--schedule", "product.panel_width=0")["gf.linear"] == 0


ATTENDED = """import attention
cell outer(x: [I], k: [N, S, D], n: i64[]) -> [H] {
  state h: [H]
  param q: linear(N=H, bias=false)
  z = tanh(h + x)
  a = dot_product(split_heads(q(z)[None], N), k, k, lengths=n)
  h' = z + merge_heads(a)[0]
  return h'
}
model m(x: [B, T, 6], k: [B, 2, S, 3], n: i64[B]) -> [B, T, 6] {
  param c: outer(H=6)
  y, _ = scan(c, x, with=(k, n))
  return y
}
"""
ALONE = """import attention
model m(q: [1, 1, 4, 3], k: [1, 1, S, 3], n: i64[1]) -> [1, 1, 4, 3] {
  return dot_product(q, k, k, lengths=n)
}
"""


@pytest.mark.parametrize("width", [8, 0])
def test_a_width_is_none_of_an_attention(tmp_path, compiler, width):
    """Sizes of its products may be those that `lengths` say; with one head and one block
    of queries it has no loop, either."""
    given = ("--schedule", f"product.panel_width={width}")
    assert run_operations(tmp_path, ALONE, *given) == run_operations(tmp_path, ALONE)
    naive = ("--schedule", "attention.algorithm=naive")
    assert run_operations(tmp_path, ALONE, *given, *naive) == run_operations(tmp_path, ALONE, *naive)
    chosen, other = compiler.library(ATTENDED), compiler.library(ATTENDED, *given)
    generator = numpy.random.default_rng(2)
    weights = random_weights(chosen, generator)
    chosen.prepare(weights)
    other.prepare(weights)
    x = generator.normal(size=(3, 4, 6)).astype(numpy.float32)
    k = generator.normal(size=(3, 2, 9, 3)).astype(numpy.float32)
    inputs = {"x": x, "k": k, "n": numpy.array([9, 0, 5])}
    assert_close(other.run(**inputs)["output"], chosen.run(**inputs)["output"])


def test_directions_are_one_product(tmp_path):
    """A layer has a product of its input for each direction, or one for both."""
    text = DIRECTIONS.format(cell="lstm", size=24)
    apart = run_operations(tmp_path, text)["gf.linear"]
    assert apart == run_operations(tmp_path, text, "--schedule", "recurrence.directions=apart")["gf.linear"]
    assert run_operations(tmp_path, text, *JOINED)["gf.linear"] == apart - 2


@pytest.mark.parametrize("cell, size", [("lstm", 17), ("gru", 3), ("gru", 64)])
def test_directions_of_one_product_have_the_bits_of_two(compiler, cell, size):
    text = DIRECTIONS.format(cell=cell, size=size)
    apart, joined = compiler.library(text), compiler.library(text, *JOINED)
    generator = numpy.random.default_rng(size)
    weights = random_weights(apart, generator)
    apart.prepare(weights)
    joined.prepare(weights)
    for batch, time in [(1, 1), (3, 65), (1, 200), (2, 0), (0, 2)]:
        x = generator.normal(size=(batch, time, 7)).astype(numpy.float32)
        n = lengths_of(generator, batch, time)
        # What stands behind a sequence's end reaches nothing on either way.
        x[numpy.arange(time) >= n[:, None]] = numpy.nan
        expected = apart.run(x=x, n=n)["output"]
        assert numpy.isfinite(expected).all()
        numpy.testing.assert_array_equal(joined.run(x=x, n=n)["output"], expected)


def test_a_fused_product_has_the_bits_of_one_alone(compiler):
    both = compiler.library(
        "model m(x: [B, 9]) -> (y: [B, 5], z: [B, 67]) {\n"
        "  param v: [5, 9], w: [67, 9]\n"
        "  return x @ v.T, x @ w.T\n"
        "}\n"
    )
    alone = compiler.library(
        "model m(x: [B, 9]) -> (z: [B, 67]) {\n  param w: [67, 9]\n  return x @ w.T\n}\n"
    )
    generator = numpy.random.default_rng(1)
    weights = random_weights(both, generator)
    both.prepare(weights)
    alone.prepare({"w": weights["w"]})
    for batch in (0, 1, 7):
        x = generator.normal(size=(batch, 9)).astype(numpy.float32)
        found = both.run(x=x)
        assert_close(found["y"], x.astype(float) @ weights["v"].T)
        numpy.testing.assert_array_equal(found["z"], alone.run(x=x)["z"])


# What fuses wholly, in part or not at all: a bias that one part lacks or shares, the same
# weight twice, a weight that is read otherwise too, parts that are used differently.
TEXTS = {
    "one bias is missing": ("a @ x + p", "b @ x"),
    "one bias for both": ("a @ x + p", "b @ x + p"),
    "the same weight": ("a @ x + p", "a @ x + q"),
    "a weight in other use": ("a @ x + a[0, 0]", "b @ x + sum(a, axis=1)"),
    "three biases": ("p + a @ x + q + 1", "b @ x + p + p + q"),
    "a bias of one element": ("a @ x + s + p", "b @ x + q + s"),
    "other operands": ("a @ x + p", "b @ (2 * x) + q"),
    "products of each other": ("a @ x + p", "b @ (a @ x + q)"),
    "scaled": ("s * (a @ x + p)", "s * (b @ x + q)"),
    "a sum of products": ("a @ x + b @ x + p", "b @ (x * x) + a @ x + q"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_shapes_of_fusion(compiler, name):
    left, right = TEXTS[name]
    library = compiler.library(
        "func f(x: [4]) -> (y: [4], z: [4]) {\n"
        "  param a: [4, 4], b: [4, 4], p: [4], q: [4], s: []\n"
        f"  return {left}, {right}\n"
        "}\n"
        "model m(x: [B, 4]) -> (y: [B, 4], z: [B, 4]) {\n"
        "  param g: f()\n"
        "  y, z = g(x)\n"
        "  return y, z\n"
        "}\n"
    )
    generator = numpy.random.default_rng(3)
    weights = random_weights(library, generator)
    library.prepare(weights)
    values = {n.split(".")[-1]: w.astype(numpy.float64) for n, w in weights.items()}
    x = generator.normal(size=(5, 4)).astype(numpy.float32)
    found = library.run(x=x)
    for row in range(5):
        values["x"] = x[row].astype(numpy.float64)
        values["sum"] = numpy.sum
        assert_close(found["y"][row], eval(left, {}, values), name)
        assert_close(found["z"][row], eval(right, {}, values), name)


def test_weights_may_change_after_prepare(compiler):
    """What is prepared is a copy, and so is what the run reads itself."""
    library = compiler.library(
        "model m(x: [B, 3]) -> (y: [B, 2], z: [B, 3]) {\n"
        "  param w: [2, 3], b: [3]\n"
        "  return x @ w.T, x * b\n"
        "}\n"
    )
    # On 64-byte boundaries, where `prepare` reads weights without a copy.
    memory = numpy.zeros(64, numpy.float32)
    start = -memory.ctypes.data // 4 % 16
    w = memory[start : start + 6].reshape(2, 3)
    b = memory[start + 16 : start + 19]
    w[:] = [[1, 2, 3], [4, 5, 6]]
    b[:] = [1, 2, 3]
    library.prepare({"w": w, "b": b})
    memory[:] = numpy.nan
    found = library.run(x=numpy.array([[1, 0, 2]], numpy.float32))
    numpy.testing.assert_array_equal(found["y"], [[7, 16]])
    numpy.testing.assert_array_equal(found["z"], [[1, 0, 6]])


def test_the_description_lists_what_is_prepared(compiler):
    library = compiler.library(
        "model m(x: [B, 3]) -> [B, 2] {\n  param w: [2, 3]\n  return x @ w.T\n}\n"
    )
    (prepared,) = library.description["prepared"]
    assert prepared["name"] == "w" and prepared["role"] == "prepared"
    assert prepared["element"] == "f32" and numpy.prod(prepared["shape"]) >= 6
    naive = compiler.library(
        "model m(x: [B, 3]) -> [B, 2] {\n  param w: [2, 3]\n  return x @ w.T\n}\n", "--naive"
    )
    assert naive.description["prepared"] == []
