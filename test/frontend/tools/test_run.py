# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold run: inputs, results, comparisons."""

import json
import os

import numpy as np
import pytest
from driver import (
    CHECK_FAILED,
    SMALL,
    TABLE,
    WEIGHT,
    X,
    Y,
    files,
    gatefold,
    npy,
    refusal,
    safetensors,
    weights,
    write,
)


def run_small(small, *options, **more):
    """SMALL with WEIGHT and X."""
    folder = small.parent
    return gatefold(
        "run", small, "--weights", weights(folder), "--input", f"x={npy(folder / 'x.npy', X)}",
        *options, **more,
    )  # fmt: skip


def mixed_inputs(folder, **changes):
    """The options that give MIXED its inputs, two rows each."""
    arrays = {
        "x": np.array([[1, 2], [3, 4]], np.float32),
        "narrow": np.array([1, 2], np.int32),
        "wide": np.array([10, 2**40], np.int64),
        "keep": np.array([True, False]),
    }
    arrays.update(changes)
    options = []
    for name, array in arrays.items():
        if array is not None:
            options += ["--input", f"{name}={npy(folder / f'{name}.npy', array)}"]
    return options


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


# Inputs.


def test_inputs_by_file_name_and_npz(small):
    folder = small.parent
    w = weights(folder)
    npy(folder / "x.npy", X)
    np.savez(folder / "all.npz", x=X)
    safetensors(folder / "all.safetensors", {"x": X})
    outs = {
        gatefold("run", small, "--weights", w, "--input", folder / name).out
        for name in ("x.npy", "all.npz", "all.safetensors")
    }
    outs.add(run_small(small).out)
    assert len(outs) == 1


def test_a_later_input_wins(small):
    folder = small.parent
    zero = npy(folder / "zero.npy", np.zeros((1, 3), np.float32))
    run = run_small(small, "--input", f"x={zero}")
    assert run.out.splitlines()[1].split() == ["0.000000", "0.000000"]


def test_a_state_is_an_input(mixed):
    folder = mixed.parent
    total = npy(folder / "total.npy", np.full((2, 2), 100, np.float32))
    run = gatefold("run", mixed, *mixed_inputs(folder), "--input", f"total={total}")
    assert "101.000000 102.000000 103.000000 104.000000" in run.out


def test_no_input_of_that_name(small):
    x = npy(small.parent / "x.npy", X)
    message = refusal("run", small, "--seed", "1", "--input", f"xx={x}")
    assert "the program has no input `xx`\nhint: did you mean `x`?\n" in message
    other = npy(small.parent / "other.npy", X)
    run = gatefold("run", small, "--seed", "1", "--dim", "B=1", "--input", other)
    assert f"gatefold: warning: {other}: no input is named `other`\n" in run.err


def test_a_missing_input(small):
    message = refusal("run", small, "--weights", weights(small.parent))
    assert "the input `x` is not given\n" in message
    assert "hint: --input x=FILE.npy, or --seed N for random inputs\n" in message


def test_several_tensors_for_one_input(small):
    np.savez(small.parent / "two.npz", x=X, z=X)
    path = small.parent / "two.npz"
    message = refusal("run", small, "--seed", "1", "--input", f"x={path}")
    assert f"{path} holds 2 tensors, expected one for the input `x`\n" in message
    assert "hint: give the file without NAME=\n" in message
    run = gatefold("run", small, "--seed", "1", "--input", path)
    assert "no input is named `z`" in run.err


@pytest.mark.parametrize("name", ["none.npy", "none.npz", "none.safetensors"])
def test_an_input_file_that_is_not_there(small, name):
    path = small.parent / name
    assert f"{path}: cannot open: " in refusal("run", small, "--seed", "1", "--input", f"x={path}")


def test_an_input_file_that_is_broken(small):
    path = write(small.parent / "x.npy", b"\x93NUMPY\x01\x00\xff\xff")
    assert f"{path}: " in refusal("run", small, "--seed", "1", "--input", path)
    objects = npy(small.parent / "o.npy", np.array([{}], object))
    message = refusal("run", small, "--seed", "1", "--input", f"x={objects}")
    assert "pickle" in message and "hint: convert it with" in message


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ">f4"])
def test_floats_convert(small, dtype):
    if dtype == ">f4":
        x = npy(small.parent / "x.npy", X.astype(dtype))
        message = refusal("run", small, "--seed", "1", "--input", f"x={x}")
        assert "big-endian" in message
        return
    x = npy(small.parent / "x.npy", X.astype(dtype))
    run = gatefold("run", small, "--weights", weights(small.parent), "--input", f"x={x}")
    assert run.out == run_small(small).out


def test_floats_round_once(tmp_path):
    path = write(tmp_path / "m.gf", "model m(x: [B]) -> [B] {\n  return x\n}\n")
    values = np.array([1 + 2**-24, 1 + 2**-24 + 2**-40, 1e300, -0.0, np.pi])
    x = npy(tmp_path / "x.npy", values)
    gatefold("run", path, "--input", x, "--output", f"output={tmp_path / 'y.npy'}")
    with np.errstate(over="ignore"):
        expected = values.astype(np.float32)
    assert np.load(tmp_path / "y.npy").tobytes() == expected.tobytes()


def test_an_f64_model(small):
    folder = small.parent
    x = npy(folder / "x64.npy", X.astype(np.float64) + 1e-12)
    y = folder / "y.npy"
    gatefold(
        "run", small, "--float", "f64", "--weights", weights(folder),
        "--input", f"x={x}", "--output", f"output={y}",
    )  # fmt: skip
    found = np.load(y)
    assert found.dtype == np.float64
    expected = (X.astype(np.float64) + 1e-12) @ WEIGHT.T.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_integers_convert(mixed, dtype):
    folder = mixed.parent
    run = gatefold("run", mixed, *mixed_inputs(
        folder, narrow=np.array([5, 7], dtype), wide=np.array([20, 100], dtype)))  # fmt: skip
    assert "  25 107\n" in run.out


@pytest.mark.parametrize(
    "name, array, words",
    [
        ("narrow", np.array([1, 2**31], np.int64), "value number 1 does not fit i32"),
        ("narrow", np.array([-(2**31) - 1, 0], np.int64), "value number 0 does not fit i32"),
        ("narrow", np.array([0, 2**32 - 1], np.uint32), "value number 1 does not fit i32"),
        ("wide", np.array([0, 2**63], np.uint64), "value number 1 does not fit i64"),
        ("x", np.zeros((2, 2), np.int32), " is i32, expected f32"),
        ("x", np.zeros((2, 2), np.bool_), " expected f32"),
        ("narrow", np.zeros(2, np.float32), " is f32, expected i32"),
        ("narrow", np.zeros(2, np.bool_), " expected i32"),
        ("keep", np.zeros(2, np.int64), " is i64, expected bool"),
        ("keep", np.zeros(2, np.uint8), " is u8, expected bool"),
        ("keep", np.zeros(2, np.float32), " is f32, expected bool"),
    ],
)
def test_what_does_not_convert(mixed, name, array, words):
    folder = mixed.parent
    message = refusal("run", mixed, *mixed_inputs(folder, **{name: array}))
    assert f"gatefold: error: {folder / name}.npy: input `{name}`" in message
    assert words in message


def test_extreme_integers_fit(mixed):
    folder = mixed.parent
    run = gatefold("run", mixed, *mixed_inputs(
        folder,
        narrow=np.array([2**31 - 1, -(2**31)], np.int64),
        wide=np.array([2**63 - 2**31, 0], np.uint64)))  # fmt: skip
    y = folder / "sum.npy"
    gatefold("run", mixed, *mixed_inputs(
        folder,
        narrow=np.array([2**31 - 1, -(2**31)], np.int64),
        wide=np.array([2**63 - 2**31, 0], np.uint64)), "--output", f"sum={y}")  # fmt: skip
    assert np.load(y).tolist() == [2**63 - 1, -(2**31)]
    assert "sum  i64[2]" in run.out


# Data at fault.


@pytest.mark.parametrize(
    "shape, words",
    [
        ((2, 4), "`x` is [2, 4], expected [B, 3] with B=2 from `x`"),
        ((3,), "`x` has 1 dimension, expected 2: [B, 3]"),
        ((2, 3, 1), "`x` has 3 dimensions, expected 2: [B, 3]"),
    ],
)
def test_wrong_shapes(small, shape, words):
    x = npy(small.parent / "x.npy", np.zeros(shape, np.float32))
    message = refusal("run", small, "--weights", weights(small.parent), "--input", f"x={x}")
    assert f"gatefold: error: {words}\n" in message


def test_sizes_that_disagree(mixed):
    message = refusal("run", mixed, *mixed_inputs(mixed.parent, wide=np.zeros(5, np.int64)))
    assert "`wide` is [5], expected [B] with B=2 from `x`" in message


@pytest.mark.parametrize("index", [-1, 5, 2**62])
def test_an_index_out_of_range(tmp_path, index):
    path = write(tmp_path / "m.gf", TABLE)
    i = npy(tmp_path / "i.npy", np.array([0, 4, index], np.int64))
    message = refusal("run", path, "--seed", "1", "--input", i)
    assert f"`i`[2] is {index}, expected 0..4" in message


# Seeds.


def test_seeds_make_what_is_missing(small):
    out = {
        seed: gatefold("run", small, "--seed", seed, "--dim", "B=4").out for seed in ("1", "1", "2")
    }
    assert out["1"] != out["2"]
    assert out["1"] == gatefold("run", small, "--seed", "1", "--dim", "B=4").out
    # What is given is not made.
    w = gatefold("init", small, "--seed", "1", "-o", small.parent / "w.safetensors")
    assert w.err == ""
    x = npy(small.parent / "x.npy", X)
    with_seed = gatefold("run", small, "--seed", "1", "--input", f"x={x}").out
    with_file = gatefold(
        "run", small, "--weights", small.parent / "w.safetensors", "--input", f"x={x}"
    ).out
    assert with_seed == with_file


def test_random_inputs(tmp_path):
    """Floats of unit variance, indices within their table."""
    path = write(tmp_path / "m.gf", "model m(x: [B]) -> ([], []) {\n"
                 "  return mean(x), mean(x * x)\n}\n")  # fmt: skip
    document = gatefold("run", path, "--seed", "5", "--dim", "B=20000", "--json").json
    mean, square = (r["values"][0] for r in document["results"])
    assert abs(mean) < 0.03 and abs(square - 1) < 0.05
    path = write(tmp_path / "table.gf", TABLE)
    gatefold("run", path, "--seed", "5", "--dim", "N=500")


def test_an_unknown_size(small):
    message = refusal("run", small, "--seed", "1")
    assert "the size of B is not known from the inputs\nhint: give --dim B=...\n" in message


def test_states_start_as_declared(mixed):
    run = gatefold("run", mixed, *mixed_inputs(mixed.parent, x=np.zeros((2, 2), np.float32)))
    assert "total  f32[2, 2]  least 0.500000  mean 0.500000  largest 0.500000" in run.out


# Comparing.


def test_compares(small):
    folder = small.parent
    np.savez(folder / "e.npz", output=Y.astype(np.float64), other=np.zeros(3))
    run = run_small(small, "--compare", folder / "e.npz")
    assert run.out.startswith("output: agrees, largest difference 0")
    document = run_small(small, "--compare", folder / "e.npz", "--json").json
    assert document["compared"] == [{"name": "output", "differing": 0, "largest": 0}]


@pytest.mark.parametrize(
    "change, agrees",
    [
        (np.float64(1e-5), True),
        (np.float64(1.2e-5), True),  # of 15: 1e-5 + 1.3e-6 * 15
        (np.float64(4e-5), False),
        (np.inf, False),
        (np.nan, False),
    ],
)
def test_tolerance(small, change, agrees):
    folder = small.parent
    expected = Y.astype(np.float64)
    expected[1, 0] += change
    np.savez(folder / "e.npz", output=expected)
    run = run_small(small, "--compare", folder / "e.npz", status=0 if agrees else CHECK_FAILED)
    if not agrees:
        assert run.err.splitlines()[-1].startswith("output: 1 of 6 values differ, largest ")
        assert run.err.endswith("at value number 2\n")
        document = run_small(small, "--compare", folder / "e.npz", "--json", status=3).json
        assert document["compared"][0]["differing"] == 1


def test_a_nan_is_the_largest_difference(small):
    folder = small.parent
    expected = Y.astype(np.float64)
    expected[0, 0] = np.nan
    expected[2, 1] = 1000
    np.savez(folder / "e.npz", output=expected)
    run = run_small(small, "--compare", folder / "e.npz", status=CHECK_FAILED)
    assert run.err.endswith("at value number 0\n")


def test_an_expected_nan_agrees(tmp_path):
    path = write(tmp_path / "m.gf", "model m(x: [B]) -> [B] {\n  return x\n}\n")
    values = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    x = npy(tmp_path / "x.npy", values)
    np.savez(tmp_path / "e.npz", output=values)
    gatefold("run", path, "--input", x, "--compare", tmp_path / "e.npz")


def test_comparing_integers_is_exact(mixed):
    folder = mixed.parent
    options = mixed_inputs(folder)
    np.savez(folder / "e.npz", sum=np.array([11, 2**40 + 2]), not_kept=np.array([False, True]))
    gatefold("run", mixed, *options, "--compare", folder / "e.npz")
    np.savez(folder / "e.npz", sum=np.array([11, 2**40 + 3]))
    gatefold("run", mixed, *options, "--compare", folder / "e.npz", status=CHECK_FAILED)


def test_comparisons_that_cannot_be_made(small):
    folder = small.parent
    np.savez(folder / "e.npz", output=Y[:2])
    run = run_small(small, "--compare", folder / "e.npz", status=CHECK_FAILED)
    assert "result `output` is [3, 2], expected [2, 2]" in run.err
    np.savez(folder / "e.npz", outptu=Y)
    run = run_small(small, "--compare", folder / "e.npz", status=1)
    assert f"{folder / 'e.npz'} holds none of the results" in run.err
    np.savez(folder / "e.npz", output=Y.astype(np.int64))
    run = run_small(small, "--compare", folder / "e.npz", status=1)
    assert "result `output` is i64, expected f64" in run.err
    run = run_small(small, "--compare", folder / "none.npz", status=1)
    assert "cannot open" in run.err


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
    assert "2000 threads are more than 1024" in run_small(
        small, "--threads", "2000", status=1
    ).err


def test_naive_gives_the_same(small):
    assert run_small(small, "--naive").out == run_small(small).out


def test_fast_math_changes_nothing_on_a_cpu(small):
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


# Libraries.
