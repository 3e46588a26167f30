# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`compile` with several targets: code for a CPU and for GPUs in one library."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from driver import (
    COMMAND_LINE_FAULT,
    SMALL,
    WEIGHT,
    X,
    Y,
    files,
    gatefold,
    npy,
    refusal,
    weights,
    write,
)

GPUS = ["--target", "sm_80", "--target", "sm_90"]
ALL = ["--target", "native", *GPUS]
DEVICE_FUNCTIONS = {
    "create_cuda", "device", "cuda_devices", "context_stream", "context_reserve",
    "context_finish", "allocate", "free", "copy",
}  # fmt: skip


def functions(library):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1].removeprefix("small_") for line in out.splitlines()}


def without_tools(folder):
    """An environment whose PATH has a linker and nothing of NVIDIA's."""
    for name in ("cc", "ld", "as"):
        (folder / name).symlink_to(shutil.which(name))
    return {"PATH": str(folder), "HOME": "/"}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    text = write(folder / "small.gf", SMALL)
    gatefold("compile", text, *ALL, "-o", folder / "libsmall.so")
    return folder


# Command lines.


@pytest.mark.parametrize(
    "options, message",
    [
        (["--target", "sm_80", "--target", "sm_80"], "--target sm_80 is given twice"),
        (["--target", "native", "--target", "native"], "--target native is given twice"),
        (["--target", "native", "--target", "sm_81"],
         "--target sm_81: no GPU 'sm_81' is known; there are sm_80, sm_86, sm_89, sm_90, sm_90a, "),
        (["--target", "x86-64-v9"], "--target x86-64-v9: no processor 'x86-64-v9' among those of"),
        (["--target", "SM_80"], "\nhint: native, x86-64-v3, aarch64, ..., or a GPU: sm_80, sm_90, ..."),
        (["--emit", "ptx"], "object or library\nhint: for a GPU: --target sm_80"),
        (["--device", "cuda"],
         "Unknown command line argument '--device'\nhint: `gatefold COMMAND --help` lists the options"),
        (["--targets", "sm_80"], "Unknown command line argument '--targets'\nhint: Did you mean '--target'?"),
        (["--target", "native", "--target", "sm_80", "--target", "x86-64-v3"],
         "--target native and --target x86-64-v3 are both CPUs: a library holds code for one\n"
         "hint: several may be GPUs: --target native --target sm_80 --target sm_90"),
    ],
)  # fmt: skip
def test_command_line_faults(small, options, message):
    found = refusal("compile", small, *options, "-o", "libx.so", status=COMMAND_LINE_FAULT)
    assert message in found
    assert files(small.parent) == ["small.gf"]


@pytest.mark.parametrize(
    "form", ["import", "fuse", "nvvm", "cpu", "llvm", "asm", "ptx", "cubin", "fatbin"]
)
def test_one_target_at_a_time(small, form):
    message = refusal("compile", small, *ALL, "--emit", form, status=COMMAND_LINE_FAULT)
    assert (
        f"--emit {form} is for one target, found native, sm_80, sm_90\n"
        "hint: choose one; --emit library and object take several" in message
    )


def test_one_target_at_a_time_by_the_ending(small):
    message = refusal("compile", small, *ALL, "-o", "x.ptx", status=COMMAND_LINE_FAULT)
    assert "-o x.ptx is for one target, found native, sm_80, sm_90" in message


def test_other_commands_take_one(small):
    for command in ("run", "bench", "report"):
        message = refusal(command, small, *ALL, status=COMMAND_LINE_FAULT)
        assert "one --target at a time, found 3\nhint: `compile` takes several" in message


# Libraries.


def test_what_a_library_offers(library):
    assert DEVICE_FUNCTIONS < functions(library / "libsmall.so")
    header = (library / "small.h").read_text()
    assert "It computes on the CPU, and has code for GPUs: sm_80, sm_90." in header
    for name in DEVICE_FUNCTIONS:
        assert f"small_{name}(" in header
    program = write(library / "main.c", '#include "small.h"\nint main(void) { return 0; }\n')
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    subprocess.run([*command, program], check=True)
    subprocess.run([*command[:1], "-x", "c++", *command[2:], program], check=True)


def test_a_library_for_a_cpu_has_nothing_of_gpus(small_library):
    assert not DEVICE_FUNCTIONS & functions(small_library / "libsmall.so")
    header = (small_library / "small.h").read_text()
    assert "create_cuda" not in header and "GPU that" in header
    undefined = subprocess.run(
        ["nm", "-D", "--undefined-only", small_library / "libsmall.so"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "dlopen" not in undefined


def test_it_computes_on_the_cpu(library, tmp_path):
    np.savez(tmp_path / "y.npz", output=Y)
    gatefold(
        "run", library / "libsmall.so", "--weights", weights(tmp_path),
        "--input", npy(tmp_path / "x.npy", X), "--compare", tmp_path / "y.npz",
    )  # fmt: skip


def test_embedded_weights(small, tmp_path):
    gatefold(
        "compile", small, *ALL, "--weights", weights(tmp_path), "-o", tmp_path / "libsmall.so"
    )
    np.savez(tmp_path / "y.npz", output=Y)
    gatefold(
        "run", tmp_path / "libsmall.so", "--input", npy(tmp_path / "x.npy", X),
        "--compare", tmp_path / "y.npz",
    )  # fmt: skip
    assert WEIGHT.tobytes() in (tmp_path / "libsmall.so").read_bytes()


def test_same_inputs_same_bytes(library, tmp_path):
    gatefold("compile", library / "small.gf", *ALL, "-o", tmp_path / "libsmall.so")
    assert (tmp_path / "libsmall.so").read_bytes() == (library / "libsmall.so").read_bytes()


def test_a_cpu_is_added(small, tmp_path):
    run = gatefold("compile", small, *GPUS, "-o", tmp_path / "libsmall.so", "--json")
    assert run.json["targets"] == ["native", "sm_80", "sm_90"]
    (note,) = run.json["messages"]
    assert note["message"] == (
        "--target native is added: the library computes on the CPU where there is no such GPU"
    )


def test_an_object(small, tmp_path):
    """It holds what the library does."""
    path = tmp_path / "small.o"
    gatefold("compile", small, *ALL, "-o", path)
    names = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    assert "small_create_cuda" in names and "sm_80.gatefold_sizes" in names


def test_timing(small, tmp_path):
    run = gatefold("compile", small, *ALL, "-o", tmp_path / "libsmall.so", "--json", "--timing")
    phases = set(run.json["timing"])
    for gpu in ("sm_80", "sm_90"):
        assert {f"{gpu} schedule", f"{gpu} nvvm", f"{gpu} host", f"{gpu} fatbin"} <= phases
    assert {"schedule", "cpu", "emit"} <= phases


def test_remarks_name_the_target(small, tmp_path):
    run = gatefold("compile", small, *ALL, "--remarks", "-o", tmp_path / "libsmall.so")
    for target in ("native", "sm_80", "sm_90"):
        assert f"note: remarks for {target}:" in run.err


def test_faults_name_the_target(tmp_path):
    """What a phase refuses is told with the target that it is about."""
    text = write(
        tmp_path / "f.gf",
        "import attention\n"
        "model f(q: [T, 8], k: [S, 8], v: [S, 8]) -> [T, 8] {\n"
        "  return dot_product(q, k, v)\n"
        "}\n",
    )
    options = ["--schedule", "attention.algorithm=online,attention.key_block=7"]
    message = refusal("compile", text, *ALL, *options, "-o", tmp_path / "libf.so")
    assert "f.gf:3:" in message and "note: this is about --target sm_80" in message
    assert files(tmp_path) == ["f.gf"]


def test_ptx_alone(small, tmp_path):
    """Without NVIDIA's tools a library holds what a driver can compile."""
    run = gatefold(
        "compile", small, *ALL, "-o", tmp_path / "libsmall.so", env=without_tools(tmp_path)
    )
    assert run.err.count("warning") == 1
    assert (
        "the code for GPUs is PTX alone: machine code needs ptxas, of NVIDIA's toolkit, which is "
        "in none of: PATH, CUDA_ROOT (not set), CUDA_HOME (not set), CUDA_PATH (not set)\n"
        "hint: a driver compiles PTX when a program loads it, which takes seconds\n" in run.err
    )
    image = (tmp_path / "libsmall.so").read_bytes()
    for gpu in (b"sm_80", b"sm_90"):
        place = image.index(b".target " + gpu)
        assert image.index(b"\0", place) > image.index(b"gatefold_run_kernel", place)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="another architecture is meant")
def test_a_library_for_another_architecture(small, tmp_path):
    message = refusal(
        "compile", small, "--target", "aarch64", "--target", "sm_80", "-o", tmp_path / "libx.so"
    )
    assert "a library for target 'aarch64' on this machine" in message
