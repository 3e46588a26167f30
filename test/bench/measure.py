# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interleaved timing, the peak of a core, and the peak of memory."""

import ctypes
import pathlib
import re
import statistics
import subprocess
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent


class Peak:
    """Multiplications and additions of one core, each second, at most."""

    def __init__(self, folder):
        library = pathlib.Path(folder) / "libpeak.so"
        if not library.exists():
            command = ["cc", "-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC"]
            subprocess.run([*command, HERE / "peak.c", "-o", library], check=True)
        self.function = ctypes.CDLL(str(library)).gatefold_bench_peak
        self.function.restype = ctypes.c_int64
        self.function.argtypes = [ctypes.c_int64, ctypes.POINTER(ctypes.c_float)]

    def measure(self, rounds=200_000):
        result = ctypes.c_float()
        start = time.perf_counter()
        operations = self.function(rounds, ctypes.byref(result)) * rounds
        return operations / (time.perf_counter() - start)


def timed(run, least=0.02):
    """Seconds of one call: the mean of as many as last `least` seconds, after one to
    warm the caches."""
    run()
    start = time.perf_counter()
    run()
    once = time.perf_counter() - start
    count = max(1, int(least / max(once, 1e-7)))
    if count == 1:
        return once
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def interleave(candidates, peak, rounds):
    """Times by name, one for each round; the order turns from round to round."""
    times = {candidate.name: [] for candidate in candidates}
    peaks = []
    for turn in range(rounds):
        peaks.append(peak.measure())
        shift = turn % len(candidates)
        for candidate in candidates[shift:] + candidates[:shift]:
            times[candidate.name].append(timed(candidate.run))
    return times, peaks


def quantile(values, part):
    return float(numpy.quantile(values, part))


def summary(case, candidates, times, peaks, threads):
    """What is printed of one case: ratios are a candidate's time over Gatefold's, in the
    same round."""
    ours = times["gatefold"]
    rows = []
    best_peak = max(peaks) * threads
    for candidate in candidates:
        own = times[candidate.name]
        ratios = [theirs / mine for theirs, mine in zip(own, ours)]
        rows.append(
            {
                "name": candidate.name,
                "median_seconds": statistics.median(own),
                "least_seconds": min(own),
                "ratio": statistics.median(ratios),
                "ratio_low": quantile(ratios, 0.1),
                "ratio_high": quantile(ratios, 0.9),
                "share_of_peak": case.operations / min(own) / best_peak,
                "compile_seconds": candidate.compile_seconds,
            }
        )
    return {"case": case.name, "threads": threads, "peak_flops": max(peaks), "rows": rows}


def peak_memory(reset=False):
    """Largest resident size of this process so far, or since the last reset; in bytes."""
    if reset:
        # What was freed is given back first, lest a run use it unseen.
        ctypes.CDLL(None).malloc_trim(0)
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s*(\d+) kB", status)[1])


def growth(prepare, run):
    """Bytes by which the process grows in `run` at most, after a small run has warmed
    it."""
    prepare()
    before = peak_memory(reset=True)
    run()
    return peak_memory() - before
