# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the compiled sentiment model on ragged batches, and measures its memory.

Shows what stands in the program after each phase, that a text's result does not
depend on the others of its batch, and how memory grows with the length of a text,
beside the naive path and beside the score matrices that are never made.
"""

import argparse
import pathlib
import re
import sys
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from measuring import isolated, peak_memory  # noqa: E402
from gatefold_library import Library, read_safetensors  # noqa: E402

VOCABULARY = 20000
HEADS = 4
LENGTHS = (512, 1024, 2048, 4096, 8192)
NAIVE_UP_TO = 1024  # longer ones take the naive path many seconds
PHASES = ("import", "simplify", "fuse", "schedule", "tile", "bufferize", "cpu")
SHOWN = (
    "gf.recurrence",
    "gf.attention",
    "linalg.contract",
    "gf.linear",
    "linalg.generic",
    "scf.for",
    "memref.view",
    "func.func",
    "llvm.func",
)


def operations(text):
    """How often each operation stands in a module."""
    found = re.findall(r"(?:^|= )\s*(\w+\.\w+)", text, re.MULTILINE)
    return {name: found.count(name) for name in SHOWN}


def show_phases(folder):
    table = {
        phase: operations((folder / f"{phase}.mlir").read_text()) for phase in PHASES
    }
    print(f"\n{'operations after':18}" + "".join(f"{phase:>11}" for phase in PHASES))
    for name in SHOWN:
        counts = "".join(f"{table[phase][name] or '':>11}" for phase in PHASES)
        print(f"{name:18}{counts}")
    return table


def load(output, naive=False):
    name = "sentiment_naive" if naive else "sentiment"
    weights = read_safetensors(output / "sentiment.safetensors")
    return Library(output / f"lib{name}.so").prepare(weights)


def ragged_batch(lengths, seed=0):
    """Tokens [B, T] and lengths; behind the end stands any token."""
    generator = numpy.random.default_rng(seed)
    tokens = generator.integers(0, VOCABULARY, (len(lengths), max(lengths)))
    return tokens, numpy.array(lengths, numpy.int64)


def show_ragged(library):
    lengths = [37, 12, 1, 64, 50, 0]
    tokens, counts = ragged_batch(lengths)
    together = library.run(tokens=tokens, lengths=counts)["output"]
    print("\ntokens  negative  positive   alone")
    equal = True
    for row, length in enumerate(lengths):
        alone = library.run(
            tokens=tokens[row : row + 1, :length], lengths=counts[row : row + 1]
        )["output"][0]
        same = alone.tobytes() == together[row].tobytes()
        equal &= same
        negative, positive = together[row]
        print(f"{length:6}  {negative:8.4f}  {positive:8.4f}   {'same bits' if same else alone}")
    return equal


def measure(output, naive, length):
    """In a process of its own: bytes that the run needs, by the library and by the
    system, and seconds of the second of two runs."""
    library = load(output, naive)
    context = library.context()
    small, count = ragged_batch([8])
    context.run(tokens=small, lengths=count)
    tokens, counts = ragged_batch([length])
    workspace = context.workspace_size(tokens=tokens, lengths=counts)
    before = peak_memory(reset=True)
    context.run(tokens=tokens, lengths=counts)
    after = peak_memory()
    start = time.perf_counter()
    context.run(tokens=tokens, lengths=counts)
    return workspace, after - before, time.perf_counter() - start


def show_memory(output, lengths):
    naive_library = load(output, naive=True)
    naive_context = naive_library.context()
    rows = []
    mebibyte = 2.0**20
    print("\nMiB above weights, B = 1        by the library    by the system")
    print("     T   score matrices   naive      fast             fast       seconds   naive")
    for length in lengths:
        tokens, counts = ragged_batch([length])
        naive_bytes = naive_context.workspace_size(tokens=tokens, lengths=counts)
        naive_seconds = None
        if length <= NAIVE_UP_TO:
            naive_seconds = isolated(measure, output, True, length)[2]
        workspace, resident, seconds = isolated(measure, output, False, length)
        scores = 4 * HEADS * length**2
        rows.append((length, scores, naive_bytes, workspace, resident, seconds, naive_seconds))
        print(
            f"{length:6}  {scores / mebibyte:13.1f}  {naive_bytes / mebibyte:7.1f}"
            f"   {workspace / mebibyte:7.1f}   {resident / mebibyte:14.1f}   {seconds:11.3f}"
            + (f"  {naive_seconds:6.3f}" if naive_seconds else "")
        )
    return rows


def draw(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    length = [row[0] for row in rows]
    for column, label, style in (
        (1, "score matrices of 4 heads (never made)", "k:"),
        (2, "naive: workspace", "s--"),
        (3, "fast: workspace", "o-"),
        (4, "fast: growth of the process", "x-"),
    ):
        axes.plot(length, [row[column] / 2**20 for row in rows], style, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("tokens T, one text")
    axes.set_ylabel("MiB")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"\nwrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    arguments = parser.parse_args()
    show_phases(arguments.output / "phases")
    equal = show_ragged(load(arguments.output))
    rows = show_memory(arguments.output, arguments.lengths)
    draw(rows, arguments.output / "memory.png")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
