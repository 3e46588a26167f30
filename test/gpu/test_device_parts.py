# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of run.sh that need no GPU: what counts as near, and how times are taken."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "device"))
import cases  # noqa: E402
import compare  # noqa: E402
import gpu_model  # noqa: E402

BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", HERE.parent.parent / "build"))
FAKE = BUILD / "test" / "cuda" / "fake"


def near(found, expected):
    return compare.difference(numpy.array(found), numpy.array(expected), 2e-3, 2e-5) <= 1


@pytest.mark.parametrize(
    "found, expected, agrees",
    [
        ([1.0, 2.0], [1.0, 2.003], True),
        ([1.0, 2.0], [1.0, 2.01], False),
        ([float("nan")], [float("nan")], True),
        ([float("nan")], [1.0], False),
        ([1.0], [float("nan")], False),
        ([float("inf")], [float("inf")], True),
        ([float("inf")], [float("-inf")], False),
        ([3], [3], True),
        ([3], [4], False),
    ],
)
def test_what_agrees(found, expected, agrees):
    assert near(found, expected) is agrees


def test_inputs_reach_their_bounds():
    descriptions = [
        {"name": "x", "element": "f32", "shape": ["B", "2*T + 1", 3]},
        {"name": "lengths", "element": "i64", "shape": ["B"]},
        {"name": "first", "element": "bool", "shape": ["B", "T"]},
    ]
    inputs = gpu_model.random_inputs(descriptions, {"B": 9, "T": 4}, 100)
    assert inputs["x"].shape == (9, 9, 3) and inputs["first"].shape == (9, 4)
    assert list(inputs["lengths"][:3]) == [4, 1, 0]
    assert inputs["lengths"].min() >= 0 and inputs["lengths"].max() <= 4


def test_cases_name_entries_that_are_there():
    entries = (HERE / "device" / "kernels.gf").read_text()
    for timing in cases.SPEED:
        assert f"model {timing.entry}(" in entries
        assert timing.operations > 0
    for case in cases.CORRECTNESS:
        assert f"model {case.entry}(" in case.source.read_text()
    names = [case.name for case in cases.CORRECTNESS]
    assert len(names) == len(set(names))


CHILD = """
import json, sys, time
import cases, measure

class Clock(measure.Driver):  # the driver for tests has no events
    def use_primary_context(self): pass
    def event(self): return [0.0]
    def record(self, event, stream): event[0] = time.perf_counter()
    def milliseconds(self, begin, end): return 1e3 * (end[0] - begin[0])

measure.Driver = Clock
measure.has_torch = lambda: False
# Launches return before they are executed: by their times a round would have 200.
measure.ROUND_MILLISECONDS = measure.CASE_SECONDS = 0
timing = cases.Timing("product", "product", "f32", {"B": 2}, 1e6)
print(json.dumps(measure.measure(timing, sys.argv[1])))
"""


@pytest.mark.skipif(not FAKE.exists(), reason="the driver for tests is not built")
def test_times(tmp_path):
    """The record of a case, on a driver whose GPU is the emulator."""
    base = [BUILD / "bin" / "gatefold", "compile", HERE / "device" / "kernels.gf", "--entry", "product"]
    kernels = tmp_path / "kernels.ll"
    subprocess.run([*base, "--target", "sm_90", "--emit", "llvm", "-o", kernels], check=True)
    subprocess.run([*base, "--target", "sm_90", "-o", tmp_path / "libmodel.so"], check=True)
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(FAKE),
        "GATEFOLD_FAKE_KERNELS": str(kernels),
        "PYTHONPATH": str(HERE / "device"),
    }
    run = subprocess.run(
        [sys.executable, "-c", CHILD, tmp_path / "libmodel.so"],
        capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    record = json.loads(run.stdout.splitlines()[-1])
    assert record["rounds"] >= 5 and record["left_out"] == {"torch": "not installed"}
    low, median, high = record["milliseconds"]
    assert 0 < low <= median <= high
    assert record["tflops"] == pytest.approx(1e6 / (median * 1e-3) / 1e12)
