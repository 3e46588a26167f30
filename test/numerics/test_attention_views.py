# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who sees whom, and how a call maps: groups of heads, masks and biases that stretch,
places and lengths of each row, inputs with leading dimensions of their own."""

import attention_references as attentions
import numpy
import pytest
from conftest import assert_close, lengths_of


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


def attend(q, k, v, seen, bias=0):
    """q, k, v and seen of the same leading dimensions."""
    q, k, v = (numpy.asarray(a, numpy.float64) for a in (q, k, v))
    shape = (*q.shape[:-2], q.shape[-2], k.shape[-2])
    seen, bias = numpy.broadcast_to(seen, shape), numpy.broadcast_to(bias, shape)
    result = numpy.zeros((*shape[:-1], v.shape[-1]))
    for place in numpy.ndindex(shape[:-2]):
        with attentions.added_bias(bias[place]):
            result[place] = attentions.dot_product(
                seen[place], q[place], k[place], v[place]
            )
    return result


GROUPS = [(6, 1, 1), (6, 6, 2), (6, 3, 3), (6, 2, 6), (4, 2, 1)]


def test_groups_of_heads(compiler):
    """Any ratio, keys and values of their own; lengths, segments and masks with them."""
    inputs, results, calls = ["n: i64[B]", "o: i64[B]", "qs: i64[B, T]", "ks: i64[B, S]"], [], []
    for i, (heads, key_heads, value_heads) in enumerate(GROUPS):
        inputs += [f"q{i}: [B, {heads}, T, 3]", f"k{i}: [B, {key_heads}, S, 3]",
                   f"v{i}: [B, {value_heads}, S, 5]", f"m{i}: bool[B, {heads}, T, S]",
                   f"h{i}: bool[B, {heads}, 1, S]", f"b{i}: [{heads}, T, 1]"]  # fmt: skip
        arguments = f"q{i}, k{i}, v{i}, gqa=true"
        for number, options in enumerate(
            [f"mask=m{i}, lengths=n", f"mask=h{i}, bias=b{i}, causal=true, offset=o",
             "segments=(qs, ks)"]
        ):
            results.append(f"y{i}{number}: [B, {heads}, T, 5]")
            calls.append(f"dot_product({arguments}, {options})")
    text = f"""
import attention

model attend({", ".join(inputs)}) -> ({", ".join(results)}) {{
  return {", ".join(calls)}
}}
"""
    library = compiler.library(text).prepare({})
    generator = numpy.random.default_rng(40)
    for batch, queries, keys in [(3, 4, 5), (1, 1, 17), (2, 7, 1), (2, 2, 0), (0, 1, 1)]:
        given = {
            "n": lengths_of(generator, batch, keys),
            "o": generator.integers(-2, 4, batch),
            "qs": generator.integers(0, 2, (batch, queries)),
            "ks": generator.integers(0, 2, (batch, keys)),
        }
        for i, (heads, key_heads, value_heads) in enumerate(GROUPS):
            given[f"q{i}"] = floats(generator, batch, heads, queries, 3)
            given[f"k{i}"] = floats(generator, batch, key_heads, keys, 3)
            given[f"v{i}"] = floats(generator, batch, value_heads, keys, 5)
            given[f"m{i}"] = generator.random((batch, heads, queries, keys)) < 0.7
            given[f"h{i}"] = generator.random((batch, heads, 1, keys)) < 0.7
            given[f"b{i}"] = floats(generator, heads, queries, 1)
            if queries:
                given[f"b{i}"][0, 0] = -numpy.inf
        found = library.run(**given)

        def views(**of_each):
            return numpy.array(
                [
                    attentions.visible(
                        queries, keys, **{n: a[b] for n, a in of_each.items()}
                    )
                    for b in range(batch)
                ],
                bool,
            ).reshape(batch, 1, queries, keys)

        lengthwise = views(length=given["n"])
        causal = views(offset=given["o"], causal=[True] * batch)
        same = (given["qs"][:, :, None] == given["ks"][:, None, :])[:, None]
        for i, (heads, key_heads, value_heads) in enumerate(GROUPS):
            q = given[f"q{i}"]
            k = given[f"k{i}"].repeat(heads // key_heads, axis=1)
            v = given[f"v{i}"].repeat(heads // value_heads, axis=1)
            expected = [
                attend(q, k, v, lengthwise & given[f"m{i}"]),
                attend(q, k, v, causal & given[f"h{i}"], given[f"b{i}"]),
                attend(q, k, v, same),
            ]
            for number, value in enumerate(expected):
                what = (GROUPS[i], number, batch, queries, keys)
                assert_close(found[f"y{i}{number}"], value, what)


# What stretches: leads, T, S, all.
STRETCHED = ["[B, 2, T, S]", "[B, 1, T, S]", "[2, T, S]", "[T, S]", "[1, S]", "[T, 1]",
             "[B, 2, 1, 1]", "[B, 1, 1, S]", "[1, 2, T, 1]", "[1, 1]"]  # fmt: skip


@pytest.mark.parametrize("option", ["mask", "bias"])
def test_masks_and_biases_stretch(compiler, option):
    element = "bool" if option == "mask" else ""
    inputs = [f"r{i}: {element}{shape}" for i, shape in enumerate(STRETCHED)]
    results = [f"y{i}: [B, 2, T, 4]" for i in range(len(STRETCHED))]
    calls = [f"dot_product(q, k, v, {option}=r{i})" for i in range(len(STRETCHED))]
    text = f"""
import attention

model attend(q: [B, 2, T, 3], k: [B, 2, S, 3], v: [B, 2, S, 4], {", ".join(inputs)}) ->
    ({", ".join(results)}) {{
  return {", ".join(calls)}
}}
"""
    library = compiler.library(text).prepare({})
    generator = numpy.random.default_rng(41)
    for batch, queries, keys in [(3, 4, 5), (1, 1, 1), (2, 7, 17), (1, 0, 2), (2, 2, 0)]:
        sizes = {"B": batch, "T": queries, "S": keys}
        given = {
            "q": floats(generator, batch, 2, queries, 3),
            "k": floats(generator, batch, 2, keys, 3),
            "v": floats(generator, batch, 2, keys, 4),
        }
        for i, shape in enumerate(STRETCHED):
            names = shape.strip("[]").split(", ")
            shape = [sizes[s] if s in sizes else int(s) for s in names]
            if option == "mask":
                given[f"r{i}"] = generator.random(shape) < 0.6
            else:
                given[f"r{i}"] = floats(generator, *shape)
                given[f"r{i}"][generator.random(shape) < 0.3] = -numpy.inf
        found = library.run(**given)
        for i, shape in enumerate(STRETCHED):
            restriction = given[f"r{i}"]
            expected = (
                attend(given["q"], given["k"], given["v"], restriction)
                if option == "mask"
                else attend(given["q"], given["k"], given["v"], True, restriction)
            )
            assert_close(found[f"y{i}"], expected, (shape, batch, queries, keys))


MAPPED = """
import attention

func heads_of_one_row(q: [T, D], k: [H, S, D], v: [S, E], n: i64[], g: [T, 1]) -> [H, T, E] {
  return g * dot_product(q, k, v, causal=true, offset=n)
}

func shared(x: [T, D], memory: [S, D]) -> [T, D] {
  y = dot_product(x, memory, memory)
  return y + dot_product(y, x, x, causal=true)
}

model attend(q: [B, H, T, 3], k: [H, S, 3], v: [S, 2], u: [B, 1, S, 2], n: i64[B],
             x: [B, H, T, 2], l: [], r: [H, 1, 1], mask: bool[B, T, S]) ->
    (a: [B, H, T, 2], b: [B, H, T, 2], c: [B, H, T, 2], d: [B, H, T, 2], e: [B, H, T, 2],
     f: [B, H, T, 2], g: [B, H, T, 2], h: [T, 2]) {
  a = dot_product(q, k, v)
  b = dot_product(q, k, u, offset=n - 1, causal=true)
  c = heads_of_one_row(q[:, 0], k, v, n, 2)
  d = differential(q, q * 2, k, k, v, l)
  e = differential(q, q * 2, k, k, v, r, lengths=n)
  f = shared(x, u)
  g = dot_product(q, k, u, mask=mask[:, None], scale=2, window=(inf, 1))
  h = dot_product(q[0, 0], k[0], v, causal=true)
  return a, b, c, d, e, f, g, h
}
"""


def test_inputs_with_leading_dimensions_of_their_own(compiler):
    library = compiler.library(MAPPED).prepare({})
    generator = numpy.random.default_rng(42)
    for batch, heads, queries, keys in [(2, 3, 4, 5), (1, 1, 1, 1), (3, 2, 2, 7), (1, 2, 3, 3)]:
        given = {
            "q": floats(generator, batch, heads, queries, 3),
            "k": floats(generator, heads, keys, 3),
            "v": floats(generator, keys, 2),
            "u": floats(generator, batch, 1, keys, 2),
            "n": lengths_of(generator, batch, keys),
            "x": floats(generator, batch, heads, queries, 2),
            "l": floats(generator),
            "r": floats(generator, heads, 1, 1),
            "mask": generator.random((batch, queries, keys)) < 0.7,
        }
        i = {n: a.astype(numpy.float64) for n, a in given.items() if a.dtype == numpy.float32}
        full = (batch, heads)

        def spread(array):
            return numpy.broadcast_to(array, (*full, *array.shape[-2:]))

        q, k, v, u, x = (spread(i[name]) for name in "qkvux")
        first = spread(i["q"][:, :1])
        view = attentions.visible
        earlier = numpy.array(
            [[view(queries, keys, causal=True, offset=n - 1)] for n in given["n"]]
        )
        of_rows = numpy.array(
            [[view(queries, keys, causal=True, offset=n)] for n in given["n"]]
        )
        lengthwise = numpy.array([[view(queries, keys, length=n)] for n in given["n"]])
        memory_mix = attend(x, u, u, True)
        windowed = view(queries, keys, window=(None, 1)) & given["mask"][:, None]
        expected = {
            "a": attend(q, k, v, True),
            "b": attend(q, k, u, earlier),
            "c": 2 * attend(first, k, v, of_rows),
            "d": attend(q, k, v, True) - i["l"] * attend(2 * q, k, v, True),
            "e": attend(q, k, v, lengthwise) - i["r"] * attend(2 * q, k, v, lengthwise),
            "f": memory_mix + attend(memory_mix, x, x, view(queries, queries, causal=True)),
            "g": attend(2 * numpy.sqrt(3) * q, k, u, windowed),
            "h": attend(q[0, 0], k[0, 0], v[0, 0], view(queries, keys, causal=True)),
        }
        found = library.run(**given)
        for name, value in expected.items():
            assert_close(found[name], value, (name, batch, heads, queries, keys))
