# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold fmt."""

import os

from driver import CHECK_FAILED, SMALL, files, gatefold, refusal, write

UNTIDY = SMALL.replace("gain * (x @ weight.T)", "gain*(x@weight.T)").replace("  param", "     param")


def test_prints(tmp_path):
    path = write(tmp_path / "m.gf", UNTIDY)
    assert gatefold("fmt", path).out == SMALL
    assert path.read_text() == UNTIDY


def test_prints_several(tmp_path):
    one, two = write(tmp_path / "a.gf", UNTIDY), write(tmp_path / "b.gf", SMALL)
    assert gatefold("fmt", one, two).out == SMALL * 2


def test_rewrites(tmp_path):
    path = write(tmp_path / "m.gf", UNTIDY)
    assert gatefold("fmt", "-i", path).out == ""
    assert path.read_text() == SMALL
    assert files(tmp_path) == ["m.gf"]


def test_leaves_a_standard_file_alone(small):
    os.utime(small, (1, 1))
    gatefold("fmt", "-i", small)
    assert small.stat().st_mtime == 1


def test_asks(tmp_path, small):
    untidy = write(tmp_path / "m.gf", UNTIDY)
    assert gatefold("fmt", "--check", small).out == ""
    message = refusal("fmt", "--check", small, untidy, status=CHECK_FAILED)
    assert message == f"{untidy}: not in the standard layout\n"
    assert untidy.read_text() == UNTIDY


def test_json(tmp_path, small):
    untidy = write(tmp_path / "m.gf", UNTIDY)
    document = gatefold("fmt", "--check", "--json", small, untidy, status=CHECK_FAILED).json
    assert document == {
        "files": [
            {"file": str(small), "standard": True},
            {"file": str(untidy), "standard": False},
        ]
    }


def test_a_text_with_errors_is_left_alone(tmp_path):
    broken = write(tmp_path / "a.gf", UNTIDY + "model (")
    path = write(tmp_path / "m.gf", UNTIDY)
    message = refusal("fmt", "-i", broken, path)
    assert f"{broken}:5:7: error: " in message
    assert broken.read_text() == UNTIDY + "model ("
    assert path.read_text() == SMALL  # the others are done
    document = gatefold("fmt", "--json", broken, status=1).json
    assert document["diagnostics"][0]["line"] == 5
    assert document["files"] == []


def test_a_fault_weighs_more_than_an_untidy_text(tmp_path):
    broken = write(tmp_path / "a.gf", "model (")
    untidy = write(tmp_path / "m.gf", UNTIDY)
    refusal("fmt", "--check", broken, untidy)
    refusal("fmt", "--check", untidy, broken)


def test_a_folder_that_cannot_be_written(tmp_path):
    """The old text stays where the new one cannot be written."""
    folder = tmp_path / "closed"
    folder.mkdir()
    path = write(folder / "m.gf", UNTIDY)
    folder.chmod(0o500)
    try:
        if os.access(folder, os.W_OK):  # root may write everywhere
            return
        assert f"{path}: " in refusal("fmt", "-i", path)
        assert path.read_text() == UNTIDY
    finally:
        folder.chmod(0o700)
