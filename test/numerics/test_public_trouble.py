# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users of other systems keep running into, with the right answer: ragged batches, final states, masks,
grouped and packed sequences, numbers of 16 bits, checkpoints of another layout."""

import attention_references as attentions
import numpy
import pytest
from cell_references import sigmoid, tanh
from conftest import assert_close, random_weights
from gatefold_library import GatefoldError
from halves import TOLERANCES, rounded
from test_functions import rotary


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


RAGGED = """
import cells, attention

model ragged(x: [B, T, 5], n: i64[B]) -> (y: [B, T, 14], h: [4, B, 7], a: [B, T, 14], pooled: [B, 14]) {
  param rnn: lstm(H=7, layers=2, bidirectional=true), norm: layer_norm()
  y, (h, _) = scan(rnn, x, lengths=n)
  a = norm(y + dot_product(y, y, y, lengths=n))
  return y, h, a, mean(a, axis=1, lengths=n)
}
"""
# Neither sorted nor as long as the time of the batch.
LENGTHS = [4, 0, 9, 1, 6]


@pytest.fixture
def ragged(compiler):
    library = compiler.library(RAGGED)
    generator = numpy.random.default_rng(300)
    library.prepare(random_weights(library, generator))
    x = floats(generator, len(LENGTHS), 11, 5)
    for row, n in zip(x, LENGTHS):
        row[n:] = numpy.nan
    return library, x, library.run(x=x, n=numpy.array(LENGTHS))


def test_a_sequence_alone_is_a_sequence_in_a_batch(ragged):
    """Padding leaks: biases make it alive, the backward direction begins in it, the second layer and the
    attention read what the first left there; lengths must be sorted; outputs are cut to the longest."""
    library, x, batch = ragged
    assert batch["y"].shape == (5, 11, 14)
    for b, n in enumerate(LENGTHS):
        alone = library.run(x=x[b : b + 1, :n], n=numpy.array([n]))
        numpy.testing.assert_array_equal(batch["y"][b, :n], alone["y"][0])
        numpy.testing.assert_array_equal(batch["a"][b, :n], alone["a"][0])
        numpy.testing.assert_array_equal(batch["h"][:, b], alone["h"][:, 0])
        numpy.testing.assert_array_equal(batch["pooled"][b], alone["pooled"][0])
        assert (batch["y"][b, n:] == 0).all()


def test_the_last_states_of_two_directions(ragged):
    """The last output of a padded row is taken for its summary: it is padding, and of the backward direction the
    first step it took. The states hold the right ones, layer by layer, forward before backward."""
    _, _, found = ragged
    for b, n in enumerate(LENGTHS):
        if n:
            numpy.testing.assert_array_equal(found["h"][2, b], found["y"][b, n - 1, :7])
            numpy.testing.assert_array_equal(found["h"][3, b], found["y"][b, 0, 7:])
        else:
            assert (found["h"][:, b] == 0).all()


CHECKPOINTS = """
import cells

model all(x: [B, T, 3]) -> (lstm: [B, T, 4], peephole: [B, T, 4], gru: [B, T, 4], before: [B, T, 4]) {
  param l: lstm(H=4), p: lstm_peephole(H=4), g: gru(H=4), c: gru_reset_before(H=4)
  lstm, _ = scan(l, x)
  peephole, _ = scan(p, x)
  gru, _ = scan(g, x)
  before, _ = scan(c, x)
  return lstm, peephole, gru, before
}
"""


def scanned(x, states, step):
    """`step(x, *states)` gives the next states, of which the first is the output."""
    result = numpy.zeros((len(x), x.shape[1], 4))
    for b, t in numpy.ndindex(x.shape[:2]):
        if t == 0:
            state = (numpy.zeros(4),) * states
        state = step(x[b, t].astype(float), *state)
        result[b, t] = state[0]
    return result


def gates(array, order, wanted):
    """Blocks of the last axis, named by `order`, in another order and as rows."""
    parts = dict(zip(order, numpy.split(array, len(order), axis=-1)))
    return numpy.concatenate([parts[gate] for gate in wanted], axis=-1).T


def weights_of(prefix, kernel, recurrent, bias, recurrent_bias, order, wanted):
    named = {"weight_ih": kernel, "weight_hh": recurrent, "bias_ih": bias, "bias_hh": recurrent_bias}
    return {
        f"{prefix}.{name}": numpy.ascontiguousarray(gates(array, order, wanted), numpy.float32)
        for name, array in named.items()
    }


def random_layout(generator, count):
    """Kernels as [inputs, gates * units], two biases."""
    shapes = [(3, count * 4), (4, count * 4), (count * 4,), (count * 4,)]
    return [generator.uniform(-0.6, 0.6, shape) for shape in shapes]


def test_checkpoints_with_transposed_kernels(compiler):
    """Keras keeps kernels transposed, the gates of an LSTM as i f c o with one bias, those of a GRU as z r h with
    two; without `reset_after` a GRU is another cell with one bias."""
    generator = numpy.random.default_rng(301)
    kernel, recurrent, bias, _ = random_layout(generator, 4)
    weights = weights_of("l", kernel, recurrent, bias, 0 * bias, "ifco", "ifco")
    weights |= {name.replace("l.", "p."): array for name, array in weights.items()}
    weights |= {f"p.peep_{gate}": numpy.zeros(4, numpy.float32) for gate in "ifo"}
    w, u, b, rb = random_layout(generator, 3)
    weights |= weights_of("g", w, u, b, rb, "zrh", "rzh")
    weights |= weights_of("c", w, u, b, 0 * rb, "zrh", "rzh")

    def lstm(x, h, c):
        i, f, g, o = numpy.split(x @ kernel + h @ recurrent + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(c), c

    def gru(x, h):
        z, r, candidate = numpy.split(x @ w + b, 3)
        more_z, more_r, inner = numpy.split(h @ u + rb, 3)
        z = sigmoid(z + more_z)
        return (z * h + (1 - z) * tanh(candidate + sigmoid(r + more_r) * inner),)

    def reset_before(x, h):
        z, r, candidate = numpy.split(x @ w + b, 3)
        z, r = sigmoid(z + h @ u[:, :4]), sigmoid(r + h @ u[:, 4:8])
        return (z * h + (1 - z) * tanh(candidate + (r * h) @ u[:, 8:]),)

    x = floats(generator, 2, 5, 3)
    found = compiler.library(CHECKPOINTS).prepare(weights).run(x=x)
    assert_close(found["lstm"], scanned(x, 2, lstm))
    numpy.testing.assert_array_equal(found["peephole"], found["lstm"])
    assert_close(found["gru"], scanned(x, 1, gru))
    assert_close(found["before"], scanned(x, 1, reset_before))


def test_checkpoints_with_other_gates(compiler):
    """ONNX keeps the gates of an LSTM as i o f c, its peepholes as i o f, those of a GRU as z r h; a converted
    GRU of PyTorch is `linear_before_reset=1`, and 0 is what it is where nobody says so."""
    generator = numpy.random.default_rng(302)
    w, r, wb, rb = random_layout(generator, 4)
    peepholes = dict(zip("iof", generator.uniform(-0.6, 0.6, (3, 4))))
    weights = weights_of("p", w, r, wb, rb, "iofc", "ifco")
    weights |= {f"p.peep_{gate}": p.astype(numpy.float32) for gate, p in peepholes.items()}
    weights |= weights_of("l", w, r, wb, rb, "iofc", "ifco")
    gw, gr, gwb, grb = random_layout(generator, 3)
    for cell in "gc":
        weights |= weights_of(cell, gw, gr, gwb, grb, "zrh", "rzh")

    def lstm(peephole):
        def step(x, h, c):
            i, o, f, g = numpy.split(x @ w + h @ r + wb + rb, 4)
            i, f = (sigmoid(gate + peephole * peepholes[n] * c) for n, gate in (("i", i), ("f", f)))
            c = f * c + i * tanh(g)
            return sigmoid(o + peephole * peepholes["o"] * c) * tanh(c), c

        return step

    def gru(linear_before_reset):
        def step(x, h):
            z, reset, inner = numpy.split(x @ gw + gwb, 3)
            z = sigmoid(z + h @ gr[:, :4] + grb[:4])
            reset = sigmoid(reset + h @ gr[:, 4:8] + grb[4:8])
            if linear_before_reset:
                inner = inner + reset * (h @ gr[:, 8:] + grb[8:])
            else:
                inner = inner + (reset * h) @ gr[:, 8:] + grb[8:]
            return (z * h + (1 - z) * tanh(inner),)

        return step

    x = floats(generator, 2, 5, 3)
    found = compiler.library(CHECKPOINTS).prepare(weights).run(x=x)
    assert_close(found["lstm"], scanned(x, 2, lstm(0)))
    assert_close(found["peephole"], scanned(x, 2, lstm(1)))
    assert_close(found["gru"], scanned(x, 1, gru(True)))
    assert_close(found["before"], scanned(x, 1, gru(False)))
    assert abs(found["gru"] - found["before"]).max() > 1e-3


def test_two_biases_are_one_but_in_a_gru(compiler):
    """Converters add the two biases of a gate. That is right but for the candidate of a GRU whose reset gate stands
    behind the recurrent product: it scales the second one."""
    generator = numpy.random.default_rng(303)
    library = compiler.library(CHECKPOINTS)
    weights = random_weights(library, generator)
    x = floats(generator, 2, 5, 3)
    apart = library.prepare(weights).run(x=x)
    for name in [name for name in weights if name.endswith("bias_hh")]:
        other = name.replace("hh", "ih")
        weights[other], weights[name] = weights[other] + weights[name], 0 * weights[name]
    joined = compiler.library(CHECKPOINTS).prepare(weights).run(x=x)
    for name in ("lstm", "peephole", "before"):
        assert_close(joined[name], apart[name].astype(float), name)
    assert abs(joined["gru"] - apart["gru"]).max() > 1e-3


ROTATED = """
import attention

model m(x: [T, 6]) -> (half: [T, 12], pairs: [T, 12], unpermuted: [T, 12]) {
  param q: linear(N=12), k: linear(N=12), v: linear(N=12), q2: linear(N=12), k2: linear(N=12)
  values = split_heads(v(x), 3)
  half = dot_product(rotary(split_heads(q(x), 3)), rotary(split_heads(k(x), 3)), values, causal=true)
  pairs = dot_product(rotary(split_heads(q2(x), 3), interleaved=true),
                      rotary(split_heads(k2(x), 3), interleaved=true), values, causal=true)
  wrong = dot_product(rotary(split_heads(q(x), 3), interleaved=true),
                      rotary(split_heads(k(x), 3), interleaved=true), values, causal=true)
  return merge_heads(half), merge_heads(pairs), merge_heads(wrong)
}
"""


def test_checkpoints_that_rotate_other_pairs(compiler):
    """Checkpoints rotate neighbours or halves of a head. Rows of the projections permuted head by head turn one
    into the other; the wrong one runs and is nonsense."""
    library = compiler.library(ROTATED)
    generator = numpy.random.default_rng(304)
    weights = random_weights(library, generator)
    for name in [name for name in weights if name[:2] in ("q.", "k.")]:
        heads = weights[name].reshape(3, 2, 2, -1)
        weights[name[0] + "2" + name[1:]] = heads.swapaxes(1, 2).reshape(weights[name].shape)
    x = 3 * floats(generator, 9, 6)
    found = library.prepare(weights).run(x=x)
    assert_close(found["pairs"], found["half"].astype(float))
    assert abs(found["unpermuted"] - found["half"]).max() > 1e-2


SCORES = """
import attention

attention capped(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  return softmax(tanh(q @ k.T)) @ v
}

model m(q: [T, 6], k: [S, 6], v: [S, 2], m: bool[T, S], b: [T, S], low: [T, S], n: i64[]) ->
    (both: [T, 2], early: [T, 2], far: [T, 2], lowest: [T, 2], twice: [T, 2], capped: [T, 2]) {
  both = dot_product(q, k, v, causal=true, offset=0, mask=m)
  early = dot_product(q, k, v, causal=true)
  far = dot_product(q, k, v, lengths=n, bias=b)
  lowest = dot_product(q, k, v, bias=low)
  twice = dot_product(q, k, v, bias=low + low)
  return both, early, far, lowest, twice, capped(q, k, v, mask=m)
}
"""


@pytest.mark.parametrize("algorithm", ["resident", "online"])
def test_rows_that_see_nothing_and_scores_that_are_low(compiler, algorithm):
    """NaN in rows that two masks hide together, and in the first rows where queries outnumber keys. Scores below
    a kernel's "minus infinity" count as hidden. The lowest float in place of -inf: twice it is -inf. A cap on
    scores behind the mask lets hidden keys through."""
    schedule = f"attention.algorithm={algorithm}" + ",attention.key_block=64" * (algorithm == "online")
    library = compiler.library(SCORES, "--schedule", schedule).prepare({})
    generator = numpy.random.default_rng(305)
    lowest = numpy.finfo(numpy.float32).min
    for queries, keys in [(5, 3), (4, 9), (3, 70)]:
        q, k = floats(generator, queries, 6), floats(generator, keys, 6)
        v, n = floats(generator, keys, 2), keys // 2 + 1
        mask = generator.random((queries, keys)) < 0.5
        mask[1, :2] = False  # what causality leaves to row 1
        mask[2] = False
        bias = numpy.full((queries, keys), -1e6, numpy.float32)
        bias[:, n:] = 0
        low = numpy.where(mask, 0, numpy.float32(lowest))
        found = library.run(q=q, k=k, v=v, m=mask, b=bias, low=low, n=n)
        assert all(numpy.isfinite(array).all() for array in found.values())

        q, k, v = (array.astype(float) for array in (q, k, v))
        scores = attentions.scores(q, k)

        def attend(seen, scores=scores):
            return attentions.softmax(scores, seen) @ v

        what = (queries, keys)
        everything = attentions.visible(queries, keys)
        causal = attentions.visible(queries, keys, causal=True, offset=0)
        assert_close(found["both"], attend(causal & mask), what)
        assert (found["both"][1:3] == 0).all()
        assert_close(found["early"], attend(attentions.visible(queries, keys, causal=True)), what)
        assert (found["early"][: max(0, queries - keys)] == 0).all()
        # A score of this size has no digits behind the point left but 4 bits.
        near = numpy.float32(scores) + bias
        assert_close(found["far"], attend(attentions.visible(queries, keys, length=n), near.astype(float)), what)
        # The lowest number swallows a score, so that a row of nothing else is a mean.
        assert_close(found["lowest"], attend(everything, numpy.where(mask, scores, lowest)), what)
        assert_close(found["twice"], attend(mask), what)
        assert (found["twice"][2] == 0).all()
        assert_close(found["capped"], attend(mask, tanh(q @ k.T)), what)


PACKED = """
import attention

model m(q: [T, 8], k: [T, 8], v: [T, 3], document: i64[T], place: i64[T]) -> [T, 3] {
  return dot_product(rotary(q, positions=place), rotary(k, positions=place), v, causal=true,
                     segments=(document, document))
}
"""


def test_packed_documents_do_not_see_each_other(compiler):
    """Positions that begin anew do not part documents in one row: attention goes on across the border. With
    segments each is what it is alone, whatever stands beside it."""
    library = compiler.library(PACKED).prepare({})
    generator = numpy.random.default_rng(306)
    sizes = [5, 1, 11]
    given = {name: floats(generator, sum(sizes), width) for name, width in zip("qkv", (8, 8, 3))}
    given["document"] = numpy.repeat([7, 2, 7 + 2], sizes)
    given["place"] = numpy.concatenate([numpy.arange(size) for size in sizes])
    packed = library.run(**given)["output"]
    end = 0
    for size in sizes:
        begin, end = end, end + size
        alone = library.run(**{name: array[begin:end] for name, array in given.items()})["output"]
        assert_close(packed[begin:end], alone.astype(float), size)
    for name in "qkv":
        given[name][:5] = 1e6
    numpy.testing.assert_array_equal(library.run(**given)["output"][5:], packed[5:])


HALVES = """
import attention

model m(q: [T, 64], k: [S, 64], v: [S, 3], x: [T, 64], r: [T, 8], place: i64[T], ones: [N]) ->
    (attended: [T, 3], root: [T, 64], centred: [T, 64], turned: [T, 8], count: [], mean: [T], flat: [T, 3]) {
  param rms: rms_norm(affine=false), norm: layer_norm(affine=false)
  attended = dot_product(q, k, v)
  flat = dot_product(0 * q, ones[:, None] + zeros((1, 64)), ones[:, None] + zeros((1, 3)))
  return attended, rms(x), norm(x), rotary(r, positions=place), sum(ones), mean(x, axis=1), flat
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
def test_what_16_bits_cannot_hold_between(compiler, element):
    """Scores, squares and sums beyond 65504; counts that stop at 256 or 2048; weights of thousands of keys that
    vanish; positions that 16 bits do not tell apart."""
    library = compiler.library(HALVES, "--float", element).prepare({})
    generator = numpy.random.default_rng(307)
    place = numpy.array([0, 257, 1857, 15962, 131071])
    given = {
        "q": 60 * generator.normal(size=(5, 64)),
        "k": 60 * generator.normal(size=(9, 64)),
        "v": generator.normal(size=(9, 3)),
        "x": 3000 * generator.normal(size=(5, 64)) + numpy.array([[0], [3000], [30000], [-9000], [50000]]),
        "r": generator.normal(size=(5, 8)),
        "ones": numpy.ones(5001),
    }
    given = {name: rounded(array, element) for name, array in given.items()}
    found = library.run(**given, place=place)
    found = {name: rounded(array, element).astype(float) for name, array in found.items()}
    q, k, v, x, r = (given[name].astype(float) for name in "qkvxr")
    rtol, atol = TOLERANCES[element]

    def check(name, expected):
        numpy.testing.assert_allclose(found[name], expected, rtol=rtol, atol=atol, err_msg=name)

    scores = attentions.scores(q, k)
    assert abs(q @ k.T).max() > 65504
    check("attended", attentions.softmax(scores, scores < numpy.inf) @ v)
    check("root", x / numpy.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5))
    centred = x - x.mean(axis=1, keepdims=True)
    check("centred", centred / numpy.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5))
    check("turned", rotary(r, place, interleaved=False))
    check("count", 5001)
    check("mean", x.mean(axis=1))
    check("flat", numpy.ones((5, 3)))


SHAPED = """
import attention

model m(q: [B, 2, T, 4], k: [B, 2, S, 4], m: bool[B, S]) -> [B, 2, T, 4] {
  return dot_product(q, k, k, mask=m)
}
"""


def test_a_padding_mask_of_another_shape(compiler):
    """A padding mask [B, S] is `m[:, None, None]`; given as it is it would be [T, S]. A run says so, and a batch
    of 1 does not stretch."""
    library = compiler.library(SHAPED).prepare({})
    for batch, queries in [(1, 3), (2, 1), (2, 3)]:
        q, k = numpy.zeros((batch, 2, queries, 4)), numpy.zeros((batch, 2, 5, 4))
        given = {"q": q.astype(numpy.float32), "k": k.astype(numpy.float32)}
        with pytest.raises(GatefoldError, match=r"mask is \[B, S\], expected \[.., T, S\]"):
            library.run(**given, m=numpy.ones((batch, 5), bool))
