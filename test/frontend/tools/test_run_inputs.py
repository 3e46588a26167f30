# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold run: inputs, how they convert, data at fault, and what a seed makes."""

import numpy as np
import pytest
from driver import (
    TABLE,
    WEIGHT,
    X,
    gatefold,
    mixed_inputs,
    npy,
    refusal,
    run_small,
    safetensors,
    weights,
    write,
)


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


def test_states_start_as_declared(mixed):
    run = gatefold("run", mixed, *mixed_inputs(mixed.parent, x=np.zeros((2, 2), np.float32)))
    assert "total  f32[2, 2]  least 0.500000  mean 0.500000  largest 0.500000" in run.out


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


# Conversions.


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
