# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results whose sizes are the greater or the lesser of others, or a quotient."""

import numpy
import pytest
from gatefold_library import GatefoldError

TEXT = """
model m(x: [T, 2], y: [S, 2]) ->
    (first: [A, 2], last: [B, 2], rest: [C, 2], most: [D, 2], both: [E, 2], more: [F, 2]) {
  return x[:5], x[-3:], x[2:], x[: max(T - 4, S)], concat(x[:S], y[1:7], axis=0), pad(x.T, right=max(S - T, 0)).T
}
"""


@pytest.mark.parametrize("options", [(), ("--naive",)])
def test_slices(compiler, options):
    library = compiler.library(TEXT, *options).prepare({})
    shapes = {result["name"]: result["shape"][0] for result in library.results}
    assert [shapes[name] for name in ("first", "last", "rest")] == ["min(T, 5)", "min(T, 3)", "max(T - 2, 0)"]
    for t, s in [(0, 0), (1, 0), (3, 9), (4, 4), (5, 2), (7, 1), (9, 33), (40, 3)]:
        generator = numpy.random.default_rng(t)
        x, y = (generator.normal(size=(n, 2)).astype("f4") for n in (t, s))
        found = library.run(x=x, y=y)
        expected = {
            "first": x[:5], "last": x[-3:], "rest": x[2:], "most": x[: max(t - 4, s)],
            "both": numpy.concatenate([x[:s], y[1:7]]), "more": numpy.pad(x, ((0, max(s - t, 0)), (0, 0))),
        }  # fmt: skip
        for name, value in expected.items():
            numpy.testing.assert_array_equal(found[name], value, f"{name} {t} {s}")


def test_quotients(compiler):
    library = compiler.library(
        "model m(x: [T, 2], y: [S], z: [U, V]) -> (parts: [A, 2], left: [B, 2], sums: [C, V]) {\n"
        "  return x[: T // S], x[: T % S], sum(reshape(z, (U // S, S, V)), axis=1)\n}\n"
    ).prepare({})
    assert [result["shape"][0] for result in library.results] == ["min(T, T // S)", "min(T, T % S)", "U // S"]
    x, z = (numpy.random.default_rng(1).normal(size=shape).astype("f4") for shape in [(7, 2), (12, 3)])
    for s in (1, 2, 3):
        found = library.run(x=x, y=numpy.zeros(s, "f4"), z=z)
        numpy.testing.assert_array_equal(found["parts"], x[: 7 // s])
        numpy.testing.assert_array_equal(found["left"], x[: 7 % s])
        numpy.testing.assert_allclose(found["sums"], z.reshape(-1, s, 3).astype(float).sum(1), rtol=1e-5, atol=1e-5)
    with pytest.raises(GatefoldError, match="reshape"):
        library.run(x=x, y=numpy.zeros(5, "f4"), z=z)
    library = compiler.library(
        "model m(x: [T, 2], y: [S]) -> [A, 2] {\n  return x[: T // S]\n}\n"
    ).prepare({})
    assert library.run(x=x, y=numpy.zeros(2, "f4"))["output"].shape == (3, 2)
    with pytest.raises(GatefoldError, match=r"a size is divided by S \(1 and 0.*S=0 from `y`"):
        library.run(x=x, y=numpy.zeros(0, "f4"))
    # Before what else is wrong with the quotient.
    library = compiler.library(
        "model m(x: [T, 2], y: [S]) -> [T // S, 2] {\n  return x[: T // S]\n}\n"
    ).prepare({})
    with pytest.raises(GatefoldError, match="a size is divided by S"):
        library.run(x=x, y=numpy.zeros(0, "f4"))


@pytest.mark.parametrize("options", [(), ("--naive",)])
def test_a_quotient_of_open_sizes_is_the_size_of_a_value_between(compiler, options):
    library = compiler.library(
        "model m(x: [T], y: [S]) -> (least: [], parts: [A, S]) {\n"
        "  z = exp(sum(x) + arange(T // S))\n"
        "  return min(z / sum(z)), softmax(y + z[:, None])\n}\n",
        *options,
    ).prepare({})
    for t, s in [(7, 2), (3, 3), (64, 5)]:
        x = numpy.zeros(t, "f4") - 1
        y = numpy.linspace(0, 1, s).astype("f4")
        z = numpy.exp(x.sum() + numpy.arange(t // s))
        parts = numpy.tile(numpy.exp(y) / numpy.exp(y).sum(), (t // s, 1))
        found = library.run(x=x, y=y)
        numpy.testing.assert_allclose(found["least"], (z / z.sum()).min(), rtol=1e-5, atol=1e-5)
        numpy.testing.assert_allclose(found["parts"], parts, rtol=1e-5, atol=1e-5)
