# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All numeric tests on the emulator, file by file, with a table of what came of them.

python test/gpu/emulate_numerics.py [--results DIR] [--time S] [--file-time S] [--target GPU] [NAME...]

NAME: files of test/numerics, all if none is named. Every test that has passed is kept in the
folder of results (else emulated-results of the build), under the build that passed it, so that
a run that was ended, or whose time is over, continues where it stood. The build is
GATEFOLD_BUILD, else build; the Python is the one that runs this.

Status: 0 all passed or do not apply, 1 something failed, or did not run, 2 the command line.
"""

import argparse
import collections
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from emulated import outcomes  # noqa: E402

NUMERICS = HERE.parent / "numerics"
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", HERE.parents[1] / "build"))
# Tests of a file that failed for the same reason.
MOST_LISTED = 5
COLUMNS = ("passed", "failed", "skipped", "begun", "not run")


def run_file(path, results, seconds, target):
    """One process of pytest, which is ended with all that it has started."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "emulated", "-p", "no:cacheprovider"]
    command += ["--tb=short", f"--emulated-results={results}", path]
    command += [f"--emulated-target={target}"] if target else []
    environment = {**os.environ, "PYTHONPATH": str(HERE), "GATEFOLD_BUILD": str(BUILD)}
    with open(results.with_suffix(".log"), "a") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, cwd=NUMERICS, start_new_session=True
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return process.returncode


def print_table(table, reasons):
    width = max(len(name) for name in table)
    print(f"{'':{width}} {' '.join(f'{c:>8}' for c in COLUMNS)}  seconds")
    for name, (counts, seconds) in table.items():
        numbers = " ".join(f"{counts[c] or '':>8}" for c in COLUMNS)
        print(f"{name:{width}} {numbers} {seconds:8.0f}")
    for outcome, title in (("skipped", "Skipped"), ("failed", "Failed"), ("begun", "Did not end")):
        if reasons[outcome]:
            print(f"\n{title}:")
        for (name, reason), tests in reasons[outcome].items():
            words = f": {reason}" if reason else ""
            if outcome == "skipped":
                print(f"  {name}: {len(tests)}{words}")
                continue
            for test in tests[:MOST_LISTED]:
                print(f"  {test}{words}")
            if len(tests) > MOST_LISTED:
                print(f"  {name}: {len(tests) - MOST_LISTED} more{words}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--results", type=pathlib.Path, default=BUILD / "emulated-results")
    parser.add_argument("--time", type=float, default=float("inf"), help="seconds for all files")
    parser.add_argument("--file-time", type=float, default=1800, help="seconds for one file")
    parser.add_argument("--target", default="", help="a GPU; else the driver's")
    options = parser.parse_args()
    end = time.monotonic() + options.time
    # Who ends this ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    known = sorted(path.name for path in NUMERICS.glob("test_*.py"))
    names = [pathlib.Path(name).name for name in options.names] or known
    for name in names:
        if name not in known:
            parser.error(f"there is no {name} in {NUMERICS}")
    gatefold = BUILD / "bin" / "gatefold"
    digest = hashlib.sha256(gatefold.read_bytes()).hexdigest()[:12]
    folder = options.results / f"{digest}{options.target and '-'}{options.target}"
    folder.mkdir(parents=True, exist_ok=True)

    table, status = {}, 0
    reasons = {column: collections.defaultdict(list) for column in COLUMNS}
    total = collections.Counter()
    for name in names:
        results = folder / f"{name.removesuffix('.py')}.jsonl"
        left = end - time.monotonic()
        code = None
        if left > 10:
            print(f"{name} ...", flush=True)
            code = run_file(NUMERICS / name, results, min(left, options.file_time), options.target)
        last = outcomes(results)
        counts = collections.Counter(line["outcome"] for line in last.values())
        # 5: every test has passed before.
        if counts["failed"] + counts["begun"] + counts["not run"] or not last or code not in (0, 5):
            status = 1
        table[name] = (counts, sum(line.get("seconds", 0) for line in last.values()))
        total += counts
        for test, line in last.items():
            reason = line.get("reason", "").partition("\n")[0]
            reasons[line["outcome"]][name, reason].append(test.rpartition("/")[2])
    print_table(table, reasons)
    print(f"\n{', '.join(f'{total[c]} {c}' for c in COLUMNS if total[c] or c in ('passed', 'failed'))}")
    return status


if __name__ == "__main__":
    sys.exit(main())
