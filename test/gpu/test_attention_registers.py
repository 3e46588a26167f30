# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions in the registers of a GPU's thread blocks, on the emulator: every kind of
restriction and of row program, against float64 and against the algorithm of rows in memory."""

import os
import pathlib
import subprocess
import sys
import types

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "test" / "numerics"))
sys.path.insert(0, str(ROOT / "frontend" / "python"))
import attention_references as attentions  # noqa: E402
from attention_references import softmax, weigh  # noqa: E402

GATEFOLD = BUILD / "bin" / "gatefold"
# Of each storage: rtol, atol against float64; the powers of 16 bits are rounded before they
# meet the values, which are at most some 4.
TOLERANCES = {"f32": (1.3e-6, 1e-5), "f16": (1e-3, 5e-3), "bf16": (1.6e-2, 5e-3)}
HEADS, WIDTH, VALUES = 2, 20, 24

OWN = """
attention norm(q: [T, D], k: [S, D], v: [S, E], g: [T, 1]) -> [T, E] {
  y = softmax(q @ k.T / sqrt(D)) @ v
  return g * y / sqrt(mean(y**2, axis=1, keep=true) + 0.1)
}

attention sinks(q: [T, D], k: [S, D], v: [S, E], z: [], g: [T, 1]) -> [T, E] {
  s = q @ k.T / sqrt(D)
  return softmax(s, sink=z) @ v - softmax(tanh(s), where=col % 3 != 1, sink=g) @ v
}

attention divided(q: [T, D], k: [S, D], v: [S, E], w: [D]) -> [T, E] {
  return softmax((q * w / w) @ k.T / sqrt(D)) @ v
}

attention sums(q: [T, D], k: [S, D], v: [S, E], z: []) -> [T, E] {
  return where(visible, sigmoid(q @ k.T / sqrt(D) - z), 0) @ v / 8
}

attention columns(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  mixed = 0
  for i in 2 {
    mixed = mixed + (i + 1) / 2 * softmax(q[:, 8*i:8*i+12] @ k[:, 8*i:8*i+12].T / sqrt(D))
  }
  return mixed @ v
}

func finished(y: [B, H, T, E], g: [B, 1, T, 1]) -> [B, H, T, E] {
  return sigmoid(g) * (y / sqrt(mean(y**2, axis=-1, keep=true) + 0.1))
}

attention relative(q: [T, D], k: [S, D], v: [S, E], table: [N]) -> [T, E] {
  return softmax(q @ k.T / sqrt(D) + take(table, clamp(position - col + 3, 0, N - 1))) @ v
}
"""
BODIES = {
    "plain": "dot_product(q, k, v",
    "differential": "differential(q, -q, k, k, v, g",
    "scaled": "scaled_differential(q, k, v, w, w, w2, w",
    "alibi": "alibi(q, k, v, z",
    "norm": "norm(q, k, v, g",
    "sinks": "sinks(q, k, v, z, g",
    "relative": "relative(q, k, v, table",
    "divided": "divided(q, k, v, w",
    "sums": "sums(q, k, v, z",
    "columns": "columns(q, k, v",
    "finished": "finished(dot_product(2 * q, k, v",
    "near": "diff_window(q, k, v, width=3",
    "nearby": "diff_window(q, k, v, width=5",
}
# Of each: restrictions, what the reference needs to know of them, the row programs in it.
VIEWS = {
    "whole": ("", {}, ("norm", "relative", "finished", "columns")),
    "causal": ("causal=true, gqa=true", {"causal": True}, ("plain", "differential", "near")),
    "ends": ("lengths=n", {}, ("near",)),
    "lengths": ("lengths=n, causal=true, offset=o", {"causal": True}, ("differential", "sinks", "sums", "nearby")),
    "window": ("window=(9, 2), lengths=n, offset=o", {"window": (9, 2)}, ("plain", "divided", "scaled", "nearby")),
    "mask": ("mask=m, bias=b", {}, ("alibi", "plain")),
}


def scores(n):
    return n.q @ n.k.T / numpy.sqrt(WIDTH)


def reference(name, n):
    if name in ("plain", "divided"):
        return attentions.dot_product(n.seen, n.q, n.k, n.v)
    if name == "differential":
        return attentions.differential(n.seen, n.q, -n.q, n.k, n.k, n.v, n.g)
    if name == "scaled":
        first = (n.q * n.w) @ (n.k * n.w).T / numpy.sqrt(WIDTH)
        second = (n.q * n.w2) @ (n.k * n.w).T / numpy.sqrt(WIDTH)
        return weigh(softmax(first, n.seen), n.v) - weigh(softmax(second, n.seen), n.v)
    if name == "alibi":
        return weigh(softmax(scores(n) - n.z * abs(n.position - n.column), n.seen), n.v)
    if name == "norm":
        y = weigh(softmax(scores(n), n.seen), n.v)
        return n.g * y / numpy.sqrt((y**2).mean(axis=1, keepdims=True) + 0.1)
    if name == "sinks":
        s = scores(n)
        odd = softmax(numpy.tanh(s), n.seen & (n.column % 3 != 1), n.g)
        return weigh(softmax(s, n.seen, n.z), n.v) - weigh(odd, n.v)
    if name == "sums":
        return weigh(n.seen / (1 + numpy.exp(n.z - scores(n))), n.v) / 8
    if name == "columns":
        parts = [n.q[:, a : a + 12] @ n.k[:, a : a + 12].T / numpy.sqrt(WIDTH) for a in (0, 8)]
        return sum((i + 1) / 2 * weigh(softmax(part, n.seen), n.v) for i, part in enumerate(parts))
    if name == "finished":
        y = weigh(softmax(2 * scores(n), n.seen), n.v)
        return y / numpy.sqrt((y**2).mean(axis=1, keepdims=True) + 0.1) / (1 + numpy.exp(-n.g))
    if name in ("near", "nearby"):
        s = scores(n)
        return weigh(softmax(s + attentions.neighbour_difference(s, n.seen, 3 if name == "near" else 5), n.seen), n.v)
    near = n.table[numpy.clip(n.position - n.column + 3, 0, 6)]
    return weigh(softmax(scores(n) + near, n.seen), n.v)


def text(view, key_heads):
    options, _, names = VIEWS[view]
    calls = [BODIES[name] + (", " + options if options else "") + ")" for name in names]
    calls = [call + ", g)" if call.startswith("finished") else call for call in calls]
    results = ", ".join(f"{name}: [B, {HEADS}, T, {VALUES}]" for name in names)
    return f"""import attention
{OWN}
model m(
  q: [B, {HEADS}, T, {WIDTH}], k: [B, {key_heads}, S, {WIDTH}], v: [B, {key_heads}, S, {VALUES}],
  g: [B, 1, T, 1], w: [{WIDTH}], w2: [{WIDTH}], z: [], table: [7],
  n: i64[B], o: i64[B], m: bool[B, 1, T, S], b: [T, S]
) -> ({results}) {{
  return {", ".join(calls)}
}}
"""


def rounded(array, element):
    if array.dtype != numpy.float32 or element == "f32":
        return array
    if element == "f16":
        return array.astype(numpy.float16).astype(numpy.float32)
    bits = array.view(numpy.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & numpy.uint32(0xFFFF0000)
    return bits.view(numpy.float32)


def inputs_of(generator, batch, queries, keys, key_heads, element):
    def normal(*shape):
        return rounded(generator.standard_normal(shape).astype(numpy.float32), element)

    given = {
        "q": normal(batch, HEADS, queries, WIDTH),
        "k": normal(batch, key_heads, keys, WIDTH),
        "v": normal(batch, key_heads, keys, VALUES),
        "g": normal(batch, 1, queries, 1),
        "w": normal(WIDTH),
        "w2": normal(WIDTH),
        "z": numpy.array(rounded(numpy.float32([0.3]), element)[0]),
        "table": normal(7),
        "n": generator.integers(0, keys + 1, batch),
        "o": generator.integers(-3, keys + 3, batch),
        "m": generator.random((batch, 1, queries, keys)) < 0.7,
        "b": normal(queries, keys),
    }
    return given


def run(folder, source, given, element, names, algorithm, *options, target="sm_80"):
    numpy.savez(folder / "in.npz", **given)
    command = [GATEFOLD, "run", source, "--float", element, "--device", "emulator"]
    command += ["--target", target, "--schedule", f"attention.algorithm={algorithm}"]
    command += ["--input", folder / "in.npz", "--output-dir", folder / "out", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return {name: numpy.load(folder / "out" / f"{name}.npy").astype(numpy.float32) for name in names}


def expected_of(view, given, name, b, h, key_heads):
    restrictions = dict(VIEWS[view][1])
    queries, keys = given["q"].shape[2], given["k"].shape[2]
    wide = {name: array.astype(numpy.float64) for name, array in given.items()}
    offset = keys - queries
    if "offset" in VIEWS[view][0]:
        offset = restrictions["offset"] = int(given["o"][b])
    if "lengths" in VIEWS[view][0]:
        restrictions["length"] = int(given["n"][b])
    seen = attentions.visible(queries, keys, **restrictions)
    if view == "mask":
        seen &= given["m"][b, 0]
    kv = h * key_heads // HEADS
    n = types.SimpleNamespace(
        q=wide["q"][b, h],
        k=wide["k"][b, kv],
        v=wide["v"][b, kv],
        g=wide["g"][b, 0],
        w=wide["w"],
        w2=wide["w2"],
        z=wide["z"],
        table=wide["table"],
        seen=seen,
        position=numpy.arange(queries)[:, None] + offset,
        column=numpy.arange(keys)[None, :],
    )
    with attentions.added_bias(wide["b"] if view == "mask" else 0):
        return reference(name, n)


# Queries and keys: one block, parts of blocks, several, none.
SIZES = {
    "f32": [(17, 100), (130, 1)],
    "f16": [(1, 130), (130, 130), (17, 0), (1, 1)],
    "bf16": [(100, 17)],
}


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("view", VIEWS)
def test_against_float64(tmp_path, view, element):
    key_heads = 1 if "gqa" in VIEWS[view][0] else HEADS
    source = tmp_path / "m.gf"
    source.write_text(text(view, key_heads))
    generator = numpy.random.default_rng(5)
    rtol, atol = TOLERANCES[element]
    names = VIEWS[view][2]
    for queries, keys in SIZES[element]:
        batch = 2 if queries < 20 else 1
        given = inputs_of(generator, batch, queries, keys, key_heads, element)
        found = run(tmp_path, source, given, element, names, "registers")
        for name in names:
            for b in range(batch):
                for h in range(HEADS):
                    numpy.testing.assert_allclose(
                        found[name][b, h],
                        expected_of(view, given, name, b, h, key_heads),
                        rtol=rtol,
                        atol=atol,
                        err_msg=str((name, queries, keys, b, h)),
                    )


WIDE = """import attention
model m(
  q: [1, T, 64], k: [1, S, 64], v: [1, S, 128], w: [1, 64], w2: [64], g: [1, T, 1]
) -> (differential: [1, T, 128], scaled: [1, T, 128]) {
  return differential(q, -q, k, k, v, g), scaled_differential(q, k, v, w, w2, w2, w2, causal=true, offset=24)
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
def test_two_maps_that_take_all_registers(tmp_path, element):
    """Blocks of 64 columns and values of 128; queries that are scaled have no registers, and
    are computed before the attention."""
    source = tmp_path / "m.gf"
    source.write_text(WIDE)
    generator = numpy.random.default_rng(9)
    shapes = {"q": (1, 17, 64), "k": (1, 41, 64), "v": (1, 41, 128), "w": (1, 64), "w2": (64,), "g": (1, 17, 1)}
    given = {
        name: rounded(generator.standard_normal(shape).astype(numpy.float32), element)
        for name, shape in shapes.items()
    }
    given["w"], given["w2"] = given["w"] / 2, given["w2"] / 2
    found, early = (
        run(tmp_path, source, given, element, ("differential", "scaled"), "registers", "--copies", when)
        for when in ("late", "early")
    )
    # Of several blocks of keys, each copied to shared memory while the one before is used.
    for name in found:
        assert found[name].tobytes() == early[name].tobytes(), name
    n = types.SimpleNamespace(**{name: array.astype(numpy.float64) for name, array in given.items()})
    q, k, v, g = n.q[0], n.k[0], n.v[0], n.g[0]
    everything = attentions.visible(17, 41)
    seen = attentions.visible(17, 41, causal=True, offset=24)
    first, second = (q * n.w[0] * n.w2) @ k.T / 8, (q * n.w2 * n.w2) @ k.T / 8
    expected = {
        "differential": attentions.differential(everything, q, -q, k, k, v, g),
        "scaled": weigh(softmax(first, seen), v) - weigh(softmax(second, seen), v),
    }
    rtol, atol = TOLERANCES[element]
    for name, array in expected.items():
        numpy.testing.assert_allclose(found[name][0], array, rtol=rtol, atol=atol, err_msg=name)


LITTLE_MEMORY = """import attention
model m(q: [1, T, 128], k: [1, S, 128], k2: [1, S, 128], v: [1, S, 128]) -> [1, T, 128] {
  return differential(q, -q, k, k2, v, 0.3)
}
"""


def test_fewer_queries_than_warps(tmp_path):
    """Where shared memory is little, wide queries of two maps are 32 at a time: two warps of a
    block have none."""
    source = tmp_path / "m.gf"
    source.write_text(LITTLE_MEMORY)
    generator = numpy.random.default_rng(10)
    shapes = {"q": (1, 35, 128), "k": (1, 19, 128), "k2": (1, 19, 128), "v": (1, 19, 128)}
    given = {name: generator.standard_normal(shape).astype(numpy.float32) for name, shape in shapes.items()}
    found = run(tmp_path, source, given, "f32", ("output",), "registers", target="sm_86")
    n = types.SimpleNamespace(**{name: array[0].astype(numpy.float64) for name, array in given.items()})
    expected = attentions.differential(
        attentions.visible(35, 19), n.q, -n.q, n.k, n.k2, n.v, 0.3
    )
    rtol, atol = TOLERANCES["f32"]
    numpy.testing.assert_allclose(found["output"][0], expected, rtol, atol)


FEW_KEYS = f"""import attention
model m(q: [T, {WIDTH}], k: [21, {WIDTH}], v: [21, {VALUES}]) -> [T, {VALUES}] {{
  return diff_window(q, k, v, width=5, window=(6, 3), offset=0)
}}
"""


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_queries_behind_a_known_number_of_keys(tmp_path, element):
    """Of the two blocks of queries the second sees no key: it sums up no end of a window."""
    source = tmp_path / "m.gf"
    source.write_text(FEW_KEYS)
    generator = numpy.random.default_rng(12)
    shapes = {"q": (150, WIDTH), "k": (21, WIDTH), "v": (21, VALUES)}
    given = {
        name: rounded(generator.standard_normal(shape).astype(numpy.float32), element)
        for name, shape in shapes.items()
    }
    found = run(tmp_path, source, given, element, ("output",), "registers")
    q, k, v = (array.astype(numpy.float64) for array in given.values())
    seen = attentions.visible(150, 21, window=(6, 3), offset=0)
    s = q @ k.T / numpy.sqrt(WIDTH)
    expected = weigh(softmax(s + attentions.neighbour_difference(s, seen, 5), seen), v)
    rtol, atol = TOLERANCES[element]
    numpy.testing.assert_allclose(found["output"], expected, rtol, atol)


# Queries, keys, offset: the first block of keys begins before the first key that is seen; no query
# sees any; what is seen ends where the block does.
@pytest.mark.parametrize("queries, keys, offset", [(17, 45, 18), (17, 45, 50), (2, 16, 14)])
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_hidden_keys_where_all_sizes_are_known(tmp_path, element, queries, keys, offset):
    """Where a block of keys begins is then a number: what is before the keys is no part of a sum."""
    source = tmp_path / "m.gf"
    source.write_text(f"""import attention
model m(q: [{queries}, {WIDTH}], k: [{keys}, {WIDTH}], v: [{keys}, {VALUES}]) -> [{queries}, {VALUES}] {{
  return dot_product(q, k, v, window=(3, 1), offset={offset})
}}
""")
    generator = numpy.random.default_rng(13)
    shapes = {"q": (queries, WIDTH), "k": (keys, WIDTH), "v": (keys, VALUES)}
    given = {
        name: rounded(generator.standard_normal(shape).astype(numpy.float32), element)
        for name, shape in shapes.items()
    }
    seen = attentions.visible(queries, keys, window=(3, 1), offset=offset)
    wide = {name: array.astype(numpy.float64) for name, array in given.items()}
    expected = attentions.dot_product(seen, wide["q"], wide["k"], wide["v"])
    hidden = ~seen.any(axis=0)
    given["k"][hidden], given["v"][hidden] = numpy.nan, numpy.nan
    found = run(tmp_path, source, given, element, ("output",), "registers")
    rtol, atol = TOLERANCES[element]
    numpy.testing.assert_allclose(found["output"], expected, rtol, atol)


STATISTICS = f"""import attention
{OWN}
model m(
  q: [B, {HEADS}, T, {WIDTH}], k: [B, {HEADS}, S, {WIDTH}], v: [B, {HEADS}, S, {VALUES}],
  g: [B, 1, T, 1], z: [], n: i64[B], o: i64[B]
) -> (plain: f32[B, {HEADS}, T], sink: f32[B, {HEADS}, T], tanh: f32[B, {HEADS}, T], output: [B, {HEADS}, T, {VALUES}]) {{
  a, plain = dot_product(q, k, v, causal=true, lengths=n, offset=o, lse=true)
  b, (sink, own) = sinks(q, k, v, 40 * z, g, lse=true)
  return plain, sink, own, a + b
}}
"""


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_log_sum_exp(tmp_path, element):
    source = tmp_path / "m.gf"
    source.write_text(STATISTICS)
    queries, keys = 17, 70
    given = inputs_of(numpy.random.default_rng(8), 2, queries, keys, HEADS, element)
    given = {name: given[name] for name in ("q", "k", "v", "g", "z", "n", "o")}
    given["n"], given["o"] = numpy.array([keys, 0]), numpy.array([-3, 9])
    found = run(tmp_path, source, given, element, ("plain", "sink", "tanh"), "registers")
    rtol, atol = TOLERANCES[element]
    wide = {name: array.astype(numpy.float64) for name, array in given.items()}
    for b in range(2):
        for h in range(HEADS):
            s = wide["q"][b, h] @ wide["k"][b, h].T / numpy.sqrt(WIDTH)
            seen = attentions.visible(queries, keys, causal=True, offset=given["o"][b], length=given["n"][b])
            everything = numpy.ones_like(seen)
            some = everything & (numpy.arange(keys)[None, :] % 3 != 1)
            for name, expected in {
                "plain": attentions.log_sum_exp(s, seen),
                "sink": attentions.log_sum_exp(s, everything, 40 * wide["z"]),
                "tanh": attentions.log_sum_exp(numpy.tanh(s), some, wide["g"][b, 0]),
            }.items():
                numpy.testing.assert_allclose(found[name][b, h], expected, rtol, atol, err_msg=name)


ONE_QUERY = """import attention
attention weighed(q: [T, D], k: [S, D], v: [S, E], g: [T, 1]) -> [T, E] {
  return (g * softmax(q @ k.T)) @ v
}
model m(q: [1, 1, 5], k: [1, S, 5], v: [1, S, 4], g: [1, 1, 1]) -> (y: [1, 1, 4], lse: f32[1, 1]) {
  y, lse = weighed(q, k, v, g, lse=true)
  return y, lse
}
"""


def test_one_query_that_is_known(tmp_path):
    """Its results, which are all of a block, are copied to where they go."""
    source = tmp_path / "m.gf"
    source.write_text(ONE_QUERY)
    generator = numpy.random.default_rng(11)
    shapes = {"q": (1, 1, 5), "k": (1, 40, 5), "v": (1, 40, 4), "g": (1, 1, 1)}
    given = {name: generator.standard_normal(shape).astype(numpy.float32) for name, shape in shapes.items()}
    found = run(tmp_path, source, given, "f32", ("y", "lse"), "registers")
    q, k, v, g = (array[0].astype(numpy.float64) for array in given.values())
    everything = attentions.visible(1, 40)
    expected = {
        "y": weigh(g * softmax(q @ k.T, everything), v),
        "lse": attentions.log_sum_exp(q @ k.T, everything),
    }
    rtol, atol = TOLERANCES["f32"]
    for name, array in expected.items():
        numpy.testing.assert_allclose(found[name][0], array, rtol, atol, err_msg=name)


def test_against_rows_in_memory(tmp_path):
    """The two algorithms of one program differ by rounding alone."""
    source = tmp_path / "m.gf"
    source.write_text(text("lengths", HEADS))
    given = inputs_of(numpy.random.default_rng(6), 2, 33, 70, HEADS, "f32")
    names = VIEWS["lengths"][2]
    found = run(tmp_path, source, given, "f32", names, "registers")
    other = run(tmp_path, source, given, "f32", names, "resident")
    for name in names:
        numpy.testing.assert_allclose(found[name], other[name], rtol=2.6e-6, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("algorithm", ["registers", "resident", "online"])
def test_bits_do_not_depend_on_other_queries(tmp_path, algorithm):
    """A sequence at once and its end alone: blocks of keys, and sums along them, begin at the same places."""
    source = tmp_path / "m.gf"
    source.write_text(text("window", HEADS))
    given = inputs_of(numpy.random.default_rng(7), 1, 140, 140, HEADS, "f32")
    given["n"], given["o"] = numpy.array([140]), numpy.array([0])
    end = dict(given)
    for name in ("q", "g"):
        end[name] = given[name][:, :, 90:]
    end["m"], end["b"], end["o"] = given["m"][:, :, 90:], given["b"][90:], numpy.array([90])
    names = VIEWS["window"][2]
    whole = run(tmp_path, source, given, "f32", names, algorithm)
    part = run(tmp_path, source, end, "f32", names, algorithm)
    for name in names:
        numpy.testing.assert_array_equal(whole[name][:, :, 90:], part[name], err_msg=name)


@pytest.mark.parametrize("algorithm", ["registers", "resident"])
def test_what_no_query_sees_is_not_read(tmp_path, algorithm):
    """NaN in keys and values before the window and behind the length."""
    source = tmp_path / "m.gf"
    source.write_text(text("window", HEADS))
    given = inputs_of(numpy.random.default_rng(8), 1, 5, 100, HEADS, "f32")
    given["n"], given["o"] = numpy.array([93]), numpy.array([89])
    names = VIEWS["window"][2]
    clean = run(tmp_path, source, given, "f32", names, algorithm)
    for name in ("k", "v"):
        given[name][:, :, :80] = numpy.nan
        given[name][:, :, 93:] = numpy.nan
    found = run(tmp_path, source, given, "f32", names, algorithm)
    for name in names:
        numpy.testing.assert_array_equal(found[name], clean[name], err_msg=name)
