# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Zip archives of npy members."""

import os
import struct
import warnings
import zipfile

import numpy as np
import pytest

from weight_files import (
    ELEMENTS,
    assert_same,
    dictionary,
    names,
    npy_bytes,
    npy_of,
    patch,
    read,
    refusal,
    refuse,
    run,
    sample,
    zip_of,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "w.npz"


A = npy_of(sample("float32"))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_type(path, save):
    arrays = {dtype: sample(dtype, (7, 5)) for dtype in ELEMENTS}
    arrays["layer/0.weight"] = sample("float32")
    arrays["scalar"] = np.float64(2.5).reshape(())
    arrays["empty"] = np.zeros((0, 4), "float32")
    arrays["columns"] = np.asfortranarray(sample("int32", (3, 4)))
    arrays["größe"] = sample("uint8")
    save(path, **arrays)
    lines = read(path)
    assert list(lines) == list(arrays)
    for name, array in arrays.items():
        assert_same(lines[name], array)


def test_large_compressed_member(path):
    array = np.zeros(1 << 22, "uint8")
    np.savez_compressed(path, a=array)
    assert path.stat().st_size < 10000
    assert read(path)["a"]["bytes"] == 1 << 22


def test_no_members(path):
    path.write_bytes(zip_of([]))
    assert read(path) == {}


def test_other_members_are_ignored(path):
    path.write_bytes(zip_of([("readme.txt", b"x"), ("a.npy", A), ("folder/", b""), ("b", A)]))
    assert list(read(path)) == ["a"]


def test_bytes_before_the_archive(path):
    """As a self-extracting archive has; offsets are from the file's start."""
    path.write_bytes(zip_of([("a.npy", A)]))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.npy", A)
    assert list(read(path)) == ["a", "b"]


def test_only_what_is_asked_for_is_opened(path):
    members = [("a.npy", A), ("b.npy", npy_of(np.array([{}], dtype=object))), ("c.npy", b"junk")]
    path.write_bytes(zip_of(members))
    assert names(path) == ["a", "b", "c"]
    assert run("--tensor", "a", path).returncode == 0
    assert 'tensor "b": an array of Python objects (pickle)' in refusal("--tensor", "b", path)
    assert 'tensor "c": cut short' in refusal("--tensor", "c", path)


def test_duplicate_members(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = zip_of([("a.npy", A), ("a.npy", A)])
    assert 'duplicate member "a.npy"' in refuse(path, data)


@pytest.mark.parametrize("name", ["/a.npy", "../a.npy", "x/../a.npy", "..", "x/.."])
def test_names_that_lead_out(path, name):
    assert "has an absolute name or one with '..'" in refuse(path, zip_of([(name, A)]))


def test_two_dots_within_a_name(path):
    path.write_bytes(zip_of([("a..b.npy", A)]))
    assert list(read(path)) == ["a..b"]


def flags(data, bits):
    """Sets the flags of a one-member archive, in both of its headers."""
    changed = bytearray(data)
    central = data.index(b"PK\1\2")
    changed[6] |= bits
    changed[central + 8] |= bits
    return bytes(changed)


def test_encrypted(path):
    assert "encrypted members are not supported" in refuse(path, flags(zip_of([("a.npy", A)]), 1))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression(path, method):
    assert "zip compression method %d is not supported" % method in refuse(
        path, zip_of([("a.npy", A)], method)
    )


def sizes(data, compressed, full):
    """Claims other sizes for the only member, in both of its headers."""
    changed = bytearray(data)
    central = data.index(b"PK\1\2")
    for position in (18, central + 20):
        changed[position : position + 4] = struct.pack("<I", compressed)
    for position in (22, central + 24):
        changed[position : position + 4] = struct.pack("<I", full)
    return bytes(changed)


def test_stored_sizes_that_differ(path):
    data = sizes(zip_of([("a.npy", A)]), len(A), len(A) + 4)
    assert "two sizes differ" in refuse(path, data)


def test_claim_beyond_the_file(path):
    data = sizes(zip_of([("a.npy", A)]), 4000000000, 4000000000)
    assert "the member claims 4000000000 bytes of a file of" in refuse(path, data)


def test_claim_beyond_deflate(path):
    """A bomb that lies: the header and the archive agree on 4 GB."""
    count = 4000000000 - 128
    head = npy_bytes(dictionary("'|u1'", shape="(%d,)" % count).strip().ljust(117) + "\n")
    assert len(head) == 128
    data = zip_of([("a.npy", head)], zipfile.ZIP_DEFLATED)
    central = data.index(b"PK\1\2")
    compressed = struct.unpack("<I", data[central + 20 : central + 24])[0]
    text = refuse(path, sizes(data, compressed, 4000000000))
    assert "which deflate cannot do" in text


def test_member_against_its_header(path):
    """The archive is honest, the npy header within claims 4 TB."""
    head = npy_bytes(dictionary(shape="(1099511627776,)"), bytes(8))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        text = refuse(path, zip_of([("a.npy", head)], method))
        assert "expected 4398046511104 bytes for f32 of shape [1099511627776], found 8" in text


def test_header_overflow(path):
    head = npy_bytes(dictionary(shape="(4611686018427387904, 4)"))
    assert "overflows" in refuse(path, zip_of([("a.npy", head)]))


def test_member_longer_than_its_header(path):
    assert "expected 24 bytes" in refuse(path, zip_of([("a.npy", A + b"x")]))


def test_member_shorter_than_its_header(path):
    assert "expected 24 bytes" in refuse(path, zip_of([("a.npy", A[:-1])]))


@pytest.mark.parametrize("data", [b"", A[:8], A[:20]])
def test_member_cut_within_its_header(path, data):
    assert "cut short" in refuse(path, zip_of([("a.npy", data)]))


def test_member_that_inflates_to_less(path):
    whole = npy_of(np.zeros(1000, "uint8"))
    short = zip_of([("a.npy", whole[:-100])], zipfile.ZIP_DEFLATED)
    central = short.index(b"PK\1\2")
    compressed = struct.unpack("<I", short[central + 20 : central + 24])[0]
    text = refuse(path, sizes(short, compressed, len(whole)))
    assert "shorter than the archive says" in text or "cannot read the member" in text


def test_member_that_inflates_to_more(path):
    whole = npy_of(np.zeros(1000, "uint8"))
    data = zip_of([("a.npy", whole + bytes(100000))], zipfile.ZIP_DEFLATED)
    central = data.index(b"PK\1\2")
    compressed = struct.unpack("<I", data[central + 20 : central + 24])[0]
    text = refuse(path, sizes(data, compressed, len(whole)))
    assert "longer than the archive says" in text or "cannot read the member" in text


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damaged_data(path, method):
    array = np.random.default_rng(1).integers(0, 255, 100, dtype="uint8")
    data = bytearray(zip_of([("a.npy", npy_of(array))], method))
    data[data.index(b"PK\1\2") - 20] ^= 1
    assert "cannot read the member" in refuse(path, bytes(data))


def test_too_large_a_compressed_member(path):
    """Sizes in a zip64 field: 17 GiB from 17 MiB that are all there."""
    full = 17 << 30
    head = npy_bytes(dictionary("'|u1'", shape="(%d,)" % (full - 128)).strip().ljust(117) + "\n")
    compressed = 17 << 20
    name = b"a.npy"
    extra = struct.pack("<HHQQ", 1, 16, full, compressed)
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 8, 0, 33, 0, 2**32 - 1, 2**32 - 1, len(name), len(extra))
    body = local + name + extra + head.ljust(compressed, b"\0")
    central = struct.pack("<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 8, 0, 33, 0, 2**32 - 1, 2**32 - 1, len(name), len(extra), 0, 0, 0, 0, 0)
    central += name + extra
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(central), len(body), 0)
    text = refuse(path, body + central + end)
    assert "exceeds the limit of 17179869184" in text


def end64(entries, tail=b""):
    """An archive without members whose zip64 record claims `entries`."""
    record = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, 0, 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, 0, 1)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    return record + locator + end + tail


@pytest.mark.parametrize("entries", [2**28, 2**32, 2**63, 2**64 - 1])
def test_claim_of_very_many_members(path, entries):
    text = refuse(path, end64(entries))
    assert "claims %d members, which a file of 98 bytes cannot hold" % entries in text


def test_zip64_record_outside_the_file(path):
    data = patch(end64(0), b"PK\6\7" + bytes(12), b"PK\6\7" + bytes(4) + b"\xff" * 8, 1)
    assert "the zip64 end record lies outside the file" in refuse(path, data)


def test_very_many_end_records(path):
    one = zip_of([("a.npy", A)])
    end = one[-22:]
    assert "more than 8 end records" in refuse(path, one + end * 2000)


def test_not_a_zip(path):
    for data in (b"", b"PK", bytes(1000), A):
        assert "not a zip archive" in refuse(path, data)


def test_cut_short_at_every_byte(path):
    whole = zip_of([("a.npy", A)])
    path.write_bytes(whole)
    read(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refusal(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_every_byte_changed(path, method):
    whole = zip_of([("a.npy", A)], method)
    for position in range(len(whole)):
        for value in (0, 0xFF):
            changed = bytearray(whole)
            changed[position] = value
            path.write_bytes(changed)
            run(path)


def test_nul_in_a_member_name(path):
    """The name must not end there: it is neither cut nor taken for another."""
    data = zip_of([("a.npyX.npy", A), ("a.npy", A)])
    path.write_bytes(data.replace(b"a.npyX.npy", b"a.npy\0.npy"))
    assert len(names(path)) == 2
    assert "a.npy" not in names(path)
    assert run("--tensor", "a", path).returncode == 0


def test_fifo(path):
    os.mkfifo(path)
    assert "found a fifo" in refusal(path)


def test_boolean_other_than_0_and_1(path):
    head = npy_bytes(dictionary("'|b1'"), b"\1\2")
    assert "a boolean is 0 or 1, found 2" in refuse(path, zip_of([("a.npy", head)]))
