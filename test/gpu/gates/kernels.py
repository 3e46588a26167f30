# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a program for a chip and holds its kernels against the gates."""

import re
import subprocess

import assembler
import cubin
import memory_order
import occupancy
import programs
import tensor_counts

THREADS = re.compile(r"\.(?:max|req)ntid (\d+)")
DYNAMIC_SHARED = re.compile(r"\.extern\s+\.shared\b")
KEPT_BYTES = 6144  # of shared memory, for numbers that registers do not hold
SHARED_ROW_BYTES = 1024  # of a block, whose warps share a long row
NUMBER = re.compile(r"(\w+) = (\d+) : i64")


class Failed(Exception):
    pass


def compiled(gatefold, program, chip, form):
    command = [str(gatefold), "compile", str(program.text), "--entry", program.entry,
               "--target", chip, "--emit", form, "-o", "-", *program.options]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def described(module):
    """The numbers of gf.target."""
    found = re.search(r"gf\.target = \{([^}]*)\}", module)
    if not found:
        raise Failed("the module does not say what it is made for")
    return {name: int(value) for name, value in NUMBER.findall(found[1])}


def shared_bytes(module):
    """gf.shared_bytes of each kernel that states it."""
    found = {}
    for line in module.splitlines():
        if kernel := re.search(r"(?:llvm|gpu)\.func @(\w+)\(", line):
            if stated := re.search(r"gf\.shared_bytes = (\d+)", line):
                found[kernel[1]] = int(stated[1])
    return found


def check_description(description, chip):
    """The compiler's table against that of the programming guide."""
    known = occupancy.CHIPS[chip]
    for name, expected in (
        ("multiprocessor_threads", known.threads),
        ("multiprocessor_registers", known.registers),
        ("multiprocessor_shared_bytes", known.shared_kilobytes << 10),
        ("block_shared_bytes", known.block_shared_bytes - KEPT_BYTES),
    ):
        if description.get(name) != expected:
            yield f"gf.target says {name} = {description.get(name)}, {chip} has {expected}"


def check_occupancy(functions, description, stated, ptx, chip):
    """A kernel must have at least one block on each multiprocessor: all blocks of a
    cooperative launch are there at once."""
    threads = {int(count) for count in THREADS.findall(ptx)}
    if threads != {description["block_threads"]}:
        yield f"blocks of {sorted(threads)} threads, gf.target says {description['block_threads']}"
    # LLVM may know that no row is so long that warps share it.
    least = 0 if DYNAMIC_SHARED.search(ptx) else SHARED_ROW_BYTES
    if bool(DYNAMIC_SHARED.search(ptx)) != any(size > least for size in stated.values()):
        yield f"gf.shared_bytes is {stated}, and the PTX says otherwise of dynamic shared memory"
    for function in functions:
        if not function.is_kernel:
            continue
        shared = stated.get(function.name, 0) + function.shared_bytes
        blocks = occupancy.blocks(
            occupancy.CHIPS[chip], max(threads, default=0), function.registers, shared
        )
        if blocks < 1:
            yield (
                f"{function.name}: {function.registers} registers and {shared} bytes of shared "
                "memory leave no block on a multiprocessor"
            )


def check(gatefold, program, chip, folder):
    """What is wrong, and a line about what was found."""
    stem = folder / f"{program.name}.{chip}"
    ptx = compiled(gatefold, program, chip, "ptx")
    nvvm = compiled(gatefold, program, chip, "nvvm")
    schedule = compiled(gatefold, program, chip, "schedule")
    stem.with_name(stem.name + ".ptx").write_text(ptx)
    binary = stem.with_name(stem.name + ".cubin")
    log = assembler.assemble(stem.with_name(stem.name + ".ptx"), chip, binary)
    stem.with_name(stem.name + ".log").write_text(log)
    functions, complaints = assembler.parse(log)
    code = cubin.read(binary.read_bytes())
    local = [
        f"{function.name}: {function.count(cubin.LOCAL)} accesses to local memory"
        for function in code
        if function.count(cubin.LOCAL)
    ]
    errors = [*complaints, *assembler.spills(functions), *local]
    description = described(schedule)
    stated = shared_bytes(nvvm)
    errors += check_description(description, chip)
    errors += check_occupancy(functions, description, stated, ptx, chip)
    order, atomics, _ = memory_order.check(ptx)
    errors += order
    if "llvm.call @gatefold_grid_barrier" in nvvm and atomics == 0:
        errors.append("the grid's barrier has no atomic operation")
    errors += tensor_counts.check(program, schedule, code)
    kernel = max(
        (function for function in functions if function.is_kernel), key=lambda f: f.registers
    )
    line = (
        f"{kernel.registers} registers, {max(stated.values(), default=0)} shared bytes, "
        f"{sum(f.instructions for f in code)} instructions, "
        f"{sum(f.count(cubin.TENSOR) for f in code)} of tensor cores, {atomics} atomic"
    )
    return errors, line
