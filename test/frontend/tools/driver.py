# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs gatefold, and makes the texts and files that the tests give it."""

import json
import os
import pathlib
import struct
import subprocess

import numpy as np

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", REPOSITORY / "build"))
GATEFOLD = BUILD / "bin" / "gatefold"

DONE, INPUT_FAULT, COMMAND_LINE_FAULT, CHECK_FAILED = 0, 1, 2, 3

# output = gain * (x @ weight.T)
SMALL = """model small(x: [B, 3]) -> [B, 2] {
  param weight: [2, 3], gain: [2] = 1
  return gain * (x @ weight.T)
}
"""
WEIGHT = np.array([[1, 2, 3], [-4, 5, 0.5]], np.float32)
X = np.array([[1, 0, -1], [2, 0.5, 4], [0, 0, 0]], np.float32)
Y = X @ WEIGHT.T

# Every element type, a state, and named results.
MIXED = """model mixed(x: [B, 2], narrow: i32[B], wide: i64[B], keep: bool[B]) -> (
    y: [B, 2], sum: i64[B], not_kept: bool[B]) {
  state total: [B, 2] = 0.5
  total' = total + x
  return where(keep[:, None], total', x), i64(narrow) + wide, not keep
}
"""

# A table whose rows are asked for.
TABLE = """model table(i: i64[N]) -> [N, 2] {
  param rows: embedding(V=5, N=2)
  return rows(i)
}
"""

RECURRENCE_AND_ATTENTION = """import cells, attention

model m(x: [B, T, 4]) -> [B, T, 4] {
  param rnn: gru(H=4)
  y, _ = scan(rnn, x)
  return dot_product(y, y, y)
}
"""

# What every library defines, after its name and an underscore.
FUNCTIONS = {
    "describe", "create", "destroy", "message", "prepare", "context_create",
    "context_destroy", "context_message", "result_shapes", "workspace_size",
    "initial_state", "run",
}  # fmt: skip


class Run:
    """One run of the program, its output as text."""

    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode("utf-8", "surrogateescape")
        self.err = done.stderr.decode("utf-8", "surrogateescape")

    @property
    def json(self):
        return json.loads(self.out)


def gatefold(*arguments, status=DONE, timeout=60, cwd=None, env=None):
    """One run, which must end with `status`; a crash or a hang fails here."""
    run = Run(
        subprocess.run(
            [GATEFOLD, *map(str, arguments)],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            cwd=cwd,
            env=env,
        )
    )
    assert run.status == status, (run.status, run.out[-2000:], run.err[-4000:])
    return run


def refusal(*arguments, status=INPUT_FAULT, **options):
    """What standard error holds for a command line that must be refused; nothing
    may stand on standard output."""
    run = gatefold(*arguments, status=status, **options)
    assert run.out == ""
    return run.err


def write(path, contents):
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return path


def npy(path, array):
    np.save(path, array)
    return path


TYPES = {
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "int32": "I32",
    "int64": "I64",
    "bool": "BOOL",
}


def safetensors(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        begin = len(data)
        data += np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header).encode()
    return write(path, struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    kinds = {name: dtype for dtype, name in TYPES.items()}
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[8 + length + begin : 8 + length + end], kinds[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def weights(folder, **arrays):
    """Weights of SMALL, or those given."""
    return safetensors(folder / "w.safetensors", arrays or {"weight": WEIGHT})


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


def files(folder):
    """The names of all files below a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
