# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The README's compile, run as it is printed there."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", ROOT / "build"))
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path):
    """The README's texts, under the names that its commands give them."""
    for text, name in zip(blocks("gf"), ("leaky.gf", "tagger.gf"), strict=True):
        (tmp_path / name).write_text(text)
    return tmp_path


def run(command, folder):
    program, *arguments = command.split()
    assert program == "gatefold"
    result = subprocess.run(
        [BUILD / "bin" / program, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return result.stdout


def test_commands_print_what_the_readme_says(folder):
    consoles = blocks("console")
    assert consoles
    for console in consoles:
        for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            assert run(command, folder) == expected, command


def test_texts_are_in_the_standard_layout(folder):
    assert run("gatefold fmt --check leaky.gf tagger.gf", folder) == ""


def test_module_holds_the_lines_of_the_readme(folder):
    (printed,) = blocks("mlir")
    module = run("gatefold compile leaky.gf --emit import", folder).splitlines()
    place = 0
    for line in printed.splitlines():
        if line == "...":
            continue
        assert line in module[place:], line
        place += module[place:].index(line) + 1


def test_stock_mlir_opt_runs_the_plugin(folder):
    (block,) = [b for b in blocks("sh") if b.startswith("mlir-opt-22")]
    module = run("gatefold compile leaky.gf --emit import", folder)
    (folder / "model.mlir").write_text(module)
    (folder / "build").symlink_to(BUILD)
    result = subprocess.run(
        block, shell=True, cwd=folder, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "gf.recurrence" in module
    assert "gf.recurrence" not in result.stdout and "scf.for" in result.stdout


def test_no_placeholder_is_left():
    folders = ("dialect", "passes", "runtime", "frontend", "test", "examples")
    files = [f for folder in folders for f in (ROOT / folder).rglob("*.md")]
    assert files
    for file in files:
        assert not re.search(r"@[A-Z]+@", file.read_text()), file


def test_linked_files_exist():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target
