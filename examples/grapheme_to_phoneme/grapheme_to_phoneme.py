# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pronounces words by the compiled model, beside the package g2p-en itself.

Prints the phonemes of each word, compares all words of a list with what the package's own
NumPy code predicts, and says how many words a second both pronounce.
"""

import argparse
import importlib
import importlib.util
import pathlib
import sys
import unittest.mock

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from measuring import gatefold, in_turns  # noqa: E402
from gatefold_library import Library  # noqa: E402

# Not in a dictionary: the package pronounces such words by its network.
NEW_WORDS = (
    "activationist gatefold tokenizer softmaxed differentiable blorptangle vectorised "
    "recurrences unfathomably quixotry snorfle pretrained microkernel zyzzyva a"
).split()

# Names of the package's checkpoint, and ours.
NAMES = {
    "embed.weight": "enc_emb",
    **{
        f"{ours}.{kind}_{gate}": f"{theirs}_{kind[0]}_{gate}"
        for ours, theirs in (("encoder", "enc"), ("decoder.rnn", "dec"))
        for kind in ("weight", "bias")
        for gate in ("ih", "hh")
    },
    "decoder.embed.weight": "dec_emb",
    "decoder.head.weight": "fc_w",
    "decoder.head.bias": "fc_b",
}


def package_folder():
    """Where g2p-en keeps its files; importing it would need NLTK."""
    spec = importlib.util.find_spec("g2p_en")
    if spec is None:
        raise ModuleNotFoundError("g2p-en is not installed; test/setup.sh installs it")
    return pathlib.Path(spec.submodule_search_locations[0])


def package_weights():
    with numpy.load(package_folder() / "checkpoint20.npz") as arrays:
        return {ours: arrays[theirs] for ours, theirs in NAMES.items()}


def package_predictor():
    """The package's own G2p. Its path through a dictionary wants data that NLTK downloads
    and packages for numbers; its network wants neither, and is all that is called."""
    absent = ("nltk", "nltk.corpus", "nltk.tokenize", "inflect")
    stand_ins = {name: unittest.mock.MagicMock() for name in absent}
    with unittest.mock.patch.dict(sys.modules, stand_ins):
        return importlib.import_module("g2p_en.g2p").G2p()


def package_words():
    """The words that the package lists because they have two pronunciations."""
    lines = (package_folder() / "homographs.en").read_text(encoding="utf-8").splitlines()
    return [line.split("|")[0].lower() for line in lines if not line.startswith("#")]


class Pronouncer:
    """The compiled model with the package's alphabets."""

    def __init__(self, library, predictor):
        self.context = library.context()
        self.letters, self.phonemes = predictor.g2idx, predictor.phonemes

    def batch(self, words):
        """Letters [B, T] and lengths; each word ends with </s>."""
        spelled = [[*word, "</s>"] for word in words]
        lengths = numpy.array([len(letters) for letters in spelled], numpy.int64)
        codes = numpy.zeros((len(words), lengths.max(initial=0)), numpy.int64)
        for row, letters in zip(codes, spelled):
            row[: len(letters)] = [self.letters.get(x, self.letters["<unk>"]) for x in letters]
        return {"letters": codes, "lengths": lengths}

    def text(self, row):
        """The phonemes up to </s>, or all where there is none."""
        names = [self.phonemes[code] for code in row]
        return names[: names.index("</s>")] if "</s>" in names else names

    def together(self, words):
        """All words in one run, however long each is."""
        return [self.text(row) for row in self.context.run(**self.batch(words))["output"]]

    def alone(self, words):
        return [self.together([word])[0] for word in words]


def load(folder):
    path = folder / "libg2p.so"
    gatefold("compile", HERE / "g2p.gf", "-o", path)
    predictor = package_predictor()
    return Pronouncer(Library(path).prepare(package_weights()), predictor), predictor


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="words to pronounce")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the timing")
    arguments = parser.parse_args()
    pronouncer, predictor = load(arguments.output)

    shown = [word.lower() for word in arguments.words] or NEW_WORDS
    for word, found in zip(shown, pronouncer.together(shown)):
        print(f"{word:16} {' '.join(found)}")

    words = [*shown, *package_words()]
    expected = [predictor.predict(word) for word in words]
    different = 0
    for way in (pronouncer.together, pronouncer.alone):
        different += sum(f != e for f, e in zip(way(words), expected))
    print(f"\n{len(words)} words, in one batch and one by one: {different} differ from the package")

    ways = {
        "Gatefold, one by one": lambda: pronouncer.alone(words),
        "Gatefold, in one batch": lambda: pronouncer.together(words),
        "g2p-en (NumPy), one by one": lambda: [predictor.predict(word) for word in words],
    }
    print(f"\none thread, medians of {arguments.rounds} rounds in turns:")
    for name, seconds in zip(ways, in_turns(list(ways.values()), arguments.rounds)):
        print(f"  {name:28}{len(words) / seconds:8.0f} words a second")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
