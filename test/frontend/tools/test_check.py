# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold check, and what every command says about its command line and its texts."""

import pytest
from driver import (
    COMMAND_LINE_FAULT,
    MIXED,
    SMALL,
    gatefold,
    refusal,
    write,
)


def test_version_and_help():
    assert gatefold("--version").out.startswith("gatefold ")
    text = gatefold("--help").out
    for command in "check fmt init run compile bench report doctor".split():
        assert f"  {command} " in text
    for command in "check fmt init run compile bench report doctor".split():
        text = gatefold(command, "--help").out
        assert "--json" in text
        assert "--debugify" not in text and "--print-after-all" not in text


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "gatefold: error: which command? check, fmt, init, run, compile, bench, report or "),
        (["chekc", "small.gf"], "gatefold: error: Unknown subcommand 'chekc'\nhint: `gatefold COMMAND"),
        (["check"], "gatefold: error: no FILE is given"),
        (["run", "a.gf", "b.gf"], "gatefold: error: this command takes one FILE, found 2"),
        (["check", "small.gf", "--dim", "B"], "--dim takes NAME=NUMBER, a whole number that is "),
        (["check", "small.gf", "--dim", "B=-1"], "found `B=-1`"),
        (["check", "small.gf", "--dim", "B=1.5"], "found `B=1.5`"),
        (["check", "small.gf", "--dim", "B=99999999999999999999"], "found `B=9999"),
        (["check", "small.gf", "--dim", "=2"], "found `=2`"),
        (["check", "small.gf", "--dim", "B=1,B=2"], "--dim gives `B` twice"),
        (["check", "small.gf", "--arg", "heads"], "--arg takes NAME=VALUE; found `heads`"),
        (["check", "small.gf", "--arg", "heads="], "--arg takes NAME=VALUE; found `heads=`"),
        (["check", "small.gf", "--float", "half"], "--float is f16, bf16, f32 or f64, found `half`"),
        (["check", "small.gf", "--lead", "9"], "--lead is at most 8, found 9"),
        (["check", "small.gf", "--lead", "x"], "for the --lead option: 'x' value invalid"),
        (["check", "small.gf", "--with-input", "mask:11"], "found `mask:11`"),
        (["check", "small.gf", "--with-input", "mask:"], "--with-input takes NAME or NAME:RANK"),
        (["check", "small.gf", "--with-input", ":2"], "found `:2`"),
        (["run", "small.gf", "--device", "gpu"], "--device gpu: there are cpu, cuda, emulator"),
        (["run", "small.gf", "--device", "cuda", "--target", "native"],
         "--device cuda: --target native is no GPU\nhint: --target sm_80"),
        (["run", "small.gf", "--target", "z80"], "--target z80: no processor 'z80' among those of"),
        (["run", "small.gf", "--threads", "0"], "--threads is at least 1"),
        (["run", "small.gf", "--seed", "-3"], "for the --seed option: '-3' value invalid"),
        (["run", "small.gf", "--seed"], "for the --seed option: requires a value!"),
        (["run", "small.gf", "--output", "y"], "--output takes NAME=FILE.npy, found `y`"),
        (["run", "small.gf", "--output", "=y.npy"], "found `=y.npy`"),
        (["run", "small.gf", "--input", "=x.npy"], "--input takes NAME=FILE or FILE, found"),
        (["run", "small.gf", "--input", "x="], "--input takes NAME=FILE or FILE, found `x=`"),
        (["run", "small.gf", "--target", "native", "--target", "aarch64"], "one --target at a "),
        (
            ["run", "small.gf", "--wieghts", "w.npz"],
            "gatefold: error: Unknown command line argument '--wieghts'\n"
            "hint: Did you mean '--weights'?\n",
        ),
        (
            ["check", "small.gf", "--weights", "w.npz"],
            "error: Unknown command line argument '--weights'\n",
        ),
        (["init", "small.gf"], "init needs -o FILE.safetensors"),
        (["init", "small.gf", "-o", "w.npz"], "init writes safetensors, found -o w.npz"),
    ],
)
def test_command_line_faults(small, arguments, message):
    assert message in refusal(*arguments, status=COMMAND_LINE_FAULT, cwd=small.parent)


@pytest.mark.parametrize("options", [["--wieghts", "w"], ["--dim", "B"]])
def test_command_line_faults_as_json(small, options):
    run = gatefold("run", small, "--json", *options, status=COMMAND_LINE_FAULT)
    (message,) = run.json["messages"]
    assert message["severity"] == "error"
    assert options[0] in message["message"]
    assert run.err == ""


def test_the_same_dimension_twice(small):
    gatefold("check", small, "--dim", "B=2,B=2")


def test_lists_a_model(mixed):
    assert gatefold("check", mixed).out.splitlines() == [
        "model mixed",
        "  input      x: [B, 2]",
        "  input      narrow: i32[B]",
        "  input      wide: i64[B]",
        "  input      keep: bool[B]",
        "  state      total: [B, 2]",
        "  result     y: [B, 2]",
        "  result     sum: i64[B]",
        "  result     not_kept: bool[B]",
    ]


def test_lists_parameters(small):
    assert gatefold("check", small).out.splitlines() == [
        "model small",
        "  input      x: [B, 3]",
        "  result     output: [B, 2]",
        "  parameter  weight: [2, 3]",
        "  parameter  gain: [2] = 1",
        "  2 parameters, 8 values",
    ]


def test_json(small):
    found = gatefold("check", small, "--json").json
    assert found == {
        "files": [
            {
                "file": str(small),
                "correct": True,
                "entries": [
                    {
                        "kind": "model",
                        "name": "small",
                        "open": ["B"],
                        "missing": [],
                        "inputs": [
                            {"name": "x", "role": "input", "element": "f32", "shape": ["B", 3]}
                        ],
                        "results": [
                            {
                                "name": "output",
                                "role": "result",
                                "element": "f32",
                                "shape": ["B", 2],
                            }
                        ],
                        "parameters": [
                            {"name": "weight", "element": "f32", "shape": [2, 3]},
                            {"name": "gain", "element": "f32", "shape": [2], "initial": 1},
                        ],
                        "scheduled": [],
                    }
                ],
            }
        ]
    }


def test_json_names_states(mixed):
    (entry,) = gatefold("check", mixed, "--json").json["files"][0]["entries"]
    assert [i["role"] for i in entry["inputs"]] == ["input"] * 4 + ["state"]
    assert [(r["name"], r["role"]) for r in entry["results"]][-1] == ("total", "state")


def test_dimensions_and_float(small):
    run = gatefold("check", small, "--dim", "B=4", "--float", "f64", "--json")
    (entry,) = run.json["files"][0]["entries"]
    assert entry["open"] == []
    assert entry["inputs"][0]["shape"] == [4, 3]
    assert entry["inputs"][0]["element"] == "f64"


def test_a_dimension_that_nothing_has(small):
    assert "Q" in refusal("check", small, "--entry", "small", "--dim", "Q=4")


def test_missing_dimensions_are_listed(tmp_path):
    path = write(
        tmp_path / "m.gf",
        "model m(x: [B, M], width) -> [B, N] {\n  param w: [N, M]\n  return width * (x @ w.T)\n}\n",
    )
    first, second = gatefold("check", path).out.splitlines()[:2]
    assert first == "model m"
    assert second.startswith("  must be given  ")
    given = second.split("given  ")[1].split(", ")
    assert sorted(given) == ["--arg width=...", "--dim M=...", "--dim N=..."]
    out = gatefold("check", path, "--dim", "M=2,N=3", "--arg", "width=0.5").out
    assert "must be given" not in out
    assert "  parameter  w: [3, 2]" in out


def test_all_entries_or_one(tmp_path):
    path = write(tmp_path / "two.gf", SMALL + MIXED)
    out = gatefold("check", path).out
    assert "model small" in out and "model mixed" in out
    out = gatefold("check", path, "--entry", "mixed").out
    assert "model small" not in out and "model mixed" in out
    message = refusal("check", path, "--entry", "mixd")
    assert "mixd" in message and "`mixed`" in message


def test_several_files(tmp_path):
    good = write(tmp_path / "good.gf", SMALL)
    bad = write(tmp_path / "bad.gf", SMALL.replace("gain *", "gaim *"))
    run = gatefold("check", bad, good, status=1)
    assert "model small" in run.out
    assert "`gaim` is not defined" in run.err
    document = gatefold("check", bad, good, "--json", status=1).json
    assert [f["correct"] for f in document["files"]] == [False, True]
    (diagnostic,) = document["diagnostics"]
    assert diagnostic["severity"] == "error"
    assert diagnostic["message"] == "`gaim` is not defined"
    assert (diagnostic["line"], diagnostic["column"]) == (3, 10)
    assert diagnostic["file"].endswith("bad.gf")
    assert diagnostic["hints"] == ["did you mean `gain`?"]


def test_an_error_shows_its_place(tmp_path):
    path = write(tmp_path / "bad.gf", SMALL.replace("gain *", "gaim *"))
    assert refusal("check", path).splitlines() == [
        f"{path}:3:10: error: `gaim` is not defined",
        "  return gaim * (x @ weight.T)",
        "         ^~~~",
        "hint: did you mean `gain`?",
    ]


def test_imports_and_folders(tmp_path):
    path = write(
        tmp_path / "m.gf",
        "import cells, own\n"
        "model m(x: [T, 2]) -> [T, 3] {\n"
        "  param rnn: lstm(H=3)\n"
        "  y, _ = scan(rnn, twice(x))\n"
        "  return y\n"
        "}\n",
    )
    message = refusal("check", path)
    assert "no file `own.gf` in " in message
    assert ":1:15: error:" in message
    other = tmp_path / "other"
    other.mkdir()
    write(other / "own.gf", "func twice(x: [M]) -> [M] {\n  return 2 * x\n}\n")
    for option in (["-I", other], [f"-I{other}"]):
        assert "rnn.weight_ih: [12, 2]" in gatefold("check", path, *option).out


@pytest.mark.parametrize("command", ["check", "fmt", "run", "compile", "report"])
def test_files_that_cannot_be_read(tmp_path, command):
    more = ["-o", "x.o"] if command == "compile" else []
    missing = tmp_path / "none.gf"
    message = refusal(command, missing, *more)
    assert str(missing) in message and "No such file or directory" in message
    folder = tmp_path / "folder.gf"
    folder.mkdir()
    if command != "run" and command != "report":  # there a folder holds a library
        assert "not a regular file" in refusal(command, folder, *more)
    large = tmp_path / "large.gf"
    with open(large, "wb") as stream:
        stream.truncate((64 << 20) + 1)
    assert "larger than 64 MiB" in refusal(command, large, *more)


@pytest.mark.parametrize("command", ["check", "run"])
def test_other_kinds_of_files(tmp_path, command):
    path = write(tmp_path / "m.onnx", b"\x08\x07")
    assert f"{path}: not a .gf text nor an .mlir module" in refusal(command, path)


def test_which_entry(tmp_path):
    path = write(tmp_path / "two.gf", SMALL + MIXED)
    message = refusal("run", path, "--seed", "1")
    assert "small" in message and "mixed" in message
    gatefold("run", path, "--seed", "1", "--entry", "small", "--dim", "B=2")


HOSTILE_TEXTS = {
    "empty": "",
    "zeros": "\0" * 1000,
    "not utf-8": b"model \xff\xfe(x: [B]) -> [B] { return x }",
    "cut": SMALL[: len(SMALL) // 2],
    "deep": "model m(x: [B]) -> [B] {\n  return " + "(" * 20_000 + "x" + ")" * 20_000 + "\n}\n",
    "itself": "func f(x: [M]) -> [M] {\n  return f(x)\n}\n",
    "huge sizes": "model m(x: [B]) -> [B] {\n  param w: [9223372036854775807, 9223372036854775807]\n"
    "  return x + w[0, 0]\n}\n",
    "many turns": "model m(x: [B]) -> [B] {\n  for i in 9223372036854775807 {\n    x = x + 1\n  }\n"
    "  return x\n}\n",
    "no division": "model m(x: [B], n = 0) -> [B] {\n  return x[: 1 // n]\n}\n",
    "imports itself": "import hostile\n" + SMALL,
}


@pytest.mark.parametrize("name", HOSTILE_TEXTS)
def test_hostile_texts(tmp_path, name):
    """An end in peace or a message, soon."""
    path = write(tmp_path / "hostile.gf", HOSTILE_TEXTS[name])
    for command in (["check"], ["run", "--seed", "1", "--dim", "B=2"]):
        if command[0] == "run" and name == "empty":
            continue
        status = 0 if (command[0], name) in [("check", "empty")] else 1
        run = gatefold(command[0], path, *command[1:], status=status, timeout=20)
        assert bool(run.err) == bool(status)
        assert len(run.err) < 20_000


CELL = """cell c{}(x: [H]) -> [H] {{
  state h: [H]
  h' = 0.5 * h + x
  return h'
}}
"""


def test_a_file_of_many_cells(tmp_path):
    """Algorithms are found for as many entries as take no time; the others have a line that says so."""
    path = write(tmp_path / "cells.gf", "".join(CELL.format(i) for i in range(200)))
    entries = gatefold("check", path, "--json").json["files"][0]["entries"]
    found = ["scheduled" in entry for entry in entries]
    count = sum(found)
    assert 50 < count < 200 and found == [True] * count + [False] * (200 - count)
    assert entries[-1]["not_scheduled"] == {"message": "the file has too much before it; --entry asks for one"}
    lines = gatefold("check", path).out.splitlines()
    assert sum(line.startswith("  recurrence  ") for line in lines) == count
    assert sum(line.startswith("  not scheduled  the file has too much") for line in lines) == 200 - count
    last = gatefold("check", path, "--entry", "c199", "--json").json["files"][0]["entries"]
    assert [one["algorithm"] for one in last[0]["scheduled"]] == ["scan"]


MODULE = """module {
  func.func @main() {
    return
  }
}
"""


def test_a_module(tmp_path):
    path = write(tmp_path / "m.mlir", MODULE)
    assert gatefold("check", path).out == "func main\n"
    document = gatefold("check", path, "--json").json
    assert document == {"files": [{"file": str(path), "correct": True, "entries": []}]}


HOSTILE_MODULES = {
    "regions": ('"a.b"() ({\n' * 20_000 + "}) : () -> ()\n" * 20_000, "nested more than 200 deep"),
    "types": ('"a.b"() {t = ' + "tuple<" * 20_000 + ">" * 20_000 + "} : () -> ()", "nested more"),
    "arrays": ('"a.b"() {t = ' + "[" * 20_000, "nested more than 200 deep"),
    "behind a string": ('"a.b\\"("() {t = ' + "[" * 20_000, "nested more than 200 deep"),
    "cut": (MODULE[:30], ":2:"),
    "text": ("model m(x: [B]) -> [B] { return x }", ":1:1: error: "),
    "bytecode": (b"ML\xefR\x06MLIR\0", "MLIR bytecode is not read"),
    "open string": ('"' + "a" * 1000, ":1:1002: error: "),
}


@pytest.mark.parametrize("name", HOSTILE_MODULES)
@pytest.mark.parametrize("command", ["check", "run"])
def test_hostile_modules(tmp_path, name, command):
    contents, message = HOSTILE_MODULES[name]
    path = write(tmp_path / "hostile.mlir", contents)
    assert message in refusal(command, path, timeout=20)


def test_a_module_with_an_error_as_json(tmp_path):
    path = write(tmp_path / "m.mlir", MODULE.replace("return", "retrun"))
    document = gatefold("check", path, "--json", status=1).json
    (diagnostic,) = document["diagnostics"]
    assert diagnostic["severity"] == "error"
    assert (diagnostic["line"], diagnostic["column"]) == (3, 5)
    assert document["files"] == [{"file": str(path), "correct": False, "entries": []}]
