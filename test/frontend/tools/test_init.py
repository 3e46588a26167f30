# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gatefold init."""

import numpy as np
from driver import SMALL, files, gatefold, read_safetensors, refusal, write


def test_writes_every_parameter(small):
    path = small.parent / "w.safetensors"
    run = gatefold("init", small, "-o", path)
    assert run.out == f"{path}: 2 parameters, 8 values\n"
    found = read_safetensors(path)
    assert {name: (a.dtype.name, a.shape) for name, a in found.items()} == {
        "weight": ("float32", (2, 3)),
        "gain": ("float32", (2,)),
    }
    assert (found["gain"] == 1).all()
    assert (abs(found["weight"]) < 1 / np.sqrt(3)).all()
    assert files(small.parent) == ["small.gf", "w.safetensors"]


def test_the_spread(tmp_path):
    """Uniform within ±1/√K, K the last dimension: bounds, mean, variance."""
    path = write(
        tmp_path / "m.gf",
        "model m(x: [B, 100]) -> [B, 300] {\n  param w: [300, 100]\n  return x @ w.T\n}\n",
    )
    gatefold("init", path, "-o", tmp_path / "w.safetensors", "--seed", "3")
    w = read_safetensors(tmp_path / "w.safetensors")["w"].astype(np.float64)
    assert abs(w).max() < 0.1 and abs(w).max() > 0.0999
    assert abs(w.mean()) < 0.001
    assert abs(w.var() / (0.1**2 / 3) - 1) < 0.02


def test_seeds(small):
    folder = small.parent

    def made(name, *options, text=small):
        gatefold("init", text, "-o", folder / f"{name}.safetensors", *options)
        return (folder / f"{name}.safetensors").read_bytes()

    assert made("a", "--seed", "7") == made("b", "--seed", "7")
    assert made("a", "--seed", "7") != made("c", "--seed", "8")
    assert made("a", "--seed", "0") == made("d")
    # One parameter more changes no other.
    more = write(folder / "more.gf", SMALL.replace("param", "param extra: [2, 3],").replace(
        "weight.T", "weight.T + x @ extra.T"))
    made("a", "--seed", "7")
    made("e", "--seed", "7", text=more)
    one, two = (read_safetensors(folder / f"{n}.safetensors") for n in "ae")
    assert (one["weight"] == two["weight"]).all()
    assert (two["extra"] != two["weight"]).any()


def test_float_type(small):
    path = small.parent / "w.safetensors"
    gatefold("init", small, "-o", path, "--float", "f64")
    assert read_safetensors(path)["weight"].dtype == np.float64


def test_json(small):
    path = small.parent / "w.safetensors"
    document = gatefold("init", small, "-o", path, "--json").json
    assert document == {"file": str(path), "parameters": 2, "values": 8}


def test_needs_known_dimensions(tmp_path):
    path = write(
        tmp_path / "m.gf",
        "model m(x: [B, M]) -> [B, 2] {\n  param w: [2, M]\n  return x @ w.T\n}\n",
    )
    assert "M" in refusal("init", path, "-o", tmp_path / "w.safetensors")
    gatefold("init", path, "-o", tmp_path / "w.safetensors", "--dim", "M=5")
    assert read_safetensors(tmp_path / "w.safetensors")["w"].shape == (2, 5)


def test_a_file_that_cannot_be_written(small):
    folder = small.parent
    path = folder / "none" / "w.safetensors"
    assert str(path) in refusal("init", small, "-o", path)
    taken = folder / "w.safetensors"
    taken.mkdir()
    assert str(taken) in refusal("init", small, "-o", taken)
    assert files(folder) == ["small.gf"]


def test_a_library(small_library, tmp_path):
    """A library tells its parameters as the text does."""
    for source, name in ((small_library / "libsmall.so", "a"), (small_library / "small.gf", "b")):
        gatefold("init", source, "-o", tmp_path / f"{name}.safetensors", "--seed", "1")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_more_values_than_memory(tmp_path):
    path = write(
        tmp_path / "m.gf",
        "model m(x: [B]) -> [B] {\n  param w: [1000000000000, 1000000000]\n  return x + w[0, 0]\n}\n",
    )
    message = refusal("init", path, "-o", tmp_path / "w.safetensors", timeout=20)
    assert message
    assert files(tmp_path) == ["m.gf"]


def test_parameters_that_nothing_reads(tmp_path):
    """Those of the text are those of what is compiled, by either path; all are given."""
    model = write(
        tmp_path / "m.gf",
        "cell steps(x: [2]) -> [2] {\n  state h: [2]\n  param w: [2, 2], dead: [2] = 3\n"
        "  z = dead * 2\n  h' = tanh(w @ x + h)\n  return h'\n}\n"
        "model m(x: [T, 2]) -> [T, 2] {\n"
        "  param never: [3], none: [0, 3], rnn: steps(), fc: linear(N=1)\n"
        "  y, _ = scan(rnn, x)\n  unused = fc(y)\n  return y + sum(never[:0])\n}\n",
    )
    names = ["never", "none", "rnn.w", "rnn.dead", "fc.weight", "fc.bias"]
    (entry,) = [e for e in gatefold("check", model, "--json").json["files"][0]["entries"] if e["name"] == "m"]
    assert [p["name"] for p in entry["parameters"]] == names
    weights = tmp_path / "w.safetensors"
    gatefold("init", model, "-o", weights)
    assert set(read_safetensors(weights)) == set(names)
    np.save(tmp_path / "x.npy", np.ones((4, 2), np.float32))
    found = []
    for path in ([], ["--naive"]):
        library = tmp_path / "libm.so"
        gatefold("compile", model, "-o", library, *path)
        for program in (model, library):
            options = path if program == model else []
            result = tmp_path / "y.npy"
            run = gatefold("run", program, "--weights", weights, "--input", f"x={tmp_path / 'x.npy'}",
                           "--output", f"output={result}", *options)  # fmt: skip
            assert run.err == ""
            found.append(np.load(result))
        made = gatefold("init", library, "-o", tmp_path / "of_library.safetensors")
        assert made.out.endswith(": 6 parameters, 12 values\n")
        assert (tmp_path / "of_library.safetensors").read_bytes() == weights.read_bytes()
    for each in found[1:]:
        np.testing.assert_allclose(each, found[0], rtol=2e-6)
