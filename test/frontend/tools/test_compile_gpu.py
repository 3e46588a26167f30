# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`compile` for a GPU: command lines, and where its assembler is looked for."""

import shutil

import pytest
from driver import COMMAND_LINE_FAULT, INPUT_FAULT, gatefold, refusal

GPU = ["--target", "sm_80"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--emit", "cpu", *GPU],
         "--emit cpu: expected import, simplify, fuse, schedule, tile, split, bufferize, gpu, nvvm, "
         "llvm, ptx or cubin for a GPU"),
        (["--emit", "object", *GPU], "--emit object: expected import, "),
        (["-o", "libx.so", *GPU], "-o libx.so: expected import, "),
        (["--emit", "cubin", *GPU], "--emit cubin needs -o FILE"),
        (["--emit", "ptx", "--weights", "w.npz", *GPU],
         "--emit ptx: weights are embedded in code only that is for a CPU"),
        (["--emit", "ptx"], "--emit ptx: expected import, "),
        (["--emit", "nvvm"], "--emit nvvm: expected import, "),
    ],
)  # fmt: skip
def test_command_line_faults(small, arguments, message):
    assert message in refusal("compile", small, *arguments, status=COMMAND_LINE_FAULT)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run"], "--target sm_80 is a GPU, and --device is cpu\nhint: --device emulator"),
        (["bench"], "--target sm_80 is a GPU, and --device is cpu\nhint: `compile` makes"),
        (["report"], "--target sm_80 is a GPU, and --device is cpu\nhint: `compile` makes"),
        (["bench", "--device", "emulator"], "--device emulator: an emulator tells nothing about"),
    ],
)  # fmt: skip
def test_other_commands(small, arguments, message):
    command, *options = arguments
    assert message in refusal(command, small, *GPU, *options, status=COMMAND_LINE_FAULT)


def test_fast_math_is_said_on_the_module(small):
    emit = ["compile", small, *GPU, "--emit", "schedule", "-o", "-"]
    assert "gf.fast_math" not in gatefold(*emit).out
    assert "attributes {gf.fast_math, " in gatefold(*emit, "--fast-math").out


@pytest.mark.parametrize("target", ["sm_70", "sm_", "sm_80x"])
def test_unknown_gpu(small, target):
    message = refusal(
        "compile", small, "--target", target, "--emit", "ptx", status=INPUT_FAULT
    )
    assert (
        f"no GPU '{target}' is known; there are sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120"
        in message
    )


def test_missing_assembler(small, tmp_path):
    environment = {"PATH": "/nowhere", "CUDA_HOME": "/nowhere/cuda"}
    message = refusal(
        "compile", small, *GPU, "-o", tmp_path / "x.cubin", status=INPUT_FAULT, env=environment
    )
    assert (
        "a cubin needs ptxas, of NVIDIA's toolkit, which is in none of: PATH, "
        "CUDA_ROOT (not set), CUDA_HOME (/nowhere/cuda/bin), CUDA_PATH (not set)" in message
    )


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas")
def test_cubin(small, tmp_path):
    gatefold("compile", small, *GPU, "-o", tmp_path / "x.cubin")
    assert (tmp_path / "x.cubin").read_bytes().startswith(b"\x7fELF")
