# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold report."""

import math
import re

import pytest
from driver import BUILD, gatefold, refusal, write


def test_lines(small):
    lines = gatefold("report", small).out.splitlines()
    rows = {line[:20].rstrip(): line[20:] for line in lines}
    assert rows["entry"] == "small"
    assert rows["parameters"] == "2, 8 values, 32 bytes"
    assert "B" in rows["operations"] and rows["operations"].endswith(" a run")
    assert "B" in rows["input bytes"] and "B" in rows["result bytes"]
    assert rows["arena"].endswith(" bytes at B=1; give --dim for other sizes")


def test_known_sizes(small):
    lines = gatefold("report", small, "--dim", "B=1000").out.splitlines()
    rows = {line[:20].rstrip(): line[20:] for line in lines}
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
    assert found["scheduled"] == []
    assert "cpu" in found["timing"]


def test_what_is_prepared(small):
    """The weight is turned round once; the run reads the gain as it is."""
    found = gatefold("report", small, "--json").json
    assert found["prepared"] == found["parameters_replaced"] == 1
    assert found["prepared_bytes"] >= 24
    row = f"prepared            1, {found['prepared_bytes']} bytes, in place of 1 parameters"
    assert row in gatefold("report", small).out


def test_json_of_open_dimensions(small):
    found = gatefold("report", small, "--json").json
    assert found["arena_at"] == "B=1"
    assert isinstance(found["operations"], str) and "B" in found["operations"]


ATTENTIVE = """import cells, attention
model m(x: [B, T, 24], lengths: i64[B]) -> ([B, T, 30], [B, T, 5]) {
  param rnn: lstm(H=15, bidirectional=true), small: gru(H=5)
  y, _ = scan(rnn, x, lengths=lengths)
  z, _ = scan(small, y)
  return dot_product(y, y, y), z
}
"""


def test_arena_as_a_formula(tmp_path):
    """The formulas give the bytes that the compiled code asks for, with one thread and for
    each more; a library has the code alone."""
    path = write(tmp_path / "m.gf", ATTENTIVE)
    library = tmp_path / "libm.so"
    gatefold("compile", path, "-o", library)
    found = gatefold("report", path, "--json").json
    formulas = found["arena_formula"], found["arena_formula_per_thread"]
    lines = gatefold("report", path).out.splitlines()
    for title, formula in zip(("all threads", "each thread"), formulas):
        assert f"  for {title}   {formula} bytes" in lines
    for sizes in ({"B": 1, "T": 1}, {"B": 3, "T": 65}, {"B": 40, "T": 500}, {"B": 2, "T": 0}):
        dims = ",".join(f"{name}={size}" for name, size in sizes.items())
        at_sizes = gatefold("report", library, "--dim", dims, "--json").json
        assert "arena_formula" not in at_sizes
        names = {
            "__builtins__": {"max": max, "min": min, "ceil": math.ceil},
            "round64": lambda size: (size + 63) // 64 * 64,
        }
        shared, own = (eval(formula, names, dict(sizes)) for formula in formulas)
        assert own == at_sizes["arena_bytes_per_thread"]
        assert shared + own == at_sizes["arena_bytes"]


def test_known_sizes_need_no_formula(small):
    found = gatefold("report", small, "--dim", "B=10", "--json").json
    assert int(found["arena_formula"]) + int(found["arena_formula_per_thread"]) == (
        found["arena_bytes"]
    )
    assert "for all threads" not in gatefold("report", small, "--dim", "B=10").out


def test_f64_takes_twice_the_bytes(small):
    found = gatefold("report", small, "--dim", "B=10", "--float", "f64", "--json").json
    assert (found["parameter_bytes"], found["input_bytes"], found["result_bytes"]) == (64, 240, 160)


def test_timing(small):
    assert " ms\n" in gatefold("report", small, "--timing").err


def test_a_library(small_library):
    out = gatefold("report", small_library / "libsmall.so").out
    assert "counted for .gf texts only" in out
    assert "2, 8 values, 32 bytes" in out
    assert "scheduled           known for texts and modules only" in out
    assert "scheduled" not in gatefold("report", small_library / "libsmall.so", "--json").json


def test_a_library_at_given_sizes(small_library):
    library = small_library / "libsmall.so"
    at_one = gatefold("report", library, "--json").json
    at_many = gatefold("report", library, "--dim", "B=1000", "--json").json
    assert (at_one["arena_at"], at_many["arena_at"]) == ("B=1", "B=1000")
    assert at_many["arena_bytes"] >= at_one["arena_bytes"]
    assert gatefold("report", library, "--dim", "B=1000").out.count("give --dim") == 0
    message = refusal("report", library, "--dim", f"B={2**62}")
    assert "these sizes do not fit into 64 bits" in message


LAYERS = """import cells, attention

model m(x: [B, T, 4]) -> [B, T, 4] {
  param rnn: gru(H=4), other: gru(H=4)
  y, _ = scan(rnn, x)
  z, _ = scan(other, y)
  return dot_product(z, z, z)
}
"""


def test_what_was_scheduled(tmp_path):
    """Each recurrence and attention at its place, with what the passes did for it."""
    path = write(tmp_path / "m.gf", LAYERS)
    options = ["--schedule", "recurrence.step_rows=64,attention.query_block=48"]
    lines = gatefold("report", path, *options).out.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith(("recurrence", "attention"))]
    assert [lines[i] for i in starts] == [
        f"recurrence          steps, step_rows=64 at {path}:5:10",
        f"recurrence          steps, step_rows=64 at {path}:6:10",
        f"attention           resident, query_block=48 at {path}:7:10",
    ]
    end = lines.index("elsewhere           in no recurrence or attention")
    first, second, third = (
        "\n".join(lines[a:b]) for a, b in zip(starts, starts[1:] + [end], strict=True)
    )
    assert "prepare: rnn.weight_ih packed" in first and "other.weight_ih" not in first
    assert "prepare: other.weight_ih packed" in second and "rnn.weight_ih" not in second
    assert "  not done          product [12, 4] x [?, 4] stays in the step" in first
    assert "  not done          not a linear recurrence: the next" in first
    assert "48 query rows" in third and "weight_ih" not in third


def test_all_sizes_of_an_algorithm(tmp_path):
    path = write(tmp_path / "m.gf", LAYERS)
    options = ["--schedule", "attention.query_block=12,attention.key_block=1024"]
    out = gatefold("report", path, *options).out
    assert f"attention           online, query_block=12, key_block=1024 at {path}:7:10\n" in out
    assert "attention: online, 12 query rows, 1024 keys at a time, 1 map" in out
    one = gatefold("report", path, "--json", *options).json["scheduled"][2]
    assert (one["algorithm"], one["query_block"], one["key_block"]) == ("online", 12, 1024)


def test_json_of_what_was_scheduled(tmp_path):
    path = write(tmp_path / "m.gf", LAYERS)
    found = gatefold("report", path, "--json").json
    assert [
        (one["what"], one["algorithm"], one["line"], one["column"]) for one in found["scheduled"]
    ] == [
        ("recurrence", "steps", 5, 10),
        ("recurrence", "steps", 6, 10),
        ("attention", "resident", 7, 10),
    ]
    assert found["scheduled"][0]["step_rows"] > 0 and found["scheduled"][2]["query_block"] > 0
    for one in found["scheduled"]:
        assert one["file"] == str(path) and one["remarks"]
    remarks = [remark for one in found["scheduled"] for remark in one["remarks"]]
    assert {"done", "not done"} <= {remark["kind"] for remark in remarks}
    assert all(remark["pass"].startswith("gf-") and remark["message"] for remark in remarks)
    assert found["arena_bytes_per_thread"] >= 0


def test_layers_and_directions_are_one_row(tmp_path):
    path = write(
        tmp_path / "m.gf",
        """import cells

model m(x: [B, T, 4]) -> [B, T, 8] {
  param rnn: gru(H=4, layers=2, bidirectional=true)
  y, _ = scan(rnn, x)
  return y
}
""",
    )
    rows = [row for row in gatefold("report", path).out.splitlines() if row[0] != " "]
    (row,) = [row for row in rows if row.startswith("recurrence")]
    assert row.endswith(f" at {path}:5:10, 4 of them")
    (one,) = gatefold("report", path, "--json").json["scheduled"]
    assert one["count"] == 4


def test_names_in_a_schedule(tmp_path):
    """Files of the library are named as they are imported, wherever it is; the JSON has
    the path. Biases stand with the recurrence that reads them, beside its weights."""
    path = write(
        tmp_path / "m.gf",
        """import cells

model m(x: [B, T, 4]) -> [B, T, 8] {
  param rnn: lstm(H=8)
  y, _ = scan(rnn, x)
  return y
}
""",
    )
    out = gatefold("report", path).out
    recurrence = out[out.index("\nrecurrence") : out.index("\nelsewhere")]
    assert re.search(
        r"prepare: rnn\.weight_ih packed, \d+ bytes at cells\.gf:\d+:\d+\n", recurrence
    )
    assert re.search(
        r"prepare: rnn\.bias_ih and rnn\.bias_hh computed, \d+ bytes at cells\.gf:\d+:\d+\n",
        recurrence,
    )
    assert f" at {path}:5:10\n" in recurrence
    (one,) = gatefold("report", path, "--json").json["scheduled"]
    files = {remark["file"] for remark in one["remarks"]}
    assert files == {str(path), str(BUILD / "share" / "gatefold" / "library" / "cells.gf")}


def test_own_file_named_as_one_of_the_library(tmp_path):
    """The path tells it from the library's."""
    cells = write(
        tmp_path / "cells.gf",
        """cell decay(x: [I]) -> [H] {
  state h: [H]
  param w: [H, I]
  h' = 0.5 * h + w @ x
  return h'
}
""",
    )
    path = write(
        tmp_path / "m.gf",
        """import cells

model m(x: [B, T, 4]) -> [B, T, 8] {
  param rnn: decay(H=8)
  y, _ = scan(rnn, x)
  return y
}
""",
    )
    assert f"prepare: rnn.w packed, 256 bytes at {cells}:" in gatefold("report", path).out


def test_naive_schedule(tmp_path):
    path = write(tmp_path / "m.gf", LAYERS)
    found = gatefold("report", path, "--json", "--naive").json
    assert [one["algorithm"] for one in found["scheduled"]] == ["naive"] * 3
    assert not any("step_rows" in one or "query_block" in one for one in found["scheduled"])


ATTENTION = """import attention

model plain(q: [B, T, D], k: [B, T, D], v: [B, T, D]) -> [B, T, D] {
  return dot_product(q, k, v)
}

model two_maps(q1: [B, T, D], q2: [B, T, D], k1: [B, T, D], k2: [B, T, D],
               v: [B, T, 2*D]) -> [B, T, 2*D] {
  return differential(q1, q2, k1, k2, v, lambda=0.5)
}
"""


def model_times(path, *options):
    """The least that a GPU takes, however it is scheduled."""
    schedule = ["--schedule", "attention.algorithm=resident"]
    found = gatefold("report", path, *options, *schedule, "--json").json["model_time"]
    return found, {family["what"]: family for family in found["families"]}


@pytest.mark.parametrize(
    "entry, width, tera",
    [("plain", 64, 494), ("plain", 128, 659), ("plain", 256, 791), ("two_maps", 64, 593)],
)
def test_serial_bound_of_attention_on_a_gpu(tmp_path, entry, width, tera):
    """Matrices and then exponentials, at the peaks of the H100: within 2% of what the
    fastest published kernels reach at widths of 64 and 128."""
    path = write(tmp_path / "m.gf", ATTENTION)
    sizes = ["--dim", f"B=32,T=4096,D={width}"]
    options = [path, "--entry", entry, *sizes, "--float", "f16", "--target", "sm_90"]
    _, families = model_times(*options)
    maps, pairs = (2 if entry == "two_maps" else 1), 32 * 4096**2
    values = maps * width
    operations = 2 * maps * pairs * (width + values)
    attention = families["attention"]
    assert operations / attention["serial_s"] / 1e12 == pytest.approx(tera, rel=2e-3)
    assert attention["matrix_s"] == pytest.approx(operations / 989.4e12, rel=1e-3)
    # One exponential for each score, 16 in a clock.
    assert attention["function_s"] == pytest.approx(maps * pairs / (16 * 132 * 1.83e9))
    # Each key and value once for 16 queries, 128 bytes in a clock.
    shared = 2 * pairs * (maps * width + values) / 16
    assert attention["shared_s"] == pytest.approx(shared / (128 * 132 * 1.83e9))
    # Queries, keys and results, each once.
    moved = 2 * 32 * 4096 * (2 * maps * width + 2 * values)
    assert attention["global_s"] == pytest.approx(moved / 3352e9)
    assert attention["bound_s"] == attention[attention["bound"] + "_s"]
    assert attention["bound_s"] == max(attention[f"{unit}_s"] for unit in UNITS)


UNITS = ("matrix", "function", "arithmetic", "shared", "global", "barrier")


def test_model_time_of_f32(tmp_path):
    """A product of f32 is three of tf32, with half the operations a clock of f16; an
    exponential is 16 instructions of the units of f32. With --fast-math neither is."""
    path = write(tmp_path / "m.gf", ATTENTION)
    options = [path, "--entry", "plain", "--dim", "B=1,T=512,D=64", "--target", "sm_80"]
    half, exact, fast = (
        model_times(*options, *more)[1]["attention"]
        for more in (["--float", "f16"], [], ["--fast-math"])
    )
    assert exact["matrix_s"] == pytest.approx(6 * half["matrix_s"])
    assert fast["matrix_s"] == pytest.approx(2 * half["matrix_s"])
    assert exact["function_s"] == pytest.approx(4 * half["function_s"])
    assert fast["function_s"] == pytest.approx(half["function_s"])
    assert exact["arithmetic_s"] - half["arithmetic_s"] == pytest.approx(exact["function_s"])
    assert exact["shared_s"] == pytest.approx(2 * half["shared_s"])


def test_model_time_of_families(tmp_path):
    path = write(tmp_path / "m.gf", ATTENTIVE)
    options = [path, "--dim", "B=4,T=100", "--target", "sm_100"]
    found, families = model_times(*options)
    assert (found["target"], "at" in found) == ("sm_100", False)
    assert set(families) == {"attention", "recurrence", "in all"}
    total = families["in all"]
    for unit in set(UNITS) - {"global"}:
        parts = families["attention"][f"{unit}_s"] + families["recurrence"][f"{unit}_s"]
        assert total[f"{unit}_s"] == pytest.approx(parts)
    report = gatefold("report", *options[:-2], "--json").json
    # What is given and what comes out; or what recurrences hand to attentions, where it is more.
    moved = report["input_bytes"] + report["result_bytes"] + report["parameter_bytes"]
    most = max(families[name]["global_s"] for name in ("attention", "recurrence"))
    assert total["global_s"] == most > moved / 8000e9
    # Sequences and states once, and weights however many steps there are.
    longer = model_times(path, "--dim", "B=4,T=200", "--target", "sm_100")[1]["recurrence"]
    once = families["recurrence"]
    assert longer["matrix_s"] == pytest.approx(2 * once["matrix_s"])
    assert once["global_s"] < longer["global_s"] < 2 * once["global_s"]


@pytest.mark.parametrize("batch, steps", [(1, 1), (4, 100), (64, 100)])
def test_model_time_of_directions(tmp_path, batch, steps):
    """What both directions read they read once, and a number that fills a state never: all that
    is given but `e`, which the whole model reads besides."""
    path = write(
        tmp_path / "m.gf",
        """import cells
model m(x: [B, T, 13], e: [B, T, 66], lengths: i64[B]) -> (y: [B, T, 66], h: [2, B, 33], c: [2, B, 33]) {
  param both: lstm(H=33, bidirectional=true)
  y, (h, c) = scan(both, x, lengths=lengths)
  return y + e, h, c
}
""",
    )
    options = ["--dim", f"B={batch},T={steps}", "--target", "sm_80"]
    _, families = model_times(path, *options)
    report = gatefold("report", path, *options, "--json").json
    moved = report["input_bytes"] + report["result_bytes"] + report["parameter_bytes"]
    others = 4 * batch * steps * 66
    assert families["in all"]["global_s"] == pytest.approx(moved / 2039e9)
    assert families["recurrence"]["global_s"] == pytest.approx((moved - others) / 2039e9)


def test_model_time_of_computed_operands(tmp_path):
    """Folded keys are f32: times queries of 16 bits two products of tf32, which take four
    times as long as one of 16 bits. Queries that the model computes are f32, too."""
    path = write(
        tmp_path / "m.gf",
        """import attention
model plain(q: [T, 64], k: [T, 64], v: [T, 64]) -> [T, 64] {
  return dot_product(q, k, v)
}
model folded(q: [T, 64], k: [T, 64], v: [T, 64]) -> [T, 64] {
  return diff_window(q, k, v, width=3)
}
model computed(q: [T, 64], k: [T, 64], v: [T, 64]) -> [T, 64] {
  return dot_product(2 * q[:, ::1], tanh(k), v)
}
model projected(x: [T, 64], w: [64, 64]) -> [T, 64] {
  return tanh(x @ w) @ w
}
""",
    )
    options = ["--dim", "T=512", "--float", "f16", "--target", "sm_80"]

    def matrix(entry, family="attention", *more):
        return model_times(path, "--entry", entry, *options, *more)[1][family]["matrix_s"]

    plain = matrix("plain")
    assert matrix("folded") == pytest.approx((4 + 1) / 2 * plain)
    assert matrix("computed") == pytest.approx((6 + 1) / 2 * plain)
    assert matrix("folded", "attention", "--fast-math") == pytest.approx((2 + 1) / 2 * plain)
    # 512 x 64 x 64, given and then computed.
    operations = 2 * 512 * 64 * 64
    assert matrix("projected", "products") == pytest.approx(5 * operations / 312e12, rel=2e-3)


def test_model_time_of_barriers(tmp_path):
    """In each step of a recurrence all blocks wait for one another, both directions of a layer
    together, and more often where norms are shared; a linear one is a scan, and what one block
    computes waits for none."""
    path = write(
        tmp_path / "m.gf",
        """import cells
model m(x: [B, T, 256]) -> [B, T, 512] {
  param cell: lstm(H=256, layers=2, bidirectional=true)
  y, _ = scan(cell, x)
  return y
}
model linear(x: [B, T, 256]) -> [B, T, 256] {
  param cell: min_gru(H=256)
  y, _ = scan(cell, x)
  return y
}
model normed(x: [B, T, 256]) -> [B, T, 256] {
  param cell: lstm_layer_norm(H=256)
  y, _ = scan(cell, x)
  return y
}
model small(x: [B, T, 2]) -> [B, T, 2] {
  param cell: lstm(H=2)
  y, _ = scan(cell, x)
  return y
}
""",
    )
    options = ["--dim", "B=4,T=50", "--target", "sm_90"]
    seconds = {
        entry: model_times(path, "--entry", entry, *options)[1]["recurrence"]["barrier_s"]
        for entry in ("m", "normed", "linear", "small")
    }
    assert seconds["m"] == pytest.approx(2 * 50 * 1.5e-6)
    remark = gatefold("report", path, "--entry", "normed", *options).out
    barriers = int(re.search(r"meet at (\d+) barriers in it", remark)[1])
    assert seconds["normed"] == pytest.approx(barriers * 50 * 1.5e-6)
    assert seconds["linear"] == 0
    assert seconds["small"] == 0


def test_model_time_as_text(tmp_path):
    path = write(tmp_path / "m.gf", ATTENTION)
    options = ["--entry", "plain", "--dim", "D=64", "--float", "f16"]
    options += ["--schedule", "attention.algorithm=resident"]
    lines = gatefold("report", path, *options, "--target", "sm_90").out.splitlines()
    title = "model time          at the peak of sm_90, B=1, T=1; give --dim for other sizes"
    start = lines.index(title)
    assert re.fullmatch(r"  attention         \d+\.\d{3} us by \w+.*", lines[start + 1])
    assert re.fullmatch(r"    matrix          \d+\.\d{3} us, \d+%", lines[start + 2])
    assert any(line.startswith("  in all ") for line in lines[start:])
    # What was scheduled is the GPU's.
    assert any(line.startswith("attention           resident") for line in lines)
    assert "model time" not in gatefold("report", path, *options).out


def test_faults(tmp_path):
    path = write(tmp_path / "m.gf", "model m(x: [B]) -> [B] {\n  return y\n}\n")
    assert "`y` is not defined" in refusal("report", path)
