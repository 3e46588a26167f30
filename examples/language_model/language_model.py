# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens from Differential Transformers, V1 and V2, with random weights.

Shows what blocks more add to a library, and what the next token costs as a text grows: from
the keys and values that are kept, and from the whole text anew, which gives the same bits.
"""

import argparse
import pathlib
import resource
import sys
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from measuring import gatefold  # noqa: E402
from gatefold_library import Library, read_safetensors  # noqa: E402

TEXT = HERE / "language_model.gf"
ENTRIES = ("v1", "v2")
CAPACITY, VOCABULARY = 1024, 4096
BLOCKS = (1, 2, 4, 12)


def settings(values):
    return [f"--arg={name}={value}" for name, value in values.items()]


def random_weights(folder, entry, **values):
    path = folder / f"{entry}.safetensors"
    gatefold("init", TEXT, "--entry", entry, *settings(values), "--seed", "1", "-o", path)
    return read_safetensors(path)


def compile_library(folder, entry, name=None, **values):
    path = folder / f"lib{name or entry}.so"
    gatefold("compile", TEXT, "--entry", entry, *settings(values), "-o", path)
    return path


class Generator:
    """A prepared model with the memory of its caches, for one sequence."""

    def __init__(self, library):
        self.library = library
        self.context = library.context()
        states = [i for i in library.inputs if i["role"] == "state"]
        self.states = {
            state["name"]: numpy.zeros([1, *state["shape"][1:]], numpy.float32)
            for state in states
        }
        logits = next(r for r in library.results if r["name"] == "logits")
        self.logits = numpy.zeros([1, *logits["shape"][1:]], numpy.float32)
        self.next = numpy.zeros(1, numpy.int64)

    def bind(self, tokens, place):
        """A call that takes these tokens at this place; the caches are updated where they
        are, and what `tokens` and `place` hold then is read."""
        inputs = {"tokens": tokens, "n": place, **self.states}
        return self.context.bound_run(
            inputs, {"next": self.next, "logits": self.logits, **self.states}
        )

    def read(self, tokens, place=0):
        """The token after these, the first of which stands at `place`."""
        row = numpy.array([tokens], numpy.int64)
        self.bind(row, numpy.array(place))()
        return int(self.next[0])

    def cached(self, prompt, count, clock=time.thread_time):
        """`count` tokens after the prompt, one run for each, and the seconds of each."""
        tokens, seconds = [self.read(prompt)], []
        token, place = numpy.zeros((1, 1), numpy.int64), numpy.array(0)
        call = self.bind(token, place)
        while len(tokens) < count:
            token[0, 0], place[()] = tokens[-1], len(prompt) + len(tokens) - 1
            start = clock()
            call()
            seconds.append(clock() - start)
            tokens.append(int(self.next[0]))
        return tokens, seconds

    def anew(self, prompt, count, clock=time.thread_time):
        """The same, each from the whole sequence."""
        tokens, seconds = [self.read(prompt)], []
        while len(tokens) < count:
            start = clock()
            following = self.read([*prompt, *tokens])
            seconds.append(clock() - start)
            tokens.append(following)
        return tokens, seconds


def load(folder, entry, **values):
    library = Library(compile_library(folder, entry, **values))
    return library.prepare(random_weights(folder, entry, **values))


def compile_cost(folder, entry, **values):
    """Bytes of a library and the seconds of a core that it took to compile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    path = compile_library(folder, entry, f"{entry}_cost", **values)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return path.stat().st_size, seconds


def show_compile_costs(folder):
    print("blocks" + "".join(f"{f'{entry} bytes':>12}  seconds" for entry in ENTRIES))
    for blocks in BLOCKS:
        costs = (compile_cost(folder, entry, blocks=blocks) for entry in ENTRIES)
        print(f"{blocks:6}" + "".join(f"{size:12,}{seconds:9.2f}" for size, seconds in costs))


def medians(seconds, parts):
    """Milliseconds of the middle run in each of so many parts."""
    return [1e3 * float(numpy.median(part)) for part in numpy.array_split(seconds, parts)]


def show_generation(folder, prompt, count, parts=4):
    """Whether both ways give the same tokens, and [entry, way] -> seconds of each token."""
    same, taken = True, {}
    ends = numpy.cumsum([len(p) for p in numpy.array_split(range(count - 1), parts)])
    print("\nmilliseconds a token, of one core")
    print(f"{'up to token':26}" + "".join(f"{end:9}" for end in ends))
    for entry in ENTRIES:
        generator = Generator(load(folder, entry))
        ways = {"cached": generator.cached, "the whole anew": generator.anew}
        texts = []
        for way, generate in ways.items():
            tokens, seconds = generate(prompt, count)
            texts.append((tokens, generator.logits.tobytes()))
            taken[entry, way] = seconds
            row = "".join(f"{ms:9.2f}" for ms in medians(seconds, parts))
            print(f"{entry}  {way:22}{row}")
        same &= texts[0] == texts[1]
        caches = sum(array.nbytes for array in generator.states.values())
        print(f"{entry}  caches of {CAPACITY} places: {caches / 2**20:.0f} MiB; {texts[0][0][:8]} ...")
    print(f"\nboth ways give {'the same tokens and logits, to the bit' if same else 'OTHER results'}")
    return same, taken


def draw(taken, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6, 4))
    for (entry, way), seconds in taken.items():
        style = "-" if way == "cached" else "--"
        axis.plot(1e3 * numpy.array(seconds), style, label=f"{entry}, {way}", linewidth=1)
    axis.set_yscale("log")
    axis.set_xlabel("tokens written")
    axis.set_ylabel("milliseconds of one core for the next")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"\nwrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=240, help="how many tokens to write")
    arguments = parser.parse_args()
    prompt = numpy.random.default_rng(1).integers(0, VOCABULARY, 16).tolist()
    show_compile_costs(arguments.output)
    same, taken = show_generation(arguments.output, prompt, arguments.count)
    draw(taken, arguments.output / "language_model.png")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
