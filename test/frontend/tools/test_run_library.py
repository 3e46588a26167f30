# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gatefold run` of compiled libraries, of what is none, and with options that they do not take."""

import re
import subprocess

import pytest
from driver import (
    COMMAND_LINE_FAULT,
    X,
    files,
    gatefold,
    npy,
    refusal,
    run_small,
    safetensors,
    weights,
    write,
)


def test_runs_a_library(small_library, small):
    expected = run_small(small)
    for source in (small_library / "libsmall.so", small_library):
        run = gatefold(
            "run", source, "--weights", small.parent / "w.safetensors",
            "--input", f"x={small.parent / 'x.npy'}",
        )  # fmt: skip
        assert run.out == expected.out


def test_a_library_in_the_working_folder(small_library, small):
    """A path without a slash is not looked for elsewhere."""
    expected = run_small(small)
    run = gatefold(
        "run", "libsmall.so", "--weights", small.parent / "w.safetensors",
        "--input", f"x={small.parent / 'x.npy'}", cwd=small_library,
    )  # fmt: skip
    assert run.out == expected.out


def c_library(path, text):
    source = write(path.with_suffix(".c"), text)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, source], check=True)
    source.unlink()
    return path


def test_libraries_that_are_none(tmp_path, small_library):
    path = tmp_path / "libx.so"
    assert f"{path}: " in refusal("run", path)
    write(path, "no library")
    assert f"{path}: " in refusal("run", path)
    c_library(path, "int x_create(void) { return 0; }")
    message = refusal("run", path)
    assert f"{path}: not a library that Gatefold compiled (no function NAME_describe)" in message
    c_library(path, "int x_describe(void) { return 0; }")
    assert f"{path} lacks the function x_" in refusal("run", path)
    c_library(path, "int nowhere(void); int x_describe(void) { return nowhere(); }")
    assert "undefined symbol" in refusal("run", path)
    data = (small_library / "libsmall.so").read_bytes()
    for length in (0, 4, 64, 1000, len(data) // 2, len(data) - 1):
        write(path, data[:length])
        run = gatefold("run", path, "--seed", "1", "--dim", "B=1", "--json", status=1)
        assert run.json["messages"][0]["severity"] == "error"


def test_a_library_of_another_version(tmp_path):
    functions = "destroy message prepare context_create context_destroy context_message"
    functions += " result_shapes workspace_size initial_state run"
    text = "static int description[64] = {99};\nint *x_describe(void) { return description; }\n"
    text += "int x_create(void **model) { *model = 0; return 6; }\n"
    text += "".join(f"int x_{name}(void) {{ return 0; }}\n" for name in functions.split())
    path = c_library(tmp_path / "libx.so", text)
    message = refusal("run", path)
    assert f"{path} was compiled for version 99 of the interface; this program knows" in message


def test_a_folder_of_no_or_several_libraries(tmp_path):
    message = refusal("run", tmp_path)
    assert f"{tmp_path} holds 0 files lib*.so, expected one" in message
    for name in ("liba.so", "libb.so"):
        write(tmp_path / name, "")
    assert "holds 2 files lib*.so, expected one" in refusal("run", tmp_path)


def test_two_faults_on_the_command_line(small):
    """The command line is judged before any file is opened."""
    refusal("run", small.parent / "none.gf", "--output", "y", status=COMMAND_LINE_FAULT)


@pytest.mark.parametrize(
    "options, words",
    [
        (["--entry", "small"], "--entry is for texts: {} is a library"),
        (["--arg", "a=1"], "--arg is for texts: {} is a library"),
        (["--float", "f64"], "--float is for texts: {} is a library"),
        (["--lead", "1"], "--lead is for texts: {} is a library"),
        (["--with-input", "mask"], "--with-input is for texts: {} is a library"),
        (["-I", "."], "-I is for texts: {} is a library"),
        (["--fast-math"], "--fast-math is for texts and modules: {} is a library"),
        (["--naive"], "--naive is for texts and modules: {} is a library"),
        (
            ["--schedule", "recurrence.step_rows=8"],
            "--schedule is for texts and modules: {} is a library",
        ),
        (["--target", "native"], "--target is for texts and modules: {} is a library"),
    ],
)
def test_options_that_a_library_has_no_use_for(small_library, options, words):
    path = small_library / "libsmall.so"
    message = refusal("run", path, *options, "--seed", "1", status=COMMAND_LINE_FAULT)
    assert words.format(path) in message


def test_options_that_a_module_has_no_use_for(small):
    path = small.parent / "m.mlir"
    gatefold("compile", small, "-o", path)
    message = refusal("run", path, "--float", "f64", status=COMMAND_LINE_FAULT)
    assert f"--float is for texts: {path} is a module" in message


def test_dimensions_of_a_library(small_library, tmp_path):
    path = small_library / "libsmall.so"
    assert "f32[7, 2]" in gatefold("run", path, "--seed", "1", "--dim", "B=7").out
    message = refusal("run", path, "--seed", "1", "--dim", "Q=7", status=COMMAND_LINE_FAULT)
    assert "--dim: no open dimension is named `Q`\nhint: there are: B\n" in message
    x = npy(tmp_path / "x.npy", X)
    message = refusal("run", path, "--seed", "1", "--dim", "B=7", "--input", x)
    assert "--dim gives B=7, the inputs have B=3\n" in message


def test_several_unknown_sizes(tmp_path):
    path = write(tmp_path / "m.gf", "model m(x: [B, T]) -> [B, T] {\n  return x\n}\n")
    message = refusal("run", path, "--seed", "1")
    assert "the size of B, T is not known from the inputs\n" in message
    assert "hint: give --dim B=...,T=...\n" in message


def test_sizes_beyond_the_memory_are_refused_at_once(tmp_path):
    text = tmp_path / "wide.gf"
    text.write_text("model wide(x: [B, T]) -> [B, T] {\n  return exp(x)\n}\n")
    library = tmp_path / "libwide.so"
    gatefold("compile", text, "-o", library)
    for size, words in [(2_000_000_000, ", the machine has "), (2**31 - 1, "this run needs")]:
        result = gatefold(
            "run", library, "--seed", "1", "--dim", f"B={size},T={size}", status=1
        )
        assert words in result.err


def test_memory_of_all_threads_counts(tmp_path):
    """Each thread that a run has use for takes its part of the arena."""
    path = write(
        tmp_path / "m.gf",
        """import cells
model m(x: [B, T, 1]) -> [B, T, 128] {
  param rnn: lstm(H=128)
  y, _ = scan(rnn, x)
  return y
}
""",
    )
    needed = []
    for threads in (1, 8):
        result = gatefold(
            "run", path, "--seed", "1", "--dim", "B=1000000000,T=2",
            "--threads", str(threads), status=1,
        )  # fmt: skip
        on = "" if threads == 1 else f" on {threads} threads"
        needed.append(float(re.search(rf"this run needs (.+) GB{on}, the machine", result.err)[1]))
    # The gates of a block of steps: 512 f32 for each row.
    assert needed[1] - needed[0] == pytest.approx(7 * 2048, rel=0.01)


# Floats of 16 bits.
