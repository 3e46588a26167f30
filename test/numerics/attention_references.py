# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions in float64, written from their formulas, one row at a time."""

import numpy


def visible(queries, keys, *, causal=False, window=None, offset=None, length=None):
    """[T, S]: which keys each query sees."""
    offset = keys - queries if offset is None else offset
    position = numpy.arange(queries)[:, None] + offset
    key = numpy.arange(keys)[None, :]
    seen = numpy.ones((queries, keys), bool)
    if causal:
        seen &= key <= position
    if window is not None:
        left, right = window
        if left is not None:
            seen &= key >= position - left
        if right is not None:
            seen &= key <= position + right
    if length is not None:
        seen &= key < length
    return seen


def softmax(scores, seen):
    """Rows over the seen keys; a row that sees none is 0."""
    result = numpy.zeros(scores.shape)
    for i, row in enumerate(seen):
        if row.any():
            e = numpy.exp(scores[i, row] - scores[i, row].max())
            result[i, row] = e / e.sum()
    return result


def neighbour_difference(scores, seen, width):
    """Sum of s_ij - s_in over the seen neighbours n of j, by the definition."""
    result = numpy.zeros(scores.shape)
    reach = (width - 1) // 2
    queries, keys = scores.shape
    for i in range(queries):
        for j in range(keys):
            for n in range(max(0, j - reach), min(keys, j + reach + 1)):
                if n != j and seen[i, n]:
                    result[i, j] += scores[i, j] - scores[i, n]
    return result


def weigh(weights, values):
    """Sum of weighted values; a key of weight 0 contributes nothing, NaN or not."""
    used = (weights != 0).any(axis=0)
    return weights[:, used] @ values[used]


def scores(q, k):
    return q @ k.T / numpy.sqrt(q.shape[-1])


def dot_product(seen, q, k, v):
    return weigh(softmax(scores(q, k), seen), v)


def diff_window(seen, q, k, v, width=3):
    s = scores(q, k)
    return weigh(softmax(s + neighbour_difference(s, seen, width), seen), v)


def differential(seen, q1, q2, k1, k2, v, lambda_):
    a1, a2 = softmax(scores(q1, k1), seen), softmax(scores(q2, k2), seen)
    return weigh(a1, v) - lambda_ * weigh(a2, v)
