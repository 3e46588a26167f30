# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Built-in functions, operators, indices and layers against NumPy in float64."""

import numpy
import pytest
from conftest import assert_close, random_weights

generator = numpy.random.default_rng(7)


def floats(*shape):
    return generator.standard_normal(shape).astype(numpy.float32)


X = floats(2, 5, 6)
Y = floats(5, 6)
W = floats(3, 6)
N = numpy.array([2, 5], numpy.int64)
K = generator.integers(-7, 8, (2, 5)).astype(numpy.int64)
POSITIONS = numpy.array([[0, 1, 2, 3, 4], [100000, 3, 2000000, 7, 5]], numpy.int64)
INPUTS = {"x": X, "y": Y, "w": W, "n": N, "k": K, "p": POSITIONS}
HEADER = (
    "model m(x: [B, T, M], y: [T, M], w: [J, M], n: i64[B], k: i64[B, T], p: i64[B, T]) -> "
)
x, y, w = (array.astype(numpy.float64) for array in (X, Y, W))


def softmax(scores, axis=-1):
    weights = numpy.exp(scores - scores.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def rotary(tensor, positions, interleaved=False, base=10000.0):
    half = tensor.shape[-1] // 2
    angle = positions[..., None] * base ** (-2 * numpy.arange(half) / tensor.shape[-1])
    cosine, sine = numpy.cos(angle), numpy.sin(angle)
    result = numpy.empty_like(tensor)
    pairs = (
        (slice(0, None, 2), slice(1, None, 2))
        if interleaved
        else (slice(0, half), slice(half, None))
    )
    first, second = tensor[..., pairs[0]], tensor[..., pairs[1]]
    result[..., pairs[0]] = first * cosine - second * sine
    result[..., pairs[1]] = second * cosine + first * sine
    return result


def masked_mean():
    return numpy.stack([x[b, : N[b]].mean(axis=0) for b in range(2)])


# type of the result, what is returned, its value
CASES = [
    ("[B, T, M]", "x + y * 2 - 1", x + y * 2 - 1),
    ("[B, T, M]", "x / (abs(y) + 1) ** 2", x / (abs(y) + 1) ** 2),
    ("[B, T, M]", "x // 0.5 + x % 0.5", x // 0.5 + x % 0.5),
    ("i64[B, T]", "k // 3 * 10 + k % 3", K // 3 * 10 + K % 3),
    ("i64[B, T]", "k // -3 * 10 + k % -3", K // -3 * 10 + K % -3),
    ("[B, T]", "k / 4", K / 4),
    ("i64[B, T]", "abs(k) - relu(k)", abs(K) - numpy.maximum(K, 0)),
    ("i64[B, T]", "i64(x[:, :, 0] * 3)", numpy.trunc(X[:, :, 0] * numpy.float32(3))),
    ("[B, T, J]", "x @ w.T", x @ w.T),
    ("[B, T, T]", "x @ x.T", x @ x.transpose(0, 2, 1)),
    ("[B, T]", "x @ y[0]", x @ y[0]),
    ("[J, T]", "w @ y.T", w @ y.T),
    ("[]", "w[0] @ y[1]", w[0] @ y[1]),
    ("[B, M]", "x[:, -1]", x[:, -1]),
    ("[B, T, 2]", "x[:, :, 1:5:2]", x[:, :, 1:5:2]),
    ("[B, T, 2]", "x[..., -2:]", x[..., -2:]),
    ("[B, M]", "sum(x[:, -2:], axis=1)", x[:, -2:].sum(axis=1)),
    ("[B, 1, T]", "x[:, None, :, 3]", x[:, None, :, 3]),
    ("[B, M]", "sum(x, axis=1)", x.sum(axis=1)),
    ("[B, T, 1]", "mean(x, axis=-1, keep=true)", x.mean(axis=-1, keepdims=True)),
    ("[T, M]", "max(x, axis=0) - min(x, axis=0)", x.max(axis=0) - x.min(axis=0)),
    ("i64[B, T]", "argmax(x, axis=2)", x.argmax(axis=2)),
    ("[B, M]", "mean(x, axis=1, lengths=n)", masked_mean()),
    ("[B, M]", "sum(x, axis=1, lengths=2)", x[:, :2].sum(axis=1)),
    ("[B, T, M]", "softmax(x, axis=1)", softmax(x, 1)),
    (
        "[B, T, M]",
        "softmax(x, where=y > 0)",
        numpy.where(
            y > 0,
            softmax(numpy.where(y > 0, x, -1e300)),
            0.0,
        ),
    ),
    ("[B, T, M]", "where(x > y, x, 0)", numpy.where(x > y, x, 0)),
    (
        "[B, T, M]",
        "clamp(x, -0.5, max(y, 0))",
        numpy.minimum(numpy.maximum(x, -0.5), numpy.maximum(y, 0)),
    ),
    ("[B, T, 2*M]", "concat(x, x * 2)", numpy.concatenate([x, x * 2], axis=-1)),
    ("[B, 2, T, M]", "stack(x, -x, axis=1)", numpy.stack([x, -x], axis=1)),
    ("[B, T, M]", "flip(x, axis=1)", x[:, ::-1]),
    ("[B, T, M + 3]", "pad(x, left=2, right=1)", numpy.pad(x, ((0, 0), (0, 0), (2, 1)))),
    (
        "[B, T, M + 3]",
        'pad(x, left=2, right=1, mode="reflect")',
        numpy.pad(x, ((0, 0), (0, 0), (2, 1)), mode="reflect"),
    ),
    (
        "[B, T, M + 3]",
        'pad(x, left=2, right=1, mode="edge")',
        numpy.pad(x, ((0, 0), (0, 0), (2, 1)), mode="edge"),
    ),
    ("[M, B, T]", "permute(x, (2, 0, 1))", x.transpose(2, 0, 1)),
    ("[B, T*M]", "reshape(x, (B, -1))", x.reshape(2, -1)),
    ("[B, 2, T, M/2]", "split_heads(x, 2)", x.reshape(2, 5, 2, 3).transpose(0, 2, 1, 3)),
    ("[T, B*M]", "merge_heads(x)", x.transpose(1, 0, 2).reshape(5, 12)),
    ("[B, T, M]", "rotary(x)", rotary(x, numpy.arange(5))),
    ("[B, T, M]", "rotary(x, interleaved=true)", rotary(x, numpy.arange(5), True)),
    ("[B, T, M]", "rotary(x, positions=p, base=500)", rotary(x, POSITIONS, base=500.0)),
    ("[B, M]", "take(zeros((6, M)) + y[0], n)", y[[0, 0]]),
    ("[B, T, M]", "f32(x > 0 and not y > 0)", (x > 0) & ~(y > 0)),
    ("[T, 2]", "ones((T, 2)) * arange(T)[:, None]", numpy.arange(5)[:, None] * numpy.ones((5, 2))),
    ("[B, T, M]", "x / sqrt(T) + T // 2", x / numpy.sqrt(5) + 2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
def test_function(compiler, case):
    # T and J stay open.
    result, expression, expected = case
    text = HEADER + result + " {\n  return " + expression + "\n}\n"
    library = compiler.library(text, "--dim", "B=2,M=6")
    library.prepare({})
    assert_close(library.run(**INPUTS)["output"], expected, expression)


def convolution(signal, weight, stride, padding, dilation, groups):
    signal = numpy.pad(signal, ((0, 0), (0, 0), (padding, padding)))
    outputs, channels, kernel = weight.shape
    reach = dilation * (kernel - 1) + 1
    count = (signal.shape[-1] - reach) // stride + 1
    result = numpy.zeros((signal.shape[0], outputs, count))
    for output in range(outputs):
        first = output // (outputs // groups) * channels
        for step in range(count):
            window = signal[:, first : first + channels, step * stride :][..., :reach:dilation]
            result[:, output, step] = (window * weight[output]).sum(axis=(1, 2))
    return result


def normalised(tensor, centre):
    if centre:
        tensor = tensor - tensor.mean(axis=-1, keepdims=True)
    return tensor / numpy.sqrt((tensor**2).mean(axis=-1, keepdims=True) + 1e-5)


LAYERS = [
    ("linear(N=3)", "x", lambda p: x @ p["l.weight"].T + p["l.bias"]),
    ("linear(N=3, bias=false)", "y[0]", lambda p: y[0] @ p["l.weight"].T),
    ("embedding(V=20, N=3)", "n", lambda p: p["l.weight"][N]),
    ("rms_norm()", "x", lambda p: normalised(x, False) * p["l.weight"]),
    (
        "layer_norm()",
        "x",
        lambda p: normalised(x, True) * p["l.weight"] + p["l.bias"],
    ),
    ("layer_norm(affine=false)", "x", lambda p: normalised(x, True)),
    (
        "conv1d(N=4, kernel=3)",
        "x",
        lambda p: convolution(x, p["l.weight"], 1, 0, 1, 1) + p["l.bias"][:, None],
    ),
    (
        "conv1d(N=4, kernel=2, stride=2, padding=1, dilation=3, groups=2, bias=false)",
        "concat(x, x, axis=1)[:, :8]",
        lambda p: convolution(
            numpy.concatenate([x, x], axis=1)[:, :8], p["l.weight"], 2, 1, 3, 2
        ),
    ),
]


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case[0])
def test_layer(compiler, case):
    layer, expression, reference = case
    text = HEADER + "[B, X, Z] {\n  param l: " + layer
    text += "\n  return l(" + expression + ")\n}\n"
    if expression in ("y[0]", "n"):
        text = text.replace("[B, X, Z]", "[X]" if expression == "y[0]" else "[B, Z]")
    elif not layer.startswith("conv1d"):
        text = text.replace("[B, X, Z]", "[B, T, Z]")
    library = compiler.library(text, "--dim", "B=2,M=6,T=5")
    weights = random_weights(library, generator)
    library.prepare(weights)
    expected = reference({n: a.astype(numpy.float64) for n, a in weights.items()})
    assert_close(library.run(**INPUTS)["output"], expected, layer)
