# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference of the language: its texts are checked, its values computed, its errors made.

What the page holds, by the word behind the fence or the head of the table:

    gf                          a text that checks without a word and is in the standard layout
    parameters                  those of the model above, as `check` lists them
    values                      inputs and parameters of the model above, `gives`, its results
    | input | is |              what the expressions of all tables of values take
    | written | gives |         an expression and its value
    | written | message | ...   texts with errors; ▸ stands before the place of each
    | given | message |         what a run of the model above refuses
    | written | not compiled |  what `check` takes and `compile` refuses
"""

import json
import os
import pathlib
import re
import subprocess

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", ROOT / "build"))
PAGE = ROOT / "frontend" / "language" / "README.md"
PLACE = "▸"


def code(cell):
    """What the code spans of a table's cell hold, one a line."""
    lines = []
    for part in cell.split("<br>"):
        ticks = re.match(r"`*", part).group()
        text = part.strip("`") if len(ticks) == 1 else part[len(ticks) : -len(ticks) or None]
        if len(ticks) > 1:
            text = text.removeprefix(" ").removesuffix(" ")
        lines.append(text)
    return "\n".join(lines)


def read_page():
    """The blocks and tables of the page in order: (kind, content, line)."""
    parts, lines = [], PAGE.read_text().splitlines()
    i = 0
    while i < len(lines):
        begin = i + 1
        if fence := re.match(r"```(\w+)$", lines[i]):
            end = lines.index("```", i)
            parts.append((fence[1], "\n".join(lines[i + 1 : end]) + "\n", begin))
            i = end
        elif lines[i].startswith("| "):
            rows = []
            while i < len(lines) and lines[i].startswith("|"):
                rows.append([cell.strip() for cell in lines[i].strip("|").split(" | ")])
                i += 1
            parts.append((" | ".join(rows[0]), rows[2:], begin))
        i += 1
    return parts


PARTS = read_page()


def parts_of(kind):
    found = [(content, line) for name, content, line in PARTS if name == kind]
    assert found, kind
    return found


def parts_with_text(kind, of="gf"):
    """Those of a kind, with the text above each."""
    text, found = None, []
    for name, content, line in PARTS:
        if name == of:
            text = content
        if name == kind:
            found.append((text, content, line))
    return found


def gatefold(*arguments, folder, fails=False):
    result = subprocess.run(
        [BUILD / "bin" / "gatefold", *arguments], cwd=folder, capture_output=True, text=True
    )
    assert (result.returncode != 0) == fails, result.stdout + result.stderr
    return result


def write_texts(folder, texts):
    for name, text in texts.items():
        (folder / name).write_text(text)
    return list(texts)


def test_texts_check_and_are_in_the_standard_layout(tmp_path):
    texts = {f"line{line}.gf": text for text, line in parts_of("gf")}
    names = write_texts(tmp_path, texts)
    result = gatefold("check", *names, folder=tmp_path)
    assert result.stderr == ""
    assert gatefold("fmt", "--check", *names, folder=tmp_path).stderr == ""


def test_parameters(tmp_path):
    for text, expected, line in parts_with_text("parameters"):
        write_texts(tmp_path, {"m.gf": text})
        listed = gatefold("check", "m.gf", folder=tmp_path).stdout
        model = listed[listed.index("model ") :]
        found = re.findall(r"^  parameter  (.*)$", model, re.M)
        assert found == expected.splitlines(), line


def literal(text):
    return json.loads(text)


def array(value):
    """As the language takes it: whole numbers are i64, others f32."""
    result = numpy.array(value)
    return result.astype(numpy.float32) if result.dtype == numpy.float64 else result


def assert_given(found, expected, what):
    expected = numpy.array(expected)
    assert found.shape == expected.shape, what
    # As many digits as the page prints.
    numpy.testing.assert_allclose(
        found.astype(float), expected.astype(float), rtol=5e-6, atol=5e-7, err_msg=what
    )


def run(folder, model, given, fails=False):
    """All results of a model by name, or what it says. Names with a point are parameters."""
    files = []
    for option in ("--weights", "--input"):
        part = {n: array(v) for n, v in given.items() if ("." in n) == (option == "--weights")}
        file = option.strip("-") + ".npz"
        numpy.savez(folder / file, **part)
        files += [option, file] if part else []
    result = gatefold("run", model, *files, "--output-dir", "out", folder=folder, fails=fails)
    if fails:
        return result.stderr
    return {file.stem: numpy.load(file) for file in (folder / "out").glob("*.npy")}


def test_values_of_models(tmp_path):
    for number, (text, content, line) in enumerate(parts_with_text("values")):
        folder = tmp_path / str(number)
        folder.mkdir()
        given, _, gives = content.partition("gives\n")
        given, gives = (
            {name: literal(value) for name, value in re.findall(r"^(\S+) = (.*)$", part, re.M)}
            for part in (given, gives)
        )
        assert gives
        write_texts(folder, {"m.gf": text})
        found = run(folder, "m.gf", given)
        for name, value in gives.items():
            assert_given(found[name], value, f"line {line}: {name}")


def test_texts_without_values_run(tmp_path):
    """Fast as naive, on random data; a cell without a model is a scan over time."""
    shown = {text for kind in ("values", "given") for text, _, _ in parts_with_text(kind)}
    for text, line in parts_of("gf"):
        if text in shown:
            continue
        folder = tmp_path / str(line)
        folder.mkdir()
        write_texts(folder, {"m.gf": text})
        entry = re.findall(r"^(?:model|cell) (\w+)(.*) \{$", text, re.M)[-1]
        options = ["--seed", "1", "--entry", entry[0]]
        names = set(re.findall(r"\b[A-Z]\b", entry[1])) | (set() if "model" in text else set("T"))
        for size, name in enumerate(sorted(names), 2):
            options += ["--dim", f"{name}={size}"]
        for path in ("fast", "naive"):
            paths = ["--naive"] if path == "naive" else []
            gatefold("run", "m.gf", *options, *paths, "--output-dir", path, folder=folder)
        results = list((folder / "fast").glob("*.npy"))
        assert results
        for file in results:
            expected = numpy.load(folder / "naive" / file.name)
            assert expected.size, line
            numpy.testing.assert_allclose(
                numpy.load(file), expected, rtol=1e-5, atol=1e-5, err_msg=f"line {line}: {file.stem}"
            )


def element_of(value):
    kind = array(value).dtype.kind
    return {"f": "", "i": "i64", "b": "bool"}[kind]


def test_values_of_expressions(tmp_path):
    """All in one model, each a result."""
    inputs = {code(name): literal(code(value)) for name, value in parts_of("input | is")[0][0]}
    rows = [(code(a), literal(code(b))) for rows, _ in parts_of("written | gives") for a, b in rows]
    types, results = [], []
    for name, value in inputs.items():
        shape = ", ".join(str(size) for size in numpy.shape(value))
        types.append(f"{name}: {element_of(value)}[{shape}]")
    for i, (_, value) in enumerate(rows):
        sizes = ", ".join(f"R{i}X{axis}" for axis in range(numpy.ndim(value)))
        results.append(f"r{i}: {element_of(value)}[{sizes}]")
    text = f"model m({', '.join(types)}) -> ({', '.join(results)}) {{\n  return "
    text += ",\n    ".join(expression for expression, _ in rows) + "\n}\n"
    write_texts(tmp_path, {"m.gf": text})
    found = run(tmp_path, "m.gf", inputs)
    for i, (expression, value) in enumerate(rows):
        assert_given(found[f"r{i}"], value, expression)


def place_of(text):
    """The text without its mark, and the line and column of what it stands before."""
    before, mark, after = text.partition(PLACE)
    assert mark and PLACE not in after, text
    line = before.rpartition("\n")[2]
    return before + after, before.count("\n") + 1, len(line.encode()) + 1


def error_texts():
    """[written, text, line, column, message, hint] of each row."""
    frame, rows = None, []
    for kind, content, line in PARTS:
        if kind == "text":
            frame = content
        if kind != "written | message | hint":
            continue
        for written, message, hint in content:
            text = code(written)
            if frame:
                text = frame.replace("...", text)
            rows.append([written, *place_of(text), code(message), code(hint) if hint else ""])
        frame = None
    return rows


def test_errors(tmp_path):
    """The first of each text, at its place; all in one process."""
    rows = error_texts()
    assert rows
    names = write_texts(tmp_path, {f"e{i}.gf": row[1] for i, row in enumerate(rows)})
    result = gatefold("check", "--json", *names, folder=tmp_path, fails=True)
    diagnostics = json.loads(result.stdout)["diagnostics"]
    wrong = []
    for i, (written, _, line, column, message, hint) in enumerate(rows):
        found = [d for d in diagnostics if pathlib.Path(d["file"]).name == f"e{i}.gf"]
        said = [(d["line"], d["column"], d["message"], d["hints"]) for d in found]
        if not said or said[0][:3] != (line, column, message) or not hint in ["", *said[0][3]]:
            wrong.append(f"{written}\n  expected {line}:{column}: {message} ({hint})\n  found {said}")
    assert not wrong, "\n".join(wrong)


def test_data_that_is_refused(tmp_path):
    """Of the model above, which is given what fits but for one thing."""
    count = 0
    for kind, content, line in PARTS:
        if kind == "gf":
            text = content
        elif kind == "given":
            base = {n: literal(v) for n, v in re.findall(r"^(\S+) = (.*)$", content, re.M)}
        elif kind == "given | message | hint":
            folder = tmp_path / str(line)
            folder.mkdir()
            check_refusals(folder, text, base, content)
            count += 1
    assert count


def check_refusals(tmp_path, text, base, rows):
    write_texts(tmp_path, {"m.gf": text})
    listed = gatefold("check", "m.gf", folder=tmp_path).stdout
    gatefold("compile", "m.gf", "-o", "libm.so", folder=tmp_path)
    for name, shape in re.findall(r"^  parameter  (\S+): (\[.*?\])", listed, re.M):
        base[name] = numpy.zeros(literal(shape)).tolist()
    run(tmp_path, "libm.so", base)
    for row, message, hint in rows:
        given = dict(base)
        name, value = re.match(r"`(\S+)` (?:as|=) `(.*)`$", row).groups()
        if " as " in row:
            given[value] = given.pop(name)
        else:
            given[name] = literal(value)
        said = run(tmp_path, "libm.so", given, fails=True).splitlines()
        assert f"gatefold: error: {code(message)}" == said[0], said
        assert not hint or f"hint: {code(hint)}" == said[1], said


def test_what_is_not_compiled(tmp_path):
    for written, what, hint in parts_of("written | not compiled | hint")[0][0]:
        text, line, column = place_of(code(written))
        write_texts(tmp_path, {"m.gf": text})
        gatefold("check", "m.gf", folder=tmp_path)
        options = ("--entry", "m", "--emit", "import")
        said = gatefold("compile", "m.gf", *options, folder=tmp_path, fails=True).stderr
        assert said.startswith(f"m.gf:{line}:{column}: error: not compiled yet: {code(what)}\n"), said
        assert f"\nhint: {code(hint)}\n" in said
