# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single npy files, and folders of them."""

import os

import numpy as np
import pytest

from weight_files import (
    ELEMENTS,
    assert_same,
    dictionary,
    names,
    npy_bytes,
    npy_of,
    read,
    refusal,
    refuse,
    run,
    sample,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "w.npy"


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_every_type(path, dtype):
    array = sample(dtype)
    np.save(path, array)
    lines = read(path)
    assert list(lines) == ["w"]
    assert_same(lines["w"], array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version(path, version):
    array = sample("float32")
    path.write_bytes(npy_of(array, version))
    assert_same(read(path)["w"], array)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (1,) * 32])
def test_shapes(path, shape):
    array = sample("float64", shape)
    np.save(path, array)
    assert_same(read(path)["w"], array)


@pytest.mark.parametrize("shape", [(5,), (2, 3), (4, 3, 2), (2, 1, 3, 2), (0, 3)])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "bool"])
def test_column_major(path, shape, dtype):
    array = sample(dtype, shape)
    np.save(path, np.asfortranarray(array))
    assert_same(read(path)["w"], array)


def test_unaligned_data(path):
    array = sample("float64", (2,))
    path.write_bytes(npy_bytes(dictionary("'<f8'"), array.tobytes()))
    assert_same(read(path)["w"], array)


def test_dictionary_in_other_order_and_spacing(path):
    text = '{"shape":(2,),"descr":"<f4","fortran_order":False}'
    path.write_bytes(npy_bytes(text, bytes(8)))
    assert read(path)["w"]["shape"] == [2]


def test_objects(path):
    text = refuse(path, npy_of(np.array([{}, []], dtype=object)))
    assert "Python objects (pickle) is refused" in text
    assert "hint: " in text


def test_structured(path):
    text = refuse(path, npy_of(np.zeros(2, [("a", "<f4"), ("b", "<i4")])))
    assert "structured element types are not supported" in text
    text = refuse(path, npy_bytes(dictionary("('<f4', (2,))"), bytes(8)))
    assert "structured element types are not supported" in text


def test_raw_bytes(path):
    text = refuse(path, npy_of(np.zeros(2, "V2")))
    assert "(raw bytes) is not supported" in text and "bfloat16" in text


def test_big_endian(path):
    text = refuse(path, npy_of(np.zeros(2, ">f4")))
    assert 'element type ">f4" is big-endian' in text
    assert '.astype("<f4")' in text


@pytest.mark.parametrize("dtype", ["complex64", "U3", "S3", "M8[s]", "longdouble"])
def test_unsupported_types(path, dtype):
    assert "is not supported" in refuse(path, npy_of(np.zeros(2, dtype)))


@pytest.mark.parametrize("descr", ["''", "'f'", "'f4'", "'<'", "'<f44444444444444444444'", "'=f4'", "'|f4'"])
def test_types_that_are_not_valid(path, descr):
    text = refuse(path, npy_bytes(dictionary(descr), bytes(8)))
    assert "is not valid" in text or "is not supported" in text or "no byte order" in text


@pytest.mark.parametrize("version", [(0, 0), (4, 0), (1, 1), (255, 255)])
def test_unknown_version(path, version):
    text = refuse(path, npy_bytes(dictionary(), bytes(8), version))
    assert "npy version %d.%d is not supported" % version in text


@pytest.mark.parametrize("data", [b"", b"\x93", b"\x93NUMPX" + bytes(200), bytes(100), b"PK\3\4"])
def test_no_magic(path, data):
    assert "magic" in refuse(path, data)


def test_header_too_long(path):
    data = b"\x93NUMPY\2\0\xff\xff\xff\xff" + bytes(100)
    assert "exceeds the limit of 65548" in refuse(path, data)


def test_header_longer_than_the_file(path):
    assert "cut short within the npy header" in refuse(path, b"\x93NUMPY\1\0\xff\xff{}\n")


def test_header_empty(path):
    assert "the npy header is empty" in refuse(path, b"\x93NUMPY\1\0\0\0" + bytes(10))


@pytest.mark.parametrize(
    "text, message",
    [
        ("()", "expected '{'"),
        ("{}  ", 'key "descr" is missing'),
        ("{'descr': '<f4', 'shape': (2,)}", 'key "fortran_order" is missing'),
        ("{'descr': '<f4', 'fortran_order': False}", 'key "shape" is missing'),
        ("{'descr': '<f4', 'descr': '<f4'}", 'duplicate key "descr"'),
        ("{'other': 1}", 'unknown key "other"'),
        ("{descr: '<f4'}", "expected a key in quotes"),
        ("{'descr' '<f4'}", "expected ':'"),
        ("{'descr': '<f4' 'shape': (2,)}", "expected ',' or '}'"),
        ("{'descr': <f4}", "expected an element type in quotes"),
        ("{'descr': '<f4}", "expected an element type in quotes"),
        ("{'descr': '\\x3cf4'}", "expected an element type in quotes"),
        ("{'fortran_order': 0}    ", "expected True or False"),
        ("{'shape': [2]}    ", "expected a tuple of whole numbers"),
        ("{'shape': (2)}    ", "expected ',' after a single dimension"),
        ("{'shape': (-1,)}    ", "expected a whole number in the shape"),
        ("{'shape': (,)}    ", "expected a whole number in the shape"),
        ("{'shape': (2,,3)}    ", "expected a whole number in the shape"),
        ("{'shape': (2 3)}    ", "expected ',' or ')'"),
        ("{'shape': (2.0,)}    ", "expected ',' or ')'"),
        ("{'shape': ((2,),)}    ", "expected a whole number in the shape"),
        ("{'shape': (" + "(" * 60000, "expected a whole number in the shape"),
        ("{'shape': (9223372036854775808,)}", "a dimension of the shape overflows"),
        ("{'shape': (99999999999999999999999999,)}", "a dimension of the shape overflows"),
        ("{'shape': (" + "1," * 33 + ")}", "rank exceeds the limit of 32"),
        (dictionary() + "x", "expected only spaces after '}'"),
        (dictionary() + "\0", "expected only spaces after '}'"),
        ("{'descr\0': '<f4'}", "unknown key"),
    ],
    ids=lambda value: value[:20],
)
def test_dictionary(path, text, message):
    assert message in refuse(path, npy_bytes(text, bytes(8)))


@pytest.mark.parametrize("shape", ["(4611686018427387904, 4)", "(9223372036854775807,)", "(0, 4611686018427387904, 4)"])
def test_size_overflow(path, shape):
    assert "overflows" in refuse(path, npy_bytes(dictionary(shape=shape)))


def test_size_far_beyond_the_file(path):
    text = refuse(path, npy_bytes(dictionary(shape="(1099511627776,)"), bytes(8)))
    assert "expected 4398046511104 bytes for f32 of shape [1099511627776], found 8" in text


def test_column_major_size_far_beyond_the_file(path):
    text = refuse(path, npy_bytes(dictionary(order="True", shape="(1048576, 1048576)")))
    assert "expected 4398046511104 bytes" in text


def test_too_long(path):
    text = refuse(path, npy_of(sample("float32", (2,))) + b"x")
    assert "expected 8 bytes for f32 of shape [2], found 9" in text


def test_cut_short_at_every_byte(path):
    whole = npy_of(sample("float32", (2,)))
    path.write_bytes(whole)
    read(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refusal(path)


def test_every_byte_changed(path):
    whole = npy_of(sample("float32", (2,)))
    for position in range(len(whole)):
        for value in (0, 0x28, 0x39, 0xFF):
            changed = bytearray(whole)
            changed[position] = value
            path.write_bytes(changed)
            run(path)


def test_boolean_other_than_0_and_1(path):
    text = refuse(path, npy_bytes(dictionary("'|b1'"), b"\1\xff"))
    assert "a boolean is 0 or 1, found 255 at element 1" in text


def test_fifo(path):
    os.mkfifo(path)
    assert "found a fifo" in refusal(path)


def test_folder(tmp_path):
    arrays = {"b.weight": sample("float32"), "a": sample("int16"), "c": sample("bool")}
    for name, array in arrays.items():
        np.save(tmp_path / (name + ".npy"), array)
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "._a.npy").write_text("x")
    lines = read(tmp_path)
    assert list(lines) == ["a", "b.weight", "c"]
    for name, array in arrays.items():
        assert_same(lines[name], array)


def test_folder_without_tensors(tmp_path):
    text = refusal(tmp_path)
    assert "a folder without .npy files" in text and "hint: " in text


def test_folder_opens_only_what_is_asked_for(tmp_path):
    np.save(tmp_path / "a.npy", sample("float32"))
    np.save(tmp_path / "b.npy", np.array([{}], dtype=object))
    os.mkfifo(tmp_path / "c.npy")
    assert names(tmp_path) == ["a", "b", "c"]
    assert run("--tensor", "a", tmp_path).returncode == 0
    assert "pickle" in refusal("--tensor", "b", tmp_path)
    assert "found a fifo" in refusal("--tensor", "c", tmp_path)


def test_folder_link_within(tmp_path):
    np.save(tmp_path / "a.npy", sample("float32"))
    (tmp_path / "b.npy").symlink_to("a.npy")
    lines = read(tmp_path)
    assert_same(lines["b"], sample("float32"))
    assert lines["b"]["name"] == "b"


def test_folder_link_that_leaves(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    np.save(tmp_path / "out.npy", sample("float32"))
    (folder / "a.npy").symlink_to("../out.npy")
    assert "a symbolic link that leads out of its folder" in refusal(folder)


def test_folder_in_a_folder(tmp_path):
    (tmp_path / "a.npy").mkdir()
    assert "expected a regular file, found a folder" in refusal(tmp_path)


def test_folder_that_is_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    np.save(tmp_path / "real" / "a.npy", sample("float32"))
    (tmp_path / "link").symlink_to("real")
    assert list(read(tmp_path / "link")) == ["a"]
