# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts instructions in the machine code of a cubin.

A cubin is an ELF file with a section `.text.KERNEL` for each kernel, which also holds
the functions that it calls. An instruction is 16 bytes, its operation the lowest 12
bits; only those that the gates ask for are known here.
"""

import collections
import struct
from dataclasses import dataclass, field

INSTRUCTION = 16

OPERATIONS = {
    0x23C: "HMMA",  # tensor cores
    0x237: "IMMA",
    0x23F: "DMMA",
    0x83B: "LDSM",  # ldmatrix
    0x308: "MUFU",  # exponential, reciprocal, ...
    0x983: "LDL",  # local memory: what did not fit into registers
    0x387: "STL",
    0x984: "LDS",
    0x388: "STS",
    0xFAE: "LDGSTS",  # cp.async
}
TENSOR = ("HMMA", "IMMA", "DMMA")
LOCAL = ("LDL", "STL")

CUDA_MACHINE = 190
SYMBOLS = 2
FUNCTION = 2


class NotACubin(ValueError):
    pass


@dataclass
class Function:
    """Code of a kernel, or of a function in it."""

    name: str
    kernel: str
    instructions: int = 0
    counts: collections.Counter = field(default_factory=collections.Counter)

    def count(self, names):
        return sum(self.counts[name] for name in names)


def text_at(data, offset):
    return data[offset : data.index(b"\0", offset)].decode()


def sections(data):
    """Name, type, offset, size and linked section of each."""
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        raise NotACubin("not a 64-bit ELF file")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine != CUDA_MACHINE:
        raise NotACubin(f"an ELF file for machine {machine}, not {CUDA_MACHINE}")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQII", data, table + i * size) for i in range(count)]
    return [
        (text_at(data, headers[names][4] + name), kind, offset, length, link)
        for name, kind, _, _, offset, length, link, _ in headers
    ]


def symbols(data, found):
    """Name, section and range of every function."""
    for _, kind, offset, size, link in found:
        if kind != SYMBOLS:
            continue
        for place in range(offset, offset + size, 24):
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", data, place)
            if info & 15 == FUNCTION:
                yield text_at(data, found[link][2] + name), section, value, length


def read(data):
    """The functions of a cubin. What a kernel calls has its own symbol, within the
    kernel's; the kernel then has what remains."""
    found = sections(data)
    ranges = list(symbols(data, found))
    functions = []
    for index, (section, _, offset, size, _) in enumerate(found):
        if not section.startswith(".text."):
            continue
        kernel = section.removeprefix(".text.")
        owners = [Function(kernel, kernel)]
        owner_at = [0] * (size // INSTRUCTION)
        for name, where, value, length in ranges:
            if where == index and name != kernel:
                for place in range(value // INSTRUCTION, (value + length) // INSTRUCTION):
                    owner_at[place] = len(owners)
                owners.append(Function(name.removeprefix(f"${kernel}$"), kernel))
        for place, owner in enumerate(owner_at):
            (word,) = struct.unpack_from("<Q", data, offset + place * INSTRUCTION)
            function = owners[owner]
            function.instructions += 1
            operation = OPERATIONS.get(word & 0xFFF)
            if operation:
                function.counts[operation] += 1
        functions += owners
    if not functions:
        raise NotACubin("no kernel in it")
    return functions
