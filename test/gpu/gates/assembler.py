# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ptxas and reads what it says of each kernel and function."""

import re
import subprocess
from dataclasses import dataclass


@dataclass
class Function:
    """What `ptxas -v` prints. `registers` of a kernel are those of all that it calls;
    other functions have none of their own."""

    name: str
    registers: int | None = None
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared_bytes: int = 0

    @property
    def is_kernel(self):
        return self.registers is not None


PROPERTIES = re.compile(r"Function properties for (\S+)")
MEMORY = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
STATIC_SHARED = re.compile(r"(\d+) bytes smem")
COMPLAINT = re.compile(r"^ptxas (?!info\b)(.*)$", re.MULTILINE)


def parse(log):
    """The functions, and what was a warning, an error or anything else that is not
    information. Lines that should be there and are not are errors."""
    functions = []
    current = None
    for line in log.splitlines():
        if found := PROPERTIES.search(line):
            current = Function(found[1])
            functions.append(current)
        elif current and (found := MEMORY.search(line)):
            current.stack, current.spill_stores, current.spill_loads = map(int, found.groups())
        elif found := USED.search(line):
            if current is None:
                raise ValueError(f"registers of no function: {line}")
            current.registers = int(found[1])
            if shared := STATIC_SHARED.search(line):
                current.shared_bytes = int(shared[1])
    if not any(function.is_kernel for function in functions):
        raise ValueError("ptxas names no kernel:\n" + log)
    return functions, COMPLAINT.findall(log)


def spills(functions):
    """What is not in registers, as errors."""
    return [
        f"{function.name}: {number} bytes {what}"
        for function in functions
        for what, number in (
            ("on the stack", function.stack),
            ("of spill stores", function.spill_stores),
            ("of spill loads", function.spill_loads),
        )
        if number
    ]


# As passes/emit/AssemblePtx.cpp asks, until nothing is spilled.
LEVELS = ((), ("--register-usage-level=4",), ("--register-usage-level=3",), ("--register-usage-level=0",))


def assemble(ptx, chip, cubin, ptxas="ptxas"):
    """The log; warnings, spills and local memory are shown, the caller judges them."""
    first = None
    for level in (*LEVELS, ()):
        done = subprocess.run(
            [ptxas, "-v", f"--gpu-name={chip}", "-warn-spills", "-warn-lmem-usage", *level,
             str(ptx), "-o", str(cubin)],
            capture_output=True,
            text=True,
        )  # fmt: skip
        log = done.stdout + done.stderr
        if done.returncode != 0:
            raise RuntimeError(f"ptxas: exit {done.returncode}\n{log}")
        if log == first or "spilled to local memory" not in log:
            break
        first = first or log
    return log
