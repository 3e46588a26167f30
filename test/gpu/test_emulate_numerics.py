# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""emulate_numerics.py: a sample of the numeric tests on the emulator, what it says of them, and
that it goes on where it was ended."""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", HERE.parents[1] / "build"))
SAMPLE = "test_reference_values.py"


def run(folder, *options):
    done = subprocess.run(
        [sys.executable, HERE / "emulate_numerics.py", "--results", folder, *options],
        capture_output=True,
        text=True,
        env={**os.environ, "GATEFOLD_BUILD": str(BUILD)},
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_file_is_ended_and_goes_on(tmp_path):
    status, words = run(tmp_path, "--time", "0", SAMPLE)
    assert status == 1 and "0 passed" in words, words
    status, words = run(tmp_path, SAMPLE)
    assert status == 0, words
    assert re.search(r"^6 passed, 0 failed$", words, re.M), words
    (log,) = tmp_path.glob("*/test_reference_values.log")
    assert "6 passed" in log.read_text()
    # Nothing is left to do.
    log.unlink()
    status, words = run(tmp_path, SAMPLE)
    assert status == 0 and "6 passed" in words, words
    assert "6 deselected" in log.read_text()


def test_what_does_not_apply_says_why(tmp_path):
    status, words = run(tmp_path, "test_allocation.py")
    assert status == 0, words
    assert re.search(r"^  test_allocation.py: 21: a GPU's run allocates", words, re.M), words


def test_a_kernel_that_fails_is_a_failure(tmp_path):
    """A GPU that is none."""
    status, words = run(tmp_path, "--target", "sm_1", SAMPLE)
    assert status == 1, words
    assert re.search(r"^0 passed, 6 failed$", words, re.M), words


def test_a_file_that_is_none(tmp_path):
    status, words = run(tmp_path, "test_nothing.py")
    assert status == 2 and "there is no test_nothing.py" in words
