# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles models of a text to PTX and assembles it, spills being errors.

assemble.py GATEFOLD OUT TEXT TARGET... [--entry NAME]...
"""

import argparse
import json
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("gatefold")
parser.add_argument("out")
parser.add_argument("text")
parser.add_argument("targets", nargs="+")
parser.add_argument("--entry", action="append", default=[])
options = parser.parse_args()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def models():
    listed = json.loads(run(options.gatefold, "check", options.text, "--json"))
    return [e["name"] for e in listed["files"][0]["entries"] if e["kind"] == "model"]


for target in options.targets:
    for entry in options.entry or models():
        ptx = f"{options.out}.{entry}.{target}.ptx"
        run(options.gatefold, "compile", options.text, "--entry", entry,
            "--target", target, "-o", ptx)  # fmt: skip
        run("ptxas", f"--gpu-name={target}", "-warn-spills", "-warn-lmem-usage", "-Werror",
            ptx, "-o", ptx + ".cubin")  # fmt: skip
