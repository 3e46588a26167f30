# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many thread blocks a multiprocessor holds, as cuda_occupancy.h computes it.

Capacities are those of the CUDA programming guide, by compute capability; they are
written here again so that the compiler's own table has something to be wrong against.
"""

from dataclasses import dataclass

WARP = 32
REGISTER_UNIT = 256  # registers are given to a warp in such units
MOST_REGISTERS = 255  # of a thread
PARTITIONS = 4  # of a multiprocessor: its warps and registers are dealt to them
SHARED_UNIT = 128
SHARED_RESERVED = 1024  # what the driver takes of shared memory for each block


@dataclass(frozen=True)
class Chip:
    blocks: int
    threads: int
    shared_kilobytes: int
    registers: int = 64 << 10

    @property
    def block_shared_bytes(self):
        """What one block may ask for."""
        return (self.shared_kilobytes << 10) - SHARED_RESERVED


CHIPS = {
    "sm_80": Chip(32, 2048, 164),
    "sm_86": Chip(16, 1536, 100),
    "sm_89": Chip(24, 1536, 100),
    "sm_90": Chip(32, 2048, 228),
    "sm_90a": Chip(32, 2048, 228),
    "sm_100": Chip(32, 2048, 228),
    "sm_120": Chip(24, 1536, 100),
}


def round_up(value, unit):
    return -(-value // unit) * unit


def blocks(chip, threads, registers, shared_bytes=0):
    """Blocks of a multiprocessor, 0 where one does not fit."""
    warps = -(-threads // WARP)
    by_warps = chip.threads // WARP // warps
    by_registers = chip.blocks
    if registers > MOST_REGISTERS:
        return 0
    if registers:
        of_warp = round_up(registers * WARP, REGISTER_UNIT)
        if of_warp * round_up(warps, PARTITIONS) > chip.registers:
            return 0
        by_registers = chip.registers // PARTITIONS // of_warp * PARTITIONS // warps
    if shared_bytes > chip.block_shared_bytes:
        return 0
    of_block = round_up(shared_bytes + SHARED_RESERVED, SHARED_UNIT)
    by_shared = (chip.shared_kilobytes << 10) // of_block
    return min(chip.blocks, by_warps, by_registers, by_shared)
