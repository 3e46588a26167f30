# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The writers: what they write reads back, and failures leave nothing behind."""

import json
import os
import resource
import signal
import struct
import subprocess

import numpy as np
import pytest

from weight_files import (
    ELEMENTS,
    PROGRAMS,
    assert_same,
    read,
    refusal,
    run,
    safetensors_bytes,
    safetensors_of,
    sample,
)


def everything():
    arrays = {dtype: sample(dtype, (3, 5)) for dtype in ELEMENTS}
    arrays["scalar"] = np.float32(2.5).reshape(())
    arrays["empty"] = np.zeros((0, 4), "float32")
    arrays['größe "x"\n'] = sample("uint8", (3,))
    return arrays


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.safetensors"
    path.write_bytes(safetensors_of(everything()))
    return path


def listing(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_npy_of_every_type(tmp_path, source):
    for name, array in everything().items():
        target = tmp_path / "out.npy"
        assert run("--to-npy", target, name, source).returncode == 0
        loaded = np.load(target, allow_pickle=False)
        assert loaded.dtype == array.dtype and loaded.shape == array.shape
        assert loaded.tobytes() == array.tobytes()
    assert listing(tmp_path) == ["in.safetensors", "out.npy"]


def test_npy_data_is_aligned(tmp_path, source):
    target = tmp_path / "out.npy"
    run("--to-npy", target, "float64", source)
    assert (target.stat().st_size - 3 * 5 * 8) % 64 == 0


def test_npy_of_bfloat16_is_widened(tmp_path):
    values = np.random.default_rng(1).normal(size=100001).astype("float32")
    narrow = (values.view("uint32") >> 16).astype("uint16")
    source = tmp_path / "in.safetensors"
    header = {"w": {"dtype": "BF16", "shape": [100001], "data_offsets": [0, 200002]}}
    source.write_bytes(safetensors_bytes(header, narrow.tobytes()))
    target = tmp_path / "out.npy"
    assert run("--to-npy", target, "w", source).returncode == 0
    loaded = np.load(target)
    assert loaded.dtype == np.float32
    assert (loaded.view("uint32") == narrow.astype("uint32") << 16).all()


def test_safetensors_of_every_type(tmp_path, source):
    target = tmp_path / "out.safetensors"
    assert run("--to-safetensors", target, source).returncode == 0
    lines = read(target)
    arrays = everything()
    assert sorted(lines) == sorted(arrays)
    for name, array in arrays.items():
        assert_same(lines[name], array)
    assert listing(tmp_path) == ["in.safetensors", "out.safetensors"]


def test_safetensors_layout(tmp_path, source):
    """Read by hand: aligned, no holes, metadata is there."""
    target = tmp_path / "out.safetensors"
    run("--to-safetensors", target, source)
    data = target.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    assert header.pop("__metadata__") == {"producer": "gatefold"}
    reached = 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert begin == reached
        array = everything()[name]
        assert begin % array.itemsize == 0
        assert data[8 + length + begin : 8 + length + end] == array.tobytes()
        reached = end
    assert 8 + length + reached == len(data)


def test_safetensors_in_place(tmp_path, source):
    """The mapped input is replaced, not overwritten."""
    assert run("--to-safetensors", source, source).returncode == 0
    assert sorted(read(source)) == sorted(everything())


def test_overwrite(tmp_path, source):
    target = tmp_path / "out.npy"
    target.write_bytes(b"old")
    assert run("--to-npy", target, "int8", source).returncode == 0
    assert np.load(target).dtype == np.int8


def test_respects_the_file_mode_mask(tmp_path, source):
    old = os.umask(0o027)
    try:
        target = tmp_path / "out.npy"
        run("--to-npy", target, "int8", source)
    finally:
        os.umask(old)
    assert target.stat().st_mode & 0o777 == 0o640


def test_through_a_link(tmp_path, source):
    (tmp_path / "folder").mkdir()
    real = tmp_path / "folder" / "real.npy"
    real.write_bytes(b"old")
    link = tmp_path / "out.npy"
    link.symlink_to(real)
    assert run("--to-npy", link, "int8", source).returncode == 0
    assert link.is_symlink() and np.load(real).dtype == np.int8


def test_duplicate_name(tmp_path, source):
    target = tmp_path / "out.safetensors"
    assert "duplicate name" in refusal("--to-safetensors", target, source, source)
    assert listing(tmp_path) == ["in.safetensors"]


def test_name_that_is_not_utf8(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    with open(os.path.join(os.fsencode(folder), b"\xff.npy"), "wb") as file:
        np.save(file, sample("int8"))
    target = tmp_path / "out.safetensors"
    assert "the name is not UTF-8" in refusal("--to-safetensors", target, folder)
    assert not target.exists()


def test_reserved_name(tmp_path):
    np.save(tmp_path / "__metadata__.npy", sample("int8"))
    target = tmp_path / "out.safetensors"
    text = refusal("--to-safetensors", target, tmp_path)
    assert "the format does not allow this name" in text


def test_missing_folder(tmp_path, source):
    text = refusal("--to-npy", tmp_path / "none" / "out.npy", "int8", source)
    assert "cannot create a file in its folder: No such file" in text


def test_target_that_is_a_folder(tmp_path, source):
    (tmp_path / "out.npy").mkdir()
    text = refusal("--to-npy", tmp_path / "out.npy", "int8", source)
    assert "expected a regular file or none, found a folder" in text
    assert listing(tmp_path) == ["in.safetensors", "out.npy"]


def test_target_that_is_a_fifo(tmp_path, source):
    os.mkfifo(tmp_path / "out.npy")
    assert "found a fifo" in refusal("--to-npy", tmp_path / "out.npy", "int8", source)


def test_target_that_is_a_device(tmp_path, source):
    """Also behind a link; a rename would replace the device."""
    assert "found a device" in refusal("--to-npy", "/dev/null", "int8", source)
    (tmp_path / "out.npy").symlink_to("/dev/null")
    assert "found a device" in refusal("--to-npy", tmp_path / "out.npy", "int8", source)


def test_target_that_is_a_broken_link(tmp_path, source):
    (tmp_path / "out.npy").symlink_to("none")
    text = refusal("--to-npy", tmp_path / "out.npy", "int8", source)
    assert "cannot follow the symbolic link" in text


@pytest.mark.parametrize("kind", ["npy", "safetensors"])
def test_no_space_left(tmp_path, kind):
    """A limit on the file's size stands for a full disk."""
    source = tmp_path / "in.npy"
    np.save(source, np.zeros(1 << 16, "float32"))
    target = tmp_path / ("out." + kind)
    target.write_bytes(b"old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    names = ["--to-npy", target, "in", source]
    if kind == "safetensors":
        names = ["--to-safetensors", target, source]
    done = subprocess.run(
        [PROGRAMS / "gatefold-files", *map(str, names)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=60,
    )
    assert done.returncode == 1
    assert "cannot write: File too large" in done.stderr
    assert target.read_bytes() == b"old"
    assert listing(tmp_path) == ["in.npy", "out." + kind]
