# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cell and the attention of a user against float64, fast and naive, at odd sizes."""

import numpy

import your_own

SIZES = ((3, 17), (1, 1), (2, 0), (1, 33))


def test_both_against_float64(tmp_path):
    rows = your_own.compare(tmp_path, sizes=SIZES, rounds=1)
    assert len(rows) == 2 * len(SIZES)
    for name, batch, time, differences, seconds, good in rows:
        assert good, (name, batch, time, differences)
        assert max(differences) < 1e-5 and min(seconds) > 0


def test_the_comparison_sees_a_fault():
    expected = numpy.linspace(-2, 2, 5)
    assert your_own.within(expected + 1e-5, expected)
    assert not your_own.within(expected + [0, 0, 0, 0, 2e-5], expected)
    assert not your_own.within(expected + [0, numpy.nan, 0, 0, 0], expected)
