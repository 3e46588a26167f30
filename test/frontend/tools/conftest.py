# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the tests import driver.py from any working folder, and gives fixtures."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import driver  # noqa: E402


@pytest.fixture
def small(tmp_path):
    """SMALL as a file."""
    return driver.write(tmp_path / "small.gf", driver.SMALL)


@pytest.fixture
def mixed(tmp_path):
    """MIXED as a file."""
    return driver.write(tmp_path / "mixed.gf", driver.MIXED)


@pytest.fixture(scope="session")
def small_library(tmp_path_factory):
    """SMALL compiled without weights: the folder of libsmall.so and small.h."""
    folder = tmp_path_factory.mktemp("small")
    text = driver.write(folder / "small.gf", driver.SMALL)
    driver.gatefold("compile", text, "-o", folder / "libsmall.so")
    return folder
