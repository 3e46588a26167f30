# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws both maps of a differential attention over a sentence, and their difference.

The weights are set by hand, so that what the maps should show is known: each word is the
sum of what it is, how it is spelled, and how loud it is. Loudness draws every query to the
same few words and says nothing; the first map sees it beside the rest, the second sees
nothing else, so that it cancels in the difference.
"""

import argparse
import pathlib
import sys
import zlib

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from measuring import gatefold  # noqa: E402
from gatefold_library import Library  # noqa: E402

SENTENCE = "the dog that chased the cat chases the cats while another dog sleeps"
PART = 24  # the width of what a word is, and of how it is spelled
WIDTH = 2 * PART + 2  # then its loudness, and a one
HEADS = ("the same word", "a similar spelling")
MATCH, LOUDNESS, LAMBDA = 2.0, 1.5, 0.6


def random_vector(text):
    """Of length one, the same for the same text everywhere."""
    vector = numpy.random.default_rng(zlib.crc32(text.encode())).normal(size=PART)
    return vector / numpy.linalg.norm(vector)


def spelling(word):
    """Words that share pairs of letters have vectors that are alike."""
    marked = f"<{word}>"
    pairs = sum(random_vector(marked[i : i + 2]) for i in range(len(marked) - 1))
    return pairs / numpy.linalg.norm(pairs)


def embed(words):
    """[T, WIDTH]; loudness belongs to the place in the sentence."""
    loudness = LOUDNESS * numpy.random.default_rng(5).normal(size=len(words))
    rows = [
        numpy.concatenate([random_vector(word), spelling(word), [loud, 1]])
        for word, loud in zip(words, loudness)
    ]
    return numpy.array(rows, numpy.float32).reshape(len(words), WIDTH)


def weights():
    """One head looks for what a word is, one for its spelling; both hear loudness."""
    head = PART + 1
    first, second, keys = (numpy.zeros((WIDTH, WIDTH), numpy.float32) for _ in range(3))
    scale = numpy.sqrt(head)
    for number in range(len(HEADS)):
        rows = slice(number * head, number * head + PART)
        columns = slice(number * PART, (number + 1) * PART)
        first[rows, columns] = MATCH * scale * numpy.eye(PART)
        keys[rows, columns] = numpy.eye(PART)
        loud = number * head + PART
        first[loud, WIDTH - 1] = second[loud, WIDTH - 1] = scale
        keys[loud, WIDTH - 2] = 1
    return {
        "q1.weight": first,
        "q2.weight": second,
        "k1.weight": keys,
        "k2.weight": keys,
        "v.weight": numpy.eye(WIDTH, dtype=numpy.float32),
        "lambda": numpy.full((len(HEADS), 1, 1), LAMBDA, numpy.float32),
    }


def load(folder):
    path = folder / "libmaps.so"
    gatefold("compile", HERE / "maps.gf", "--dim", f"M={WIDTH}", "-o", path)
    return Library(path).prepare(weights())


def attend(library, words):
    """The output and both maps, [heads, T, ..] each."""
    result = library.run(x=embed(words))
    return result["output"], result["first"], result["second"]


def share_on_same_word(words, maps):
    """How much of what a map weighs, in size, lies on the word itself wherever it stands."""
    same = numpy.array([[a == b for b in words] for a in words])
    return abs(maps[same]).sum() / abs(maps).sum()


def draw(words, first, second, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(HEADS), 3, figsize=(13, 8.4), squeeze=False)
    difference = first - LAMBDA * second
    for row, head in zip(range(len(HEADS)), HEADS):
        largest = max(first[row].max(), second[row].max())
        extent = abs(difference[row]).max()
        shown = (
            ("first map", first[row], "Blues", 0, largest),
            ("second map", second[row], "Blues", 0, largest),
            (f"first - {LAMBDA} x second", difference[row], "RdBu", -extent, extent),
        )
        for axis, (title, values, colours, low, high) in zip(axes[row], shown):
            image = axis.imshow(values, cmap=colours, vmin=low, vmax=high)
            axis.set_xticks(range(len(words)), words, rotation=90, fontsize=7)
            axis.set_yticks(range(len(words)), words, fontsize=7)
            axis.set_title(f"{head}: {title}", fontsize=9)
            figure.colorbar(image, ax=axis, fraction=0.046)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="a sentence of your own")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    words = " ".join(arguments.words or [SENTENCE]).lower().split()
    _, first, second = attend(load(arguments.output), words)
    print(f"on the word itself, wherever it stands (head for {HEADS[0]}):")
    difference = first - LAMBDA * second
    for name, maps in (("first map", first), ("second map", second), ("difference", difference)):
        print(f"  {name:12}{100 * share_on_same_word(words, maps[0]):5.1f} %")
    picture = arguments.output / "attention_maps.png"
    draw(words, first, second, picture)
    print(f"\nwrote {picture}")


if __name__ == "__main__":
    main()
