# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of 16-bit floats: run, compare, weights, rounding."""

import json

import numpy as np
import pytest
from driver import CHECK_FAILED, X, Y, gatefold, npy, run_small, safetensors, weights, write


@pytest.mark.parametrize("element, kind, tolerance", [("f16", np.float16, 1e-3), ("bf16", np.float32, 8e-3)])
def test_a_model_of_16_bits(small, element, kind, tolerance):
    """Files of f32 are rounded to it; a result of bf16 is written as f32."""
    folder = small.parent
    run = run_small(small, "--float", element, "--output", f"output={folder / 'y.npy'}")
    assert run.out == ""
    found = np.load(folder / "y.npy")
    assert found.dtype == kind
    assert np.allclose(found.astype(np.float64), Y, rtol=tolerance, atol=0)
    document = json.loads(run_small(small, "--float", element, "--json").out)
    assert [r["element"] for r in document["results"]] == [element]


@pytest.mark.parametrize("element, far", [("f16", 1.003), ("bf16", 1.02)])
def test_compares_by_the_tolerance_of_16_bits(small, element, far):
    folder = small.parent
    near = npy_folder(folder / "near", output=Y * 1.0008)
    run = run_small(small, "--float", element, "--compare", near)
    assert run.out.startswith("output: agrees")
    other = npy_folder(folder / "other", output=Y * far)
    run_small(small, "--float", element, "--compare", other, status=CHECK_FAILED)
    run_small(small, "--compare", near, status=CHECK_FAILED)


def npy_folder(folder, **arrays):
    folder.mkdir()
    for name, array in arrays.items():
        npy(folder / f"{name}.npy", np.asarray(array, np.float64))
    return folder


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_embedded_weights_of_16_bits(small, element):
    folder = small.parent
    library = folder / f"lib{element}.so"
    gatefold("compile", small, "--float", element, "-o", library, "--weights", weights(folder))
    run = gatefold("run", library, "--input", f"x={npy(folder / 'x.npy', X)}")
    assert run.out.splitlines()[0].startswith(f"output  {element}[3, 2]  least -4.500000")


@pytest.mark.parametrize("element, letter", [("f16", "F16"), ("bf16", "BF16")])
def test_init_writes_16_bits_that_run_reads(small, element, letter):
    folder = small.parent
    path = folder / "made.safetensors"
    gatefold("init", small, "--float", element, "-o", path)
    header = path.read_bytes()
    assert header.count(f'"dtype":"{letter}"'.encode()) == 2
    x = f"x={npy(folder / 'x.npy', X)}"
    gatefold("run", small, "--float", element, "--weights", path, "--input", x)
    # A model of f32 takes the same file.
    gatefold("run", small, "--weights", path, "--input", x)


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_files_round_once_to_nearest_even(tmp_path, element, source):
    """All numbers of 16 bits, the middles between them, and what is next to those."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    if element == "f16":
        numbers = bits.view(np.float16).astype(np.float64)
    else:
        numbers = (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        # Smaller ones are taken as 0.
        numbers = numbers[abs(numbers) >= 2.0**-126]
    numbers = np.unique(numbers[np.isfinite(numbers)])
    middles = (numbers[1:] + numbers[:-1]) / 2
    kept = abs(middles) >= (2.0**-126 if element == "bf16" else 0)
    middles, low, high = middles[kept], numbers[:-1][kept], numbers[1:][kept]
    path = write(tmp_path / "m.gf", f"model m(x: {element}[N]) -> {element}[N] {{\n  return x\n}}\n")

    def through(values):
        x = npy(tmp_path / "x.npy", values.astype(source))
        gatefold("run", path, "--input", f"x={x}", "--output", f"output={tmp_path / 'y.npy'}")
        return np.load(tmp_path / "y.npy").astype(np.float64)

    special = np.array([np.inf, -np.inf, np.nan, 1e38])
    found = through(np.concatenate([numbers, special]))
    assert (found[: len(numbers)] == numbers).all()
    assert list(found[len(numbers) : -2]) == [np.inf, -np.inf] and np.isnan(found[-2])
    assert np.isinf(found[-1]) == (element == "f16")
    step = np.spacing(abs(middles).astype(source)).astype(np.float64)
    assert (through(middles - step) == low).all() and (through(middles + step) == high).all()
    even = through(middles)
    assert ((even == low) | (even == high)).all()
    # A number between two others, then the even one of its neighbours.
    order = np.searchsorted(numbers, even)
    first = np.searchsorted(numbers, 0.0)
    # From 0, or from the first number of bf16 that is not denormal, they take turns.
    places = order[middles > 0] - first
    assert not (places % 2).any()
