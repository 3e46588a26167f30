# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold compile: command lines, forms, targets, and the files that it writes."""

import os
import subprocess

import pytest
from driver import (
    COMMAND_LINE_FAULT,
    FUNCTIONS,
    SMALL,
    X,
    files,
    gatefold,
    npy,
    refusal,
    weights,
    write,
)

PHASES = ["import", "simplify", "fuse", "schedule", "tile", "split", "bufferize", "cpu"]
X86 = os.uname().machine == "x86_64"


# Command lines.


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "compile needs -o OUT or --emit WHAT\nhint: -o libNAME.so, NAME.o, NAME.s"),
        (["-o", "x.exe"], "-o x.exe: the ending does not say what to make\nhint: -o libNAME.so"),
        (["-o", "-"], "-o -: the ending does not say"),
        (["--emit", "ptx"], "--emit ptx: expected import, simplify, fuse, schedule, tile, "),
        (["--emit", "library"], "--emit library needs -o FILE"),
        (["--emit", "object"], "--emit object needs -o FILE"),
        (["--emit", "object", "-o", "-"], "--emit object needs -o FILE"),
        (["--emit", "fuse", "--weights", "w.npz"], "weights are embedded in code only"),
    ],
)
def test_command_line_faults(small, arguments, message):
    assert message in refusal("compile", small, *arguments, status=COMMAND_LINE_FAULT)
    assert files(small.parent) == ["small.gf"]


def test_names_every_form(small):
    message = refusal("compile", small, "--emit", "x", status=COMMAND_LINE_FAULT)
    assert f"expected {', '.join(PHASES)}, llvm, asm, object or library" in message


def test_lead_is_not_for_a_model(small, tmp_path):
    result = gatefold("compile", small, "-o", tmp_path / "a.o", "--lead", "2", status=2)
    assert "--lead is for a func, cell or attention" in result.err


def test_what_is_not_there_is_named(small, tmp_path):
    for options, words in [
        (["--target", "z80"], "--target z80: no processor 'z80'"),
        (["--float", "f8"], "--float is f16, bf16, f32 or f64, found `f8`"),
        (["-I", "/nonexistent"], "-I /nonexistent: not a folder"),
    ]:
        result = gatefold("compile", small, "-o", tmp_path / "a.o", *options, status=2)
        assert words in result.err


def test_json_needs_a_file(small):
    run = gatefold("compile", small, "--emit", "llvm", "--json", status=COMMAND_LINE_FAULT)
    assert run.json == {
        "messages": [
            {
                "severity": "error",
                "message": "--json and the code cannot both go to standard output",
                "hint": "-o FILE",
            }
        ]
    }


# Forms.


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase(small, phase):
    text = gatefold("compile", small, "--emit", phase).out
    assert text.startswith("module") or text.startswith("#")
    has = {
        "linalg": phase != "cpu",
        "memref.": phase == "bufferize",
        "llvm.func": phase == "cpu",
    }
    for word, expected in has.items():
        assert (word in text) == expected, (word, phase)
    path = small.parent / "m.mlir"
    assert gatefold("compile", small, "--emit", phase, "-o", path).out == ""
    assert path.read_text() == text


def test_a_module_compiles_further(small):
    """What `import` prints is read back, and gives the same results."""
    folder = small.parent
    module = folder / "m.mlir"
    gatefold("compile", small, "-o", module)
    options = ["--weights", weights(folder), "--input", f"x={npy(folder / 'x.npy', X)}"]
    assert gatefold("run", module, *options).out == gatefold("run", small, *options).out
    assert gatefold("check", module).out.startswith("func ")


def test_llvm_and_assembly(small):
    folder = small.parent
    for form, ending, words in (("llvm", ".ll", "define "), ("asm", ".s", ".text")):
        text = gatefold("compile", small, "--emit", form).out
        assert words in text
        assert "small_run" in text
        # Symbols take the output's name.
        gatefold("compile", small, "-o", folder / f"small{ending}")
        assert (folder / f"small{ending}").read_text() == text
        gatefold("compile", small, "-o", folder / f"other{ending}")
        assert "other_run" in (folder / f"other{ending}").read_text()


def test_an_object(small):
    path = small.parent / "small.o"
    assert gatefold("compile", small, "-o", path).out == ""
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    defined = {line.split()[2] for line in out.splitlines() if " T " in line}
    assert {f"small_{name}" for name in FUNCTIONS} <= defined
    assert files(small.parent) == ["small.gf", "small.o"]


def test_the_same_bytes_again(small):
    folder = small.parent
    for name in ("a", "b"):
        (folder / name).mkdir()
        gatefold("compile", small, "-o", folder / name / "libsmall.so")
    for name in ("libsmall.so", "small.h"):
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


# Targets.


@pytest.mark.skipif(not X86, reason="the processors named are x86-64")
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_targets(small, target):
    text = gatefold("compile", small, "--emit", "asm", "--target", target).out
    assert ("%rsp" in text or "%rdi" in text) == target.startswith("x86")
    path = small.parent / "small.o"
    gatefold("compile", small, "--target", target, "-o", path)
    machine = path.read_bytes()[18:20]
    assert machine == (b"\xb7\0" if target == "aarch64" else b"\x3e\0")


def test_a_target_that_is_none(small):
    path = small.parent / "libsmall.so"
    assert "no processor 'x86-64-v99'" in refusal(
        "compile", small, "--target", "x86-64-v99", "-o", path, status=COMMAND_LINE_FAULT
    )
    if X86:
        message = refusal("compile", small, "--target", "aarch64", "-o", path)
        assert "not compiled yet: a library for target 'aarch64'" in message
        message = refusal(
            "compile", small, "--target", "aarch64", "-o", small.parent / "s.o",
            "--weights", weights(small.parent),
        )  # fmt: skip
        assert "weights can be embedded only for this machine's own kind" in message
    assert files(small.parent) == (["small.gf", "w.safetensors"] if X86 else ["small.gf"])


# Times and JSON.


def test_timing(small):
    path = small.parent / "small.o"
    err = gatefold("compile", small, "-o", path, "--timing").err
    names = [line.split()[0] for line in err.splitlines() if line.endswith(" ms")]
    assert names == ["parse", "check", *PHASES, "emit", "total"]
    found = gatefold("compile", small, "-o", path, "--timing", "--json").json
    assert sorted(found["timing"]) == sorted(["parse", "check", *PHASES, "emit"])
    assert all(seconds >= 0 for seconds in found["timing"].values())


def test_json(small):
    folder = small.parent
    path = folder / "libsmall.so"
    found = gatefold("compile", small, "-o", path, "--json").json
    assert found == {
        "file": str(path),
        "emitted": "library",
        "targets": ["native"],
        "header": str(folder / "small.h"),
    }
    path = folder / "small.ll"
    assert gatefold("compile", small, "-o", path, "--json").json == {
        "file": str(path),
        "emitted": "llvm",
        "targets": ["native"],
    }


def test_json_of_a_fault(tmp_path):
    path = write(tmp_path / "m.gf", SMALL.replace("gain *", "gaim *"))
    found = gatefold("compile", path, "-o", tmp_path / "x.o", "--json", status=1).json
    assert list(found) == ["diagnostics"]
    assert found["diagnostics"][0]["message"] == "`gaim` is not defined"


# Files.


def test_prints_what_it_wrote(small):
    folder = small.parent
    out = gatefold("compile", small, "-o", folder / "libsmall.so").out
    assert out.splitlines() == [str(folder / "libsmall.so"), str(folder / "small.h")]
    assert files(folder) == ["libsmall.so", "small.gf", "small.h"]
    out = gatefold("compile", small, "-o", "libhere.so", cwd=folder).out
    assert out.splitlines() == ["libhere.so", "here.h"]


def test_a_failed_compilation_leaves_old_files(small):
    folder = small.parent
    old = {name: write(folder / name, "old") for name in ("libm.so", "m.h", "m.ll", "m.mlir")}
    write(small, SMALL.replace("gain *", "gaim *"))
    for name in ("libm.so", "m.ll", "m.mlir"):
        refusal("compile", small, "-o", folder / name)
    assert all(path.read_text() == "old" for path in old.values())
    assert files(folder) == sorted([*old, "small.gf"])


def test_files_that_cannot_be_written(small):
    folder = small.parent
    for name in ("libm.so", "m.ll", "m.o", "m.mlir"):
        path = folder / "none" / name
        assert str(path) in refusal("compile", small, "-o", path)
    assert files(folder) == ["small.gf"]


def test_an_output_folder_that_is_not_there(small, tmp_path):
    result = gatefold("compile", small, "-o", tmp_path / "no" / "liba.so", status=1)
    assert "cannot write" in result.err and "No such file or directory" in result.err


# Long programs.


LONG = {
    # Sizes pass from layer to layer; each turn begins from an empty tensor like all others.
    # Both took minutes once, in the analysis of bufferization.
    "layers": """import cells

model long(x: [B, T, 4]) -> [B, T, 8] {
  param rnn: lstm(H=4, layers=30, bidirectional=true)
  y, _ = scan(rnn, x)
  return y
}
""",
    "turns": """model long(x: [B, 4]) -> [B, 4] {
  for i in 500 {
    x = x + i
  }
  return x
}
""",
}


@pytest.mark.parametrize("kind", LONG)
def test_a_long_program_compiles_in_time(tmp_path, kind):
    """In the time that its size asks for: far within the limit of one command here."""
    text = tmp_path / "long.gf"
    text.write_text(LONG[kind])
    gatefold("compile", text, "-o", tmp_path / "long.o", timeout=30)
