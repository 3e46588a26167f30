# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gatefold run --compare`: tolerances, and comparisons that cannot be made."""

import numpy as np
import pytest
from driver import CHECK_FAILED, Y, gatefold, mixed_inputs, npy, run_small, write


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


def test_tolerances_of_the_user(small):
    folder = small.parent
    np.savez(folder / "e.npz", output=Y + np.array([[0.5], [0.5], [0]]))
    compare = ["--compare", folder / "e.npz"]
    run_small(small, *compare, status=CHECK_FAILED)
    run_small(small, *compare, "--atol", "0.5")
    run_small(small, *compare, "--atol", "0.49", status=CHECK_FAILED)
    run_small(small, *compare, "--rtol", "1")
    run_small(small, *compare, "--rtol", "1e-1", status=CHECK_FAILED)
    run_small(small, *compare, "--rtol", "0.03", "--atol", "4.9e-1")
    # Also less than those of the type.
    np.savez(folder / "e.npz", output=Y * (1 + 1e-6))
    run_small(small, *compare)
    run_small(small, *compare, "--rtol", "0", "--atol", "0", status=CHECK_FAILED)


def test_tolerances_that_are_none(small):
    compare = ["--compare", small.parent / "e.npz"]
    for text in "-1", "x", "nan", "inf":
        message = run_small(small, *compare, f"--atol={text}", status=2).err
        assert f"--atol takes a number that is not negative, found `{text}`" in message
    message = run_small(small, "--rtol", "1", status=2).err
    assert "--rtol and --atol are for --compare alone" in message


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
