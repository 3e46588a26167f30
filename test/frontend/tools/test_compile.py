# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold compile: forms, files, headers, libraries and programs that use them."""

import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from driver import (
    COMMAND_LINE_FAULT,
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
    weights,
    write,
)

HERE = pathlib.Path(__file__).resolve().parent
FUNCTIONS = {
    "describe", "create", "destroy", "message", "prepare", "context_create",
    "context_destroy", "context_message", "result_shapes", "workspace_size",
    "initial_state", "run",
}  # fmt: skip
PHASES = ["import", "simplify", "fuse", "schedule", "tile", "split", "bufferize", "cpu"]
X86 = os.uname().machine == "x86_64"


def dynamic_symbols(library):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1] for line in out.splitlines()}


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


RECURRENCE_AND_ATTENTION = """import cells, attention

model m(x: [B, T, 4]) -> [B, T, 4] {
  param rnn: gru(H=4)
  y, _ = scan(rnn, x)
  return dot_product(y, y, y)
}
"""


def test_remarks(small):
    """Each recurrence and attention says what it became, at its place, and each
    pass what it did and why not."""
    path = small.parent / "remarks.o"
    text = write(small.parent / "remarks.gf", RECURRENCE_AND_ATTENTION)
    err = gatefold("compile", text, "-o", path, "--remarks").err
    assert f"{text}:5:10: remark: recurrence: steps, one after another" in err
    assert f"{text}:6:10: remark: attention: resident, a block of queries" in err
    assert re.search(r"cells\.gf:\d+:35: remark: not a linear recurrence: the next", err)
    assert err.count("[gf-choose-algorithms]") == 3
    assert "hoisted: one product over all steps [gf-hoist-input-projection]" in err
    assert "stays in the step: it depends on state #0 [gf-hoist-input-projection]" in err
    assert gatefold("compile", text, "-o", path).err == ""
    found = gatefold("compile", text, "-o", path, "--remarks", "--json").json["diagnostics"]
    assert {d["severity"] for d in found} == {"remark"}
    chosen = [d for d in found if d["message"].endswith("[gf-choose-algorithms]")]
    assert [d["line"] for d in chosen if d["file"] == str(text)] == [5, 6]


LINEAR = """import cells

cell min_lstm(x: [I]) -> [H] {
  state h: [H]
  param w_f: [H, I], w_i: [H, I], w: [H, I]
  f, i = sigmoid(w_f @ x), sigmoid(w_i @ x)
  h' = (f * h + i * (w @ x)) / (f + i)
  return h'
}

cell light_sru(x: [I]) -> [H] {
  state c: [H]
  param w: [H, I], w_f: [H, I], w_r: [H, I], v_r: [H]
  f, r = sigmoid(w_f @ x), sigmoid(w_r @ x + v_r * c)
  c' = f * c + (1 - f) * (w @ x)
  return r * c' + (1 - r) * tanh(c)
}

cell odd(x: [H]) -> [H] {
  state h: [H], m: [H]
  h' = h + sigmoid(x) * (tanh(x) - h)
  m' = 0.5 * m + tanh(h') * h
  return m
}

cell squared(x: [H]) -> [H] {
  state energy: [H]
  energy' = x + 0.1 * energy * energy
  return energy'
}

cell turning(x: [H]) -> [H] {
  state a: [H], b: [H]
  a' = x * a - b
  b' = x * b + a
  return a'
}

cell coupled(x: [I]) -> [H] {
  state h: [H]
  param u: [H, H], w: [H, I]
  h' = 0.9 * h + 0.1 * (u @ h) + w @ x
  return h'
}
"""


@pytest.mark.parametrize(
    "cell, expected",
    [
        ("min_gru", "linear.gf:{line}: remark: linear recurrence: scan, "),
        ("min_lstm", "linear.gf:{line}: remark: linear recurrence: scan, "),
        ("light_sru", "linear.gf:{line}: remark: linear recurrence: scan, "),
        ("odd", "linear.gf:{line}: remark: linear recurrence: scan, "),
        ("lstm", 'cells.gf:{}:58: remark: not a linear recurrence: the next "h" holds a product with "h" '),
        ("gru", 'cells.gf:{}:35: remark: not a linear recurrence: the next "h" holds a product with "h" '),
        ("sru", 'cells.gf:{}:7: remark: not a linear recurrence: the next "c" holds sigmoid of "c" '),
        ("squared", 'linear.gf:28:30: remark: not a linear recurrence: the next "energy" holds a product of "energy" with itself '),
        ("turning", 'linear.gf:34:14: remark: not a linear recurrence: the next "a" holds "a" beside "b" '),
        ("coupled", 'linear.gf:42:27: remark: not a linear recurrence: the next "h" holds a product with "h" '),
    ],
)  # fmt: skip
def test_remarks_of_linear_recurrences(small, cell, expected):
    """Algebra on the equations says which recurrences are scans, and what forbids it."""
    model = f"""
model m(x: [B, T, 8]) -> [B, T, 8] {{
  param cell: {cell}({"" if cell in ("odd", "squared", "turning") else "H=8"})
  y, _ = scan(cell, x)
  return y
}}
"""
    line = f"{LINEAR.count(chr(10)) + 4}:10"
    text = write(small.parent / "linear.gf", LINEAR + model)
    run = gatefold("compile", text, "--entry", "m", "--emit", "schedule", "--remarks")
    # Lines of the library are its own matter.
    place = re.escape(expected).replace(r"\{line\}", line).replace(r"\{\}", r"\d+")
    assert re.search(place, run.err)
    assert ('gf.algorithm = "scan"' in run.out) == ("remark: linear" in expected)


def test_remarks_of_the_naive_lowering(small):
    path = small.parent / "remarks.o"
    text = write(small.parent / "remarks.gf", RECURRENCE_AND_ATTENTION)
    err = gatefold("compile", text, "-o", path, "--remarks", "--naive").err
    assert f"{text}:5:10: remark: recurrence: naive, one time step" in err
    assert f"{text}:6:10: remark: attention: naive, one query's row" in err
    assert err.count("[gf-choose-algorithms]") == err.count("remark: ") == 2


@pytest.mark.parametrize(
    "schedule, recurrence, attention",
    [
        (["recurrence.step_rows=64"], '"steps", .*gf.step_rows = 64 ', '"resident"'),
        (["recurrence.algorithm=naive,attention.query_block=48"], '"naive"}', ".*query_block = 48 "),
        (["recurrence.algorithm=steps", "attention.algorithm=naive"], '"steps"', '"naive"}'),
        (["attention.key_block=256,attention.query_block=6"], '"steps"',
         '"online", .*key_block = 256 .*query_block = 6 '),
    ],
)  # fmt: skip
def test_schedule(small, schedule, recurrence, attention):
    """The attributes are those that the command line chooses."""
    text = write(small.parent / "m.gf", RECURRENCE_AND_ATTENTION)
    options = [word for one in schedule for word in ("--schedule", one)]
    module = gatefold("compile", text, "--emit", "schedule", *options).out
    assert re.search("gf.recurrence .*gf.algorithm = " + recurrence, module)
    assert re.search("gf.attention .*gf.algorithm = " + attention, module)


KEYS = (
    "hint: there are recurrence.algorithm=naive|steps|scan, recurrence.step_rows=1...1048576, "
    "attention.algorithm=naive|resident|online|registers, attention.query_block=1...65536, "
    "attention.key_block=1...1048576, recurrence.directions=joined|apart, "
    "product.panel_width=0...1024\n"
)


@pytest.mark.parametrize(
    "options, words, hint",
    [
        (["--schedule", "speed=9"], "--schedule: no choice is named `speed`\n", KEYS),
        (["--schedule", "steps"], "--schedule: expected KEY=VALUE, found `steps`\n", KEYS),
        (["--schedule", ""], "--schedule: expected KEY=VALUE, found nothing\n", "hint: such as"),
        (["--schedule", "attention.algorithm=magic"],
         "`attention.algorithm` is naive, resident, online or registers, found `magic`\n", KEYS),
        (["--schedule", "recurrence.step_rows=0"],
         "`recurrence.step_rows` is a number from 1 to 1048576, found `0`\n", KEYS),
        (["--schedule", "attention.query_block=65537"], "1 to 65536, found `65537`\n", KEYS),
        (["--schedule", "attention.query_block=99999999999999999999"], "from 1 to 65536", KEYS),
        (["--schedule", "attention.query_block=1", "--schedule", "attention.query_block=1"],
         "`attention.query_block` is given twice", KEYS),
        (["--schedule", "recurrence.algorithm=naive,recurrence.step_rows=8"],
         "`recurrence.step_rows` is of the algorithms `steps` and `scan`", "hint: leave one of the two out\n"),
        (["--schedule", "attention.algorithm=naive,attention.query_block=8"],
         "is of the algorithms `resident`, `online` and `registers`, and `attention.algorithm` is `naive`",
         "hint: leave one of the two out\n"),
        (["--schedule", "attention.algorithm=resident,attention.key_block=64"],
         "`attention.key_block` is of the algorithms `online` and `registers`", "hint: leave one of the two out\n"),
        (["--schedule", "recurrence.directions=both"],
         "`recurrence.directions` is joined or apart, found `both`\n", KEYS),
        (["--schedule", "recurrence.directions=apart,recurrence.directions=joined"],
         "`recurrence.directions` is given twice", KEYS),
        (["--schedule", "product.panel_width=1025"],
         "`product.panel_width` is a number from 0 to 1024, found `1025`\n", KEYS),
        (["--schedule", "product.panel_width=8,product.panel_width=8"],
         "`product.panel_width` is given twice", KEYS),
        (["--schedule", "recurrence.step_rows=8", "--naive"], "--naive leaves nothing to", ""),
    ],
)  # fmt: skip
def test_schedules_that_are_none(small, options, words, hint):
    message = refusal(
        "compile", small, "-o", small.parent / "x.o", *options, status=COMMAND_LINE_FAULT
    )
    assert words in message and hint in message
    assert files(small.parent) == ["small.gf"]


def test_a_schedule_of_what_is_not_there(small):
    err = gatefold(
        "compile", small, "-o", small.parent / "x.o", "--schedule", "attention.query_block=4"
    ).err
    assert err == "gatefold: warning: --schedule: there is no attention in the program\n"


def test_a_schedule_that_an_operation_cannot_take(tmp_path):
    """What a user chose is not left to another algorithm."""
    row = "tensor<4xf16>, tensor<?x4xf16>"
    module = write(
        tmp_path / "m.mlir",
        f"""func.func @m(%q: tensor<?x4xf16>) -> tensor<?x4xf16> {{
  %y = gf.attention queries(%q : tensor<?x4xf16>) keys(%q : tensor<?x4xf16>)
      attributes {{gf.algorithm = "naive"}} -> tensor<?x4xf16> {{
  ^row(%query: tensor<4xf16>, %key: tensor<?x4xf16>, %row: index, %position: index):
    %s = gf.row_scores %query, %key : {row} -> tensor<?xf16>
    %w = gf.row_softmax %s : tensor<?xf16>
    %v = gf.row_values %w, %key : tensor<?xf16>, tensor<?x4xf16> -> tensor<4xf16>
    gf.yield %v : tensor<4xf16>
  }}
  return %y : tensor<?x4xf16>
}}
""",
    )
    message = refusal(
        "compile", module, "-o", tmp_path / "m.o", "--schedule", "attention.query_block=4"
    )
    assert f"{module}:2:8: error: attention cannot be scheduled with query_block" in message


@pytest.mark.parametrize(
    "schedule, words",
    [
        ("attention.key_block=100",
         "attention cannot be scheduled with key_block=100, expected a multiple of 64, the keys"),
        ("attention.algorithm=online", "attention cannot be scheduled as online: "),
    ],
)  # fmt: skip
def test_a_schedule_that_does_not_fit_the_target_or_the_text(tmp_path, schedule, words):
    """A fault of the command line and not of the compiler; it points into the text."""
    text = write(
        tmp_path / "m.gf",
        """import attention
model m(q: [T, 4], mask: bool[T, T]) -> [T, 4] {
  return diff_window(q, q, q, mask=mask)
}
""",
    )
    message = refusal(
        "compile", text, "-o", tmp_path / "m.o", "--target", "x86-64-v4", "--schedule", schedule
    )
    assert f"{text}:3:10: error: {words}" in message
    assert "see current operation" not in message and "fault of Gatefold" not in message


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


def test_names_become_identifiers(small):
    folder = small.parent
    path = folder / "lib1-my model.v2.so"
    out = gatefold("compile", small, "-o", path).out
    assert out.splitlines()[1] == str(folder / "_1_my_model.h")
    assert all(name.startswith("_1_my_model_") for name in dynamic_symbols(path))
    run = gatefold("run", path, "--seed", "1", "--dim", "B=2")
    assert run.out == gatefold("run", small, "--seed", "1", "--dim", "B=2").out


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


# Entries that are no models.


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


def test_an_output_folder_that_is_not_there(small, tmp_path):
    result = gatefold("compile", small, "-o", tmp_path / "no" / "liba.so", status=1)
    assert "cannot write" in result.err and "No such file or directory" in result.err


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
