# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What holds between results, whatever the data: two texts that mean one thing, sums that vanish, what a shift or
a rotation leaves alone. What a formula gives is compared elsewhere."""

import re
import subprocess

import attention_references as attentions
import numpy
from conftest import GATEFOLD, ROOT, assert_close, random_weights


def floats(generator, *shape):
    return generator.normal(size=shape).astype(numpy.float32)


MODEL = """
model m(x: [B, T, 7], n: i64[B]) -> [B, T, 48] {
  param rnn: CELL(H=24, layers=1, bidirectional=true)
  y, _ = scan(rnn, x, lengths=n)
  return y
}
"""
# Of the same length, so that even what describes the parameters differs in these letters alone.
NAMES = {"weight_ih": "my_matrix", "weight_hh": "my_square", "bias_ih": "my_left", "bias_hh": "my_last"}
LOCALS = {"i": "enter", "f": "keep", "g": "new", "o": "leave", "h": "short", "c": "long", "x": "given"}


def renamed_lstm():
    """The cell of the library under other names, of its dimensions, too."""
    library = (ROOT / "frontend" / "library" / "cells.gf").read_text()
    (cell,) = re.findall(r"^cell lstm\(.*?^}", library, re.M | re.S)
    names = NAMES | LOCALS | {"lstm": "memory", "I": "IN", "H": "H"}
    return re.sub(r"[A-Za-z_]\w*", lambda name: names.get(name[0], name[0]), cell)


def compiled(folder, text):
    """The LLVM module of a text: code, and the description of inputs and parameters."""
    (folder / "m.gf").write_text(text)
    arguments = [GATEFOLD, "compile", "m.gf", "--emit", "llvm", "-o", "-"]
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_cell_of_the_library_is_a_cell_of_anyone(tmp_path):
    """The same code, to the letter: nothing knows what a cell is called, nor its parameters."""
    mine = renamed_lstm()
    assert not re.search(r"lstm|weight|bias", mine), mine
    ours = compiled(tmp_path, "import cells\n" + MODEL.replace("CELL", "lstm"))
    other = compiled(tmp_path, mine + MODEL.replace("CELL", "memory"))
    assert "weight_hh_l0_reverse" in ours and "my_square_l0_reverse" in other
    for name, given in NAMES.items():
        other = other.replace(given, name)
    assert other == ours


ATTENTIONS = """
import attention

model m(q: [T, 6], k: [S, 6], folded: [S, 6], v: [S, 3], more: [S, 3], l: [4, 6], place: i64[],
        heads: [8, T, 6], keys: [4, S, 6], values: [2, S, 3], weight: [4, T, 1]) ->
    (lesson: [T, 3], moved: [T, 3], plain: [T, 3], single: [T, 3], window: [T, 3], by_keys: [T, 3],
     turned: [T, 3], grouped: [4, T, 3]) {
  lesson = scaled_differential(q, k, v, l[0], l[1], l[2], l[3], causal=true)
  moved = scaled_differential(q, k, v + more, l[0], l[1], l[2], l[3], causal=true)
  plain = dot_product(q, k, v)
  single = diff_window(q, k, v, width=1)
  window = diff_window(q, k, v, width=5)
  by_keys = dot_product(q, folded, v)
  turned = dot_product(rotary(q, positions=arange(T) + place), rotary(k, positions=arange(S) + place), v)
  grouped = differential(heads[0::2], heads[1::2], keys[0::2], keys[1::2], values, weight, gqa=true)
  return lesson, moved, plain, single, window, by_keys, turned, grouped
}
"""


def folded_keys(k, width):
    """(1 + |nb(j)|) k_j less the sum of k over the neighbours nb(j)."""
    result = numpy.zeros(k.shape)
    reach = (width - 1) // 2
    for j in range(len(k)):
        near = [n for n in range(max(0, j - reach), min(len(k), j + reach + 1)) if n != j]
        result[j] = (1 + len(near)) * k[j].astype(float) - k[near].astype(float).sum(axis=0)
    return result.astype(numpy.float32)


def test_attentions(compiler):
    library = compiler.library(ATTENTIONS).prepare({})
    generator = numpy.random.default_rng(320)
    for size in (1, 2, 9, 70):
        k = floats(generator, size, 6)
        given = {
            "q": floats(generator, size, 6), "k": k, "folded": folded_keys(k, 5), "v": floats(generator, size, 3),
            "more": numpy.tile(floats(generator, 1, 3), (size, 1)), "l": floats(generator, 4, 6),
            "heads": floats(generator, 8, size, 6), "keys": floats(generator, 4, size, 6),
            "values": floats(generator, 2, size, 3), "weight": floats(generator, 4, size, 1),
        }  # fmt: skip
        found = library.run(**given, place=numpy.int64(0))
        # Two maps of scales, one less the other: rows sum to 0, and the first row sees one key.
        assert_close(found["moved"], found["lesson"].astype(float), size)
        assert (found["lesson"][0] == 0).all() and (found["moved"][0] == 0).all()
        # A window of one key has no neighbours; differences are linear in the keys.
        assert_close(found["single"], found["plain"].astype(float), size)
        assert_close(found["window"], found["by_keys"].astype(float), size)
        # Scores know how far apart two places are, not where, up to millions.
        far = library.run(**given, place=numpy.int64(3_000_000))
        assert_close(far["turned"], found["turned"].astype(float), size)
        # Fewer key heads: both maps of a query head read the pair of its group, and the group's values.
        q, keys, values = (given[name].astype(float) for name in ("heads", "keys", "values"))
        seen = attentions.visible(size, size)
        expected = [
            attentions.differential(
                seen, q[2 * h], q[2 * h + 1], keys[2 * (h // 2)], keys[2 * (h // 2) + 1], values[h // 2],
                given["weight"][h],
            )
            for h in range(4)
        ]  # fmt: skip
        assert_close(found["grouped"], numpy.array(expected), size)


COUNTED = """
attention counted(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  s = q @ k.T
  return where(visible and top_k(s, fraction=0.29), 1, 0) @ v
}

model m(q: [B, 1, 2], k: [B, 100, 2], n: i64[B]) -> [B, 1, 1] {
  return counted(q, k, ones((100, 1)), lengths=n)
}
"""


def test_a_fraction_of_what_is_visible(compiler):
    """The floor is that of a product of doubles, so that 0.29 of 100 is 28; one key at least, of those there are."""
    library = compiler.library(COUNTED).prepare({})
    generator = numpy.random.default_rng(321)
    n = numpy.arange(101)
    found = library.run(q=floats(generator, 101, 1, 2), k=floats(generator, 101, 100, 2), n=n)["output"][:, 0, 0]
    assert found[100] == 28 and int(numpy.float32(0.29) * numpy.float32(100)) == 29
    numpy.testing.assert_array_equal(found, numpy.minimum(n, numpy.maximum(1, numpy.floor(0.29 * n))))


MIXINGS = """
import cells

model m(x: [B, T, 3]) -> (before: [B, T, 5], article: [B, T, 5]) {
  param b: gru_reset_before(H=5), a: gru_article(H=5)
  before, _ = scan(b, x)
  article, _ = scan(a, x)
  return before, article
}
"""


def test_mixings_of_a_gru_are_one_with_the_other_sign(compiler):
    """(1 - z) h + z n is (1 - z) n + z h of the negated gate."""
    library = compiler.library(MIXINGS)
    generator = numpy.random.default_rng(322)
    weights = random_weights(library, generator)
    ours = {"b.weight_ih": "a.w", "b.weight_hh": "a.u"}
    for name, given in ours.items():
        r, z, n = (weights[given + gate] for gate in ("_r", "_z", ""))
        weights[name] = numpy.concatenate([r, -z, n])
    weights["b.bias_ih"] = numpy.concatenate([weights["a.b_r"], -weights["a.b_z"], weights["a.b"]])
    weights["b.bias_hh"] = numpy.zeros(15, numpy.float32)
    found = library.prepare(weights).run(x=floats(generator, 3, 17, 3))
    assert_close(found["article"], found["before"].astype(float))


NOTHING_OF_A_MAP = """
import attention

model m(q: [B, T, 6], k: [B, S, 6], other_q: [B, T, 6], other_k: [B, S, 6], v: [B, S, 3]) ->
    (one: [B, T, 3], two: [B, T, 3]) {
  one = dot_product(q, k, v)
  two = differential(q, other_q, k, other_k, v, lambda=0)
  return one, two
}
"""


def test_a_map_of_coefficient_zero(compiler):
    """It changes nothing while its scores are numbers. Where they are not, 0 times NaN is NaN: to leave the map out,
    as --fast-math does, hides it."""
    options = [], ["--naive"], ["--schedule", "attention.algorithm=online"]
    libraries = [compiler.library(NOTHING_OF_A_MAP, *option).prepare({}) for option in options]
    fast = compiler.library(NOTHING_OF_A_MAP, "--fast-math").prepare({})
    generator = numpy.random.default_rng(323)
    for queries, keys in ((1, 1), (5, 3), (70, 130)):
        given = {name: floats(generator, 3, queries, 6) for name in ("q", "other_q")}
        given |= {name: floats(generator, 3, keys, 6) for name in ("k", "other_k")}
        given["v"] = floats(generator, 3, keys, 3)
        bad = {name: array.copy() for name, array in given.items()}
        bad["other_q"][1, -1, 2] = numpy.nan
        bad["other_k"][2, 0, 3] = numpy.nan
        for library in libraries:
            found = library.run(**given)
            assert_close(found["two"], found["one"].astype(float), queries)
            hidden = numpy.zeros((3, queries, 3), bool)
            hidden[1, -1] = hidden[2] = True
            dirty = library.run(**bad)
            numpy.testing.assert_array_equal(dirty["one"], found["one"])
            numpy.testing.assert_array_equal(dirty["two"], numpy.where(hidden, numpy.nan, found["two"]))
        dirty = fast.run(**bad)
        # Products of a GPU may have no more than the bits of tf32 here.
        numpy.testing.assert_allclose(dirty["two"], dirty["one"], rtol=2e-3, atol=2e-3)
