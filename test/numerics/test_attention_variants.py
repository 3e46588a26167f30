# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of the library beyond the core, and bodies of a user's own, in each view,
against float64: one model for each view holds them all."""

import attention_references as attentions
import numpy
import pytest
from attention_references import exp, neighbour_difference, softmax, tanh, top_k, weigh
from conftest import assert_close, lengths_of

HEADS, WIDTH, VALUES = 2, 5, 3
MAPS, BUCKETS = 3, 8
INPUTS = "q: [T, D], k: [S, D], v: [S, E]"


def sigmoid(x):
    return 1 / (1 + exp(-x))


def scores(n):
    return n.q @ n.k.T / numpy.sqrt(WIDTH)


def additive(n):
    sums = n.q[:, None, :] + n.k[None, :, :]
    return weigh(softmax(tanh(sums) @ n.w, n.seen), n.v)


def scaled_differential(n):
    # The scales move to the query: one map is (q * w * w2) @ k.
    first = (n.q * n.w * n.w2) @ n.k.T / numpy.sqrt(WIDTH)
    second = (n.q * n.w2 * n.w2) @ n.k.T / numpy.sqrt(WIDTH)
    return weigh(softmax(first, n.seen), n.v) - weigh(softmax(second, n.seen), n.v)


def sparse_differential(n, fraction=0.5, temperature=0.5):
    s = scores(n)
    kept = top_k(s, n.seen, fraction=fraction)
    return weigh(softmax(s, kept), n.v) - weigh(softmax(temperature * s, kept), n.v)


def near_and_far(n):
    s, distance = scores(n), abs(n.position - n.column)
    near = softmax(s - n.slope * distance, n.seen)
    far = softmax(tanh(s), n.seen & (distance >= 2))
    return weigh(near, n.v) - n.g * weigh(far, n.v)


def ties(n):
    s = (n.column * 7 + n.row * 3) % 4 + 0.0
    return weigh(softmax(scores(n), top_k(s, n.seen, count=3)), n.v)


def normalised(n):
    y = weigh(softmax(scores(n), n.seen), n.v)
    return y / numpy.sqrt((y**2).mean(axis=1, keepdims=True) + 0.1)


def sums_over_keys(n):
    s = numpy.where(n.seen, exp(scores(n) / 4), 0)
    total = s.sum(axis=1, keepdims=True)
    share = s / (total + 0.5)
    # Of the keys that some query reaches.
    average = total / max(1, n.reached.sum())
    return weigh(share, n.v) + average


def mixed_maps(n):
    result = 0
    for i in range(MAPS):
        columns = slice(i * WIDTH, (i + 1) * WIDTH)
        s = n.many_q[:, columns] @ n.many_k[:, columns].T / numpy.sqrt(WIDTH)
        result = result + n.mix[:, i : i + 1] * weigh(softmax(s, n.seen), n.v)
    return result


def relative_bias(n):
    reach = n.table.shape[0] // 2
    places = numpy.clip(n.column - n.position, -reach, reach) + reach
    return weigh(softmax(scores(n) + n.table[places], n.seen), n.v)


def bucket(ahead, buckets, furthest, bidirectional):
    """T5's, of one distance from a query to a key."""
    start = 0
    if bidirectional:
        buckets //= 2
        start = buckets if ahead > 0 else 0
        distance = abs(ahead)
    else:
        distance = max(-ahead, 0)
    near = buckets // 2
    if distance < near:
        return start + distance
    # The largest m <= log(distance / near) / log(furthest / near) * (buckets - near), in whole
    # numbers: T5's own distances stand on borders.
    m = 0
    while m < buckets - near and (
        distance ** (buckets - near) * near ** (m + 1) >= near ** (buckets - near) * furthest ** (m + 1)
    ):
        m += 1
    return start + min(near + m, buckets - 1)


def bucketed_bias(n, bidirectional, scale):
    places = numpy.zeros(n.seen.shape, int)
    for i, j in numpy.ndindex(places.shape):
        places[i, j] = bucket(j - n.position[i, 0], BUCKETS, 20, bidirectional)
    return weigh(softmax(scale * (n.q @ n.k.T) + n.buckets[places], n.seen), n.v)


# name: (inputs beside q, k, v; body, or a call of the library; reference)
BODIES = {
    "additive": ("w: [D]", "additive(q, k, v, w", additive),
    "scaled": (
        "w: [D], w2: [D]",
        "scaled_differential(q, k, v, w, w2, w2, w2",
        scaled_differential,
    ),
    "sparse": ("", "sparse_differential(q, k, v", sparse_differential),
    "sparse_few": (
        "",
        "sparse_differential(q, k, v, fraction=0.01, temperature=2",
        lambda n: sparse_differential(n, 0.01, 2),
    ),
    "sparse_all": (
        "",
        "sparse_differential(q, k, v, fraction=1",
        lambda n: sparse_differential(n, 1),
    ),
    "alibi": (
        "slope: []",
        "alibi(q, k, v, slope",
        lambda n: weigh(
            softmax(scores(n) - n.slope * abs(n.position - n.column), n.seen), n.v
        ),
    ),
    "soft_capped": (
        "",
        "soft_capped(q, k, v, cap=2",
        lambda n: weigh(softmax(2 * tanh(scores(n) / 2), n.seen), n.v),
    ),
    "sparse_dot_product": (
        "",
        "sparse_dot_product(q, k, v, count=3",
        lambda n: weigh(softmax(scores(n), top_k(scores(n), n.seen, count=3)), n.v),
    ),
    "mixed_maps": ("", "mixed_maps(many_q, many_k, v, mix", mixed_maps),
    "sigmoid_dot_product": (
        "slope: []",
        "sigmoid_dot_product(q, k, v, slope",
        lambda n: weigh(numpy.where(n.seen, sigmoid(scores(n) + n.slope), 0), n.v),
    ),
    "with_sink": (
        "slope: []",
        "with_sink(q, k, v, slope",
        lambda n: weigh(softmax(scores(n), n.seen, n.slope), n.v),
    ),
    "streaming": (
        "",
        "streaming(q, k, v, first=2, recent=3",
        lambda n: weigh(
            softmax(scores(n), n.seen & ((n.column < 2) | (n.position - n.column < 3))), n.v
        ),
    ),
    "prefix_causal": (
        "",
        "prefix_causal(q, k, v, prefix",
        lambda n: weigh(
            softmax(scores(n), n.seen & ((n.column < n.prefix) | (n.column <= n.position))), n.v
        ),
    ),
    "relative_bias": ("", "relative_bias(q, k, v, table", relative_bias),
    "bucketed_bias": (
        "",
        "bucketed_bias(q, k, v, buckets, max_distance=20",
        lambda n: bucketed_bias(n, True, 1),
    ),
    "bucketed_bias_of_a_decoder": (
        "",
        "bucketed_bias(q, k, v, buckets, bidirectional=false, max_distance=20, scale=0.5",
        lambda n: bucketed_bias(n, False, 0.5),
    ),
    "near_and_far": (
        "slope: [], g: [T, 1]",
        """s = q @ k.T / sqrt(D)
  near = softmax(s - slope * abs(position - col))
  far = softmax(tanh(s), where=abs(position - col) >= 2)
  return (near - g * far) @ v""",
        near_and_far,
    ),
    "sink": (
        "slope: []",
        "return softmax(q @ k.T / sqrt(D), sink=slope) @ v",
        lambda n: weigh(softmax(scores(n), n.seen, n.slope), n.v),
    ),
    "sink_of_each_query": (
        "g: [T, 1]",
        "return softmax(q @ k.T / sqrt(D), where=col % 3 != 1, sink=g) @ v",
        lambda n: weigh(softmax(scores(n), n.seen & (n.column % 3 != 1), n.g), n.v),
    ),
    "differences_of_all": (
        "",
        """s = q @ k.T / sqrt(D)
  return softmax(s + neighbour_difference(s, 5, scope="all")) @ v""",
        lambda n: weigh(
            softmax(
                scores(n)
                + neighbour_difference(scores(n), numpy.ones_like(n.seen), 5),
                n.seen,
            ),
            n.v,
        ),
    ),
    "differences_of_tanh": (
        "",
        """s = tanh(q @ k.T)
  return softmax(s + neighbour_difference(s, 3)) @ v""",
        lambda n: weigh(
            softmax(
                tanh(n.q @ n.k.T) + neighbour_difference(tanh(n.q @ n.k.T), n.seen, 3),
                n.seen,
            ),
            n.v,
        ),
    ),
    "shares_alone": (
        "",
        "return where(visible, sigmoid(q @ k.T / sqrt(D)), 0) @ v",
        lambda n: weigh(numpy.where(n.seen, sigmoid(scores(n)), 0), n.v),
    ),
    "sums_over_keys": (
        "",
        """s = where(visible, exp(q @ k.T / sqrt(D) / 4), 0)
  share = s / (sum(s, axis=1, keep=true) + 0.5)
  return share @ v + mean(s, axis=1, keep=true)""",
        sums_over_keys,
    ),
    "maps_of_several_values": (
        "w: [D]",
        """s = q @ k.T / sqrt(D)
  return softmax(s) @ v - softmax(2 * s) @ tanh(v) + softmax(-s) @ v**2""",
        lambda n: weigh(softmax(scores(n), n.seen), n.v)
        - weigh(softmax(2 * scores(n), n.seen), tanh(n.v))
        + weigh(softmax(-scores(n), n.seen), n.v**2),
    ),
    "after_softmax": (
        "b: [T, S]",
        """a = softmax(q @ k.T / sqrt(D))
  return (a**2 / (a + 0.1) * b) @ v""",
        lambda n: weigh(
            softmax(scores(n), n.seen) ** 2 / (softmax(scores(n), n.seen) + 0.1) * n.b,
            n.v,
        ),
    ),
    "pairs_and_places": (
        "b: [T, S], c: [1, S]",
        """s = bent(q @ k.T / sqrt(D), 0.5) + b * c - 0.1 * (row % 3)
  return softmax(s, where=b > -1 or col == row) @ v""",
        lambda n: weigh(
            softmax(
                scores(n) + 0.5 * tanh(scores(n)) + n.b * n.c,
                n.seen & ((n.b > -1) | (n.column == n.row)),
            ),
            n.v,
        ),
    ),
    "ties": (
        "",
        """kept = top_k(f32((col * 7 + row * 3) % 4), count=3)
  return softmax(q @ k.T / sqrt(D), where=kept) @ v""",
        ties,
    ),
    "normalised": (
        "",
        """y = softmax(q @ k.T / sqrt(D)) @ v
  return y / sqrt(mean(y**2, axis=1, keep=true) + 0.1)""",
        normalised,
    ),
}
# What a body may take: its shape in the model, and for one head of a batch row.
SHAPES = {
    "q": f"[B, {HEADS}, T, {WIDTH}]",
    "k": f"[B, {HEADS}, S, {WIDTH}]",
    "v": f"[B, {HEADS}, S, {VALUES}]",
    "w": f"[{HEADS}, {WIDTH}]",
    "w2": f"[{WIDTH}]",
    "slope": f"[{HEADS}]",
    "g": f"[B, {HEADS}, T, 1]",
    "b": f"[B, {HEADS}, T, S]",
    "c": f"[{HEADS}, 1, S]",
    "many_q": f"[B, {HEADS}, T, {MAPS * WIDTH}]",
    "many_k": f"[B, {HEADS}, S, {MAPS * WIDTH}]",
    "mix": f"[B, {HEADS}, T, {MAPS}]",
    "table": f"[{HEADS}, 7]",
    "buckets": f"[{HEADS}, {BUCKETS}]",
    "prefix": "i64[B, 1]",
}
VIEWS = {
    "all": "",
    "causal": "causal=true",
    "window from a place": "causal=true, window=(3, 1), offset=2",
    "lengths": "lengths=lengths",
    "lengths and causal of each row": "lengths=lengths, causal=true, offset=offset",
    "mask and bias": "mask=mask, bias=bias",
    "segments": "segments=(qs, ks), window=(inf, 4)",
}


def declared(bodies):
    """The lines that declare bodies, and by name the beginning of a call of each."""
    lines = ["import attention", "", "func bent(s: [], by) -> [] {"]
    lines += ["  return s + by * tanh(s)", "}", ""]
    calls = {}
    for name, (more, body, _) in bodies.items():
        if not body.startswith(("return", "s =", "a =", "y =", "kept =")):
            calls[name] = body
        else:
            inputs = ", ".join(filter(None, [INPUTS, more]))
            lines += [f"attention {name}({inputs}) -> [T, E] {{", f"  {body}", "}", ""]
            names = [part.split(":")[0] for part in more.split(", ") if ":" in part]
            calls[name] = f"{name}({', '.join(['q', 'k', 'v', *names])}"
    return lines, calls


def text(options, bodies=BODIES):
    lines, calls = declared(bodies)
    shapes = dict(SHAPES)
    if "lengths" in options:
        shapes["lengths"] = "i64[B]"
    if "=offset" in options:
        shapes["offset"] = "i64[B]"
    if "mask" in options:
        shapes |= {"mask": "bool[B, 1, 1, S]", "bias": f"[{HEADS}, T, S]"}
    if "segments" in options:
        shapes |= {"qs": "i64[B, T]", "ks": "i64[B, S]"}
    inputs = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
    results = ", ".join(f"{name}_y: [B, {HEADS}, T, {VALUES}]" for name in bodies)
    lines += [f"model attend({inputs}) -> ({results}) {{"]
    # Where no softmax is, a bias would have no effect.
    values = [
        ", ".join(filter(None, [call, options])) + ")"
        for call in calls.values()
    ]
    values = [
        value.replace(", bias=bias", "")
        if value.startswith(("shares_alone", "sums_over_keys", "sigmoid_dot_product"))
        else value
        for value in values
    ]
    lines += ["  return " + ",\n      ".join(values), "}"]
    return "\n".join(lines) + "\n"


class Head:
    """What the body of one head sees."""

    def __init__(self, inputs, b, h, seen, reached, offset):
        for name in SHAPES:
            array = inputs[name]
            if name != "prefix":
                array = array.astype(numpy.float64)
            lead = len(array.shape) - (1 if name in ("w", "w2", "table", "buckets") else 2)
            if name == "slope":
                lead = 1
            setattr(self, name, array[(b, h)[2 - lead :]])
        self.prefix = inputs["prefix"][b, 0]
        self.seen, self.reached = seen, reached
        queries, keys = seen.shape
        self.row = numpy.arange(queries)[:, None]
        self.column = numpy.arange(keys)[None, :]
        self.position = self.row + offset


def random_inputs(generator, batch, queries, keys):
    sizes = {"B": batch, "T": queries, "S": keys}
    inputs = {}
    for name, shape in SHAPES.items():
        shape = [sizes.get(s, s) for s in shape.removeprefix("i64").strip("[]").split(", ")]
        inputs[name] = generator.normal(size=[int(s) for s in shape])
        inputs[name] = inputs[name].astype(numpy.float32)
    inputs["slope"] = abs(inputs["slope"])
    inputs["prefix"] = generator.integers(0, keys + 2, (batch, 1))
    return inputs


RUNS = [(2, 3, 7), (1, 7, 3), (1, 17, 17), (3, 1, 1), (1, 2, 64), (1, 3, 65),
        (1, 0, 4), (2, 3, 0), (0, 2, 2)]  # fmt: skip


def check(library, view, bodies=BODIES, runs=RUNS, rounded=numpy.asarray, assert_close=assert_close):
    """Runs what `text` of a view makes, on inputs that `rounded` makes of any."""
    options = VIEWS[view]
    generator = numpy.random.default_rng(30)
    for batch, queries, keys in runs:
        inputs = random_inputs(generator, batch, queries, keys)
        inputs = {
            name: array if name == "prefix" else rounded(array) for name, array in inputs.items()
        }
        given = dict(inputs)
        seen = numpy.ones((batch, HEADS, queries, keys), bool)
        offsets = [keys - queries] * batch
        restrict = {}
        if "offset=2" in options:
            offsets = [2] * batch
            restrict = {"window": (3, 1)}
        if "=offset" in options:
            offsets = generator.integers(-2, keys + 2, batch)
            given["offset"] = offsets
        if "causal" in options:
            restrict["causal"] = True
        if "inf" in options:
            restrict["window"] = (None, 4)
        if "lengths" in options:
            given["lengths"] = lengths_of(generator, batch, keys)
        for b in range(batch):
            length = given["lengths"][b] if "lengths" in given else None
            seen[b] &= attentions.visible(
                queries, keys, offset=offsets[b], length=length, **restrict
            )
        reached = seen.any(axis=2)
        if "mask" in options:
            given["mask"] = generator.random((batch, 1, 1, keys)) < 0.6
            bias = generator.normal(size=(HEADS, queries, keys)).astype(numpy.float32)
            bias[generator.random(bias.shape) < 0.2] = -numpy.inf
            if queries:
                bias[0, 0] = -numpy.inf
            given["bias"] = rounded(bias)
            seen &= given["mask"]
        if "segments" in options:
            given["qs"] = generator.integers(0, 3, (batch, queries))
            given["ks"] = generator.integers(0, 3, (batch, keys))
            seen &= (given["qs"][:, :, None] == given["ks"][:, None, :])[:, None]
        found = library.run(**given)
        for name, (_, _, reference) in bodies.items():
            expected = numpy.zeros((batch, HEADS, queries, VALUES))
            for b, h in numpy.ndindex(batch, HEADS):
                head = Head(inputs, b, h, seen[b, h], reached[b, h], offsets[b])
                bias = given["bias"][h] if "bias" in given else 0
                with attentions.added_bias(bias):
                    expected[b, h] = reference(head)
            what = (name, batch, queries, keys)
            result = found[name + "_y"]
            assert_close(result, expected, what)
            # A row that sees no key is exactly 0.
            empty = ~seen.any(axis=3)
            if name != "sums_over_keys":
                assert (result[empty] == 0).all(), what
        if "lengths" in given:
            check_that_padding_is_not_read(library, given, seen, found, bodies)


def check_that_padding_is_not_read(library, given, seen, clean, bodies):
    """NaN in keys that no query sees changes no bit."""
    dirty = {name: array.copy() for name, array in given.items()}
    for b, keys in enumerate((~seen.any(axis=2)).all(axis=1)):
        dirty["k"][b][:, keys] = numpy.nan
        dirty["v"][b][:, keys] = numpy.nan
        dirty["many_k"][b][:, keys] = numpy.nan
        dirty["b"][b][:, :, keys] = numpy.nan
    found = library.run(**dirty)
    for name in bodies:
        # Differences of all keys read them on purpose.
        if name != "differences_of_all":
            numpy.testing.assert_array_equal(found[name + "_y"], clean[name + "_y"], name)


@pytest.mark.parametrize("view", VIEWS)
def test_bodies(compiler, view):
    check(compiler.library(text(VIEWS[view])).prepare({}), view)


T5 = """
import attention

model far(q: [T, 1], k: [1, 1], table: [32], place: i64[]) -> (both: f32[T], back: f32[T]) {
  _, both = bucketed_bias(q, k, k, table, offset=place, lse=true)
  _, back = bucketed_bias(q, k, k, table, bidirectional=false, offset=place, lse=true)
  return both, back
}
"""


def test_buckets_of_t5(compiler):
    """32 of them, 128 the furthest. Of one key the log-sum-exp is its score."""
    library = compiler.library(T5).prepare({})
    places = numpy.arange(-300, 301)
    found = library.run(
        q=numpy.zeros((len(places), 1), numpy.float32),
        k=numpy.zeros((1, 1), numpy.float32),
        table=numpy.arange(32, dtype=numpy.float32),
        place=numpy.array(places[0]),
    )
    for name, bidirectional in {"both": True, "back": False}.items():
        expected = [bucket(-int(place), 32, 128, bidirectional) for place in places]
        numpy.testing.assert_array_equal(found[name], expected)
