# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--device cuda`: on a driver whose GPU is the emulator, and where there is none."""

import os

import numpy as np
import pytest
from driver import (
    BUILD,
    COMMAND_LINE_FAULT,
    INPUT_FAULT,
    WEIGHT,
    X,
    Y,
    gatefold,
    npy,
    refusal,
    weights,
    write,
)

FAKE = BUILD / "test" / "cuda" / "fake"
CUDA = ["--device", "cuda"]
needs_fake = pytest.mark.skipif(not FAKE.exists(), reason="the driver for tests is not built")

# A state, lengths that are checked, a recurrence.
MEAN = """import cells
model smooth(x: [B, T, 3], lengths: i64[B]) -> (y: [B, T, 4]) {
  state total: [B, 4] = 0.5
  param rnn: gru(H=4)
  h, _ = scan(rnn, x, lengths=lengths)
  total' = total + sum(h, axis=1)
  return h
}
"""


def environment(kernels="", settings="", folder=FAKE):
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(folder),
        "GATEFOLD_FAKE_GPU": settings,
        "GATEFOLD_FAKE_KERNELS": str(kernels),
    }


def kernels(text, *options, target="sm_90"):
    """The kernels as LLVM IR, which the driver for tests executes in place of its image."""
    path = text.with_suffix(".ll")
    gatefold("compile", text, "--target", target, *options, "--emit", "llvm", "-o", path)
    return path


@pytest.fixture
def smooth(tmp_path):
    return write(tmp_path / "smooth.gf", MEAN)


# Without a GPU.


def check_fallback(tmp_path, program, environment, reason):
    """The CPU computes, and one line says why."""
    np.savez(tmp_path / "y.npz", output=Y)
    run = gatefold(
        "run", program, *CUDA, "--weights", weights(tmp_path),
        "--input", npy(tmp_path / "x.npy", X), "--compare", tmp_path / "y.npz", env=environment,
    )  # fmt: skip
    (line,) = [line for line in run.err.splitlines() if "cuda" in line.lower()]
    assert line.startswith(f"gatefold: warning: --device cuda: {reason}")
    assert line.endswith("; the CPU computes")


def test_without_a_driver(small, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("no library")
    check_fallback(
        tmp_path, small, environment(folder=tmp_path), "no GPU: the CUDA driver cannot be opened: "
    )


@needs_fake
@pytest.mark.parametrize(
    "settings, reason",
    [
        ("count=0", "no GPU: the CUDA driver finds none"),
        ("initialise=34", "no GPU: libcuda.so.1 is the stub of a CUDA toolkit, no driver"),
        ("capability=75", "there are no kernels for Fake GPU (sm_75)"),
        ("cooperative=0", "no GPU: Fake GPU (sm_90) cannot launch blocks that wait for each other"),
    ],
)
def test_a_gpu_that_cannot_be_used(small, tmp_path, settings, reason):
    check_fallback(tmp_path, small, environment(settings=settings), reason)


@needs_fake
def test_a_library_for_other_gpus(small, tmp_path):
    gatefold("compile", small, "--target", "sm_90", "-o", tmp_path / "libsmall.so")
    check_fallback(
        tmp_path,
        tmp_path / "libsmall.so",
        environment(settings="capability=86"),
        "no kernels for Fake GPU (sm_86): the program has kernels for sm_90",
    )


def test_as_json(small, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("no library")
    run = gatefold(
        "run", small, *CUDA, "--seed", "1", "--dim", "B=2", "--json",
        env=environment(folder=tmp_path),
    )  # fmt: skip
    (message,) = run.json["messages"]
    assert message["severity"] == "warning" and message["message"].startswith("--device cuda: no")
    assert run.json["results"]


def test_a_library_without_code_for_gpus(small_library):
    message = refusal("run", small_library / "libsmall.so", *CUDA, status=INPUT_FAULT)
    assert "libsmall.so has no code for GPUs\nhint: compile it for some: --target native" in message


def test_command_line_faults(small):
    message = refusal("bench", small, *CUDA, "--target", "x86-64-v3", status=COMMAND_LINE_FAULT)
    assert "--device cuda: --target x86-64-v3 is no GPU\nhint: --target sm_80" in message


# With one.


def compute(program, folder, *options, **arguments):
    folder.mkdir()
    run = gatefold(
        "run", program, "--seed", "3", "--output-dir", folder, *options, timeout=300, **arguments
    )
    assert "the CPU computes" not in run.err
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


@needs_fake
@pytest.mark.parametrize("blocks", ["blocks=1 multiprocessors=1", "multiprocessors=3"])
def test_a_text(smooth, tmp_path, blocks):
    sizes = ["--dim", "B=3,T=5"]
    image = kernels(smooth, *sizes)
    expected = compute(smooth, tmp_path / "cpu", *sizes)
    found = compute(
        smooth, tmp_path / "cuda", *sizes, *CUDA, "--target", "sm_90",
        env=environment(image, blocks),
    )  # fmt: skip
    assert sorted(found) == sorted(expected) == ["total", "y"]
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1.3e-6, atol=1e-5)


@needs_fake
def test_a_library(smooth, tmp_path):
    """Its kernels are those of the GPU that is there, at any sizes."""
    image = kernels(smooth)
    library = tmp_path / "libsmooth.so"
    gatefold("compile", smooth, "--target", "sm_80", "--target", "sm_90", "-o", library)
    for sizes in ("B=3,T=5", "B=1,T=1", "B=2,T=0"):
        expected = compute(library, tmp_path / f"cpu {sizes}", "--dim", sizes)
        found = compute(
            library, tmp_path / f"cuda {sizes}", "--dim", sizes, *CUDA, env=environment(image)
        )
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, rtol=1.3e-6, atol=1e-5)


@needs_fake
def test_embedded_weights(small, tmp_path):
    """They serve whatever computes, and stand in the library once."""
    image = kernels(small)
    library = tmp_path / "libsmall.so"
    gatefold("compile", small, "--target", "sm_90", "--weights", weights(tmp_path), "-o", library)
    np.savez(tmp_path / "y.npz", output=Y)
    gatefold(
        "run", library, *CUDA, "--input", npy(tmp_path / "x.npy", X),
        "--compare", tmp_path / "y.npz", env=environment(image),
    )  # fmt: skip
    assert library.read_bytes().count(WEIGHT.tobytes()) == 1


@needs_fake
def test_values_out_of_range(smooth, tmp_path):
    image = kernels(smooth, "--dim", "B=2,T=5")
    message = refusal(
        "run", smooth, *CUDA, "--target", "sm_90", "--seed", "1", "--dim", "B=2,T=5",
        "--input", npy(tmp_path / "lengths.npy", np.array([5, 9])), env=environment(image),
    )  # fmt: skip
    assert "`lengths`[1] is 9, expected 0..5" in message


@needs_fake
def test_bench(smooth):
    sizes = ["--dim", "B=2,T=3"]
    image = kernels(smooth, *sizes)
    options = [*CUDA, "--target", "sm_90", *sizes]
    found = gatefold("bench", smooth, *options, "--json", env=environment(image)).json
    assert found["gpu"] == "Fake GPU (sm_90), kernels for sm_90"
    assert found["median_s"] > 0 and found["runs_per_round"] >= 1 and found["flops"] > 0
    assert "threads" not in found and "peak_flops" not in found
    lines = gatefold("bench", smooth, *options, env=environment(image)).out.splitlines()
    assert lines[0] == "GPU        Fake GPU (sm_90), kernels for sm_90"
    assert lines[2].endswith("TFLOP/s")
