# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of test/gpu/run.sh, which says what they are for: machine, compile, correctness,
speed, summary. Each case of a part runs in a process of its own with a time limit, and its
record is kept in the results folder, so that a rerun continues where the last one ended."""

import argparse
import concurrent.futures
import hashlib
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time

import cases

HERE = pathlib.Path(__file__).resolve().parent
DONE, FAILED, OTHER_RESULTS, NOTHING_HERE = 0, 1, 2, 77
GPUS = (80, 86, 89, 90, 100, 120)
CASE_LIMIT = {"correctness": 60, "speed": 60}
TORCH_LIMIT = 50
COMPILE_LIMIT = 180


def say(*words):
    print(*words, flush=True)


def write(path, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=2) + "\n")
    part.rename(path)


def read(path):
    return json.loads(path.read_text()) if path.exists() else None


def file_name(name):
    return "".join(c if c.isalnum() or c in "-_=" else "_" for c in name)


# The machine.


def find_tool(name):
    for variable in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"):
        if path := shutil.which(name) or shutil.which(
            name, path=os.path.join(os.environ.get(variable, ""), "bin")
        ):
            return path
    return None


def torch_words():
    """(PyTorch, cuDNN): versions, or None."""
    if importlib.util.find_spec("torch") is None:
        return None, None
    # In a process of its own: it takes seconds and a context of the GPU.
    program = (
        "import torch; print(torch.__version__ if torch.cuda.is_available() else '');"
        "print(torch.backends.cudnn.version() or '')"
    )
    try:
        lines = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=TORCH_LIMIT
        ).stdout.splitlines()
    except subprocess.TimeoutExpired:
        return None, None
    return (lines[0] or None, lines[1] or None) if len(lines) == 2 else (None, None)


def look_at_machine(options):
    machine = {"python": platform.python_version(), "cpu": platform.machine()}
    lacks = {}
    if importlib.util.find_spec("numpy") is None:
        lacks["numpy"] = "nothing can be compared or measured"
    else:
        import gpu_model

        try:
            machine |= gpu_model.Driver().describe()
        except RuntimeError as error:
            lacks["GPU"] = f"{error}: kernels cannot run"
    for tool in ("ptxas", "fatbinary"):
        machine[tool] = find_tool(tool)
        if not machine[tool]:
            lacks[tool] = "libraries hold PTX alone, and the driver compiles it when they are loaded"
    machine["torch"], machine["cudnn"] = torch_words()
    if not machine["torch"]:
        lacks["torch"] = "no PyTorch with CUDA: times stand without a peer"
    if not machine["cudnn"]:
        lacks["cuDNN"] = "PyTorch brings none: no times of cuDNN beside ours"
    machine["lacks"] = lacks
    write(options.results / "machine.json", machine)
    for name in ("gpu", "capability", "driver", "ptxas", "fatbinary", "torch", "cudnn"):
        if machine.get(name):
            say(f"  has    {name}: {machine[name]}")
    for name, consequence in lacks.items():
        say(f"  LACKS  {name}: {consequence}")
    return DONE


def target_of(options):
    """The GPU that is compiled for."""
    if options.target:
        return options.target
    machine = read(options.results / "machine.json") or {}
    known = [gpu for gpu in GPUS if gpu <= machine.get("capability", 0)]
    return f"sm_{known[-1]}" if known else None


# Compilation.


def library_path(options, name):
    return options.results / "libraries" / file_name(name) / "libmodel.so"


def wanted(options, part):
    everything = {"correctness": cases.CORRECTNESS, "speed": cases.SPEED}[part]
    return [case for case in everything if options.only is None or options.only in case.name]


def compile_one(options, name, source, entry, flags, target):
    path = library_path(options, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Others than this machine may run it.
    cpu = "x86-64-v3" if platform.machine() == "x86_64" else "native"
    base = [options.gatefold, "compile", source, "--entry", entry, *flags]
    commands = [[*base, "--target", cpu, "--target", target, "-o", path]]
    if options.emulate:
        kernels = path.with_name("kernels.ll")
        commands.insert(0, [*base, "--target", target, "--emit", "llvm", "-o", kernels])
    start = time.monotonic()
    for command in commands:
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_LIMIT)
        except subprocess.TimeoutExpired:
            return {"passed": False, "error": f"longer than {COMPILE_LIMIT} s"}
        if run.returncode:
            return {"passed": False, "error": run.stderr[-2000:]}
    return {"passed": True, "seconds": time.monotonic() - start, "says": run.stderr}


def compile_all(options):
    target = target_of(options)
    if not target:
        say("no GPU is known to compile for: --target sm_90, or run the part machine where there is one")
        return NOTHING_HERE
    identity = hashlib.sha256(options.gatefold.read_bytes()).hexdigest() + " " + target
    record_path = options.results / "compile.json"
    record = read(record_path) or {}
    if record.get("identity") != identity:
        if record:
            say(f"{options.results} is of another build or GPU: choose another folder, or remove it")
            return OTHER_RESULTS
        record = {"identity": identity, "target": target, "libraries": {}}
    names = {case.name for case in wanted(options, "correctness")}
    names |= {timing.library for timing in wanted(options, "speed")}
    missing = {
        name: what
        for name, what in cases.libraries().items()
        if name in names
        and not (record["libraries"].get(name, {}).get("passed") and library_path(options, name).exists())
    }
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {
            pool.submit(compile_one, options, name, *what, target): name for name, what in missing.items()
        }
        for future in concurrent.futures.as_completed(futures):
            name = futures[future]
            record["libraries"][name] = future.result()
            write(record_path, record)
            outcome = future.result()
            words = f"{outcome['seconds']:.1f} s" if outcome["passed"] else f"FAILED: {outcome['error']}"
            say(f"  {name}: {words}")
    return DONE if all(each["passed"] for each in record["libraries"].values()) else FAILED


# Cases.


def run_case(options, part, case):
    """One case in a process of its own."""
    library = case.name if part == "correctness" else case.library
    path = library_path(options, library)
    if not path.exists():
        return {"passed": False, "error": "its library is not compiled"}
    environment = dict(os.environ)
    if options.emulate:
        environment["GATEFOLD_FAKE_KERNELS"] = str(path.with_name("kernels.ll"))
    command = [sys.executable, HERE, "case", "--part", part, "--only", case.name]
    command += ["--emulate"] if options.emulate else []
    limit = CASE_LIMIT[part]
    try:
        run = subprocess.run(
            [*command, "--results", options.results],
            capture_output=True, text=True, timeout=limit, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"passed": False, "error": f"longer than {limit} s"}
    if run.returncode:
        return {"passed": False, "error": (run.stderr or run.stdout)[-2000:], "status": run.returncode}
    return json.loads(run.stdout.splitlines()[-1])


def words_of(part, record):
    if "error" in record:
        return f"FAILED: {record['error'].strip().splitlines()[-1] if record['error'].strip() else '?'}"
    if part == "correctness":
        largest = max(run["difference"] for run in record["runs"])
        bits = "" if all(run["same_bits"] for run in record["runs"]) else ", OTHER BITS IN A SECOND RUN"
        refuses = "" if all(run["refuses"] for run in record["runs"]) else ", A WRONG LENGTH IS NOT REFUSED"
        verdict = "agrees" if record["passed"] else "DIFFERS"
        return f"{verdict}, largest difference {largest:.2g} of what is allowed{bits}{refuses}"
    ratios = "".join(f", {name} takes {r[1]:.2f}" for name, r in record["ratios"].items())
    return f"{record['milliseconds'][1]:.3f} ms, {record['tflops']:.1f} TFLOP/s{ratios}"


def run_part(options, part):
    machine = read(options.results / "machine.json") or {}
    if "GPU" in machine.get("lacks", {"GPU": ""}) or "numpy" in machine["lacks"]:
        say(f"{part}: not run, this machine lacks what it needs")
        return NOTHING_HERE
    begin, skipped, failed = time.monotonic(), 0, []
    for case in wanted(options, part):
        path = options.results / part / f"{file_name(case.name)}.json"
        record = read(path)
        if record and record["passed"]:
            skipped += 1
            continue
        if time.monotonic() - begin > options.limit:
            say(f"  {case.name}: no time is left; a rerun continues here")
            failed.append(case.name)
            continue
        record = run_case(options, part, case)
        write(path, record)
        say(f"  {case.name}: {words_of(part, record)}")
        if not record["passed"]:
            failed.append(case.name)
    if skipped:
        say(f"  {skipped} were finished before")
    return FAILED if failed else DONE


def one_case(options):
    """The child: prints the record in its last line."""
    (case,) = [case for case in wanted(options, options.part) if case.name == options.only]
    if options.part == "correctness":
        import compare

        if options.emulate:  # the least run; others take an emulator minutes
            case.runs = case.runs[:1]
        record = compare.compare(case, library_path(options, case.name))
    else:
        import measure

        record = {"passed": True} | measure.measure(case, library_path(options, case.library))
    print(json.dumps(record))
    return DONE


# All of it.


def summarise(options):
    result = {"machine": read(options.results / "machine.json"), "passed": True}
    compiled = read(options.results / "compile.json")
    result["compile"] = compiled
    for part in ("correctness", "speed"):
        if not (options.results / part).exists():
            continue
        records = {
            case.name: read(options.results / part / f"{file_name(case.name)}.json")
            for case in wanted(options, part)
        }
        done = {name: record for name, record in records.items() if record}
        result[part] = done
        passed = sum(record["passed"] for record in done.values())
        missing = len(records) - len(done)
        result["passed"] &= passed == len(records)
        say(f"{part}: {passed} passed, {len(done) - passed} failed, {missing} not run")
    write(options.results / "results.json", result)
    say(f"{options.results / 'results.json'}")
    return DONE if result["passed"] else FAILED


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parts = {
        "machine": look_at_machine,
        "compile": compile_all,
        "correctness": lambda options: run_part(options, "correctness"),
        "speed": lambda options: run_part(options, "speed"),
        "summary": summarise,
        "case": one_case,
    }
    parser.add_argument("command", choices=parts)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--gatefold", type=pathlib.Path)
    parser.add_argument("--target", help="the GPU that is compiled for, such as sm_90")
    parser.add_argument("--only", help="cases whose names contain this")
    parser.add_argument("--part", help="of `case`")
    parser.add_argument("--limit", type=float, default=200, help="seconds of a part")
    parser.add_argument(
        "--emulate", action="store_true", help="kernels as LLVM IR for the driver of test/cuda/fake"
    )
    options = parser.parse_args()
    options.results = options.results.resolve()
    return parts[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
