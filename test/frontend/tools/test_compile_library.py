# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold compile: libraries, their headers, programs in C that use them, embedded weights."""

import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from driver import (
    FUNCTIONS,
    MIXED,
    SMALL,
    WEIGHT,
    X,
    Y,
    files,
    gatefold,
    npy,
    read_safetensors,
    refusal,
    safetensors,
    write,
)

HERE = pathlib.Path(__file__).resolve().parent


def dynamic_symbols(library):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1] for line in out.splitlines()}


# Headers.


def compiles(header, language):
    """The header alone, pedantically."""
    compiler, standard = {"c": ("cc", "c11"), "c++": ("c++", "c++17")}[language]
    for text in (f'#include "{header.name}"\n', f'#include "{header.name}"\n' * 2):
        source = header.parent / f"include.{'c' if language == 'c' else 'cpp'}"
        write(source, text + "int use(void);\nint use(void) { return 0; }\n")
        subprocess.run(
            [compiler, f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror",
             "-Wstrict-prototypes" if language == "c" else "-Wold-style-cast",
             "-fsyntax-only", source],
            check=True, timeout=60,
        )  # fmt: skip
        source.unlink()


@pytest.mark.parametrize("language", ["c", "c++"])
def test_headers_compile(small_library, tmp_path, language):
    compiles(small_library / "small.h", language)
    text = write(tmp_path / "mixed.gf", MIXED)
    gatefold("compile", text, "-o", tmp_path / "libmixed.so")
    compiles(tmp_path / "mixed.h", language)


def test_what_a_header_says(small_library):
    text = (small_library / "small.h").read_text()
    for name in FUNCTIONS:
        assert f"small_{name}(" in text
    assert "SMALL_INPUT_X = 0" in text
    assert "SMALL_RESULT_OUTPUT = 0" in text
    assert "weight: f32[2, 3]" in text
    assert "gain: f32[2], 1 if not given" in text
    assert re.search(r"Open dimensions.*: B\.", text)


def test_two_headers_in_one_program(small_library, tmp_path):
    text = write(tmp_path / "mixed.gf", MIXED)
    gatefold("compile", text, "-o", tmp_path / "libmixed.so")
    shutil.copy(small_library / "small.h", tmp_path)
    write(tmp_path / "both.h", '#include "small.h"\n#include "mixed.h"\n')
    compiles(tmp_path / "both.h", "c")
    compiles(tmp_path / "both.h", "c++")


# Libraries.


def test_symbols_and_dependencies(small_library):
    path = small_library / "libsmall.so"
    names = dynamic_symbols(path)
    assert {f"small_{name}" for name in FUNCTIONS} <= names
    assert all(name.startswith("small_") for name in names)
    out = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    names = {pathlib.Path(line.split()[0]).name.split(".")[0] for line in out.splitlines()}
    assert names <= {"linux-vdso", "linux-gate", "libc", "libm", "ld-linux-x86-64",
                     "ld-linux-aarch64"}  # fmt: skip
    assert "libc" in names
    undefined = subprocess.run(
        ["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=True
    ).stdout
    assert "gatefold" not in undefined and "Zn" not in undefined


def test_names_become_identifiers(small):
    folder = small.parent
    path = folder / "lib1-my model.v2.so"
    out = gatefold("compile", small, "-o", path).out
    assert out.splitlines()[1] == str(folder / "_1_my_model.h")
    assert all(name.startswith("_1_my_model_") for name in dynamic_symbols(path))
    run = gatefold("run", path, "--seed", "1", "--dim", "B=2")
    assert run.out == gatefold("run", small, "--seed", "1", "--dim", "B=2").out


def test_no_name_is_one_of_the_runtime(tmp_path):
    """`gatefold_create` and `gatefold_context_create` are the runtime's own functions, phases add `gatefold_sizes`."""
    for name in ("gatefold", "gatefold_context", "gatefold_sizes"):
        text = write(tmp_path / f"{name}.gf", SMALL.replace("small", name))
        path = tmp_path / f"lib{name}.so"
        out = gatefold("compile", text, "-o", path).out
        assert out.splitlines()[1] == str(tmp_path / f"_{name}.h")
        assert {f"_{name}_{function}" for function in FUNCTIONS} <= dynamic_symbols(path)
        run = gatefold("run", path, "--seed", "1", "--dim", "B=2")
        assert run.out == gatefold("run", text, "--seed", "1", "--dim", "B=2").out


def test_leads_and_options(tmp_path):
    text = write(
        tmp_path / "c.gf",
        "cell adder(x: [H]) -> [H] {\n  state h: [H]\n  h' = h + x\n  return h'\n}\n",
    )
    path = tmp_path / "libadder.so"
    gatefold(
        "compile", text, "--entry", "adder", "--lead", "1", "--with-input", "lengths", "-o", path
    )
    x = npy(tmp_path / "x.npy", np.ones((2, 3, 1), np.float32))
    lengths = npy(tmp_path / "lengths.npy", np.array([1, 2], np.int64))
    run = gatefold("run", path, "--input", x, "--input", lengths)
    assert "1.000000 0.000000 0.000000 1.000000 2.000000 0.000000" in run.out


def test_a_linker_that_fails(small, tmp_path_factory):
    """Its words are told, and nothing is left behind."""
    tools = tmp_path_factory.mktemp("tools")
    cc = write(tools / "cc", "#!/bin/sh\necho no room left >&2\nexit 7\n")
    cc.chmod(0o755)
    message = refusal(
        "compile", small, "-o", small.parent / "libsmall.so", env={"PATH": str(tools)}
    )
    assert message == f"gatefold: error: {cc} failed (7): no room left\n"
    assert files(small.parent) == ["small.gf"]


# Programs.


def build_program(folder, name, *libraries):
    """A program of Inputs/ that is linked with libraries in the folder."""
    program = folder / "program"
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{folder}",
         HERE / "Inputs" / name, "-o", program, f"-L{folder}",
         *(f"-l{library}" for library in libraries), f"-Wl,-rpath,{folder}"],
        check=True, timeout=60,
    )  # fmt: skip
    return program


def program_output(program, *arguments, status=0):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, timeout=60)
    assert done.returncode == status, done.stderr.decode()
    return done


def test_a_c_program(tmp_path):
    """Includes the header, links the library, prepares weights, runs twice with the
    state carried over: the bits of `gatefold run`."""
    text = write(
        tmp_path / "online.gf",
        "import cells\n"
        "model online(x: [B, T, 3], lengths: i64[B]) -> (y: [B, T, 4]) {\n"
        "  state h: [1, B, 4]\n"
        "  param rnn: gru(H=4, layers=1)\n"
        "  y, h' = scan(rnn, x, init=h, lengths=lengths)\n"
        "  return y\n"
        "}\n",
    )
    gatefold("compile", text, "-o", tmp_path / "libonline.so")
    program = build_program(tmp_path, "online.c", "online")
    gatefold("init", text, "-o", tmp_path / "w.safetensors", "--seed", "4")
    generator = np.random.default_rng(1)
    for name, array in read_safetensors(tmp_path / "w.safetensors").items():
        random = generator.uniform(-0.5, 0.5, array.shape).astype(np.float32)
        random.tofile(tmp_path / f"{name}.raw")
        npy(tmp_path / f"{name}.npy", random)
    chunks = [generator.normal(size=(2, 5, 3)).astype(np.float32) for _ in range(2)]
    for i, chunk in enumerate(chunks):
        chunk.tofile(tmp_path / f"chunk{i}.raw")
    done = program_output(program, tmp_path)
    found = np.frombuffer(done.stdout, np.float32)

    outputs = []
    state = np.zeros((1, 2, 4), np.float32)
    lengths = npy(tmp_path / "lengths.npy", np.array([5, 2]))
    (tmp_path / "in").mkdir()
    for chunk in chunks:
        gatefold(
            "run", text, "--weights", tmp_path, "--input", f"lengths={lengths}",
            "--input", f"x={npy(tmp_path / 'in' / 'x.npy', chunk)}",
            "--input", f"h={npy(tmp_path / 'in' / 'h.npy', state)}",
            "--output-dir", tmp_path / "out",
        )  # fmt: skip
        outputs.append(np.load(tmp_path / "out" / "y.npy"))
        state = np.load(tmp_path / "out" / "h.npy")
    expected = np.concatenate([*(y.ravel() for y in outputs), state.ravel()])
    assert abs(expected).max() > 0.01
    assert found.tobytes() == expected.tobytes()


def test_a_c_program_sees_every_fault(tmp_path):
    """The statuses and messages of the interface."""
    text = write(tmp_path / "small.gf", SMALL)
    gatefold("compile", text, "-o", tmp_path / "libsmall.so")
    program = build_program(tmp_path, "faults.c", "small")
    lines = program_output(program).stdout.decode().splitlines()
    assert lines == [
        "run before prepare: 4",
        "missing weight: 3 parameter `weight` [2, 3] is not in the weights",
        "misspelt weight: 3",
        "prepare: 0",
        "prepare again: 1",
        "wrong shape: 1 `x` is [1, 4], expected [B, 3] with B=1 from `x`",
        "wrong type: 1",
        "run: 0 6 1.5",
        "run in a workspace: 0 6 1.5",
    ]


def test_two_libraries_in_one_process(small_library, tmp_path):
    text = write(tmp_path / "twice.gf", SMALL.replace("gain * (", "2 * gain * ("))
    gatefold("compile", text, "-o", tmp_path / "libtwice.so")
    shutil.copy(small_library / "libsmall.so", tmp_path)
    shutil.copy(small_library / "small.h", tmp_path)
    program = build_program(tmp_path, "both.c", "small", "twice")
    assert program_output(program).stdout.decode() == "6 12\n"


# Embedded weights.


def test_embedded_weights(small):
    folder = small.parent
    gain = np.array([2, -1], np.float32)
    w = safetensors(folder / "w.safetensors", {"weight": WEIGHT, "gain": gain})
    gatefold("compile", small, "-o", folder / "libsmall.so", "--weights", w)
    w.unlink()
    x = npy(folder / "x.npy", X)
    run = gatefold(
        "run", folder / "libsmall.so", "--input", f"x={x}", "--output",
        f"output={folder / 'y.npy'}",
    )  # fmt: skip
    assert run.err == ""
    assert (np.load(folder / "y.npy") == gain * Y).all()
    header = (folder / "small.h").read_text()
    assert "weight: f32[2, 3], in this library" in header
    assert "gain: f32[2], in this library" in header
    # Weights that are given win, one by one; a seed makes only what is missing.
    half = safetensors(folder / "w.safetensors", {"weight": WEIGHT / 2})
    for options in (["--weights", half], ["--weights", half, "--seed", "1"]):
        gatefold(
            "run", folder / "libsmall.so", "--input", f"x={x}", *options,
            "--output", f"output={folder / 'y.npy'}",
        )  # fmt: skip
        assert (np.load(folder / "y.npy") == gain * Y / 2).all()


def test_embedding_what_does_not_fit(small):
    folder = small.parent
    w = safetensors(folder / "w.safetensors", {"weight": WEIGHT.T.copy()})
    message = refusal("compile", small, "-o", folder / "libsmall.so", "--weights", w)
    assert "parameter `weight` is [3, 2] in the weights, expected [2, 3]" in message
    w = safetensors(folder / "w.safetensors", {"weigth": WEIGHT})
    message = refusal("compile", small, "-o", folder / "libsmall.so", "--weights", w)
    assert "parameter `weight` [2, 3] is not in the weights\nhint: did you mean `weigth`?" in message
    assert files(folder) == ["small.gf", "w.safetensors"]
