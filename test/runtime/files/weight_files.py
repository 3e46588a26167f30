# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs gatefold-files, and makes files byte by byte for it."""

import io
import json
import os
import pathlib
import struct
import subprocess
import zipfile

import numpy as np

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", REPOSITORY / "build"))
PROGRAMS = pathlib.Path(os.environ.get("GATEFOLD_BIN", BUILD / "bin"))


def run(*arguments):
    """One run; a crash or a hang fails the test here."""
    done = subprocess.run(
        [PROGRAMS / "gatefold-files", *map(str, arguments)],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode in (0, 1), (done.returncode, done.stderr[-4000:])
    return done


def read(path):
    """The tensors of a file that must be readable, by name."""
    done = run(path)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: line for line in lines}


def names(path):
    done = run("--names", path)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def refusal(*arguments):
    """The message for a file that must be refused."""
    done = run(*arguments)
    assert done.returncode == 1, "not refused: " + repr(done.stdout[:500])
    text = done.stderr.decode("utf-8", "surrogateescape")
    assert text.startswith("error: "), text
    return text


def refuse(path, data):
    """The message for a file of these bytes, which must be refused and named."""
    path.write_bytes(data)
    text = refusal(path)
    assert str(path) in text
    return text


def checksum(data):
    """FNV-1a, as the tool prints it."""
    result = 0xCBF29CE484222325
    for byte in data:
        result = (result ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return "%016x" % result


ELEMENTS = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "boolean",
}

SAFETENSORS_TYPES = {
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "bool": "BOOL",
}


def assert_same(line, array, element=None):
    data = np.ascontiguousarray(array).tobytes()
    assert line["element"] == (element or ELEMENTS[array.dtype.name])
    assert line["shape"] == list(array.shape)
    assert line["bytes"] == len(data)
    assert line["checksum"] == checksum(data)


def sample(dtype, shape=(2, 3)):
    count = int(np.prod(shape))
    if dtype == "bool":
        return (np.arange(count) % 2 == 0).reshape(shape)
    return (np.arange(count) * 3 + 1).astype(dtype).reshape(shape)


def safetensors_bytes(header, data=b""):
    """A safetensors file of a header, given as an object, text or bytes."""
    if not isinstance(header, (str, bytes)):
        header = json.dumps(header)
    if isinstance(header, str):
        header = header.encode()
    return struct.pack("<Q", len(header)) + header + data


def safetensors_of(arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        begin = len(data)
        data += array.tobytes()
        header[name] = {
            "dtype": SAFETENSORS_TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [begin, len(data)],
        }
    return safetensors_bytes(header, data)


def npy_of(array, version=None):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=version, allow_pickle=True)
    return stream.getvalue()


def npy_bytes(dictionary, data=b"", version=(1, 0)):
    """An npy file of a dictionary, given as text."""
    if isinstance(dictionary, str):
        dictionary = dictionary.encode()
    pack = "<H" if version[0] == 1 else "<I"
    return (
        b"\x93NUMPY" + bytes(version) + struct.pack(pack, len(dictionary)) + dictionary + data
    )


def dictionary(descr="'<f4'", order="False", shape="(2,)"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape)


def zip_of(members, compression=zipfile.ZIP_STORED):
    """A zip archive of (name, bytes) pairs, names as they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return stream.getvalue()


def patch(data, old, new, count):
    """Replaces bytes that must stand exactly `count` times."""
    assert len(old) == len(new) and data.count(old) == count
    return data.replace(old, new)
