# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every attention of the library in f16 and bf16: views, algorithms, what hides keys."""

import re

import attention_references as attentions
import numpy
import pytest
import test_attention_variants as variants
import test_diff_window as differences
from halves import TOLERANCES, assert_near, rounded
from test_fast_against_naive import ATTENTIONS

CORE = {
    "dot_product": (
        "",
        "dot_product(q, k, v",
        lambda n: attentions.dot_product(n.seen, n.q, n.k, n.v),
    ),
    "diff_window": (
        "",
        "diff_window(q, k, v",
        lambda n: attentions.diff_window(n.seen, n.q, n.k, n.v),
    ),
    # The second map's scores are those of the first with the other sign.
    "differential": (
        "g: [T, 1]",
        "differential(q, -q, k, k, v, g",
        lambda n: attentions.differential(n.seen, n.q, -n.q, n.k, n.k, n.v, n.g),
    ),
}
LIBRARY = ("additive", "scaled", "sparse", "alibi", "soft_capped")
BODIES = CORE | {name: variants.BODIES[name] for name in LIBRARY}
# Each differs from one of those in an operation or two: one view, and a type for each path, have to do.
ALIKE = (
    "sparse_dot_product", "mixed_maps", "sigmoid_dot_product", "with_sink", "streaming", "prefix_causal",
    "relative_bias", "bucketed_bias",
)  # fmt: skip
ALIKE_RUNS = [
    ("lengths and causal of each row", "resident", "f16"),
    ("lengths and causal of each row", "online", "bf16"),
]
ALL_BODIES = BODIES | {name: variants.BODIES[name] for name in ALIKE}
# These have no form in blocks of keys.
ONLY_RESIDENT = ("sparse", "sparse_dot_product")
PATHS = {
    "resident": ((), ["--schedule", "attention.algorithm=resident"]),
    "online": (ONLY_RESIDENT, ["--schedule", "attention.algorithm=online,attention.key_block=64"]),
    "naive": ((), ["--naive"]),
}
VIEWS = ("lengths and causal of each row", "window from a place", "mask and bias")
RUNS = [(2, 3, 7), (1, 17, 17), (3, 1, 1), (1, 3, 65), (1, 2, 130), (2, 3, 0), (0, 2, 2)]


def test_all_of_the_library_are_here():
    called = {re.match(r"\w+", body).group() for _, body, _ in ALL_BODIES.values()}
    assert called == set(ATTENTIONS)


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("view", VIEWS)
def test_views(compiler, view, path, element):
    without, options = PATHS[path]
    bodies = ALL_BODIES if (view, path, element) in ALIKE_RUNS else BODIES
    bodies = {name: body for name, body in bodies.items() if name not in without}
    if path == "online" and "mask" in view:  # differences of such do not fold into the keys
        bodies = {name: body for name, body in bodies.items() if name != "diff_window"}
    library = compiler.library(variants.text(variants.VIEWS[view], bodies), "--float", element, *options)
    variants.check(
        library.prepare({}),
        view,
        bodies,
        RUNS,
        lambda array: rounded(array, element),
        lambda found, expected, what: assert_near(found, expected, element, what),
    )


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("view", ["window", "causal and left"])
def test_differences_from_neighbours(compiler, view, element):
    """Every width and scope; keys are folded in f32."""
    options, restrictions = differences.VIEWS[view]
    library = compiler.library(differences.text(options), "--float", element).prepare({})
    generator = numpy.random.default_rng(98)
    for sizes in differences.SIZES:
        given = differences.inputs_of(generator, *sizes)
        given = {name: rounded(array, element) for name, array in given.items()}
        differences.check(
            library.run(**given),
            given,
            lambda b: attentions.visible(*sizes[1:], **restrictions(given["n"][b], given["o"][b])),
            (view, sizes),
            lambda found, expected, what: assert_near(found, expected, element, what),
        )


LOWEST = """
import attention

model m(q: [B, T, 7], k: [B, S, 7], v: [B, S, 5], b: [B, T, S]) -> [B, T, 5] {
  return dot_product(q, k, v, bias=b)
}
"""


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("path", PATHS)
def test_a_bias_that_became_infinite_hides(compiler, path, element):
    """The lowest number of f32 is -inf in 16 bits."""
    library = compiler.library(LOWEST, "--float", element, *PATHS[path][1]).prepare({})
    generator = numpy.random.default_rng(97)
    for keys in (1, 7, 65):
        given = {
            "q": generator.normal(size=(1, 4, 7)),
            "k": generator.normal(size=(1, keys, 7)),
            "v": generator.normal(size=(1, keys, 5)),
        }
        given = {name: rounded(array, element) for name, array in given.items()}
        bias = numpy.zeros((1, 4, keys), numpy.float32)
        bias[0, 1, 0] = bias[0, 2] = numpy.finfo(numpy.float32).min
        found = library.run(**given, b=rounded(bias, element))["output"][0]
        q, k, v = (array[0].astype(float) for array in given.values())
        seen = numpy.ones((4, keys), bool)
        seen[1, 0] = seen[2] = False
        assert_near(found, attentions.dot_product(seen, q, k, v), element, keys)
        assert (found[2] == 0).all()
