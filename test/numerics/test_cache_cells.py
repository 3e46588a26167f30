# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cells with caches of their own: a decoder that looks at what it wrote, feeds itself its likeliest
token and ends by itself, at once or in parts, in the memory of its caches."""

import attention_references as attentions
import numpy
import pytest
from conftest import RTOL, lengths_of, random_weights
from gatefold_library import GatefoldError, from_bf16, to_bf16
from test_functions import rotary

CAPACITY, ENDING, TOKENS, WIDTH, HEADS = 21, 2, 11, 8, 2
DECODING = f"""
import attention

cell decoder(start: i64[], V, C, M, heads) -> (written: i64[], scores: [V]) {{
  state keys: ELEMENT[heads, C, M // heads], values: ELEMENT[heads, C, M // heads]
  state n: i64[] = 0, token: i64[] = start, done: bool[]
  param embed: embedding(V=V, N=M), q: linear(N=M), k: linear(N=M), v: linear(N=M), out: linear(N=M)
  param up: linear(N=2*M), down: linear(N=M), head: linear(N=V)
  x = embed(token)
  keys' = append(keys, rotary(split_heads(k(x)[None], heads), positions=n + arange(1)), at=n)
  values' = append(values, split_heads(v(x)[None], heads), at=n)
  query = rotary(split_heads(q(x)[None], heads), positions=n + arange(1))
  x = x + out(merge_heads(dot_product(query, keys', values', causal=true, offset=n))[0])
  x = x + down(relu(up(x)))
  token' = argmax(head(x))
  done' = done or token' == {ENDING}
  n' = n + 1
  return token', head(x)
}}

# All that it carries goes in and out, so that it can go on.
model decode(steps: [N], limit: i64[B], C) -> (tokens: i64[B, N], scores: [B, N, {TOKENS}]) {{
  state keys: ELEMENT[B, {HEADS}, C, {WIDTH // HEADS}], values: ELEMENT[B, {HEADS}, C, {WIDTH // HEADS}]
  state n: i64[B], token: i64[B], done: bool[B]
  param d: decoder(V={TOKENS}, C=C, M={WIDTH}, heads={HEADS})
  (tokens, scores), (keys', values', n', token', done') = scan(d, with=token, steps=N,
      init=(keys, values, n, token, done), until="done"LENGTHS)
  return tokens, scores
}}

# Its caches are seen by nobody else.
model write(token: i64[B], steps: [N]) -> (tokens: i64[B, N], n: i64[B], keys: [B, {HEADS}, {CAPACITY}, {WIDTH // HEADS}]) {{
  param d: decoder(V={TOKENS}, C={CAPACITY}, M={WIDTH}, heads={HEADS})
  (tokens, _), (keys, _, n, _, _) = scan(d, with=token, steps=N, until="done")
  return tokens, n, keys
}}
"""


def library_of(compiler, *options, element="", lengths="", capacity=CAPACITY, entry="decode"):
    text = DECODING.replace("ELEMENT", element).replace("LENGTHS", lengths)
    arguments = ("--arg", f"C={capacity}") if entry == "decode" else ()
    return compiler.library(text, "--entry", entry, *arguments, *options)


def prepared(library, seed=446):
    """Weights so large that what was read decides; and what they are."""
    weights = random_weights(library, numpy.random.default_rng(seed))
    weights = {name: 3 * array for name, array in weights.items()}
    library.prepare(weights)
    return weights


def fresh(batch, element=numpy.float32, capacity=CAPACITY):
    """What nobody wrote is NaN, which shows where it is read."""
    shape = (batch, HEADS, capacity, WIDTH // HEADS)
    return {
        "keys": numpy.full(shape, 0x7FC0 if element == numpy.uint16 else numpy.nan, element),
        "values": numpy.full(shape, 0x7FC0 if element == numpy.uint16 else numpy.nan, element),
        "n": numpy.zeros(batch, int),
        "token": numpy.arange(batch) % TOKENS,
        "done": numpy.zeros(batch, bool),
    }


def greedy(weights, batch, steps, limits):
    """In float64: tokens, scores and what is carried then, of all sequences."""
    w = {name.removeprefix("d."): array.astype(float) for name, array in weights.items()}
    states = {name: array.astype(float if array.ndim > 1 else array.dtype) for name, array in fresh(batch).items()}
    tokens, scores = numpy.zeros((batch, steps), int), numpy.zeros((batch, steps, TOKENS))
    for b, limit in enumerate(limits):
        keys, values = states["keys"][b], states["values"][b]
        for t in range(min(limit, steps)):
            if states["done"][b]:
                continue
            x = w["embed.weight"][states["token"][b]]
            q, k, v = (
                (w[f"{name}.weight"] @ x + w[f"{name}.bias"]).reshape(HEADS, 1, -1) for name in "qkv"
            )
            place = numpy.array([t])
            keys[:, t], values[:, t] = rotary(k, place)[:, 0], v[:, 0]
            seen = attentions.visible(1, CAPACITY, length=t + 1)
            heads = [
                attentions.dot_product(seen, query, keys[h], values[h]) for h, query in enumerate(rotary(q, place))
            ]
            x = x + w["out.weight"] @ numpy.concatenate(heads, axis=1)[0] + w["out.bias"]
            inner = numpy.maximum(w["up.weight"] @ x + w["up.bias"], 0)
            x = x + w["down.weight"] @ inner + w["down.bias"]
            scores[b, t] = w["head.weight"] @ x + w["head.bias"]
            best, second = sorted(scores[b, t])[::-1][:2]
            assert best - second > 1e-3, "rounding would choose the token"
            tokens[b, t] = states["token"][b] = scores[b, t].argmax()
            states["done"][b] = tokens[b, t] == ENDING
            states["n"][b] = t + 1
    return tokens, scores, states


def in_parts(run, sizes, batch, states, limit=None):
    """Tokens and scores of parts that follow one another, and the states behind them."""
    parts = []
    for size in sizes:
        most = numpy.full(batch, size) if limit is None else limit
        found = run(steps=numpy.zeros(size, "f4"), limit=most, **states)
        states = {name: found[name] for name in states}
        parts.append((found["tokens"], found["scores"]))
    return *(numpy.concatenate(part, axis=1) for part in zip(*parts)), states


@pytest.mark.parametrize("lengths", ["", ", lengths=limit"], ids=["all", "lengths"])
@pytest.mark.parametrize("options", [(), ("--naive",)], ids=["fast", "naive"])
def test_decoding(compiler, options, lengths):
    library = library_of(compiler, *options, lengths=lengths)
    weights = prepared(library)
    generator = numpy.random.default_rng(5)
    ended = []
    for batch, steps in [(7, 16), (3, CAPACITY), (1, 1), (2, 0), (0, 3)]:
        limits = lengths_of(generator, batch, steps) if lengths else numpy.full(batch, steps)
        given = {"limit": limits} if lengths else {}
        tokens, scores, states = greedy(weights, batch, steps, limits)
        found_tokens, found_scores, found = in_parts(library.run, [steps], batch, fresh(batch), **given)
        numpy.testing.assert_array_equal(found_tokens, tokens, str((batch, steps)))
        numpy.testing.assert_allclose(found_scores, scores, RTOL, 4e-5, err_msg=str((batch, steps)))
        for name, array in states.items():
            numpy.testing.assert_allclose(found[name], array, 1e-5, 4e-5, err_msg=str((name, batch, steps)))
        ended += list(zip(states["done"], states["n"]))
    assert {done for done, _ in ended} == {False, True} and len(set(ended)) > 7, ended


STEPS = 16
CUTS = [[1] * STEPS, [5, 0, 11], [STEPS]]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_in_parts(compiler, threads):
    """To the bit what comes at once, in the memory of the states; ranks share the work of a step."""
    library = library_of(compiler)
    prepared(library)
    expected = in_parts(library.run, [STEPS], 5, fresh(5))
    context = library.context(threads)
    for sizes in CUTS:
        tokens, scores, states = in_parts(context.run, sizes, 5, fresh(5))
        numpy.testing.assert_array_equal(tokens, expected[0], str(sizes))
        numpy.testing.assert_array_equal(scores, expected[1], str(sizes))
        own, done = fresh(5), 0
        for size in sizes:
            part = {"tokens": numpy.empty((5, size), int), "scores": numpy.empty((5, size, TOKENS), "f4")}
            given = {"steps": numpy.zeros(size, "f4"), "limit": numpy.zeros(5, int)}
            context.bound_run({**given, **own}, {**part, **own})()
            numpy.testing.assert_array_equal(part["tokens"], tokens[:, done : done + size])
            numpy.testing.assert_array_equal(part["scores"], scores[:, done : done + size])
            done += size
        for name, array in expected[2].items():
            numpy.testing.assert_array_equal(states[name], array, str((name, sizes)))
            numpy.testing.assert_array_equal(own[name], array, str((name, sizes)))
    context.close()


def test_one_by_one(compiler):
    """A sequence that has ended costs the others no bit, nor they it."""
    library = library_of(compiler)
    prepared(library)
    tokens, scores, states = in_parts(library.run, [STEPS], 5, fresh(5))
    for b in range(5):
        alone = {name: array[b : b + 1] for name, array in fresh(5).items()}
        found = in_parts(library.run, [STEPS - 3, 3], 1, alone)
        numpy.testing.assert_array_equal(found[0][0], tokens[b])
        numpy.testing.assert_array_equal(found[1][0], scores[b])
        for name, array in found[2].items():
            numpy.testing.assert_array_equal(array[0], states[name][b], name)


@pytest.mark.parametrize("options", [(), ("--naive",)], ids=["fast", "naive"])
def test_caches_of_its_own(compiler, options):
    library, whole = library_of(compiler, *options, entry="write"), library_of(compiler, *options)
    prepared(library)
    prepared(whole)
    tokens, _, states = in_parts(whole.run, [STEPS], 5, fresh(5))
    found = library.run(token=fresh(5)["token"], steps=numpy.zeros(STEPS, "f4"))
    numpy.testing.assert_array_equal(found["tokens"], tokens)
    numpy.testing.assert_array_equal(found["n"], states["n"])
    for b, n in enumerate(found["n"]):
        numpy.testing.assert_array_equal(found["keys"][b, :, :n], states["keys"][b, :, :n])
        assert not found["keys"][b, :, n:].any()


def test_no_cache_is_copied(compiler):
    """A step works in the memory of the state: the workspace does not know the capacity."""
    sizes = []
    for capacity in (CAPACITY, 50 * CAPACITY):
        library = library_of(compiler, capacity=capacity)
        prepared(library)
        context = library.context()
        given = {"steps": numpy.zeros(4, "f4"), "limit": numpy.zeros(3, int), **fresh(3, capacity=capacity)}
        sizes.append(context.workspace_size(**given))
        context.close()
    # But for the row of scores of each thread.
    assert sizes[1] - sizes[0] < 3 * 4 * 50 * CAPACITY, sizes


@pytest.mark.parametrize("options", [(), ("--naive",)], ids=["fast", "naive"])
def test_beyond_the_capacity(compiler, options):
    """Only for sequences that would write there."""
    library = library_of(compiler, *options)
    prepared(library)
    in_parts(library.run, [3 * CAPACITY], 6, fresh(6))
    with pytest.raises(GatefoldError, match=r"m\d+\.gf:10:11: `append`: .* 1 rows in a capacity of 21"):
        in_parts(library.run, [CAPACITY + 1], 7, fresh(7))


def wide(array):
    return from_bf16(array) if array.dtype == numpy.uint16 else array.astype(numpy.float32)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_caches_of_half_floats(compiler, element):
    """16 bits where the text says so: what is appended is rounded, at once or in parts."""
    kind = {"f16": numpy.float16, "bf16": numpy.uint16}[element]
    options = ("--float", element)
    library = library_of(compiler, *options, element=element)
    floats = library_of(compiler, *options)
    for made in (library, floats):
        prepared(made)
        elements = {i["element"] for i in made.inputs if i["name"] in ("keys", "values")}
        assert elements == {"f32" if made is floats else element}
    tokens, scores, states = in_parts(library.run, [STEPS], 5, fresh(5, kind))
    for sizes in CUTS:
        found = in_parts(library.run, sizes, 5, fresh(5, kind))
        numpy.testing.assert_array_equal(found[0], tokens, str(sizes))
        numpy.testing.assert_array_equal(found[1], scores, str(sizes))
        for name, array in found[2].items():
            numpy.testing.assert_array_equal(array, states[name], str((name, sizes)))
    # A first row is computed from no cache.
    for name, array in in_parts(floats.run, [1], 5, fresh(5))[2].items():
        if array.ndim > 1:
            row = array[:, :, 0]
            row = to_bf16(row) if element == "bf16" else row.astype(kind)
            numpy.testing.assert_array_equal(wide(states[name][:, :, 0]), wide(row), name)


def test_half_floats_with_lengths(compiler):
    """As the naive path has it."""
    options = ("--float", "f16")
    found = []
    for more in ((), ("--naive",)):
        library = library_of(compiler, *options, *more, element="f16", lengths=", lengths=limit")
        prepared(library)
        limit = numpy.array([0, 1, STEPS, STEPS - 1, 2])
        found.append(in_parts(library.run, [STEPS], 5, fresh(5, numpy.float16), limit))
    (tokens, scores, states), expected = found
    numpy.testing.assert_array_equal(tokens, expected[0])
    numpy.testing.assert_allclose(wide(scores), wide(expected[1]), 4e-3, 4e-3)
    for name, array in states.items():
        numpy.testing.assert_allclose(wide(array), wide(expected[2][name]), 4e-3, 4e-3, err_msg=name)


def test_a_cell_alone_has_its_caches_in_half_floats(compiler):
    settings = {"V": TOKENS, "C": CAPACITY, "M": WIDTH, "heads": HEADS, "steps": 4}
    text = DECODING.replace("ELEMENT", "f16").replace("LENGTHS", "")
    arguments = [option for item in settings.items() for option in ("--arg", "{}={}".format(*item))]
    library = compiler.library(text, "--entry", "decoder", "--float", "f16", *arguments)
    elements = {i["name"]: i["element"] for i in library.inputs if i["role"] == "state"}
    assert elements["keys"] == elements["values"] == "f16", elements


KEEPING = """
cell keeping(x: [I]) -> [I] {
  state rows: f16[7, I] = 0.5, n: i64[]
  rows' = append(rows, x[None], at=n)
  n' = n + 1
  return sum(rows', axis=0)
}

model m(x: [B, 6, 3], first: bool[B, 6]) -> [B, 6, 3] {
  state rows: f16[B, 7, 3], n: i64[B]
  param k: keeping()
  y, (rows', n') = scan(k, x, init=(rows, n), reset=first)
  return y
}
"""


@pytest.mark.parametrize("options", [(), ("--naive",)], ids=["fast", "naive"])
def test_caches_of_half_floats_that_begin_again(compiler, options):
    library = compiler.library(KEEPING, "--float", "f16", *options).prepare({})
    generator = numpy.random.default_rng(6)
    x = generator.standard_normal((3, 6, 3)).astype(numpy.float16)
    first = numpy.array([[False] * 6, [True] + [False] * 5, [False, False, True, False, True, False]])
    begun = generator.standard_normal((3, 7, 3)).astype(numpy.float16)
    found = library.run(x=x, first=first, rows=begun, n=numpy.zeros(3, int))
    for b in range(3):
        rows, n = begun[b].copy(), 0
        for t in range(6):
            if first[b, t]:
                rows, n = numpy.full((7, 3), 0.5, numpy.float16), 0
            rows[n], n = x[b, t], n + 1
            numpy.testing.assert_allclose(found["output"][b, t].astype(float), rows.astype(float).sum(axis=0), 1e-3, 2e-3)
        assert found["rows"].dtype == numpy.float16
        numpy.testing.assert_array_equal(found["rows"][b], rows)
