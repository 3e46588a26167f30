# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both texts in NumPy, straight from their equations, in float64 or another type."""

import numpy


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def normal(x, gain=1.0, shift=0.0):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return gain * centred / numpy.sqrt(variance + 1e-5) + shift


def linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


class Cell:
    """The layer-norm LSTM with peepholes of one layer and direction."""

    def __init__(self, w, suffix):
        self.part = lambda name: w[f"encoder.{name}{suffix}"]

    def norm(self, name, x):
        return normal(x, self.part(f"{name}.gain"), self.part(f"{name}.shift"))

    def step(self, x, h, c):
        gates = self.norm("norm_x", self.part("w") @ x) + self.norm("norm_h", self.part("u") @ h)
        i, f, g, o = numpy.split(gates, 4)
        i, f = sigmoid(i + self.part("peep_i") * c), sigmoid(f + self.part("peep_f") * c)
        c = f * c + i * numpy.tanh(g)
        h = sigmoid(o + self.part("peep_o") * c) * numpy.tanh(self.norm("norm_c", c))
        return h, c

    def scan(self, x):
        """One sentence [T, I] from zero states."""
        h = c = numpy.zeros_like(self.part("peep_i"))
        outputs = []
        for step in x:
            h, c = self.step(step, h, c)
            outputs.append(h)
        return numpy.array(outputs)


def converted(weights, kind):
    return {name: numpy.asarray(array, kind) for name, array in weights.items()}


def tagger(weights, x, first, lengths, kind=numpy.float64):
    """Each row is cut at its length and where a sentence begins; the parts know
    nothing of each other, in either direction."""
    w = converted(weights, kind)
    width = w["encoder.u_l0"].shape[1]
    tags = numpy.zeros((*x.shape[:2], 5), kind)
    for row, length in enumerate(lengths):
        y = numpy.zeros((x.shape[1], 2 * width), kind)
        borders = numpy.flatnonzero(first[row, 1:length]) + 1
        for start, end in zip([0, *borders], [*borders, length]):
            if start == end:
                continue
            part = x[row, start:end].astype(kind)
            for layer in range(2):
                forward = Cell(w, f"_l{layer}").scan(part)
                backward = Cell(w, f"_l{layer}_reverse").scan(part[::-1])[::-1]
                part = numpy.concatenate([forward, backward], axis=1)
            y[start:end] = part
        tags[row] = linear(w, "tag", y)
    return tags


def softmax(s, seen):
    """Over the keys that are seen; a row that sees none is 0."""
    s = numpy.where(seen, s, -numpy.inf)
    largest = s.max(axis=1, keepdims=True, initial=-numpy.inf)
    e = numpy.exp(s - numpy.where(numpy.isfinite(largest), largest, 0))
    total = e.sum(axis=1, keepdims=True)
    return e / numpy.where(total > 0, total, 1)


def near_far_flat(q, k, v, slope, mix):
    """One head, causal."""
    position, col = numpy.arange(len(q))[:, None], numpy.arange(len(k))
    visible, distance = col <= position, abs(position - col)
    s = q @ k.T / q.shape[1] ** 0.5
    near = softmax(s - slope * distance.astype(s.dtype), visible)
    far = softmax(30 * numpy.tanh(s / 30), visible & (distance >= 8))
    flat = softmax(s / 2, visible)
    return (mix[:, 0:1] * near + mix[:, 1:2] * far - mix[:, 2:3] * flat) @ v


def split_heads(x, count):
    """[T, count * D] as count pieces [T, D]."""
    return numpy.split(x, count, axis=1)


def encoder(weights, x, kind=numpy.float64):
    w = converted(weights, kind)
    slopes = w["attention.slope"]
    results = []
    for row in x.astype(kind):
        pieces = split_heads(linear(w, "attention.qkv", row), 3 * len(slopes))
        mixes = split_heads(sigmoid(linear(w, "attention.mix", row)), len(slopes))
        q, k, v = (pieces[i * len(slopes) : (i + 1) * len(slopes)] for i in range(3))
        heads = [near_far_flat(*head) for head in zip(q, k, v, slopes, mixes)]
        attended = linear(w, "attention.out", numpy.concatenate(heads, axis=1))
        results.append(normal(row + attended, w["norm.weight"], w["norm.bias"]))
    return numpy.array(results)
