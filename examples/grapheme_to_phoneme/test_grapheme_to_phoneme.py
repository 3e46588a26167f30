# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled model against the package whose weights it has, word for word."""

import numpy
import pytest

import grapheme_to_phoneme as g2p

# Nothing but </s>, one letter, letters of no alphabet, and more than 20 phonemes.
EDGES = ["", "q", "naïve", "don't", "pneumonoultramicroscopicsilicovolcanoconiosis", "zzz" * 20]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    return g2p.load(tmp_path_factory.mktemp("g2p"))


def test_phonemes_are_the_packages(loaded):
    pronouncer, predictor = loaded
    words = [*EDGES, *g2p.NEW_WORDS, *g2p.package_words()]
    assert len(words) > 350
    expected = [predictor.predict(word) for word in words]
    assert max(map(len, expected)) == 20
    assert pronouncer.together(words) == expected
    assert pronouncer.alone(words) == expected


def test_a_known_word(loaded):
    """What the package's own page prints for it."""
    (found,) = loaded[0].together(["activationist"])
    assert " ".join(found) == "AE2 K T IH0 V EY1 SH AH0 N IH0 S T"


def test_nothing_follows_the_end(loaded):
    pronouncer, _ = loaded
    codes = pronouncer.context.run(**pronouncer.batch(["cat", *EDGES]))["output"]
    end = pronouncer.phonemes.index("</s>")
    assert codes.shape == (1 + len(EDGES), 20)
    for row in codes:
        places = numpy.flatnonzero(row == end)
        assert len(places) <= 1
        assert not row[places[0] + 1 :].any() if len(places) else row.all()


def test_no_words(loaded):
    assert loaded[0].together([]) == []
