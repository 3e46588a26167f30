# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example where there is no nvcc; test/gpu/embed_cuda.test builds and runs it."""

import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def test_says_that_nvcc_is_missing(tmp_path):
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(shutil.which(name))
    run = subprocess.run(
        [HERE / "run.sh", tmp_path / "out"],
        env={"PATH": str(tmp_path), "CUDA_HOME": "/nowhere"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 77
    assert "nvcc, of NVIDIA's toolkit, is neither on PATH nor in CUDA_HOME" in run.stderr
    assert not (tmp_path / "out").exists()
