# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that are correct, or nearly, and far too large for a checker.

usage: hostile.py FOLDER GATEFOLD

Each is checked, and those with a model are imported too, within 10 seconds (a loaded
machine; alone they take less than one) and 1 GB of memory: to status 0, or to status 1
with the error that names the limit.
"""

import pathlib
import resource
import subprocess
import sys
import time

SECONDS = 10
BYTES = 1 << 30

OPERATIONS = "is too large: more than 20000 operations"
INPUTS = "`m` has more than 1000 inputs and states"
RESULTS = "`m` has more than 1000 results and states"
WORK = "more than 3000000 expressions are evaluated"
RANK = "dimensions; a tensor has at most 64"
FINE = ""  # status 0
CELL = "cell c%(i)d(x: [H]) -> [H] {\n  state h: [H]\n  h' = h + x\n  return h'\n}\n"
FUNC = "func f%(i)d(x: [M]) -> [M] {\n  return x\n}\n"


def lines(template, count):
    return "".join(template % {"i": i, "next": i + 1} for i in range(count))


def model(body, inputs="x: [B]", results="[B]", result="x"):
    return f"model m({inputs}) -> {results} {{\n{body}  return {result}\n}}\n"


def loop(count, body):
    return f"  for i in {count} {{\n{body}  }}\n"


def listed(template, count):
    return ", ".join(template % {"i": i} for i in range(count))


TERMS = "+".join(f"D{i}*D{j}" for i in range(16) for j in range(i))

# Name: (text, what the message of the error holds, is it compiled).
TEXTS = {
    # What is looked up by name, many times.
    "inputs": (model("", listed("x%(i)d: [B]", 100_000), result="x0"), INPUTS, True),
    "dimensions": (
        model("", listed("x%(i)d: [D%(i)d]", 20_000), "[D0]", "x0"),
        INPUTS,
        True,
    ),
    "func-dimensions": (
        f"func f({listed('x%(i)d: [D%(i)d]', 900)}) -> [D0] {{\n  return x0\n}}\n",
        FINE,
        False,
    ),
    "calls": (
        lines("func f%(i)d(x: [M]) -> [M] {\n  return f%(next)d(x)\n}\n", 20_000)
        + "func f20000(x: [M]) -> [M] {\n  return x\n}\n",
        "calls nest more than 200 deep",
        False,
    ),
    "declarations": (lines(FUNC, 10_000), FINE, False),
    # Few of them are scheduled; there is a line for each.
    "cells": (lines(CELL, 5000), FINE, False),
    "more-declarations": (lines(FUNC, 50_000), WORK, False),
    "states": (model(lines("  state s%(i)d: [B]\n  s%(i)d' = x\n", 20_000)), INPUTS, True),
    "results": (
        model("", results=f"({listed('r%(i)d: [B]', 5000)})", result=listed("x + %(i)d", 5000)),
        RESULTS,
        True,
    ),
    "names-in-loop": (model(lines("  a%(i)d = 1\n", 20_000) + loop(5000, "  b = 1\n")), FINE, True),
    # What is expanded.
    "layers-in-loop": (
        model(loop(10_000, "  param w: linear(N=4)\n  x = w(x)\n"), "x: [4]", "[4]"),
        OPERATIONS,
        True,
    ),
    "parameters": (model(loop(10_000, "  param w: []\n  x = x + w\n")), OPERATIONS, True),
    "cell-layers": (
        "cell c(x: [H]) -> [H] {\n  state h: [H]\n  h' = h + x\n  return h'\n}\n"
        + model(
            "  param l: c(layers=10000)\n  y, h = scan(l, x)\n", "x: [T, 4]", "[T, 4]", "y"
        ),
        OPERATIONS,
        True,
    ),
    "statements": (model(lines("  x = x + %(i)d\n", 200_000)), OPERATIONS, True),
    "loops": (
        model("  k = 0\n" + loop(10_000, "  for j in 10000 {\n  k = k + 1\n  }\n")),
        WORK,
        True,
    ),
    "many-heavy": (
        "func f(x: [M]) -> [M] {\n" + loop(1000, "  x = x + 1\n") + "  return x\n}\n"
        + lines("func g%(i)d(x: [M]) -> [M] {\n  return f(x)\n}\n", 10_000),
        WORK,
        False,
    ),
    # What is copied.
    "tuple": (
        model(f"  y = {listed('x', 9999)}\n" + loop(10_000, "  z = y\n" * 10)), WORK, True
    ),
    "string": (model(f'  y = "{"s" * 5_000_000}"\n' + loop(10_000, "  z = y\n")), WORK, True),
    "long-name": (model(loop(10_000, "  " + "n" * 5_000_000 + " = 1\n")), WORK, True),
    "rank": (model(loop(10_000, "  x = x[None]\n")), "this has 65 " + RANK, True),
    "declared-rank": (
        model("", f"x: [{listed('B', 20_000)}]", "[]", "0"),
        "this has 20000 " + RANK,
        True,
    ),
    "terms": (
        model(
            loop(10_000, "  x = x + 1\n"),
            listed("d%(i)d: [D%(i)d]", 16)
            + ", x: ["
            + ", ".join([TERMS] * 60)
            + "]",
            "[]",
            "0",
        ),
        WORK,
        True,
    ),
}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (4 * BYTES, 4 * BYTES))


def judge(name, command, path, wanted):
    start = time.monotonic()
    process = subprocess.Popen(
        command + [str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=limit_memory,
    )
    try:
        message = process.communicate(timeout=SECONDS)[1].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return [f"{name}: not done after {SECONDS} s"]
    print(f"{name}: {time.monotonic() - start:.2f} s")
    faults = []
    if process.returncode != (1 if wanted else 0):
        faults.append(f"{name}: status {process.returncode}: {message[-1000:]}")
    if wanted and (wanted not in message or ": error: " not in message):
        faults.append(f"{name}: expected `{wanted}`: {message[-1000:]}")
    if len(message) > 300_000:
        faults.append(f"{name}: {len(message)} bytes of messages")
    return faults


def main():
    folder = pathlib.Path(sys.argv[1])
    gatefold = sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    faults = []
    for name, (text, wanted, compiled) in TEXTS.items():
        path = folder / (name + ".gf")
        path.write_text(text)
        faults += judge(f"check {name}", [gatefold, "check"], path, wanted)
        if compiled:
            command = [gatefold, "compile", "--emit=import"]
            faults += judge(f"compile {name}", command, path, wanted)
        path.unlink()
    # Of all of the commands together the one that took most.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"at most {peak >> 20} MiB")
    if peak > BYTES:
        faults.append(f"{peak >> 20} MiB of memory")
    for fault in faults:
        print(fault)
    print(f"{len(TEXTS)} texts, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
