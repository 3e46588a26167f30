# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`compile` for a GPU: command lines, and where its assembler is looked for."""

import shutil

import pytest
from driver import COMMAND_LINE_FAULT, INPUT_FAULT, gatefold, refusal, write

GPU = ["--target", "sm_80"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--emit", "cpu", *GPU],
         "--emit cpu: expected import, simplify, fuse, schedule, tile, split, bufferize, gpu, nvvm, "
         "llvm, ptx, cubin or fatbin for a GPU, or object or library for a GPU and a CPU"),
        (["--emit", "asm", *GPU], "--emit asm: expected import, "),
        (["--emit", "object", *GPU], "--emit object needs -o FILE"),
        (["--emit", "fatbin", *GPU], "--emit fatbin needs -o FILE"),
        (["--emit", "fatbin"], "--emit fatbin: expected import, "),
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
        (["run"], "--target sm_80 is a GPU, and --device is cpu\nhint: --device cuda or emulator"),
        (["bench"], "--target sm_80 is a GPU, and --device is cpu\nhint: --device cuda"),
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
        "compile", small, "--target", target, "--emit", "ptx", status=COMMAND_LINE_FAULT
    )
    assert (
        f"--target {target}: no GPU '{target}' is known; there are sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120"
        in message
    )


@pytest.mark.parametrize("form, tool", [("cubin", "ptxas"), ("fatbin", "fatbinary")])
def test_missing_tools(small, tmp_path, form, tool):
    environment = {"PATH": "/nowhere", "CUDA_HOME": "/nowhere/cuda"}
    message = refusal(
        "compile", small, *GPU, "-o", tmp_path / f"x.{form}", status=INPUT_FAULT, env=environment
    )
    assert (
        f"a {form} needs {tool}, of NVIDIA's toolkit, which is in none of: PATH, "
        "CUDA_ROOT (not set), CUDA_HOME (/nowhere/cuda/bin), CUDA_PATH (not set)" in message
    )


@pytest.mark.parametrize("home", ["CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"])
def test_an_assembler_that_fails(small, tmp_path, home):
    """It is found in a toolkit that a variable names, and its words are passed on."""
    (tmp_path / "bin").mkdir()
    tool = write(tmp_path / "bin" / "ptxas", "#!/bin/sh\necho no such GPU\nexit 3\n")
    tool.chmod(0o755)
    message = refusal(
        "compile", small, *GPU, "-o", tmp_path / "x.cubin", env={"PATH": "/bin", home: str(tmp_path)}
    )
    assert f"{tool} failed: no such GPU" in message


# An assembler that spills, but at the level that LEVEL names; what it makes is its arguments.
SPILLING = """#!/bin/sh
case "$*" in
  *LEVEL*) ;;
  *) echo "ptxas warning : Registers are spilled to local memory in function 'f', 12 bytes spill stores, 8 bytes spill loads" ;;
esac
while [ "$1" != --output-file ]; do shift; done
echo "made with $3" > $2
"""


def spilling(tmp_path, level):
    (tmp_path / "bin").mkdir()
    tool = write(tmp_path / "bin" / "ptxas", SPILLING.replace("LEVEL", level))
    tool.chmod(0o755)
    return {"PATH": f"{tmp_path / 'bin'}:/bin"}


def test_an_assembler_that_spills_is_asked_again(small, tmp_path):
    done = gatefold(
        "compile", small, *GPU, "-o", tmp_path / "x.cubin", env=spilling(tmp_path, "level=3")
    )
    assert "warning" not in done.err
    assert (tmp_path / "x.cubin").read_text() == "made with --register-usage-level=3\n"


def test_spills_are_said(small, tmp_path):
    """Where all levels spill, the first is taken."""
    done = gatefold("compile", small, *GPU, "-o", tmp_path / "x.cubin", env=spilling(tmp_path, "never"))
    assert (
        "warning: code for sm_80 needs more registers than a thread has: in memory are 12 bytes of `f`\n"
        "hint: smaller blocks need fewer: `--remarks` says which there are, `--schedule` sets them\n"
        in done.err
    )
    assert (tmp_path / "x.cubin").read_text() == "made with \n"


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas")
def test_cubin(small, tmp_path):
    gatefold("compile", small, *GPU, "-o", tmp_path / "x.cubin")
    assert (tmp_path / "x.cubin").read_bytes().startswith(b"\x7fELF")


@pytest.mark.skipif(
    not (shutil.which("ptxas") and shutil.which("fatbinary")), reason="no ptxas and fatbinary"
)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_fatbin(small, tmp_path, target):
    """It holds machine code and PTX, each behind a header that says which it is."""
    path = tmp_path / "x.fatbin"
    gatefold("compile", small, "--target", target, "-o", path)
    image = path.read_bytes()
    assert image.startswith(b"\x50\xed\x55\xba")
    place, kinds = int.from_bytes(image[6:8], "little"), []
    while place < len(image):
        kinds.append(int.from_bytes(image[place : place + 2], "little"))
        header = int.from_bytes(image[place + 4 : place + 8], "little")
        place += header + int.from_bytes(image[place + 8 : place + 16], "little")
    assert kinds == [2, 1]  # ELF, PTX
