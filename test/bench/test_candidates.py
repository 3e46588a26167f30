# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every candidate that is installed computes what Gatefold computes, at small sizes."""

import os
import pathlib
import subprocess
import sys

import pytest
from peers import is_current

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", HERE.parent.parent / "build"))


@pytest.mark.parametrize(
    "case",
    ["attention N=20 causal", "attention N=40 heads=8", "differential N=20", "diff-window",
     "LSTM textbook", "GRU 5", "BiLSTM", "peephole LSTM 5", "layer-norm LSTM 5", "voice"],
)
def test_candidates_agree(case, tmp_path):
    report = tmp_path / "report.json"
    result = subprocess.run(
        [sys.executable, HERE / "bench.py", "--scale", "0.04", "--rounds", "1",
         "--threads", "1", "--naive", "--cases", case, "--json", report],
        env={**os.environ, "GATEFOLD_BUILD": str(BUILD)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "gatefold --naive" in result.stdout and "onnxruntime " in result.stdout
    assert report.exists()


@pytest.mark.parametrize("newer", ["program", "source", "runtime"])
def test_what_is_older_than_its_compiler_is_compiled_anew(tmp_path, newer):
    library, source = tmp_path / "libx.so", tmp_path / "x.gf"
    parts = {
        "program": tmp_path / "bin" / "gatefold",
        "source": source,
        "runtime": tmp_path / "lib" / "libgatefold_runtime.a",
    }
    for part in (library, *parts.values()):
        part.parent.mkdir(exist_ok=True)
        part.touch()
        os.utime(part, (100, 100))
    assert is_current(library, parts["program"], source)
    os.utime(parts[newer], (200, 200))
    assert not is_current(library, parts["program"], source)
    library.unlink()
    assert not is_current(library, parts["program"], source)
