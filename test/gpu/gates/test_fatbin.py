# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a library for GPUs says of its kernels is what its images hold."""

import collections
import ctypes
import os
import pathlib
import shutil
import struct
import subprocess

import cubin
import fatbin
import occupancy
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", REPOSITORY / "build"))
TARGETS = ("sm_80", "sm_90a")
WORD = 8  # bytes of a parameter

TEXT = """import attention
model m(x: [B, T, 24], n: i64[B]) -> [B, T, 16] {
  param w: linear(N=16)
  y = w(x)
  return dot_product(y, y, y, lengths=n)
}
"""
Stated = collections.namedtuple("Stated", "part name threads shared_bytes words")


def symbol(path, name):
    """The value of a symbol of a library, also of one that is not exported."""
    data = path.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQII", data, table + i * size) for i in range(count)]
    for _, kind, _, _, offset, length, link, _ in headers:
        for place in range(offset, offset + length, 24) if kind == cubin.SYMBOLS else ():
            title, _, _, _, value = struct.unpack_from("<IBBHQ", data, place)
            if cubin.text_at(data, headers[link][4] + title) == name:
                return value
    raise KeyError(name)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The images of a library by target, and what it says of their kernels."""
    compiler = shutil.which("cc")
    if not compiler or not shutil.which("ptxas") or not shutil.which("fatbinary"):
        pytest.skip("no C compiler or no CUDA toolkit")
    folder = tmp_path_factory.mktemp("fatbin")
    (folder / "m.gf").write_text(TEXT)
    command = [BUILD / "bin" / "gatefold", "compile", folder / "m.gf", "-o", folder / "libm.so"]
    for target in ("native", *TARGETS):
        command += ["--target", target]
    subprocess.run(command, check=True, capture_output=True)
    writer = folder / "variants.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-I", REPOSITORY,
         pathlib.Path(__file__).with_name("variants.c"), "-o", writer],
        check=True,
    )  # fmt: skip
    loaded = ctypes.CDLL(folder / "libm.so")
    known = ctypes.cast(loaded.m_describe, ctypes.c_void_p).value
    path = folder / "libm.so"
    description = known - symbol(path, "m_describe") + symbol(path, "m_gatefold_description")
    write = ctypes.CDLL(writer).write_variants
    assert write(ctypes.c_void_p(description), str(folder).encode()) == 0
    stated = collections.defaultdict(list)
    for line in (folder / "kernels").read_text().splitlines():
        target, part, name, *numbers = line.split()
        stated[target].append(Stated(part, name, *map(int, numbers)))
    return {
        target: (fatbin.entries((folder / f"{target}.image").read_bytes()), kernels)
        for target, kernels in stated.items()
    }


def test_targets(library):
    assert tuple(library) == TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_entries(library, target):
    """Machine code, and PTX for newer GPUs, both for what was asked for."""
    entries, _ = library[target]
    number = int(target.removeprefix("sm_").removesuffix("a"))
    assert [(entry.kind, entry.architecture) for entry in entries] == [
        (fatbin.CUBIN, number),
        (fatbin.PTX, number),
    ]
    assert fatbin.architecture_of(entries[0].data) == number
    assert len(entries[1].data) > 0


@pytest.mark.parametrize("target", TARGETS)
def test_launches(library, target):
    """Names, parameters, threads and shared memory of each kernel."""
    entries, stated = library[target]
    found = fatbin.kernels(entries[0].data)
    assert [kernel.part for kernel in stated] == ["run", "prepare"]
    assert set(found) == {kernel.name for kernel in stated}
    assert max(kernel.shared_bytes for kernel in stated) > 0
    for kernel in stated:
        code = found[kernel.name]
        assert code.parameter_bytes == WORD * kernel.words
        assert code.threads == kernel.threads
        most = occupancy.CHIPS[target].block_shared_bytes
        assert code.static_shared_bytes + kernel.shared_bytes <= most


def test_what_is_no_fatbin():
    header = struct.pack("<IHHQ", fatbin.MAGIC, 1, 16, 100)
    for data in (b"", b"\x7fELF" + bytes(20), header):
        with pytest.raises(ValueError, match="no fatbin"):
            fatbin.entries(data)
