# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets the tests import weight_files.py from any working folder."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
