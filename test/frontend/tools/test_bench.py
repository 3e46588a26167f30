# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold bench."""

import os
import re

import pytest
from driver import X, gatefold, npy, refusal, weights


def seconds(text):
    number, unit = text.split()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def test_lines(small):
    out = gatefold("bench", small, "--dim", "B=4").out
    time, operations, workspace = out.splitlines()
    match = re.fullmatch(
        r"median     (\S+ \w+) of (\d+) runs \(half of them within (\S+ \w+) \.\. (\S+ \w+)\)", time
    )
    median, rounds, low, high = match.groups()
    assert seconds(low) <= seconds(median) <= seconds(high)
    assert int(rounds) >= 5
    assert re.fullmatch(
        r"operations 56, \S+ GFLOP/s, \S+ % of the \S+ GFLOP/s of one core measured "
        r"in this run",
        operations,
    )
    assert re.fullmatch(r"workspace  [\d,]+ bytes", workspace)


def test_json(small):
    found = gatefold("bench", small, "--dim", "B=100", "--json").json
    assert set(found) == {
        "rounds", "median_s", "quartiles_s", "least_s", "threads", "peak_flops",
        "workspace_bytes", "operations", "flops", "share_of_peak",
    }  # fmt: skip
    low, high = found["quartiles_s"]
    assert 0 < found["least_s"] <= low <= found["median_s"] <= high
    assert 1 <= found["threads"] <= len(os.sched_getaffinity(0))
    # 100 rows: 2 * 3 * 2 for the product, 2 for the gain.
    assert found["operations"] == 1400
    assert found["flops"] == pytest.approx(1400 / found["median_s"])
    assert found["share_of_peak"] == pytest.approx(found["flops"] / found["peak_flops"])
    # One core does at least a billion operations a second, and at most a thousand billion.
    assert 1e9 < found["peak_flops"] < 1e12


def test_sizes_come_from_the_inputs(small):
    x = npy(small.parent / "x.npy", X)
    found = gatefold("bench", small, "--input", f"x={x}", "--json").json
    assert found["operations"] == 3 * 14


def test_faults(small):
    assert "give --dim B=..." in refusal("bench", small)
    x = npy(small.parent / "x.npy", X[:, :2])
    assert "`x` is [3, 2], expected [B, 3]" in refusal("bench", small, "--input", f"x={x}")


def test_a_library(small_library, small):
    source = small_library / "libsmall.so"
    w = weights(small.parent)
    run = gatefold("bench", source, "--dim", "B=4", "--weights", w)
    assert "operations are counted for .gf texts only" in run.out
    found = gatefold("bench", source, "--dim", "B=4", "--json").json
    assert "operations" not in found and "flops" not in found
