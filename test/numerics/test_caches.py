# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches of keys and values: a sequence in steps of any size gives what it gives at once, in the
memory of the state itself, and never passes its capacity."""

import numpy
import pytest
from gatefold_library import GatefoldError, from_bf16, to_bf16

CAPACITY = 23
# One place for the whole batch, or one for each sequence.
PLACES = {"one": "i64[]", "each": "i64[B]"}
MODEL = """
import attention

model whole(x: [B, T, 12]) -> [B, T, 10] {
  param q: linear(N=12), k: linear(N=6), v: linear(N=10), out: linear(N=10)
  keys, values = split_heads(k(x), 2), split_heads(v(x), 2)
  a = dot_product(split_heads(q(x), 4), keys, values, causal=true, gqa=true)
  return out(merge_heads(a)[:, :, :10] + merge_heads(a)[:, :, 10:])
}

model steps(x: [B, T, 12], n: PLACE) -> [B, T, 10] {
  state keys: [B, 2, C, 3], values: [B, 2, C, 5]
  param q: linear(N=12), k: linear(N=6), v: linear(N=10), out: linear(N=10)
  keys' = append(keys, split_heads(k(x), 2), at=n)
  values' = append(values, split_heads(v(x), 2), at=n)
  a = dot_product(split_heads(q(x), 4), keys', values', causal=true, gqa=true, offset=n)
  return out(merge_heads(a)[:, :, :10] + merge_heads(a)[:, :, 10:])
}
"""

def weights_of(library, seed):
    generator = numpy.random.default_rng(seed)
    return {
        p["name"]: generator.uniform(-0.3, 0.3, p["shape"]).astype(numpy.float32)
        for p in library.parameters
    }


def libraries(compiler, place, *options, element=""):
    """`element`: what the text says of its caches."""
    text = MODEL.replace("PLACE", PLACES[place]).replace("[B, 2, C", element + "[B, 2, C")
    whole = compiler.library(text, "--entry", "whole", *options)
    steps = compiler.library(text, "--entry", "steps", *options)
    weights = weights_of(whole, 3)
    return whole.prepare(weights), steps.prepare(weights)


def empty_caches(batch, capacity, element=numpy.float32):
    """Memory that nothing has written: NaN shows that it is read."""
    return {
        "keys": numpy.full((batch, 2, capacity, 3), numpy.nan, element),
        "values": numpy.full((batch, 2, capacity, 5), numpy.nan, element),
    }


def in_steps(library, x, sizes, place, states):
    """The outputs of a sequence that is given in parts, and the states behind it."""
    done, outputs = 0, []
    for size in sizes:
        n = numpy.int64(done) if place == "one" else numpy.full(len(x), done)
        found = library.run(x=x[:, done : done + size], n=n, **states)
        states = {name: found[name] for name in states}
        outputs.append(found["output"])
        done += size
    assert done == x.shape[1]
    return numpy.concatenate(outputs, axis=1), states


CUTS = [[1] * 17, [9, 1, 1, 6], [17], [0, 16, 1]]


@pytest.mark.parametrize("place", PLACES)
def test_steps_give_what_the_whole_gives(compiler, place):
    """To the bit: a product adds over the keys in order, whoever else asks."""
    whole, steps = libraries(compiler, place)
    x = numpy.random.default_rng(1).standard_normal((3, 17, 12)).astype(numpy.float32)
    expected = whole.run(x=x)["output"]
    for sizes in CUTS:
        for capacity in (CAPACITY, 17, 200):
            found, _ = in_steps(steps, x, sizes, place, empty_caches(3, capacity))
            numpy.testing.assert_array_equal(found, expected, str((sizes, capacity)))


def test_one_block_of_queries_and_several(compiler):
    """One packs keys as it meets them, several share what is packed before: to the bit."""
    options = ("--schedule", "attention.query_block=16")
    whole, steps = libraries(compiler, "each", *options)
    x = numpy.random.default_rng(9).standard_normal((2, 17, 12)).astype(numpy.float32)
    expected = whole.run(x=x)["output"]
    for sizes in ([17], [6, 1, 7, 3], [1, 16]):
        found, _ = in_steps(steps, x, sizes, "each", empty_caches(2, CAPACITY))
        numpy.testing.assert_array_equal(found, expected, str(sizes))


def test_one_sequence(compiler):
    """Known to be one: what its offset does not reach is not even packed."""
    whole, steps = libraries(compiler, "each", "--dim", "B=1")
    x = numpy.random.default_rng(3).standard_normal((1, 17, 12)).astype(numpy.float32)
    found, _ = in_steps(steps, x, [9, 1, 7], "each", empty_caches(1, CAPACITY))
    numpy.testing.assert_array_equal(found, whole.run(x=x)["output"])


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_half_floats(compiler, element):
    """States are f32, so a cache holds what the whole sequence computes with."""
    whole, steps = libraries(compiler, "one", "--float", element)
    x = numpy.random.default_rng(2).standard_normal((2, 7, 12)).astype(numpy.float32)
    expected = whole.run(x=x)["output"]
    found, _ = in_steps(steps, x, [3, 1, 1, 2], "one", empty_caches(2, CAPACITY))
    numpy.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "element, algorithm",
    [("f16", ""), ("bf16", ""), ("f16", "naive"), ("f16", "online")],
)
def test_caches_of_half_floats(compiler, element, algorithm):
    """Where the text says so a cache has 16 bits: its rows are rounded, whether they come at once or not."""
    options = {"": (), "naive": ("--naive",)}.get(
        algorithm, ("--schedule", f"attention.algorithm={algorithm}")
    )
    whole, steps = libraries(compiler, "each", "--float", element, *options, element=element)
    states = {i["name"]: i for i in steps.inputs if i["role"] == "state"}
    assert {i["element"] for i in states.values()} == {element}
    x = numpy.random.default_rng(2).standard_normal((2, 7, 12)).astype(numpy.float32)
    empty = {n: half(a, element) for n, a in empty_caches(2, CAPACITY).items()}
    single = [1] * 7
    expected, rows = in_steps(steps, x, single, "each", empty)
    for sizes in ([7], [3, 1, 1, 2]):
        found, after = in_steps(steps, x, sizes, "each", empty)
        numpy.testing.assert_array_equal(found, expected, str(sizes))
        for name, array in after.items():
            numpy.testing.assert_array_equal(array, rows[name], name)
    tolerance = {"f16": 2e-3, "bf16": 1.6e-2}[element]
    numpy.testing.assert_allclose(
        wide(expected), wide(whole.run(x=x)["output"]), rtol=tolerance, atol=tolerance
    )
    # In the memory of the state.
    n, output = numpy.zeros(2, "i8"), half(numpy.zeros(expected.shape), element)
    context, x = steps.context(), half(x, element)
    context.bound_run({"x": x, "n": n, **empty}, {"output": output, **empty})()
    numpy.testing.assert_array_equal(wide(output), wide(expected))
    for name, array in empty.items():
        numpy.testing.assert_array_equal(wide(array), wide(rows[name]), name)
    context.close()


def test_one_query_of_half_floats(compiler):
    """Keys and values of 16 bits that are read where they are."""
    _, steps = libraries(compiler, "one", "--float", "f16", "--dim", "T=1", element="f16")
    _, naive = libraries(compiler, "one", "--float", "f16", "--naive", element="f16")
    x = numpy.random.default_rng(8).standard_normal((2, 5, 12)).astype(numpy.float32)
    empty = {n: half(a, "f16") for n, a in empty_caches(2, CAPACITY).items()}
    found, _ = in_steps(steps, x, [1] * 5, "one", empty)
    expected, _ = in_steps(naive, x, [1] * 5, "one", empty)
    numpy.testing.assert_allclose(wide(found), wide(expected), rtol=1e-3, atol=1e-3)


def half(array, element):
    if element == "f16":
        return array.astype(numpy.float16)
    return to_bf16(array.astype(numpy.float32))


def wide(array):
    return from_bf16(array) if array.dtype == numpy.uint16 else array.astype(numpy.float32)


def test_each_sequence_at_its_own_place(compiler):
    _, steps = libraries(compiler, "each")
    generator = numpy.random.default_rng(4)
    x = generator.standard_normal((3, 2, 12)).astype(numpy.float32)
    states = empty_caches(3, CAPACITY)
    for array in states.values():
        array[:] = generator.standard_normal(array.shape)
    n = numpy.array([0, 5, CAPACITY - 2])
    found = steps.run(x=x, n=n, **states)
    for b, start in enumerate(n):
        alone = steps.run(x=x[b:b+1], n=n[b:b+1], **{k: v[b:b+1] for k, v in states.items()})
        for name, array in alone.items():
            numpy.testing.assert_array_equal(found[name][b:b+1], array, name)
        for name, array in states.items():
            kept = numpy.delete(found[name][b], [start, start + 1], axis=1)
            numpy.testing.assert_array_equal(kept, numpy.delete(array[b], [start, start + 1], axis=1))
            assert (found[name][b, :, start : start + 2] != array[b, :, start : start + 2]).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_in_the_memory_of_the_state(compiler, threads):
    """The result may be the state: nothing but the new rows is written; else the state stays."""
    _, steps = libraries(compiler, "one")
    x = numpy.random.default_rng(5).standard_normal((2, 5, 12)).astype(numpy.float32)
    apart, expected = in_steps(steps, x, [2, 1, 2], "one", empty_caches(2, CAPACITY))
    context, states, done = steps.context(threads), empty_caches(2, CAPACITY), 0
    for size in (2, 1, 2):
        part, n = numpy.ascontiguousarray(x[:, done : done + size]), numpy.array(done)
        output = numpy.empty((2, size, 10), numpy.float32)
        before = {name: array.copy() for name, array in states.items()}
        found = context.run(x=part, n=n, **states)
        for name, array in states.items():
            numpy.testing.assert_array_equal(array, before[name], name)
        context.bound_run({"x": part, "n": n, **states}, {"output": output, **states})()
        numpy.testing.assert_array_equal(output, apart[:, done : done + size])
        for name, array in states.items():
            numpy.testing.assert_array_equal(array, found[name], name)
        done += size
    for name, array in states.items():
        numpy.testing.assert_array_equal(array, expected[name], name)
    context.close()


def test_other_memory_of_any_layout(compiler):
    """A state, or its result, whose elements lie apart."""
    _, steps = libraries(compiler, "one")
    x = numpy.random.default_rng(6).standard_normal((2, 2, 12)).astype(numpy.float32)
    states, output = empty_caches(2, CAPACITY), numpy.empty((2, 2, 10), numpy.float32)
    for array in states.values():
        array[:] = numpy.arange(array.size).reshape(array.shape)
    expected = steps.run(x=x, n=3, **states)

    def strided(array):
        wide = numpy.zeros((*array.shape, 2), array.dtype)
        wide[..., 0] = array
        return wide[..., 0]

    context, n = steps.context(), numpy.array(3)
    for inputs, outputs in ((states, strided), (strided, states), (strided, strided), (strided, None)):
        given = {k: inputs(v) if callable(inputs) else v for k, v in states.items()}
        into = {k: outputs(v) if callable(outputs) else v.copy() for k, v in states.items()}
        into = given if outputs is None else into
        context.bound_run({"x": x, "n": n, **given}, {"output": output, **into})()
        numpy.testing.assert_array_equal(output, expected["output"])
        for name, array in into.items():
            numpy.testing.assert_array_equal(array, expected[name], name)
    context.close()


@pytest.mark.parametrize("place", PLACES)
def test_beyond_the_capacity(compiler, place):
    _, steps = libraries(compiler, place)

    def run(n, queries=2, capacity=CAPACITY):
        n = numpy.int64(n) if place == "one" else numpy.array([0, n])
        states = {k: numpy.zeros_like(v) for k, v in empty_caches(2, capacity).items()}
        return steps.run(x=numpy.zeros((2, queries, 12), numpy.float32), n=n, **states)

    run(CAPACITY - 2)
    run(0, CAPACITY)
    run(CAPACITY, 0)
    for n in (CAPACITY - 1, CAPACITY, 2**62, -1):
        with pytest.raises(GatefoldError, match=rf"(?s)n.*{n}.*0\.\.{CAPACITY - 2}"):
            run(n)
    with pytest.raises(GatefoldError, match="append"):
        run(0, CAPACITY + 1)


OTHERS = """
# The old rows are read after the new ones are known.
model old(x: [B, T, 2], n: i64[B]) -> (a: [B, C, 2], b: [B, C]) {
  state seen: [B, C, 2]
  seen' = append(seen, x, at=n)
  return seen' - seen, sum(seen, axis=2)
}

# A state of its own counts; other axes and types; several places at once.
model counted(x: i64[B, T], y: [T, B]) -> (a: i64[B, C], b: [C, B]) {
  state n: i64[] = 2, tokens: i64[B, C] = -1, rows: [C, B]
  n' = n + T
  tokens' = append(append(tokens, 10 * x, at=0, axis=1), x, at=n, axis=1)
  rows' = append(rows, y, at=n, axis=0)
  return tokens', rows'
}

# In a cell: as many steps as there are rows; what is between two writes is an output.
cell remembering(x: [I], start: i64[]) -> [I] {
  state rows: [7, I], n: i64[] = start
  rows' = append(rows, x[None, :], at=n)
  n' = n + 1
  return sum(rows', axis=0)
}
cell before(x: [I]) -> ([7, I], [7, I]) {
  state rows: [7, I], n: i64[] = 1
  once = append(rows, x[None, :], at=n)
  rows' = append(once, x[None, :], at=0)
  n' = n + 1
  return rows, once
}
model cells(x: [B, 6, 3], n: i64[B], first: bool[B, 6]) ->
    (y: [B, 6, 3], rows: [B, 7, 3], old: [B, 6, 7, 3], once: [B, 6, 7, 3], some: [B, 6, 3], left: [B, 7, 3], again: [B, 6, 3],
     both: [B, 6, 3], held: [B, 7, 3]) {
  param c: remembering(), d: before()
  y, (rows, _) = scan(c, x, with=1)
  (old, once), _ = scan(d, x)
  some, (left, _) = scan(c, x, with=1, lengths=n)
  again, _ = scan(c, x, with=1, reset=first)
  both, (held, _) = scan(c, x, with=1, reset=first, lengths=n)
  return y, rows, old, once, some, left, again, both, held
}

# A cache for one sample.
model alone(x: [6, 3]) -> (y: [6, 3], rows: [7, 3]) {
  param c: remembering()
  y, (rows, _) = scan(c, x, with=1)
  return y, rows
}

# Nothing is written over, and what one state was is another one.
model same(x: [B, 3]) -> [B, 3] {
  state h: [B, 3], g: [B, 3]
  h' = h
  g' = h
  return x + h
}

# A place, of the sum of places, that is known.
model known(x: [B, 3, 2]) -> [B, C, 2] {
  state seen: [B, C, 2]
  seen' = append(seen, x, at=1)
  return append(seen', x[:, :1], at=C-1)
}
"""


def other(compiler, entry):
    return compiler.library(OTHERS, "--entry", entry).prepare({})


def test_what_is_read_beside(compiler):
    """The old rows are read behind the new ones: then there is a copy, in place or apart."""
    library, generator = other(compiler, "old"), numpy.random.default_rng(7)
    x = generator.standard_normal((2, 3, 2)).astype(numpy.float32)
    seen = generator.standard_normal((2, 9, 2)).astype(numpy.float32)
    expected = numpy.zeros((2, 9, 2), numpy.float32)
    expected[0, 4:7], expected[1, :3] = x[0] - seen[0, 4:7], x[1] - seen[1, :3]
    n = numpy.array([4, 0])
    found = library.run(x=x, n=n, seen=seen)
    numpy.testing.assert_array_equal(found["a"], expected)
    numpy.testing.assert_allclose(found["b"], seen.sum(axis=2), rtol=1e-6, atol=1e-6)
    context, place = library.context(), {"seen": seen.copy()}
    outputs = {name: numpy.empty_like(found[name]) for name in ("a", "b")}
    context.bound_run({"x": x, "n": n, **place}, {**outputs, **place})()
    for name, array in {**outputs, **place}.items():
        numpy.testing.assert_array_equal(array, found[name], name)
    context.close()


def test_other_axes_and_types(compiler):
    library = other(compiler, "counted")
    x, y = numpy.array([[1, 2], [3, 4]]), numpy.float32([[5, 6], [7, 8]])
    states = {"tokens": numpy.full((2, 7), -1), "rows": numpy.zeros((7, 2), numpy.float32)}
    tokens, rows, n = states["tokens"].copy(), states["rows"].copy(), 2
    states["n"] = numpy.array(n)
    for _ in range(2):
        found = library.run(x=x, y=y, **states)
        tokens[:, :2] = 10 * x
        tokens[:, n : n + 2], rows[n : n + 2] = x, y
        n += 2
        states = {name: found[name] for name in states}
        numpy.testing.assert_array_equal(found["a"], tokens)
        numpy.testing.assert_array_equal(found["b"], rows)
        for name, expected in {"tokens": tokens, "rows": rows, "n": n}.items():
            numpy.testing.assert_array_equal(states[name], expected, name)
    states["n"] = numpy.array(6)
    with pytest.raises(GatefoldError, match=r"`n` is 6, expected 0\.\.5"):
        library.run(x=x, y=y, **states)


@pytest.mark.parametrize("options", [(), ("--naive",)], ids=["fast", "naive"])
def test_in_a_cell(compiler, options):
    library = compiler.library(OTHERS, "--entry", "cells", *options).prepare({})
    generator = numpy.random.default_rng(8)
    x = generator.standard_normal((3, 6, 3)).astype(numpy.float32)
    n, first = numpy.array([6, 0, 4]), generator.random((3, 6)) < 0.4
    found = library.run(x=x, n=n, first=first)

    def check(name, expected):
        numpy.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6, err_msg=name)

    sums = x.cumsum(axis=1)
    check("y", sums)
    history = numpy.zeros((3, 7, 3))
    for t in range(6):
        numpy.testing.assert_array_equal(found["old"][:, t], history)
        history[:, t + 1] = x[:, t]
        numpy.testing.assert_array_equal(found["once"][:, t], history)
        history[:, 0] = x[:, t]
    check("rows", numpy.pad(x, ((0, 0), (1, 0), (0, 0))))
    valid = numpy.arange(6)[None, :, None] < n[:, None, None]
    check("some", sums * valid)
    check("left", numpy.pad(x * valid, ((0, 0), (1, 0), (0, 0))))
    padded = library.run(x=numpy.where(valid, x, numpy.nan).astype("f4"), n=n, first=first)
    for name in ("some", "left"):
        numpy.testing.assert_array_equal(padded[name], found[name], name)
    total = numpy.zeros((3, 3))
    for t in range(6):
        total = numpy.where(first[:, t, None], 0, total) + x[:, t]
        numpy.testing.assert_allclose(found["again"][:, t], total, rtol=1e-5, atol=1e-6)
    check("both", found["again"] * valid)
    for b, length in enumerate(n):
        start = max([0, *numpy.flatnonzero(first[b, :length])])
        held = numpy.zeros((7, 3))
        held[1 : 1 + length - start] = x[b, start:length]
        numpy.testing.assert_array_equal(found["held"][b], held.astype("f4"))
    alone = compiler.library(OTHERS, "--entry", "alone", *options).prepare({}).run(x=x[0])
    numpy.testing.assert_array_equal(alone["y"], found["y"][0])
    numpy.testing.assert_array_equal(alone["rows"], found["rows"][0])


def test_a_state_that_stays(compiler):
    library = other(compiler, "same")
    x, h, g = numpy.float32([[10, 20, 30]]), numpy.float32([[1, 2, 3]]), numpy.float32([[4, 5, 6]])
    found = library.run(x=x, h=h, g=g)
    context, output = library.context(), numpy.empty_like(x)
    context.bound_run({"x": x, "h": h, "g": g}, {"output": output, "h": h, "g": g})()
    for name, expected in {"output": [[11, 22, 33]], "h": [[1, 2, 3]], "g": [[1, 2, 3]]}.items():
        numpy.testing.assert_array_equal(found[name], expected, name)
        numpy.testing.assert_array_equal({"output": output, "h": h, "g": g}[name], expected, name)
    context.close()


def test_places_that_are_known(compiler):
    x = numpy.random.default_rng(9).standard_normal((2, 3, 2)).astype(numpy.float32)
    seen = numpy.zeros((2, 6, 2), numpy.float32)
    found = other(compiler, "known").run(x=x, seen=seen)
    seen[:, 1:4] = x
    numpy.testing.assert_array_equal(found["seen"], seen)
    seen[:, 5] = x[:, 0]
    numpy.testing.assert_array_equal(found["output"], seen)
