# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold report."""

from driver import gatefold, refusal, write


def test_lines(small):
    lines = gatefold("report", small).out.splitlines()
    rows = {line[:18].rstrip(): line[18:] for line in lines}
    assert rows["entry"] == "small"
    assert rows["parameters"] == "2, 8 values, 32 bytes"
    assert "B" in rows["operations"] and rows["operations"].endswith(" a run")
    assert "B" in rows["input bytes"] and "B" in rows["result bytes"]
    assert rows["arena"].endswith(" bytes at B=1; give --dim for other sizes")
    assert rows["algorithm"].startswith("naive")


def test_known_sizes(small):
    lines = gatefold("report", small, "--dim", "B=1000").out.splitlines()
    rows = {line[:18].rstrip(): line[18:] for line in lines}
    assert rows["operations"] == "14,000 a run"
    assert rows["input bytes"] == "12,000"
    assert rows["result bytes"] == "8,000"
    assert rows["arena"].endswith(" bytes")


def test_json(small):
    found = gatefold("report", small, "--dim", "B=10", "--json", "--timing").json
    assert found["name"] == "small"
    assert found["parameters"] == 2
    assert found["parameter_values"] == 8
    assert found["parameter_bytes"] == 32
    assert found["operations"] == 140
    assert sum(part["operations"] for part in found["parts"]) == 140
    assert found["input_bytes"] == 120
    assert found["result_bytes"] == 80
    assert found["arena_bytes"] >= 0
    assert "arena_at" not in found
    assert found["algorithm"] == "naive"
    assert "cpu" in found["timing"]


def test_what_is_prepared(small):
    """The weight is turned round once; the run reads the gain as it is."""
    found = gatefold("report", small, "--json").json
    assert found["prepared"] == found["parameters_replaced"] == 1
    assert found["prepared_bytes"] >= 24
    assert f"prepared          1, {found['prepared_bytes']} bytes, in place of 1 parameters" in gatefold(
        "report", small
    ).out


def test_json_of_open_dimensions(small):
    found = gatefold("report", small, "--json").json
    assert found["arena_at"] == "B=1"
    assert isinstance(found["operations"], str) and "B" in found["operations"]


def test_f64_takes_twice_the_bytes(small):
    found = gatefold("report", small, "--dim", "B=10", "--float", "f64", "--json").json
    assert (found["parameter_bytes"], found["input_bytes"], found["result_bytes"]) == (64, 240, 160)


def test_timing(small):
    assert " ms\n" in gatefold("report", small, "--timing").err


def test_a_library(small_library):
    out = gatefold("report", small_library / "libsmall.so").out
    assert "counted for .gf texts only" in out
    assert "2, 8 values, 32 bytes" in out


def test_faults(tmp_path):
    path = write(tmp_path / "m.gf", "model m(x: [B]) -> [B] {\n  return y\n}\n")
    assert "`y` is not defined" in refusal("report", path)
