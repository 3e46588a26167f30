# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold run: results, entries that are no models, and where it runs."""

import json
import os

import numpy as np
import pytest
from driver import SMALL, Y, files, gatefold, mixed_inputs, npy, refusal, run_small, weights, write


# Results.


def test_prints_results(small):
    run = run_small(small)
    assert run.out.splitlines() == [
        "output  f32[3, 2]  least -4.500000  mean 0.833333  largest 15.000000",
        "  -2.000000 -4.500000 15.000000 -3.500000 0.000000 0.000000",
    ]
    assert run.err == "gatefold: note: parameter `gain` is not in the weights: it is 1\n"


def test_prints_only_a_summary_of_many_values(small):
    x = npy(small.parent / "many.npy", np.ones((9, 3), np.float32))
    run = gatefold("run", small, "--weights", weights(small.parent), "--input", f"x={x}")
    (line,) = run.out.splitlines()
    assert line.startswith("output  f32[9, 2]  least 1.500000  mean 3.750000  largest 6.000000")


def test_writes_a_result(small):
    folder = small.parent
    run = run_small(small, "--output", f"output={folder / 'y.npy'}")
    assert run.out == ""
    found = np.load(folder / "y.npy")
    assert found.dtype == np.float32
    assert (found == Y).all()
    assert files(folder) == ["small.gf", "w.safetensors", "x.npy", "y.npy"]


def test_writes_all_results(mixed):
    folder = mixed.parent
    gatefold("run", mixed, *mixed_inputs(folder), "--output-dir", folder / "deep" / "out")
    assert files(folder / "deep" / "out") == ["not_kept.npy", "sum.npy", "total.npy", "y.npy"]
    found = {name: np.load(folder / "deep" / "out" / f"{name}.npy")
             for name in ("y", "sum", "not_kept", "total")}  # fmt: skip
    assert found["y"].tolist() == [[1.5, 2.5], [3, 4]]
    assert found["sum"].dtype == np.int64 and found["sum"].tolist() == [11, 2**40 + 2]
    assert found["not_kept"].dtype == np.bool_ and found["not_kept"].tolist() == [False, True]
    assert found["total"].tolist() == [[1.5, 2.5], [3.5, 4.5]]


def test_unnamed_results_are_numbered(tmp_path):
    path = write(tmp_path / "m.gf", "model m(x: [B]) -> ([B], [B]) {\n  return x, 2 * x\n}\n")
    x = npy(tmp_path / "x.npy", np.array([3], np.float32))
    assert gatefold("run", path, "--input", x).out.splitlines() == [
        "output0  f32[1]  least 3.000000  mean 3.000000  largest 3.000000",
        "  3.000000",
        "output1  f32[1]  least 6.000000  mean 6.000000  largest 6.000000",
        "  6.000000",
    ]


def test_empty_and_scalar_results(tmp_path):
    path = write(tmp_path / "m.gf", "model m(x: [B]) -> ([B], []) {\n  return x, sum(x)\n}\n")
    x = npy(tmp_path / "x.npy", np.zeros(0, np.float32))
    assert gatefold("run", path, "--input", x).out.splitlines() == [
        "output0  f32[0]  empty",
        "output1  f32[]  least 0.000000  mean 0.000000  largest 0.000000",
        "  0.000000",
    ]


def test_a_failed_run_leaves_old_results(small):
    folder = small.parent
    write(folder / "y.npy", "old")
    refusal(
        "run", small, "--weights", weights(folder),
        "--input", f"x={npy(folder / 'x.npy', np.zeros((2, 4), np.float32))}",
        "--output", f"output={folder / 'y.npy'}",
    )  # fmt: skip
    assert (folder / "y.npy").read_text() == "old"
    assert files(folder) == ["small.gf", "w.safetensors", "x.npy", "y.npy"]


def test_a_result_that_cannot_be_written(small):
    folder = small.parent
    path = folder / "none" / "y.npy"
    assert str(path) in run_small(small, "--output", f"output={path}", status=1).err
    taken = write(folder / "taken", "")
    assert str(taken) in run_small(small, "--output-dir", taken, status=1).err


def test_a_result_of_another_name(small):
    """Said before anything is computed: the inputs are not even missed."""
    message = refusal("run", small, "--output", "outptu=y.npy")
    assert "the program has no result `outptu`\nhint: did you mean `output`?" in message
    assert "hint: its results: output\n" in refusal("run", small, "--output", "zzz=y.npy")


def test_json(small):
    run = run_small(small, "--json", "--timing")
    document = run.json
    (result,) = document["results"]
    assert result == {
        "name": "output",
        "element": "f32",
        "shape": [3, 2],
        "least": -4.5,
        "mean": pytest.approx(5 / 6),
        "largest": 15,
        "values": [-2, -4.5, 15, -3.5, 0, 0],
    }
    assert document["messages"] == [
        {"severity": "note", "message": "parameter `gain` is not in the weights: it is 1"}
    ]
    assert {"parse", "check", "import", "cpu", "emit"} <= set(document["timing"])
    assert run.err == ""


def test_json_of_a_fault(small):
    document = gatefold("run", small, "--json", status=1).json
    (message,) = document["messages"]
    assert message["severity"] == "error"
    assert "no weights are given" in message["message"]
    assert "--seed N" in message["hint"]


def test_json_of_a_text_with_errors(tmp_path):
    path = write(tmp_path / "m.gf", SMALL.replace("gain *", "gaim *"))
    document = gatefold("run", path, "--json", status=1).json
    (diagnostic,) = document["diagnostics"]
    assert (diagnostic["line"], diagnostic["column"]) == (3, 10)
    assert diagnostic["hints"] == ["did you mean `gain`?"]


def test_json_has_no_infinities(tmp_path):
    path = write(tmp_path / "m.gf", "model m(x: [B]) -> [B] {\n  return x\n}\n")
    x = npy(tmp_path / "x.npy", np.array([np.inf, -np.inf, np.nan], np.float32))
    run = gatefold("run", path, "--input", x, "--json")
    document = json.loads(run.out, parse_constant=lambda name: pytest.fail(name))
    assert document["results"][0]["values"] == ["inf", "-inf", "nan"]


def test_timing(small):
    err = run_small(small, "--timing").err
    lines = [line.split() for line in err.splitlines() if line.endswith(" ms")]
    names = [line[0] for line in lines]
    assert names == [
        "parse", "check", "import", "simplify", "fuse", "schedule", "tile", "split",
        "bufferize", "cpu", "emit", "total",
    ]  # fmt: skip
    times = [float(line[1]) for line in lines]
    assert sum(times[:-1]) == pytest.approx(times[-1], abs=0.7)


# Entries that are no models.


def test_a_func_takes_its_leads_from_the_inputs(tmp_path):
    path = write(
        tmp_path / "f.gf",
        "func scaled(x: [M], by: []) -> [M] {\n  return by * x\n}\n",
    )
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    by = np.array([1, 2, 3], np.float32)
    y = tmp_path / "y.npy"
    gatefold(
        "run", path, "--entry", "scaled", "--input", f"x={npy(tmp_path / 'x.npy', x)}",
        "--input", f"by={npy(tmp_path / 'by.npy', by)}", "--output", f"output={y}",
    )  # fmt: skip
    assert (np.load(y) == x * by[:, None]).all()
    message = refusal(
        "run", path, "--entry", "scaled", "--lead", "1", "--input", f"x={tmp_path / 'x.npy'}",
        "--input", f"by={tmp_path / 'by.npy'}",
    )  # fmt: skip
    assert "`x` has 3 dimensions, expected 2: [B, M]" in message


def test_a_cell_with_lengths(tmp_path):
    path = write(
        tmp_path / "c.gf",
        "cell adder(x: [H]) -> [H] {\n  state h: [H]\n  h' = h + x\n  return h'\n}\n",
    )
    x = npy(tmp_path / "x.npy", np.ones((2, 3, 1), np.float32))
    run = gatefold("run", path, "--entry", "adder", "--input", x)
    assert "1.000000 2.000000 3.000000 1.000000 2.000000 3.000000" in run.out
    lengths = npy(tmp_path / "lengths.npy", np.array([1, 2], np.int64))
    run = gatefold("run", path, "--entry", "adder", "--input", x, "--input", lengths)
    assert "1.000000 0.000000 0.000000 1.000000 2.000000 0.000000" in run.out
    assert "h  f32[2, 1]" in run.out


def test_an_attention_with_a_mask(tmp_path):
    path = write(
        tmp_path / "a.gf",
        "attention even(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {\n"
        "  return softmax(0 * (q @ k.T)) @ v\n}\n",
    )
    q = npy(tmp_path / "q.npy", np.ones((2, 1, 2), np.float32))
    k = npy(tmp_path / "k.npy", np.ones((2, 2, 2), np.float32))
    v = npy(tmp_path / "v.npy", np.array([[[1], [3]], [[10], [30]]], np.float32))
    options = ["--entry", "even", "--input", q, "--input", k, "--input", v]
    assert "  2.000000 20.000000\n" in gatefold("run", path, *options).out
    mask = npy(tmp_path / "mask.npy", np.array([[[True, False]], [[False, True]]]))
    run = gatefold("run", path, *options, "--input", mask)
    assert "  1.000000 30.000000\n" in run.out
    causal = gatefold("run", path, *options, "--arg", "causal=true", "--arg", "offset=0").out
    assert "  1.000000 10.000000\n" in causal


# Where it runs.


def test_threads(small):
    one = run_small(small, "--threads", "1")
    for threads in "2", "7":
        assert run_small(small, "--threads", threads).out == one.out
    assert "--threads is at most 1024, found 2000" in run_small(
        small, "--threads", "2000", status=2
    ).err


def test_naive_gives_the_same(small):
    assert run_small(small, "--naive").out == run_small(small).out


def test_fast_math_changes_no_arithmetic_on_a_cpu(small):
    assert run_small(small, "--fast-math").out == run_small(small).out


@pytest.mark.parametrize(
    "schedule",
    [
        "recurrence.algorithm=naive",
        "recurrence.step_rows=1",
        "recurrence.step_rows=5,attention.query_block=2",
        "attention.algorithm=naive",
        "attention.query_block=65536",
        "attention.algorithm=online",
    ],
)
def test_schedules_agree(tmp_path, schedule):
    """Whatever is chosen, the numbers are those of the naive lowering."""
    text = write(
        tmp_path / "m.gf",
        """import cells, attention

model m(x: [B, T, 4]) -> [B, T, 4] {
  param rnn: gru(H=4)
  y, _ = scan(rnn, x)
  return dot_product(y, y, y)
}
""",
    )
    options = ["run", text, "--seed", "3", "--dim", "B=3,T=7"]
    gatefold(*options, "--naive", "--output", f"output={tmp_path / 'naive.npy'}")
    gatefold(*options, "--schedule", schedule, "--output", f"output={tmp_path / 'y.npy'}")
    expected = np.load(tmp_path / "naive.npy")
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-5, atol=1e-6)


def test_code_for_another_machine(small):
    run = run_small(small, "--target", "aarch64", status=1)
    if os.uname().machine == "x86_64":
        assert "the compiled object cannot be loaded: " in run.err
        assert "hint: this machine may not be of the kind that --target names" in run.err
    message = run_small(small, "--target", "x86-64-v99", status=2).err
    assert "--target x86-64-v99: no processor" in message
