# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints in shards."""

import json
import os

import pytest

from weight_files import assert_same, names, read, refusal, safetensors_of, sample


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    path.mkdir()
    return path


A, B = sample("float32"), sample("int64", (4,))


def write(folder, weights, shards, text=None):
    for name, arrays in shards.items():
        (folder / name).write_bytes(safetensors_of(arrays))
    index = folder / "model.safetensors.index.json"
    index.write_text(text or json.dumps({"metadata": {"total_size": 1}, "weight_map": weights}))
    return index


TWO = {"1.safetensors": {"a": A}, "2.safetensors": {"b": B}}


def test_two_shards(folder):
    index = write(folder, {"b": "2.safetensors", "a": "1.safetensors"}, TWO)
    lines = read(index)
    assert list(lines) == ["b", "a"]
    assert_same(lines["a"], A)
    assert_same(lines["b"], B)


def test_from_the_folder_itself(folder, monkeypatch):
    write(folder, {"b": "2.safetensors", "a": "1.safetensors"}, TWO)
    monkeypatch.chdir(folder)
    assert len(read("model.safetensors.index.json")) == 2


def test_tensor_that_the_index_does_not_list(folder):
    index = write(folder, {"a": "1.safetensors"}, {"1.safetensors": {"z": B, "a": A}})
    assert names(index) == ["a", "z"]
    assert_same(read(index)["z"], B)


def test_link_within_the_folder(folder):
    index = write(folder, {"a": "2.safetensors"}, {"1.safetensors": {"a": A}})
    (folder / "2.safetensors").symlink_to("1.safetensors")
    assert list(read(index)) == ["a"]


def test_listed_but_absent(folder):
    index = write(folder, {"a": "1.safetensors", "c": "2.safetensors"}, TWO)
    assert 'tensor "c": listed in shard "2.safetensors", which does not hold it' in refusal(index)


def test_in_two_shards(folder):
    shards = {"1.safetensors": {"a": A}, "2.safetensors": {"a": A, "b": B}}
    index = write(folder, {"a": "1.safetensors", "b": "2.safetensors"}, shards)
    text = refusal(index)
    assert 'tensor "a": stands in two shards, "1.safetensors" and "2.safetensors"' in text


def test_unlisted_in_two_shards(folder):
    shards = {"1.safetensors": {"a": A, "z": A}, "2.safetensors": {"b": B, "z": B}}
    index = write(folder, {"a": "1.safetensors", "b": "2.safetensors"}, shards)
    assert 'tensor "z": stands in two shards' in refusal(index)


def test_shard_missing(folder):
    index = write(folder, {"a": "3.safetensors"}, TWO)
    text = refusal(index)
    assert 'shard "3.safetensors"' in text and "No such file" in text


def test_shard_damaged(folder):
    index = write(folder, {"a": "1.safetensors"}, TWO)
    (folder / "1.safetensors").write_bytes(b"x")
    text = refusal(index)
    assert "1.safetensors: not a safetensors file" in text


@pytest.mark.parametrize(
    "shard",
    ["../1.safetensors", "/tmp/1.safetensors", "sub/1.safetensors", "..", ".", "", "1.bin", "./1.safetensors", "1\0.safetensors"],
)
def test_shard_that_is_no_plain_name(folder, shard):
    (folder.parent / "1.safetensors").write_bytes(safetensors_of({"a": A}))
    index = write(folder, {"a": shard}, {})
    assert "must be the plain name of a .safetensors file" in refusal(index)


def test_link_that_leaves_the_folder(folder):
    (folder.parent / "out.safetensors").write_bytes(safetensors_of({"a": A}))
    index = write(folder, {"a": "1.safetensors"}, {})
    (folder / "1.safetensors").symlink_to("../out.safetensors")
    text = refusal(index)
    assert "a symbolic link that leads out of its folder" in text
    assert "hint: copy the file into the folder" in text


def test_link_to_a_folder_of_the_same_beginning(folder):
    """`model2` is not inside `model`."""
    other = folder.parent / "model2"
    other.mkdir()
    (other / "out.safetensors").write_bytes(safetensors_of({"a": A}))
    index = write(folder, {"a": "1.safetensors"}, {})
    (folder / "1.safetensors").symlink_to(other / "out.safetensors")
    assert "leads out of its folder" in refusal(index)


def test_link_in_a_circle(folder):
    index = write(folder, {"a": "1.safetensors"}, {})
    (folder / "1.safetensors").symlink_to("1.safetensors")
    assert "cannot open" in refusal(index)


def test_shard_that_is_a_fifo(folder):
    index = write(folder, {"a": "1.safetensors"}, {})
    os.mkfifo(folder / "1.safetensors")
    assert "found a fifo" in refusal(index)


def test_index_that_is_a_fifo(folder):
    index = folder / "model.safetensors.index.json"
    os.mkfifo(index)
    assert "found a fifo" in refusal(index)


def test_index_too_large(folder):
    index = folder / "model.safetensors.index.json"
    with open(index, "wb") as file:
        file.truncate((64 << 20) + 1)
    assert "exceeds the limit of 67108864" in refusal(index)


def test_map_missing(folder):
    assert "weight_map is missing" in refusal(write(folder, {}, {}, '{"metadata": {}}'))


@pytest.mark.parametrize("text", ["[]", "1", '"x"', "null"])
def test_index_that_is_no_object(folder, text):
    assert "the index must be an object" in refusal(write(folder, {}, {}, text))


@pytest.mark.parametrize("value", ["[]", "1", '"x"', "null"])
def test_map_that_is_no_object(folder, value):
    text = '{"weight_map": %s}' % value
    assert "weight_map must be an object" in refusal(write(folder, {}, {}, text))


@pytest.mark.parametrize("value", ["[]", "1", "{}", "null"])
def test_shard_that_is_no_text(folder, value):
    text = '{"weight_map": {"a": %s}}' % value
    assert 'the shard of "a" must be a string' in refusal(write(folder, {}, {}, text))


def test_duplicate_tensor(folder):
    text = '{"weight_map": {"a": "1.safetensors", "a": "2.safetensors"}}'
    assert 'duplicate key "a"' in refusal(write(folder, {}, TWO, text))


def test_duplicate_map(folder):
    text = '{"weight_map": {"a": "1.safetensors"}, "weight_map": {}}'
    assert 'duplicate key "weight_map"' in refusal(write(folder, {}, TWO, text))


def test_duplicate_in_metadata(folder):
    text = '{"metadata": {"x": [{"k": 1, "k": 2}]}, "weight_map": {}}'
    assert 'duplicate key "k"' in refusal(write(folder, {}, TWO, text))


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_deep_nesting(folder, bracket):
    text = '{"metadata": ' + bracket * 100000
    assert "nested deeper than 32 levels" in refusal(write(folder, {}, {}, text))


def test_too_many_shards(folder):
    weights = {"t%d" % i: "%d.safetensors" % i for i in range(10001)}
    assert "more than 10000 shards" in refusal(write(folder, weights, {}))


def test_cut_short_at_every_byte(folder):
    index = write(folder, {"b": "2.safetensors", "a": "1.safetensors"}, TWO)
    whole = index.read_bytes()
    for length in range(len(whole)):
        index.write_bytes(whole[:length])
        refusal(index)


def test_nul_byte(folder):
    index = write(folder, {"a": "1.safetensors"}, TWO)
    index.write_bytes(index.read_bytes() + b"\0")
    assert "NUL byte" in refusal(index)
