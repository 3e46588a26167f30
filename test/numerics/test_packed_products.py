# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as packed panels and fused elementwise operations, on the fast path: against
NumPy in float64, and a row's bits whatever stands beside it."""

import numpy
import pytest
from conftest import assert_close, random_weights

SIZES = [{"B": b, "T": t} for b in (0, 1, 3, 7) for t in (0, 1, 5, 65)]


def silu(x):
    return x / (1 + numpy.exp(-x))


def softmax(x):
    powers = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# Name: text of the body, reference of x [B, T, 24] and the weights.
BODIES = {
    # A product for each head of all rows, the heads summed.
    "heads": (
        "  param w: [3, 8, 24]\n"
        "  q = w @ x[:, :, None, :, None]\n"
        "  return sum(q[:, :, :, :, 0], axis=2)\n",
        lambda x, w: numpy.einsum("hdc,btc->btd", w["w"], x),
    ),
    # Bias after bias, a product added to a product, a residual.
    "gates": (
        "  param a: linear(N=40), b: linear(N=40), c: linear(N=24)\n"
        "  g = a(x) + b(sigmoid(x))\n"
        "  return x + c(g * sigmoid(g))\n",
        lambda x, w: x
        + silu(
            x @ w["a.weight"].T
            + w["a.bias"]
            + (1 / (1 + numpy.exp(-x))) @ w["b.weight"].T
            + w["b.bias"]
        )
        @ w["c.weight"].T
        + w["c.bias"],
    ),
    # Columns of every width around the lanes of a vector.
    "narrow": (
        "  param " + ", ".join(f"p{n}: linear(N={n})" for n in (1, 2, 4, 5, 17, 64, 65, 130)) + "\n"
        "  return concat(" + ", ".join(f"p{n}(x)" for n in (1, 2, 4, 5, 17, 64, 65, 130)) + ")\n",
        lambda x, w: numpy.concatenate(
            [x @ w[f"p{n}.weight"].T + w[f"p{n}.bias"] for n in (1, 2, 4, 5, 17, 64, 65, 130)], axis=-1
        ),
    ),
    # Products of values of the run, and a softmax between them.
    "scores": (
        "  param q: linear(N=24), k: linear(N=24)\n"
        "  return softmax(q(x) @ k(x).T * 0.2) @ x\n",
        lambda x, w: softmax(
            (x @ w["q.weight"].T + w["q.bias"])
            @ (x @ w["k.weight"].T + w["k.bias"]).swapaxes(-1, -2)
            * 0.2
        )
        @ x
        if x.shape[1]
        else x,
    ),
    # What reads a sum over the row, and the row again.
    "norm": (
        "  param p: linear(N=24)\n"
        "  c = x - mean(x, axis=2, keep=true)\n"
        "  y = c / sqrt(mean(c * c, axis=2, keep=true) + 0.001)\n"
        "  return p(y) + sum(y * x, axis=2, keep=true)\n",
        lambda x, w: (
            lambda y: y @ w["p.weight"].T + w["p.bias"] + (y * x).sum(axis=2, keepdims=True)
        )(
            (x - x.mean(axis=2, keepdims=True))
            / numpy.sqrt(x.var(axis=2, keepdims=True) + 0.001)
        ),
    ),
}
OUTPUTS = {"heads": 8, "gates": 24, "narrow": 288, "scores": 24, "norm": 24}


@pytest.mark.parametrize("name", BODIES)
def test_products(compiler, name):
    body, reference = BODIES[name]
    text = f"model m(x: [B, T, 24]) -> [B, T, {OUTPUTS[name]}] {{\n{body}}}\n"
    library = compiler.library(text)
    generator = numpy.random.default_rng(3)
    weights = random_weights(library, generator)
    library.prepare(weights)
    exact = {key: value.astype(numpy.float64) for key, value in weights.items()}
    for sizes in SIZES:
        x = generator.normal(size=(sizes["B"], sizes["T"], 24)).astype(numpy.float32)
        found = library.run(x=x)["output"]
        assert_close(found, reference(x.astype(numpy.float64), exact), (name, sizes))
        # A sequence alone gives the bits that it gives among others.
        for row in range(min(sizes["B"], 2)):
            alone = library.run(x=x[row : row + 1])["output"]
            numpy.testing.assert_array_equal(alone[0], found[row])
