# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the examples share: compiling a text, times taken in turns, growth of a process."""

import ctypes
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

EXAMPLES = pathlib.Path(__file__).resolve().parent
ROOT = EXAMPLES.parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", ROOT / "build"))
GATEFOLD = BUILD / "bin" / "gatefold"
sys.path.insert(0, str(ROOT / "frontend" / "python"))


def gatefold(*arguments):
    """Runs the program and gives what it prints; its messages go to standard error."""
    command = [str(GATEFOLD), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def seconds(function, clock):
    start = clock()
    function()
    return clock() - start


def in_turns(functions, rounds, clock=time.perf_counter):
    """The median seconds of each function, called in turns so that what else the machine does
    strikes all alike; the first round only warms up. `time.thread_time` as the clock leaves
    out when other programs have the core."""
    taken = [[seconds(f, clock) for f in functions] for _ in range(rounds + 1)][1:]
    return [statistics.median(times) for times in zip(*taken)]


def peak_memory(reset=False):
    """The largest resident size of this process so far, or since the last reset, in bytes."""
    if reset:
        # What was freed is given back first, lest a run use it unseen.
        ctypes.CDLL(None).malloc_trim(0)
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s*(\d+) kB", status)[1])


def put_result(queue, function, arguments):
    queue.put(function(*arguments))


def isolated(function, *arguments):
    """The result of a function of a module, called in a process of its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=put_result, args=(queue, function, arguments))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the measuring process ended with {process.exitcode}")
    return queue.get()
