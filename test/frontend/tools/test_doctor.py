# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold doctor."""

import json
import os
import re
import shutil
import subprocess

import pytest
from driver import BUILD, GATEFOLD, REPOSITORY, gatefold

KEYS = [
    "gatefold", "interface version", "LLVM and MLIR", "processor", "features", "cores",
    "target", "library", "linker cc", "linker clang", "linker lld", "ptxas", "fatbinary", "nvcc",
    "GPUs assembled", "--target sm_XX", "CUDA driver", "--device cuda",
]  # fmt: skip
FAKE = BUILD / "test" / "cuda" / "fake"  # a driver whose GPU is the emulator


def test_lines():
    lines = gatefold("doctor").out.splitlines()
    keys = [line[:20].rstrip() for line in lines]
    assert keys[: len(KEYS)] == KEYS
    assert all(key.startswith("GPU ") for key in keys[len(KEYS) :])
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
    assert sorted(found) == sorted([*KEYS, "GPUs"])
    assert os.path.realpath(found["library"]) == os.path.realpath(
        BUILD / "share" / "gatefold" / "library"
    )
    header = (REPOSITORY / "runtime" / "Description.h").read_text()
    version = re.search(r"#define GATEFOLD_ABI_VERSION (\d+)", header)[1]
    assert found["interface version"] == version


def tool(folder, name, words, status=0):
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{words}'\nexit {status}\n")
    path.chmod(0o755)
    return path


def test_tools_are_looked_for(tmp_path):
    """What PATH has is found, what it lacks is said to be missing."""
    ptxas = tool(tmp_path, "ptxas", "Cuda compilation tools, release 9.1, V9.1.85")
    nvcc = tool(tmp_path, "nvcc", "no", status=1)
    found = gatefold("doctor", "--json", env={"PATH": str(tmp_path)}).json
    assert found["linker cc"] == "not found"
    assert found["ptxas"] == f"{ptxas} (9.1.85)"
    assert found["nvcc"] == f"{nvcc} (does not run)"
    assert found["fatbinary"] == "not found"
    assert found["--target sm_XX"] == (
        "PTX alone, which a driver compiles when a program loads it: fatbinary not found"
    )
    found = gatefold("doctor", "--json").json
    assert found["linker cc"] == shutil.which("cc")


def test_no_tools(tmp_path):
    found = gatefold("doctor", "--json", env={"PATH": str(tmp_path)}).json
    assert found["GPUs assembled"] == "none"
    assert found["--target sm_XX"].endswith("ptxas and fatbinary not found")


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas")
def test_assembled_targets():
    assert "sm_80, " in gatefold("doctor", "--json").json["GPUs assembled"]


def with_driver(folder, settings=""):
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "GATEFOLD_FAKE_GPU": settings}


def test_without_a_driver(tmp_path):
    """A file that is no library stands before whatever driver there is."""
    (tmp_path / "libcuda.so.1").write_text("no library")
    found = gatefold("doctor", "--json", env=with_driver(tmp_path)).json
    assert found["GPUs"] == []
    assert found["CUDA driver"].startswith("no GPU: the CUDA driver cannot be opened: ")
    assert found["--device cuda"] == f"computes on the CPU: {found['CUDA driver']}"


def find_stub():
    """The library that NVIDIA's toolkit has for linking, where there is a toolkit."""
    nvcc = shutil.which("nvcc")
    folder = os.path.dirname(os.path.dirname(os.path.realpath(nvcc))) if nvcc else "/nowhere"
    stub = os.path.join(folder, "lib64", "stubs", "libcuda.so")
    return stub if os.path.exists(stub) else None


@pytest.mark.skipif(not find_stub(), reason="no toolkit of NVIDIA's")
def test_the_stub_of_a_toolkit(tmp_path):
    shutil.copy(find_stub(), tmp_path / "libcuda.so.1")
    found = gatefold("doctor", "--json", env=with_driver(tmp_path)).json
    assert found["CUDA driver"].startswith(f"{tmp_path}/libcuda.so.1")
    assert found["--device cuda"] == (
        "computes on the CPU: no GPU: libcuda.so.1 is the stub of a CUDA toolkit, no driver"
    )


@pytest.mark.skipif(not FAKE.exists(), reason="the driver for tests is not built")
def test_gpus():
    found = gatefold("doctor", "--json", env=with_driver(FAKE, "count=2 capability=87")).json
    assert found["CUDA driver"] == f"{FAKE}/libcuda.so.1, CUDA 13.0"
    assert found["--device cuda"] == "computes on Fake GPU with kernels for sm_86"
    assert [gpu["capability"] for gpu in found["GPUs"]] == [87, 87]
    assert found["GPUs"][0]["multiprocessors"] == 4
    lines = gatefold("doctor", env=with_driver(FAKE)).out.splitlines()
    assert lines[-1].startswith("GPU 0               Fake GPU, sm_90, 4 multiprocessors, ")


@pytest.mark.skipif(not FAKE.exists(), reason="the driver for tests is not built")
@pytest.mark.parametrize(
    "settings, why",
    [
        ("count=0", "no GPU: the CUDA driver finds none"),
        ("initialise=34", "no GPU: libcuda.so.1 is the stub of a CUDA toolkit, no driver"),
        ("initialise=999", "no GPU: libcuda.so.1 says: unknown error (999)"),
        ("capability=75", "there are no kernels for sm_75"),
    ],
)
def test_gpus_that_cannot_be_used(settings, why):
    found = gatefold("doctor", "--json", env=with_driver(FAKE, settings)).json
    assert found["--device cuda"] == f"computes on the CPU: {why}"


def test_a_program_without_its_library(tmp_path):
    """It finds the library beside itself only, and says so."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "gatefold"
    shutil.copy(GATEFOLD, program)
    run = subprocess.run([program, "doctor"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert f"{tmp_path}/share/gatefold/library (cells.gf is missing)\n" in run.stdout
