# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold doctor."""

import json
import os
import re
import shutil
import subprocess

from driver import BUILD, GATEFOLD, REPOSITORY, gatefold

KEYS = [
    "gatefold", "interface version", "LLVM and MLIR", "processor", "features", "cores",
    "target", "library", "linker cc", "linker clang", "linker lld", "CUDA driver", "ptxas",
]  # fmt: skip


def test_lines():
    lines = gatefold("doctor").out.splitlines()
    assert [line[:20].rstrip() for line in lines] == KEYS
    rows = {line[:20].rstrip(): line[20:] for line in lines}
    assert rows["LLVM and MLIR"].startswith("22.")
    assert gatefold("--version").out == f"gatefold {rows['gatefold']}\n"
    assert rows["cores"].split()[0] == str(len(os.sched_getaffinity(0)))
    assert rows["target"].startswith(os.uname().machine)


def test_cores_are_those_of_a_run():
    """As many as the threads of a run without --threads, which affinity limits."""
    run = subprocess.run(
        [GATEFOLD, "doctor", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    )
    cores = json.loads(run.stdout)["cores"]
    expected = "1"
    if os.cpu_count() > 1:
        expected += f" of {os.cpu_count()}, by affinity and control groups"
    assert cores == expected


def test_json():
    found = gatefold("doctor", "--json").json
    assert sorted(found) == sorted(KEYS)
    assert os.path.realpath(found["library"]) == os.path.realpath(
        BUILD / "share" / "gatefold" / "library"
    )
    header = (REPOSITORY / "runtime" / "Description.h").read_text()
    version = re.search(r"#define GATEFOLD_ABI_VERSION (\d+)", header)[1]
    assert found["interface version"] == version


def test_tools_are_looked_for(tmp_path):
    """What PATH has is found, what it lacks is said to be missing."""
    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    found = gatefold("doctor", "--json", env={"PATH": str(tmp_path)}).json
    assert found["linker cc"] == "not found"
    assert found["ptxas"] in (str(tool), "/usr/local/cuda/bin/ptxas")
    found = gatefold("doctor", "--json").json
    assert found["linker cc"] == shutil.which("cc")


def test_a_program_without_its_library(tmp_path):
    """It finds the library beside itself only, and says so."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "gatefold"
    shutil.copy(GATEFOLD, program)
    run = subprocess.run([program, "doctor"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert f"{tmp_path}/share/gatefold/library (cells.gf is missing)\n" in run.stdout
