# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Built-in layers over all their settings, under any number of leading dimensions."""

import itertools

import numpy
import pytest
from conftest import random_weights
from expressions import check_cases
from gatefold_library import GatefoldError


def float32(seed, *shape):
    return numpy.random.default_rng(seed).normal(size=shape).astype(numpy.float32)


def weights_from(seed):
    return lambda library: random_weights(library, numpy.random.default_rng(seed))


def conv1d(x, weight, bias, stride=1, padding=0, dilation=1, groups=1):
    outputs, channels, kernel = weight.shape
    x = numpy.pad(x, [(0, 0)] * (x.ndim - 1) + [(padding, padding)])
    count = max((x.shape[-1] - dilation * (kernel - 1) - 1) // stride + 1, 0)
    result = numpy.zeros((*x.shape[:-2], outputs, count))
    for n, column, k in itertools.product(range(outputs), range(count), range(kernel)):
        first = n // (outputs // groups) * channels
        part = x[..., first : first + channels, column * stride + k * dilation]
        result[..., n, column] += part @ weight[n, :, k]
    return result if bias is None else result + bias[:, None]


CONVOLUTIONS = [
    dict(N=5, kernel=1),
    dict(N=3, kernel=3),
    dict(N=3, kernel=3, stride=2),
    dict(N=2, kernel=4, padding=2),
    dict(N=2, kernel=2, dilation=3),
    dict(N=4, kernel=3, groups=2),
    dict(N=4, kernel=2, groups=4),
    dict(N=8, kernel=3, groups=4, stride=3, padding=4, dilation=2),
    dict(N=6, kernel=2, groups=2, stride=5, bias=False),
    dict(N=1, kernel=5, padding=1, bias=False),
]


def settings_text(settings):
    shown = {True: "true", False: "false"}
    return ", ".join(
        f"{k}={shown[v] if isinstance(v, bool) else v}" for k, v in settings.items()
    )


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
def test_conv1d(compiler, lead):
    names = ["", "B, ", "B, H, "][len(lead)]
    body, cases = "", []
    for i, settings in enumerate(CONVOLUTIONS):
        body += f"  param c{i}: conv1d({settings_text(settings)})\n"
        given = {k: v for k, v in settings.items() if k not in ("N", "kernel", "bias")}

        def convolved(v, i=i, given=given):
            w = v.weights
            return conv1d(v.x, w[f"c{i}.weight"], w.get(f"c{i}.bias"), **given)

        cases.append((f"c{i}(x)", convolved, len(lead) + 2))
    # 5 is the least that the longest kernel takes with what is added to it.
    runs = [{"x": float32(100, *lead, 4, length)} for length in (5, 6, 7, 17, 64)]
    check_cases(compiler, f"x: [{names}4, L]", cases, runs, body=body, weights=weights_from(101))


def test_conv1d_that_leaves_no_column(compiler):
    """Of a length that is known; of an open one the run says so."""
    cases = [
        ("a(x)", lambda v: numpy.zeros((2, 3, 0)), 3),
        ("b(x)", lambda v: conv1d(v.x, v.weights["b.weight"], v.weights["b.bias"], padding=1), 3),
    ]
    body = "  param a: conv1d(N=3, kernel=3), b: conv1d(N=4, kernel=4, padding=1)\n"
    check_cases(compiler, "x: [B, 2, 2]", cases, [{"x": float32(102, 2, 2, 2)}],
                body=body, weights=weights_from(103))  # fmt: skip


def test_conv1d_of_open_lengths_down_to_none(compiler):
    """A length that leaves 0 columns computes them; one below is refused."""
    text = (
        "model m(x: [2, L]) -> [3, R] {\n  param c: conv1d(N=3, kernel=3)\n  return c(x)\n}\n"
    )
    library = compiler.library(text)
    weights = weights_from(104)(library)
    library.prepare(weights)
    for length in (3, 4, 2, 7):  # 2 leaves none
        x = float32(105, 2, length)
        found = library.run(x=x)["output"]
        expected = conv1d(
            x.astype(float), weights["c.weight"].astype(float), weights["c.bias"].astype(float)
        )
        numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert found.shape == expected.shape
    with pytest.raises(GatefoldError):
        library.run(x=float32(105, 2, 1))


def normalised(x, centre, eps=1e-5):
    if centre:
        x = x - x.mean(-1, keepdims=True)
    return x / numpy.sqrt((x**2).mean(-1, keepdims=True) + eps)


LINEAR_AND_NORMS = [
    ("a", "linear(N=5)", lambda x, w: x @ w["a.weight"].T + w["a.bias"]),
    ("b", "linear(N=1, bias=false)", lambda x, w: x @ w["b.weight"].T),
    ("c", "rms_norm()", lambda x, w: normalised(x, False) * w["c.weight"]),
    ("d", "rms_norm(eps=0.5, affine=false)", lambda x, w: normalised(x, False, 0.5)),
    ("e", "layer_norm()", lambda x, w: normalised(x, True) * w["e.weight"] + w["e.bias"]),
    ("f", "layer_norm(eps=0.1, affine=false)", lambda x, w: normalised(x, True, 0.1)),
]


@pytest.mark.parametrize("lead", [(), (3,), (2, 5), (2, 1, 3, 2), (2, 0)], ids=str)
@pytest.mark.parametrize("width", [1, 6, 65])
def test_linear_and_norms(compiler, lead, width):
    names = "".join(f"{n}, " for n in "ABCD"[: len(lead)])
    body = "".join(f"  param {name}: {layer}\n" for name, layer, _ in LINEAR_AND_NORMS)
    cases = [
        (f"{name}(x)", lambda v, f=f: f(v.x, v.weights), len(lead) + 1)
        for name, _, f in LINEAR_AND_NORMS
    ]
    if width == 1:  # centred it is 0 but for rounding
        cases = [case for case in cases if case[0] not in ("e(x)", "f(x)")]
    runs = [{"x": float32(106, *lead, width)}]
    check_cases(compiler, f"x: [{names}{width}]", cases, runs, body=body,
                weights=weights_from(107))  # fmt: skip


def test_linear_over_nothing(compiler):
    cases = [("a(x)", lambda v: numpy.zeros((2, 3)) + v.weights["a.bias"], 2)]
    check_cases(compiler, "x: [B, 0]", cases, [{"x": float32(108, 2, 0)}],
                body="  param a: linear(N=3)\n", weights=weights_from(109))  # fmt: skip


def test_embedding(compiler):
    body = "  param table: embedding(V=11, N=3), wide: embedding(V=2, N=65)\n"
    cases = [
        ("table(i)", lambda v: v.weights["table.weight"][v.i], 3),
        ("table(j)", lambda v: v.weights["table.weight"][v.j], 2),
        ("table(j[0])", lambda v: v.weights["table.weight"][v.j[0]], 1),
        ("table(i[:, -1])", lambda v: v.weights["table.weight"][v.i[:, -1]], 2),
        ("wide(b)", lambda v: v.weights["wide.weight"][v.b], 4),
        ("table(i) @ table.weight.T",
         lambda v: v.weights["table.weight"][v.i] @ v.weights["table.weight"].T, 3),
    ]  # fmt: skip
    generator = numpy.random.default_rng(110)
    runs = [
        {"i": generator.integers(0, 11, (n, t)), "b": generator.integers(0, 2, (n, t, 2)),
         "j": generator.integers(0, 11, t).astype(numpy.int32)}
        for n, t in [(2, 3), (1, 1), (3, 65)]
    ]  # fmt: skip
    check_cases(compiler, "i: i64[B, T], j: i32[T], b: i64[B, T, 2]", cases, runs, body=body,
                weights=weights_from(111))  # fmt: skip


def test_layers_in_funcs_that_map(compiler):
    """A convolution over frames of frames, a norm of heads, an embedding of pairs."""
    declarations = """
func mix(x: [C, L]) -> [C, L] {
  param conv: conv1d(N=C, kernel=3, padding=1), norm: layer_norm()
  return x + conv(norm(x))
}
"""

    def mixed(v):
        w = {n.removeprefix("mix_of."): a for n, a in v.weights.items()}
        inner = normalised(v.x, True) * w["norm.weight"] + w["norm.bias"]
        return v.x + conv1d(inner, w["conv.weight"], w["conv.bias"], padding=1)

    runs = [{"x": float32(112, b, t, 3, 7)} for b, t in [(2, 3), (1, 1), (3, 0)]]
    check_cases(compiler, "x: [B, T, 3, 7]", [("mix_of(x)", mixed, 4)], runs,
                body="  param mix_of: mix()\n", declarations=declarations,
                weights=weights_from(113))  # fmt: skip
