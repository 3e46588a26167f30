# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What four attention layers cost as texts grow longer: counted by the compiler, and
measured.

Operations and bytes are those of `gatefold report`. Times are medians of runs in turns, of
one core; memory is what the system says a process of its own grew by in a run.
"""

import argparse
import functools
import json
import math
import pathlib
import sys
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from measuring import gatefold, in_turns, isolated, peak_memory  # noqa: E402
from gatefold_library import Library, read_safetensors  # noqa: E402

TEXT = HERE / "layers.gf"
# Entries of the text, and how many score maps each has for a head.
LAYERS = {"standard": 1, "differential_layer": 2, "adaptive": 2, "sparse": 2}
HEADS, WIDTH = 4, 256
LENGTHS = (512, 1024, 2048, 4096, 8192)
MEBIBYTE = 2**20


def make(folder):
    """A library and random weights of each layer."""
    for name in LAYERS:
        weights = folder / f"{name}.safetensors"
        gatefold("init", TEXT, "--entry", name, "--seed", "1", "-o", weights)
        gatefold("compile", TEXT, "--entry", name, "--dim", "B=1", "-o", folder / f"lib{name}.so")


def load(folder, name):
    weights = read_safetensors(folder / f"{name}.safetensors")
    return Library(folder / f"lib{name}.so").prepare(weights)


def tokens(length):
    generator = numpy.random.default_rng(length)
    return generator.normal(size=(1, length, WIDTH)).astype(numpy.float32)


@functools.cache
def counted(name):
    return Counted(name)


class Counted:
    """What `gatefold report` counts of a layer, as formulas of the length."""

    def __init__(self, name):
        report = json.loads(gatefold("report", TEXT, "--entry", name, "--dim", "B=1", "--json"))
        self.operations = report["operations"]
        moved = ("input_bytes", "result_bytes", "arena_formula", "arena_formula_per_thread")
        self.bytes = " + ".join(f"({report[part]})" for part in moved)
        self.weights = report["prepared_bytes"]

    def at(self, length):
        """Operations, and the bytes of input, result, weights and workspace of one thread."""
        round64 = lambda size: -(-size // 64) * 64  # noqa: E731
        names = {"T": length, "ceil": math.ceil, "min": min, "max": max, "round64": round64}
        evaluate = lambda formula: eval(formula, {"__builtins__": {}}, names)  # noqa: E731
        return evaluate(self.operations), self.weights + evaluate(self.bytes)


def growths(folder, name, lengths):
    """Bytes by which this process grows in a run of each length, after a short one."""
    library = load(folder, name)
    found = []
    for length in lengths:
        context = library.context()  # it keeps its workspace, so each length has its own
        context.run(x=tokens(8))
        x = tokens(length)
        before = peak_memory(reset=True)
        context.run(x=x)
        found.append(peak_memory() - before)
        context.close()
    return found


def measure(folder, lengths, rounds):
    """One row for each length and layer."""
    contexts = {name: load(folder, name).context() for name in LAYERS}
    counts = {name: counted(name) for name in LAYERS}
    grown = {name: isolated(growths, folder, name, lengths) for name in LAYERS}
    rows = []
    for place, length in enumerate(lengths):
        x = tokens(length)
        runs = [lambda c=context: c.run(x=x) for context in contexts.values()]
        taken = in_turns(runs, rounds, time.thread_time)
        for (name, maps), seconds in zip(LAYERS.items(), taken):
            operations, moved = counts[name].at(length)
            rows.append(
                {
                    "length": length,
                    "layer": name.removesuffix("_layer"),
                    "operations": operations,
                    "bytes": moved,
                    "seconds": seconds,
                    "growth": grown[name][place],
                    "maps": 4 * HEADS * maps * length**2,
                }
            )
    return rows


def show(rows):
    print(f"{'':20}  by the compiler     measured                       score maps,")
    print("tokens  layer           GFLOP     MiB        ms  /standard  MiB more  never made: MiB")
    for row in rows:
        base = next(r for r in rows if r["length"] == row["length"])
        print(
            f"{row['length']:6}  {row['layer']:12}{row['operations'] / 1e9:9.2f}"
            f"{row['bytes'] / MEBIBYTE:8.1f}{1e3 * row['seconds']:10.2f}"
            f"{row['seconds'] / base['seconds']:11.2f}{row['growth'] / MEBIBYTE:10.1f}"
            f"{row['maps'] / MEBIBYTE:17.0f}"
        )


def draw(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.8))
    layers = list(dict.fromkeys(row["layer"] for row in rows))
    shown = (
        ("operations", 1e-9, "GFLOP, by the compiler"),
        ("seconds", 1e3, "milliseconds of one core"),
        ("growth", 1 / MEBIBYTE, "MiB by which the process grows"),
    )
    for axis, (key, scale, label) in zip(axes, shown):
        for layer in layers:
            own = [row for row in rows if row["layer"] == layer]
            lengths = [row["length"] for row in own]
            axis.plot(lengths, [scale * row[key] for row in own], "o-", label=layer, markersize=4)
        if key == "growth":
            for maps, style in ((1, ":"), (2, "--")):
                bytes_of_maps = [4 * HEADS * maps * length**2 * scale for length in lengths]
                axis.plot(lengths, bytes_of_maps, f"k{style}", label=f"{maps} stored map{'s' * (maps - 1)} a head")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xlabel("tokens")
        axis.set_title(label, fontsize=10)
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the timing")
    arguments = parser.parse_args()
    make(arguments.output)
    rows = measure(arguments.output, arguments.lengths, arguments.rounds)
    show(rows)
    draw(rows, arguments.output / "attention_cost.png")
    print(f"\nwrote {arguments.output / 'attention_cost.png'}")


if __name__ == "__main__":
    main()
