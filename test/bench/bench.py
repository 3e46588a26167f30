# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gatefold beside its peers, on the same data, in the same run.

    python test/bench/bench.py                      # every case, 1 and 2 threads
    python test/bench/bench.py --cases LSTM --threads 1 --rounds 15 --json out.json

For each case all candidates compute once and must agree; only then are they timed, round
by round, one after another in an order that turns. A ratio is a candidate's time over
Gatefold's in the same round: above 1 Gatefold is faster. "Share of peak" is against a
multiply-add loop timed in the same rounds.
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import pathlib
import platform
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases as case_list  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402


def parse():
    build = pathlib.Path(os.environ.get("GATEFOLD_BUILD", HERE.parent.parent / "build"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", default=[], help="cases whose name holds one of these")
    parser.add_argument("--peers", nargs="*", default=[], help="candidates whose name holds one of these")
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="sizes times this")
    parser.add_argument("--naive", action="store_true", help="time the naive path too")
    parser.add_argument("--memory", action="store_true", help="peak memory, each candidate in a process of its own")
    parser.add_argument("--json", type=pathlib.Path, help="write all numbers")
    parser.add_argument("--plot", type=pathlib.Path, help="draw the ratios")
    parser.add_argument("--list", action="store_true", help="print the cases")
    parser.add_argument("--build", type=pathlib.Path, default=build)
    return parser.parse_args()


def make(case, arguments, threads):
    """The candidates that can run the case, and why others cannot."""
    made, refused = [], {}
    wanted = arguments.peers and ["gatefold", *arguments.peers]
    for kind in peers.candidates(case, wanted):
        if kind is peers.Naive and not arguments.naive:
            continue
        try:
            if issubclass(kind, peers.Gatefold):
                kind.program = arguments.build / "bin" / "gatefold"
                kind.folder = arguments.build / "bench"
            candidate = kind(case, threads)
            if kind is peers.Gatefold:
                # Its parameters name the weights that every other candidate takes.
                fill(case, candidate)
            candidate.prepare()
            candidate.run()
            made.append(candidate)
        except Exception as error:  # a peer may refuse a graph; it is then named
            if issubclass(kind, peers.Gatefold):
                raise
            refused[kind.name] = str(error).splitlines()[0][:200] if str(error) else repr(error)
    return made, refused


def fill(case, candidate):
    name = "".join(c if c.isalnum() else "_" for c in case.name)
    library = peers.Library(pathlib.Path(candidate.folder) / "fast" / f"lib{name}.so")
    case_list.fill_weights(case, library.parameters)


def agree(case, candidates):
    """Drops candidates that compute something else, and says by how much."""
    expected = candidates[0].result().astype(numpy.float64)
    kept, wrong = [candidates[0]], {}
    for candidate in candidates[1:]:
        difference = float(numpy.abs(candidate.result() - expected).max()) if expected.size else 0.0
        if difference <= case.tolerance:
            kept.append(candidate)
        else:
            wrong[candidate.name] = f"differs by {difference:.2g}"
    return kept, wrong


def run_case(arguments, index, threads, queue):
    """In a process of its own, on as many cores as there are threads."""
    try:
        cores = sorted(os.sched_getaffinity(0))[:threads]
        os.sched_setaffinity(0, cores)
        case = case_list.all_cases(arguments.scale)[index]
        made, refused = make(case, arguments, threads)
        made, wrong = agree(case, made)
        peak = measure.Peak(arguments.build / "bench")
        times, peaks = measure.interleave(made, peak, arguments.rounds)
        found = measure.summary(case, made, times, peaks, threads)
        found["left_out"] = {**refused, **wrong}
        queue.put(found)
    except BaseException as error:
        queue.put({"error": repr(error)})
        raise


def run_memory(arguments, index, name, queue):
    try:
        case = case_list.all_cases(arguments.scale)[index]
        arguments.peers = [name]
        arguments.naive = name == peers.Naive.name
        case_list.fill_weights(case, [])
        kinds = [k for k in peers.candidates(case, ["gatefold"]) if k is peers.Gatefold]
        kinds += [k for k in peers.candidates(case, [name]) if k.name == name]
        kind = kinds[-1]
        peers.Gatefold.program = arguments.build / "bin" / "gatefold"
        peers.Gatefold.folder = arguments.build / "bench"
        fill(case, peers.Gatefold(case, 1))
        small = case_list.all_cases(arguments.scale / 32)[index]
        small.weights = case.weights

        def warm():
            if not case.weights:
                candidate = kind(small, 1)
                candidate.prepare()
                candidate.run()

        def run():
            candidate = kind(case, 1)
            candidate.prepare()
            candidate.run()

        queue.put(measure.growth(warm, run))
    except BaseException as error:
        queue.put(repr(error))
        raise


def isolated(target, *rest):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=target, args=(*rest, queue))
    process.start()
    while True:
        try:
            result = queue.get(timeout=1)
            break
        except Exception:
            if not process.is_alive():
                result = {"error": f"ended with {process.exitcode}"}
                break
    process.join()
    return result


def print_case(found):
    cores = "thread" if found["threads"] == 1 else "threads"
    print(f"\n{found['case']}, {found['threads']} {cores}")
    print(f"  {'':22}{'median':>10}  {'ratio':>6}  {'10-90 %':>13}  {'of peak':>8}  {'compile':>8}")
    for row in found["rows"]:
        spread = f"{row['ratio_low']:.2f}-{row['ratio_high']:.2f}"
        memory = f"  {row['memory_bytes'] / 2**20:8.1f} MiB" if row.get("memory_bytes") is not None else ""
        print(
            f"  {row['name']:22}{row['median_seconds'] * 1e3:8.3f} ms  {row['ratio']:6.2f}"
            f"  {spread:>13}  {row['share_of_peak'] * 100:6.1f} %  {row['compile_seconds']:6.2f} s{memory}"
        )
    for name, reason in found["left_out"].items():
        print(f"  {name:22}left out: {reason}")
    sys.stdout.flush()


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    one = [r for r in results if r["threads"] == min(x["threads"] for x in results)]
    names = sorted({row["name"] for r in one for row in r["rows"]} - {"gatefold"})
    figure, axes = pyplot.subplots(figsize=(9, 0.45 * len(one) + 1.5))
    for name in names:
        points = [
            (row["ratio"], place)
            for place, result in enumerate(one)
            for row in result["rows"]
            if row["name"] == name
        ]
        axes.plot(*zip(*points), "o", label=name)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(one)), [r["case"] for r in one])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("time of the peer / time of Gatefold (right of 1: Gatefold is faster)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    arguments = parse()
    (arguments.build / "bench").mkdir(parents=True, exist_ok=True)
    listed = case_list.all_cases(arguments.scale)
    chosen = [
        i
        for i, case in enumerate(listed)
        if not arguments.cases or any(part in case.name for part in arguments.cases)
    ]
    if arguments.list or not chosen:
        print("\n".join(case.name for case in listed))
        return 0 if arguments.list else 2
    installed = [p for p in ("onnxruntime", "openvino", "torch") if importlib.util.find_spec(p)]
    print(f"peers installed: {', '.join(installed) or 'none'} (install_peers.sh adds more)")
    results, failed = [], False
    for index in chosen:
        for threads in arguments.threads:
            found = isolated(run_case, arguments, index, threads)
            if "error" in found:
                print(f"\n{listed[index].name}: {found['error']}")
                failed = True
                continue
            if arguments.memory and threads == arguments.threads[0]:
                for row in found["rows"]:
                    memory = isolated(run_memory, arguments, index, row["name"])
                    row["memory_bytes"] = memory if isinstance(memory, int) else None
            print_case(found)
            results.append(found)
    document = {"machine": platform.processor() or platform.machine(), "results": results}
    if arguments.json:
        temporary = arguments.json.with_suffix(".partial")
        temporary.write_text(json.dumps(document, indent=1))
        temporary.rename(arguments.json)
    if arguments.plot and results:
        draw(results, arguments.plot)
    return 1 if failed or any("differs" in r for f in results for r in f["left_out"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
