# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions in float64, written from their formulas, one row at a time."""

import contextlib

import numpy

exp, tanh = numpy.exp, numpy.tanh
bias = 0


@contextlib.contextmanager
def added_bias(values):
    """Inside it every softmax adds these to its scores, as `bias=` does."""
    global bias
    bias = values
    yield
    bias = 0


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


def softmax(scores, seen, sink=None):
    """Rows over the seen keys; a row that sees none is 0. A sink, one number or
    [T, 1], joins the denominator."""
    scores = scores + bias
    seen = seen & (scores != -numpy.inf)
    result = numpy.zeros(scores.shape)
    if sink is not None:
        sink = numpy.broadcast_to(sink, (len(scores), 1))
    for i, row in enumerate(seen):
        if row.any():
            largest = scores[i, row].max()
            e = numpy.exp(scores[i, row] - largest)
            more = 0 if sink is None else numpy.exp(sink[i, 0] - largest)
            result[i, row] = e / (e.sum() + more)
    return result


def log_sum_exp(scores, seen, sink=None):
    """Of the seen keys of each row, and its sink; -inf where the row sees none."""
    scores = scores + bias
    seen = seen & (scores != -numpy.inf)
    result = numpy.full(len(scores), -numpy.inf)
    if sink is not None:
        sink = numpy.broadcast_to(sink, (len(scores), 1))
    for i, row in enumerate(seen):
        if row.any():
            result[i] = numpy.logaddexp.reduce(scores[i, row])
            if sink is not None:
                result[i] = numpy.logaddexp(result[i], sink[i, 0])
    return result


def top_k(scores, seen, count=None, fraction=None):
    """The largest seen scores of each row, ties to the lowest index."""
    kept = numpy.zeros(scores.shape, bool)
    for i, row in enumerate(seen):
        keys = numpy.flatnonzero(row)
        k = count if fraction is None else int(numpy.floor(fraction * len(keys)))
        order = numpy.argsort(-scores[i, keys], kind="stable")
        kept[i, keys[order[: max(1, k)]]] = True
    return kept


def neighbour_difference(scores, seen, width):
    """Sum of s_ij - s_in over the seen neighbours n of j, by the definition."""
    result = numpy.zeros(scores.shape)
    for distance in range(1, (width - 1) // 2 + 1):
        behind, ahead = slice(None, -distance), slice(distance, None)
        for j, n in (ahead, behind), (behind, ahead):
            difference = scores[:, j] - scores[:, n]
            result[:, j] += numpy.where(seen[:, n], difference, 0)
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
