# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights from files: what is missing, misspelt, misshapen or too much."""

import json

import numpy as np
import pytest
from driver import SMALL, WEIGHT, X, Y, gatefold, npy, refusal, safetensors, write


class Model:
    """SMALL and an input, to be run with weights."""

    def __init__(self, folder, text=SMALL):
        self.folder = folder
        self.text = write(folder / "m.gf", text)
        self.x = npy(folder / "x.npy", X)

    def options(self, files):
        options = ["run", self.text, "--input", f"x={self.x}"]
        for file in files:
            options += ["--weights", file]
        return options

    def run(self, *files, options=(), status=0):
        return gatefold(*self.options(files), *options, status=status)

    def refusal(self, *files, options=()):
        return refusal(*self.options(files), *options)

    def output(self, *files, options=()):
        path = self.folder / "y.npy"
        self.run(*files, options=[*options, "--output", f"output={path}"])
        return np.load(path)

    def weights(self, name="w.safetensors", **arrays):
        return safetensors(self.folder / name, arrays)


@pytest.fixture
def model(tmp_path):
    return Model(tmp_path)


GAIN = np.array([2, -1], np.float32)


def test_none_are_given(model):
    message = model.refusal()
    assert "gatefold: error: the program has 2 parameters and no weights are given\n" in message
    assert "hint: --weights FILE, or --seed N for random ones\n" in message


def test_none_are_needed(tmp_path):
    text = "model m(x: [B, 3]) -> [B, 3] {\n  param gain: [3] = 2\n  return gain * x\n}\n"
    model = Model(tmp_path, text)
    run = model.run()
    assert "note: parameter `gain` is not in the weights: it is 2\n" in run.err
    assert (model.output() == 2 * X).all()


def test_defaults_are_noted(model):
    run = model.run(model.weights(weight=WEIGHT))
    assert run.err == "gatefold: note: parameter `gain` is not in the weights: it is 1\n"
    run = model.run(model.weights(weight=WEIGHT, gain=GAIN))
    assert run.err == ""
    assert (model.output(model.folder / "w.safetensors") == GAIN * Y).all()


def test_missing(model):
    message = model.refusal(model.weights(gain=GAIN))
    assert message == "gatefold: error: parameter `weight` [2, 3] is not in the weights\n"


def test_misspelt(model):
    message = model.refusal(model.weights(wieght=WEIGHT, gain=GAIN))
    assert "error: parameter `weight` [2, 3] is not in the weights\n" in message
    assert "hint: did you mean `wieght`?\n" in message
    assert "warning: " in message and "no parameter is named `wieght`\n" in message
    assert "hint: did you mean `weight`?\n" in message


def test_a_misspelt_default_is_a_warning(model):
    run = model.run(model.weights(weight=WEIGHT, gaim=GAIN))
    assert "note: parameter `gain` is not in the weights: it is 1\n" in run.err
    assert "no parameter is named `gaim`\nhint: did you mean `gain`?\n" in run.err


def test_unclaimed(model):
    """Whatever their type; the result does not change."""
    path = model.weights(weight=WEIGHT, gain=GAIN, steps=np.array(3, np.int64))
    run = model.run(path)
    assert run.err == f"gatefold: warning: {path}: no parameter is named `steps`\n"
    assert (model.output(path) == GAIN * Y).all()


def test_many_unclaimed(model):
    more = {f"other.{i}": GAIN for i in range(30)}
    run = model.run(model.weights(weight=WEIGHT, gain=GAIN, **more))
    assert run.err.count("no parameter is named") == 20
    assert "10 more tensors of the weights are no parameters\n" in run.err


@pytest.mark.parametrize("shape", [(3, 2), (2, 4), (6,), (1, 2, 3), ()])
def test_wrong_shapes(model, shape):
    path = model.weights(weight=np.zeros(shape, np.float32), gain=GAIN)
    found = "[" + ", ".join(map(str, shape)) + "]"
    assert model.refusal(path) == (
        f"gatefold: error: parameter `weight` is {found} in the weights, expected [2, 3]\n"
    )


def test_all_faults_are_told(model):
    path = model.weights(weight=np.zeros((3, 2), np.float32), gain=np.zeros(2, np.int32))
    message = model.refusal(path)
    assert "parameter `weight` is [3, 2] in the weights, expected [2, 3]" in message
    assert f"{path}: parameter `gain` is i32, expected f32" in message


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.bool_])
def test_integers_are_no_floats(model, dtype):
    path = model.weights(weight=WEIGHT.astype(dtype), gain=GAIN)
    kind = {"int32": "i32", "int64": "i64", "bool": "bool"}[np.dtype(dtype).name]
    assert f"{path}: parameter `weight` is {kind}, expected f32\n" in model.refusal(path)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_floats_convert(model, dtype):
    path = model.weights(weight=WEIGHT.astype(dtype), gain=GAIN.astype(dtype))
    assert (model.output(path) == GAIN * Y).all()


def test_bf16_converts(model):
    """0x3f80 is 1 in bf16, 0xc000 is -2."""
    header = {"weight": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}
    text = json.dumps(header).encode()
    data = np.array([0x3F80, 0xC000, 0, 0, 0, 0x3F80], "<u2").tobytes()
    path = write(model.folder / "w.safetensors", len(text).to_bytes(8, "little") + text + data)
    expected = X @ np.array([[1, -2, 0], [0, 0, 1]], np.float32).T
    assert (model.output(path) == expected).all()


def test_later_files_win(model):
    first = model.weights("1.safetensors", weight=WEIGHT, gain=GAIN)
    second = model.weights("2.safetensors", gain=10 * GAIN)
    assert (model.output(first, second) == 10 * GAIN * Y).all()
    assert (model.output(second, first) == GAIN * Y).all()


# Kinds of files.


def test_npz(model):
    np.savez(model.folder / "w.npz", weight=WEIGHT, gain=GAIN)
    assert (model.output(model.folder / "w.npz") == GAIN * Y).all()
    np.savez_compressed(model.folder / "w.npz", weight=WEIGHT, gain=GAIN)
    assert (model.output(model.folder / "w.npz") == GAIN * Y).all()


def test_unclaimed_members_of_an_npz_are_not_opened(model):
    path = model.folder / "w.npz"
    np.savez(path, weight=WEIGHT, gain=GAIN, pickled=np.array([{}], object))
    run = model.run(path)
    assert run.err == f"gatefold: warning: {path}: no parameter is named `pickled`\n"


def test_a_folder(model):
    folder = model.folder / "weights"
    folder.mkdir()
    npy(folder / "weight.npy", WEIGHT)
    npy(folder / "gain.npy", GAIN)
    assert (model.output(folder) == GAIN * Y).all()


def test_a_sharded_checkpoint(model):
    model.weights("part-1.safetensors", weight=WEIGHT)
    model.weights("part-2.safetensors", gain=GAIN)
    shards = {"weight": "part-1.safetensors", "gain": "part-2.safetensors"}
    index = write(
        model.folder / "w.safetensors.index.json",
        json.dumps({"metadata": {"total_size": 32}, "weight_map": shards}),
    )
    assert (model.output(index) == GAIN * Y).all()
    (model.folder / "part-2.safetensors").unlink()
    assert "part-2.safetensors" in model.refusal(index)


@pytest.mark.parametrize("name", ["w.safetensors", "w.npz", "w.safetensors.index.json", "w.pt"])
def test_files_that_cannot_be_read(model, name):
    path = model.folder / name
    assert f"{path}: " in model.refusal(path)
    write(path, "not weights")
    assert f"{path}: " in model.refusal(path)


def test_bytes_behind_the_last_tensor(model):
    path = model.weights(weight=WEIGHT)
    write(path, path.read_bytes() + b"\0")
    assert "after the last tensor" in model.refusal(path)


def test_a_cut_file(model):
    path = model.weights(weight=WEIGHT)
    write(path, path.read_bytes()[:-1])
    message = model.refusal(path)
    assert str(path) in message and "hint: the file may be cut short\n" in message
    document = model.run(path, options=["--json"], status=1).json
    assert document["messages"][0]["hint"] == "the file may be cut short"
    assert "hint" not in document["messages"][0]["message"]


# Names.


def test_strip(model):
    path = model.weights(**{"module.weight": WEIGHT, "module.gain": GAIN})
    message = model.refusal(path)
    assert message.count("error: ") == 1
    assert "error: parameter `weight` [2, 3] is not in the weights\n" in message
    assert "hint: in the weights the names begin with `module.`: give --strip module.\n" in message
    assert (model.output(path, options=["--strip", "module."]) == GAIN * Y).all()


def test_strip_leaves_other_names(model):
    path = model.weights(**{"module.weight": WEIGHT, "gain": GAIN})
    assert (model.output(path, options=["--strip", "module."]) == GAIN * Y).all()


def test_strip_is_not_offered_where_it_would_not_help(model):
    """One of the names is not there even with the prefix."""
    text = SMALL.replace("gain: [2] = 1", "gain: [2]")
    write(model.text, text)
    message = model.refusal(model.weights(**{"module.weight": WEIGHT}))
    assert "--strip" not in message
    assert message.count("error: ") == 2


def test_a_prefix_that_nothing_has(model):
    run = model.run(model.weights(weight=WEIGHT, gain=GAIN), options=["--strip", "modul."])
    assert run.err == "gatefold: warning: no name in the weights begins with `modul.`\n"


def test_the_hint_about_layers(tmp_path):
    text = (
        "import cells\n"
        "model m(x: [T, 3]) -> [T, 2] {\n"
        "  param rnn: lstm(H=2)\n"
        "  y, _ = scan(rnn, x)\n"
        "  return y\n"
        "}\n"
    )
    model = Model(tmp_path, text)
    arrays = {
        "rnn.weight_ih": np.zeros((8, 3), np.float32),
        "rnn.weight_hh": np.zeros((8, 2), np.float32),
        "rnn.bias_ih": np.zeros(8, np.float32),
        "rnn.bias_hh": np.zeros(8, np.float32),
    }
    assert (model.output(model.weights(**arrays)) == 0).all()
    path = model.weights(**{f"{name}_l0": array for name, array in arrays.items()})
    message = model.refusal(path)
    assert "parameter `rnn.weight_ih` [8, 3] is not in the weights\n" in message
    assert "`rnn.weight_ih_l0`: write `lstm(H=.., layers=1)`\n" in message
    write(model.text, text.replace("H=2", "H=2, layers=1"))
    assert (model.output(path) == 0).all()


# Seeds.


def test_a_seed_makes_what_is_missing(model):
    path = model.weights(weight=WEIGHT)
    assert (model.output(path, options=["--seed", "1"]) == Y).all()  # gain has its default
    path = model.weights(gain=np.zeros(2, np.float32))
    assert (model.output(path, options=["--seed", "1"]) == 0).all()
