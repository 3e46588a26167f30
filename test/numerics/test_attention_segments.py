# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed documents: a block of queries looks at the keys of its own documents alone.

Documents that follow one another, that are mixed, whose numbers are any integers, and
that have no keys.
"""

import numpy
import pytest

WIDTH, VALUES = 8, 5
EXTREMES = numpy.array([numpy.iinfo("int64").min, -1, 0, numpy.iinfo("int64").max])
ALGORITHMS = {
    "resident": (),
    "online": ("--schedule", "attention.algorithm=online,attention.key_block=64"),
    "naive": ("--naive",),
}


def source(options):
    return f"""import attention
model m(q: [B, T, {WIDTH}], k: [B, S, {WIDTH}], v: [B, S, {VALUES}], x: i64[B, T], y: i64[B, S],
        n: i64[B]) -> [B, T, {VALUES}] {{
  return dot_product(q, k, v, segments=(x, y), lengths=n{options})
}}
"""


def documents(generator, kind, count):
    if kind == "sorted":
        return numpy.sort(generator.integers(-3, 4, count))
    if kind == "mixed":
        return generator.integers(-3, 4, count)
    if kind == "alone":
        return numpy.arange(count)
    return generator.choice(EXTREMES, count)


def expected(given, causal, window):
    scores = numpy.einsum("btd,bsd->bts", given["q"], given["k"]) / numpy.sqrt(WIDTH)
    queries, keys = scores.shape[1:]
    distance = numpy.arange(queries)[:, None] + keys - queries - numpy.arange(keys)
    seen = given["x"][:, :, None] == given["y"][:, None, :]
    seen &= numpy.arange(keys) < given["n"][:, None, None]
    seen &= (distance >= 0) | (not causal)
    seen &= distance <= window
    powers = numpy.exp(scores) * seen
    sums = powers.sum(-1, keepdims=True)
    weights = powers / numpy.where(sums == 0, 1, sums)
    return numpy.einsum("bts,bse->bte", weights, given["v"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "options, causal, window",
    [("", False, numpy.inf), (", causal=true", True, numpy.inf), (", window=(9, inf)", False, 9)],
)
def test_documents(compiler, algorithm, options, causal, window):
    library = compiler.library(source(options), *ALGORITHMS[algorithm]).prepare({})
    generator = numpy.random.default_rng(7)
    for kind in ("sorted", "mixed", "alone", "extreme"):
        for batch, queries, keys in [(2, 67, 67), (1, 1, 40), (3, 30, 1), (1, 5, 0), (2, 0, 3)]:
            given = {
                "q": generator.normal(size=(batch, queries, WIDTH)),
                "k": generator.normal(size=(batch, keys, WIDTH)),
                "v": generator.normal(size=(batch, keys, VALUES)),
                "x": numpy.stack([documents(generator, kind, queries) for _ in range(batch)]),
                "y": numpy.stack([documents(generator, kind, keys) for _ in range(batch)]),
                "n": generator.integers(0, keys + 1, batch),
            }
            given["n"][0] = keys
            found = library.run(
                **{n: a.astype("f4") if a.dtype == float else a for n, a in given.items()}
            )["output"]
            wanted = expected(given, causal, window)
            numpy.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


# Two kinds of sequences with two heads each: segments of all leading dimensions beside those of
# the first ones, of key heads, and as a comparison.
OF_HEADS = f"""import attention
model m(q: [B, 2, 2, T, {WIDTH}], k: [B, 2, 2, S, {WIDTH}], v: [B, 2, 2, S, {VALUES}], x: i64[B, 2, 2, T],
        y: i64[B, 2, 2, S], one: i64[1, 2, S]) -> (all: [B, 2, 2, T, {VALUES}], mixed: [B, 2, 2, T, {VALUES}],
        grouped: [B, 2, 2, T, {VALUES}], compared: [B, 2, 2, T, {VALUES}]) {{
  s = where(x[:, :, :, :, None] == one[:, :, None, None, :], q @ k.T / sqrt({WIDTH}), -inf)
  return (dot_product(q, k, v, segments=(x, y)),
          dot_product(q, k, v, segments=(x[:, 0, 0], y[:, :, 0]), causal=true),
          dot_product(q, k[:, :, :1], v[:, :, :1], segments=(x, y[:, :, 0]), gqa=true),
          softmax(s) @ v)
}}
"""


def of_documents(given, x, y, causal=False, keys=slice(None)):
    k, v = given["k"][:, :, keys], given["v"][:, :, keys]
    scores = given["q"] @ k.swapaxes(-1, -2) / numpy.sqrt(WIDTH)
    queries, count = scores.shape[-2:]
    seen = x[..., :, None] == y[..., None, :]
    if causal:
        seen = seen & (numpy.arange(queries)[:, None] + count - queries >= numpy.arange(count))
    powers = numpy.exp(scores) * seen
    sums = powers.sum(-1, keepdims=True)
    return powers / numpy.where(sums == 0, 1, sums) @ v


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_documents_of_each_head(compiler, algorithm):
    library = compiler.library(OF_HEADS, *ALGORITHMS[algorithm]).prepare({})
    generator = numpy.random.default_rng(11)
    for kind in ("sorted", "mixed", "extreme"):
        for batch, queries, keys in [(2, 67, 67), (1, 1, 40), (3, 5, 1)]:
            lead = (batch, 2, 2)
            x, y, one = (
                numpy.stack([documents(generator, kind, size) for _ in range(count)])
                for count, size in [(4 * batch, queries), (4 * batch, keys), (2, keys)]
            )
            given = {
                "q": generator.normal(size=(*lead, queries, WIDTH)),
                "k": generator.normal(size=(*lead, keys, WIDTH)),
                "v": generator.normal(size=(*lead, keys, VALUES)),
                "x": x.reshape(*lead, queries),
                "y": y.reshape(*lead, keys),
                "one": one.reshape(1, 2, keys),
            }
            found = library.run(
                **{n: a.astype("f4") if a.dtype == float else a for n, a in given.items()}
            )
            x, y, one = given["x"], given["y"], given["one"]
            wanted = {
                "all": of_documents(given, x, y),
                "mixed": of_documents(given, x[:, :1, :1], y[:, :, :1], causal=True),
                "grouped": of_documents(given, x, y[:, :, :1], keys=slice(1)),
                "compared": of_documents(given, x, one[:, :, None]),
            }
            for name, values in wanted.items():
                numpy.testing.assert_allclose(found[name], values, rtol=2e-5, atol=2e-6)
