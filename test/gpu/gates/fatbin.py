# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads fatbins, as far as is needed to say what is in one, and launches from cubins.

A fatbin is a header and entries, each with a header of its own: a kind, its size, and the
compute capability that it is for. PTX is compressed, a cubin is not.
"""

import struct
from dataclasses import dataclass, field

import cubin

MAGIC = 0xBA55ED50
PTX, CUBIN = 1, 2
ARCHITECTURE = 28  # its place in an entry's header
FLAGS = 0x30  # the same in an ELF header; the second byte is the architecture

# Attributes of a kernel in .nv.info: a byte that says how long a value is, the attribute, and
# a value of 16 bits, or its length.
LONG = 4
MOST_THREADS, EXACT_THREADS, PARAMETER_BYTES = 0x05, 0x10, 0x19


@dataclass
class Entry:
    kind: int
    architecture: int
    data: bytes


def entries(data):
    if len(data) < 16:
        raise ValueError("no fatbin: too short")
    magic, _, begin, size = struct.unpack_from("<IHHQ", data)
    if magic != MAGIC or begin + size > len(data):
        raise ValueError(f"no fatbin: magic number {magic:#x}, {size} bytes of {len(data)}")
    found, place = [], begin
    while place < begin + size:
        kind, _, header, length = struct.unpack_from("<HHIQ", data, place)
        (architecture,) = struct.unpack_from("<I", data, place + ARCHITECTURE)
        found.append(Entry(kind, architecture, data[place + header : place + header + length]))
        place += header + length
    return found


@dataclass
class Kernel:
    """What the machine code of a kernel asks of a launch."""

    parameter_bytes: int | None = None
    threads: int | None = None
    static_shared_bytes: int = 0
    attributes: dict = field(default_factory=dict)


def attributes(data):
    place, found = 0, {}
    while place < len(data):
        form, attribute, value = struct.unpack_from("<BBH", data, place)
        place += 4
        if form == LONG:
            found[attribute] = data[place : place + value]
            place += value
        else:
            found[attribute] = value
    return found


def architecture_of(data):
    (flags,) = struct.unpack_from("<I", data, FLAGS)
    return flags >> 8 & 0xFF


def kernels(data):
    """Those of a cubin by name."""
    found = {}
    for name, _, offset, size, _ in cubin.sections(data):
        for prefix in (".text.", ".nv.info.", ".nv.shared."):
            if not name.startswith(prefix) or name == ".nv.shared.reserved.0":
                continue
            kernel = found.setdefault(name.removeprefix(prefix), Kernel())
            if prefix == ".nv.shared.":
                kernel.static_shared_bytes = size
            elif prefix == ".nv.info.":
                stated = attributes(data[offset : offset + size])
                kernel.parameter_bytes = stated.get(PARAMETER_BYTES)
                threads = stated.get(EXACT_THREADS, stated.get(MOST_THREADS))
                kernel.threads = threads and struct.unpack_from("<I", threads)[0]
    return found
