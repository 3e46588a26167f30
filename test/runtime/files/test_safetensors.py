# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single safetensors files: valid ones, and every refusal."""

import json
import os
import struct

import numpy as np
import pytest

import weight_files
from weight_files import (
    SAFETENSORS_TYPES,
    assert_same,
    checksum,
    read,
    refusal,
    run,
    safetensors_bytes,
    safetensors_of,
    sample,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "w.safetensors"


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def refuse(path, header, data=b""):
    return weight_files.refuse(path, safetensors_bytes(header, data))


@pytest.mark.parametrize("dtype", SAFETENSORS_TYPES)
def test_every_type(path, dtype):
    array = sample(dtype)
    path.write_bytes(safetensors_of({"w": array}))
    assert_same(read(path)["w"], array)


def test_bfloat16(path):
    path.write_bytes(safetensors_bytes({"w": entry("BF16", [2], [0, 4])}, b"\x80\x3f\x00\x40"))
    assert read(path)["w"] == {
        "name": "w",
        "element": "bf16",
        "shape": [2],
        "bytes": 4,
        "checksum": checksum(b"\x80\x3f\x00\x40"),
    }


def test_scalar_and_empty_tensors(path):
    arrays = {
        "scalar": np.float32(3).reshape(()),
        "empty": np.zeros((0, 5), "float32"),
        "after": sample("int64"),
        "last": np.zeros((3, 0), "float32"),
    }
    path.write_bytes(safetensors_of(arrays))
    lines = read(path)
    assert list(lines) == list(arrays)
    for name, array in arrays.items():
        assert_same(lines[name], array)


def test_no_tensors(path):
    path.write_bytes(safetensors_bytes({}))
    assert read(path) == {}


def test_unaligned_data(path):
    arrays = {"odd": sample("uint8", (3,)), "wide": sample("float64", (4,))}
    data = safetensors_of(arrays)
    for pad in range(8):
        length = struct.unpack("<Q", data[:8])[0]
        header = data[8 : 8 + length] + b" " * pad
        path.write_bytes(safetensors_bytes(header, data[8 + length :]))
        for name, line in read(path).items():
            assert_same(line, arrays[name])


def test_tensors_in_another_order_than_their_data(path):
    header = {"b": entry(offsets=[8, 16]), "a": entry(offsets=[0, 8])}
    path.write_bytes(safetensors_bytes(header, bytes(range(16))))
    lines = read(path)
    assert lines["a"]["checksum"] == checksum(bytes(range(8)))
    assert lines["b"]["checksum"] == checksum(bytes(range(8, 16)))


def test_metadata(path):
    header = {"__metadata__": {"format": "pt", "w": "x"}, "w": entry()}
    path.write_bytes(safetensors_bytes(header, bytes(8)))
    assert list(read(path)) == ["w"]


def test_names_beyond_ascii(path):
    path.write_bytes(safetensors_bytes(json.dumps({"größe\n": entry()}), bytes(8)))
    assert list(read(path)) == ["größe\n"]


def test_foreign_type_is_refused_only_when_asked_for(path):
    header = {"a": entry("F8_E4M3", [8], [0, 8]), "b": entry(offsets=[8, 16])}
    path.write_bytes(safetensors_bytes(header, bytes(16)))
    assert 'tensor "a": element type F8_E4M3 is not supported' in refusal(path)
    assert run("--tensor", "b", path).returncode == 0


def test_types_below_a_byte(path):
    path.write_bytes(safetensors_bytes({"a": entry("F4", [4], [0, 2])}, bytes(2)))
    assert run("--names", path).returncode == 0
    assert "does not fill whole bytes" in refuse(path, {"a": entry("F4", [3], [0, 2])}, bytes(2))


def test_unknown_name_gets_a_hint(path):
    path.write_bytes(safetensors_of({"encoder.weight": sample("float32")}))
    text = refusal("--tensor", "encoder.wieght", path)
    assert 'no tensor "encoder.wieght"' in text
    assert 'hint: did you mean "encoder.weight"?' in text


def test_header_length_huge(path):
    for length in (2**63, 2**64 - 1, 2**64 - 8, 100000001):
        path.write_bytes(struct.pack("<Q", length) + b"{}")
        assert "exceeds the limit of 100000000 bytes" in refusal(path)


def test_header_length_at_the_limit(path):
    header = b"{}" + b" " * (100000000 - 2)
    path.write_bytes(safetensors_bytes(header))
    assert read(path) == {}


def test_header_longer_than_the_file(path):
    path.write_bytes(struct.pack("<Q", 3) + b"{}")
    assert "header length 3 exceeds the file's 2 further bytes" in refusal(path)


def test_empty_file(path):
    path.write_bytes(b"")
    assert "expected 8 bytes of header length, found 0" in refusal(path)


@pytest.mark.parametrize("header", [b"", b" {}", b"[]", b"\xef\xbb\xbf{}", b"\0{}"])
def test_header_must_begin_with_a_brace(path, header):
    assert "must begin with '{'" in refuse(path, header)


@pytest.mark.parametrize("header", [b"{", b"{}}", b"{} x", b'{"a"}', b"{'a': 1}", b'{"a\xff": 1}'])
def test_not_json(path, header):
    assert "not valid JSON" in refuse(path, header)


def test_nul_byte_after_the_object(path):
    assert "NUL byte at byte 2" in refuse(path, b"{}\0\0\0\0\0\0")


def test_nul_byte_within_a_string(path):
    assert "NUL byte" in refuse(path, b'{"a\0b": {}}')


def test_nul_escaped_in_a_name(path):
    text = refuse(path, '{"a\\u0000b": {"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8))
    assert "NUL in the tensor name" in text


def test_duplicate_tensor(path):
    one = json.dumps(entry())
    assert 'duplicate key "w"' in refuse(path, '{"w": %s, "w": %s}' % (one, one), bytes(8))


def test_duplicate_field(path):
    header = '{"w": {"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    assert 'duplicate key "dtype"' in refuse(path, header, bytes(8))


def test_duplicate_metadata(path):
    assert 'duplicate key "a"' in refuse(path, '{"__metadata__": {"a": "1", "a": "2"}}')
    assert 'duplicate key "__metadata__"' in refuse(path, '{"__metadata__": {}, "__metadata__": {}}')


@pytest.mark.parametrize("value", ["1", "null", "[]", "{}", "true"])
def test_metadata_that_is_not_text(path, value):
    assert "must hold strings only" in refuse(path, '{"__metadata__": {"a": %s}}' % value)


def test_metadata_that_is_no_object(path):
    assert '"__metadata__" must be an object' in refuse(path, '{"__metadata__": "x"}')


@pytest.mark.parametrize("value", ["1", '"x"', "[]", "null"])
def test_tensor_that_is_no_object(path, value):
    assert '"w" must be an object' in refuse(path, '{"w": %s}' % value)


@pytest.mark.parametrize("field", ["dtype", "shape", "data_offsets"])
def test_field_missing(path, field):
    tensor = entry()
    del tensor[field]
    text = refuse(path, {"w": tensor}, bytes(8))
    assert 'tensor "w": ' + field in text
    assert "is missing" in text or "must be two numbers" in text


def test_unknown_field(path):
    assert 'unknown field "strides"' in refuse(path, {"w": {**entry(), "strides": [1]}}, bytes(8))


def test_unknown_dtype(path):
    assert 'unknown dtype "F33"' in refuse(path, {"w": entry("F33")}, bytes(8))


def test_dtype_that_is_no_text(path):
    assert "dtype must be a string" in refuse(path, {"w": entry(4)}, bytes(8))


@pytest.mark.parametrize("value", [-1, 1.5, "2", None, True, [2], {}, 2**64])
def test_shape_of_other_than_whole_numbers(path, value):
    text = refuse(path, {"w": entry(shape=[value])}, bytes(8))
    assert "shape must be an array of whole numbers" in text


def test_shape_that_is_no_array(path):
    text = refuse(path, '{"w": {"dtype":"F32","shape":2,"data_offsets":[0,8]}}', bytes(8))
    assert "shape must be an array" in text


@pytest.mark.parametrize("offsets", [[], [0], [0, 8, 8]])
def test_offsets_that_are_not_two(path, offsets):
    assert "must be two numbers" in refuse(path, {"w": entry(offsets=offsets)}, bytes(8))


@pytest.mark.parametrize("offsets", [[-8, 0], [0.0, 8], ["0", 8], [None, 8]])
def test_offsets_of_other_than_whole_numbers(path, offsets):
    text = refuse(path, {"w": entry(offsets=offsets)}, bytes(8))
    assert "data_offsets must be an array of whole numbers" in text


def test_offsets_reversed(path):
    assert "begin at 8 after their end 0" in refuse(path, {"w": entry(offsets=[8, 0])}, bytes(8))


def test_offsets_beyond_the_file(path):
    text = refuse(path, {"w": entry()}, bytes(7))
    assert "ends at byte 8 of the data, which has 7 bytes" in text
    assert "hint: the file may be cut short" in text
    huge = entry("U8", [2**59], [2**63, 2**63 + 2**59])
    assert "of the data, which has 8 bytes" in refuse(path, {"w": huge}, bytes(8))


def test_offsets_against_the_shape(path):
    text = refuse(path, {"w": entry(shape=[3])}, bytes(8))
    assert 'tensor "w": expected 12 bytes for F32 of shape [3], found data_offsets of 8 bytes' in text


@pytest.mark.parametrize(
    "shape",
    [[2**62, 4], [2**63 - 1], [2**32, 2**32], [2**31] * 32, [0, 2**62, 4], [2**62, 4, 0]],
)
def test_size_overflow(path, shape):
    assert "overflows" in refuse(path, {"w": entry(shape=shape, offsets=[0, 0])})


def test_dimension_overflow(path):
    assert "dimension 9223372036854775808 overflows" in refuse(path, {"w": entry(shape=[2**63])})


def test_rank(path):
    path.write_bytes(safetensors_bytes({"w": entry(shape=[1] * 32, offsets=[0, 4])}, bytes(4)))
    assert read(path)["w"]["shape"] == [1] * 32
    text = refuse(path, {"w": entry(shape=[1] * 33, offsets=[0, 4])}, bytes(4))
    assert "rank exceeds the limit of 32" in text


def test_hole_between_tensors(path):
    header = {"a": entry(), "b": entry(offsets=[9, 17])}
    assert 'tensor "b": a hole before it' in refuse(path, header, bytes(17))


def test_hole_at_the_start(path):
    assert "a hole before it" in refuse(path, {"a": entry(offsets=[1, 9])}, bytes(9))


def test_overlap(path):
    header = {"a": entry(), "b": entry(offsets=[4, 12])}
    assert 'tensor "b": overlaps the tensor before it' in refuse(path, header, bytes(12))


def test_same_data_twice(path):
    assert "overlaps" in refuse(path, {"a": entry(), "b": entry()}, bytes(8))


def test_empty_tensor_within_another(path):
    header = {"a": entry(), "b": entry(shape=[0], offsets=[4, 4])}
    assert "overlaps" in refuse(path, header, bytes(8))


def test_bytes_after_the_last_tensor(path):
    assert "1 bytes after the last tensor" in refuse(path, {"w": entry()}, bytes(9))
    assert "5 bytes after the last tensor" in refuse(path, {}, bytes(5))


def test_boolean_other_than_0_and_1(path):
    text = refuse(path, {"w": entry("BOOL", [3], [0, 3])}, b"\0\1\2")
    assert 'tensor "w": a boolean is 0 or 1, found 2 at element 2' in text


@pytest.mark.parametrize(
    "start, bracket, message",
    [
        ('{"w": ', "[", "must be an object"),
        ('{"w": ', '{"a":', 'unknown field "a"'),
        ('{"__metadata__": {"a": ', "[", "must hold strings only"),
        ('{"__metadata__": {"a": ', '{"a":', "must hold strings only"),
        ('{"w": {"dtype": ', "[", "dtype must be a string"),
        ('{"w": {"shape": ', "[", "shape must be an array of whole numbers"),
        ('{"w": {"data_offsets": ', '[{"a":', "data_offsets must be an array of whole numbers"),
    ],
)
def test_deep_nesting(path, start, bracket, message):
    assert message in refuse(path, start + bracket * 100000)


def test_long_name_is_cut_in_the_message(path):
    text = refuse(path, {"x" * 1000000: entry("F33")}, bytes(8))
    assert len(text) < 1000


def test_cut_short_at_every_byte(path):
    whole = safetensors_of({"a": sample("float32"), "b": sample("bool", (3,))})
    path.write_bytes(whole)
    assert len(read(path)) == 2
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refusal(path)


def test_every_byte_changed(path):
    """Whatever one byte is turned into, the answer is tensors or an error."""
    whole = safetensors_of({"a": sample("float32", (2,)), "b": sample("bool", (3,))})
    for position in range(len(whole)):
        for value in (0, 0x22, 0x7B, 0xFF):
            changed = bytearray(whole)
            changed[position] = value
            path.write_bytes(changed)
            run(path)


def test_fifo(path):
    os.mkfifo(path)
    assert "found a fifo" in refusal(path)


def test_device():
    assert "found a device" in refusal("/dev/zero")


def test_missing(path):
    assert "cannot open: No such file" in refusal(path)


def test_link_to_a_file(path, tmp_path):
    """The path that a user gives may be a link, as in Hugging Face's cache."""
    (tmp_path / "blob").write_bytes(safetensors_of({"w": sample("int8")}))
    path.symlink_to("blob")
    assert list(read(path)) == ["w"]


def test_unknown_kind(tmp_path):
    other = tmp_path / "w.txt"
    other.write_bytes(b"x")
    assert "not a kind of file that holds weights" in refusal(other)


def test_pickle_is_refused_with_a_hint(tmp_path):
    other = tmp_path / "w.pt"
    other.write_bytes(b"x")
    assert "hint: such a file may run code" in refusal(other)
