# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The maps that the model gives, against float64 NumPy and against its own output."""

import numpy
import pytest

import attention_maps
from attention_maps import HEADS, LAMBDA, PART, SENTENCE, WIDTH

HEAD = PART + 1


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return attention_maps.load(tmp_path_factory.mktemp("maps"))


def softmax(s):
    e = numpy.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def projected(x, name):
    rows = x.astype(numpy.float64) @ attention_maps.weights()[f"{name}.weight"].T
    return numpy.array(numpy.split(rows, len(HEADS), axis=1))


@pytest.mark.parametrize("sentence", [SENTENCE, "one", "so so so"])
def test_maps_against_float64(library, sentence):
    words = sentence.split()
    x = attention_maps.embed(words)
    output, first, second = attention_maps.attend(library, words)
    for number, found in (("1", first), ("2", second)):
        q, k = projected(x, f"q{number}"), projected(x, f"k{number}")
        expected = softmax(q @ k.swapaxes(1, 2) / numpy.sqrt(HEAD))
        numpy.testing.assert_allclose(found, expected, rtol=1.3e-6, atol=1e-5)
    difference = first.astype(numpy.float64) - LAMBDA * second
    numpy.testing.assert_allclose(output, difference @ projected(x, "v"), rtol=1.3e-6, atol=1e-5)


def test_the_difference_shows_what_the_maps_hide(library):
    words = SENTENCE.split()
    _, first, second = attention_maps.attend(library, words)
    share = lambda maps: attention_maps.share_on_same_word(words, maps[0])  # noqa: E731
    assert share(first - LAMBDA * second) > 1.4 * share(first) > 3 * share(second)


def test_the_picture(library, tmp_path):
    words = "to be or not to be".split()
    _, first, second = attention_maps.attend(library, words)
    assert first.shape == (len(HEADS), 6, 6) and attention_maps.embed(words).shape == (6, WIDTH)
    attention_maps.draw(words, first, second, tmp_path / "maps.png")
    assert (tmp_path / "maps.png").stat().st_size > 10_000
