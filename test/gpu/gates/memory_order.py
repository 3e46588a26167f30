# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the order of memory in PTX: every atomic operation and every fence.

The NVPTX back end of LLVM 22 drops the order of an atomicrmw, and no emulator that runs
threads one after the other can see that. So each atomic operation must

- be seen by all of the device, not by one block,
- come after a fence that nothing which accesses memory stands behind, or release by itself,
- be followed by such a fence, by a loop whose load of the same word acquires, or acquire
  by itself,
- stand between two barriers of its block, for which it speaks.

A word that an atomic operation changes is read and written in no other way but in such
order. A fence is one of the device.
"""

import re
from dataclasses import dataclass

WIDE = ("gpu", "sys")
NARROW = ("cta", "cluster")
# Fences that order other things than the memory of the device's threads.
OTHER_FENCES = ("proxy", "mbarrier_init")

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Directives that no semicolon ends.
LINE = re.compile(r"^\s*\.(?:loc|file)\b[^\n]*$", re.MULTILINE)
HEADER = re.compile(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$.]+)\s*\(")
STATEMENT = re.compile(r"(?P<label>[\w$]+:)|(?P<instruction>[^;{}:]+);|[{}]")


@dataclass
class Instruction:
    operation: list[str]  # the parts between dots
    operands: str
    text: str
    is_label: bool = False

    @property
    def kind(self):
        return self.operation[0] if self.operation else ""

    def has(self, *parts):
        return any(part in self.operation for part in parts)

    @property
    def is_atomic(self):
        return self.kind in ("atom", "red")

    @property
    def is_fence(self):
        return self.kind in ("fence", "membar") and not self.has(*OTHER_FENCES)

    @property
    def is_barrier(self):
        return self.kind in ("bar", "barrier")

    @property
    def is_access(self):
        """Whether it reads or writes memory that others may."""
        private = ("param", "local", "const")
        return (
            self.kind in ("ld", "st", "ldu", "cp", "call", "ldmatrix", "stmatrix", "mbarrier")
            or self.is_atomic
        ) and not self.has(*private)

    @property
    def address(self):
        found = re.search(r"\[([^\]]*)\]", self.operands)
        return found[1].strip() if found else ""

    @property
    def is_wide_fence(self):
        if self.kind == "membar":
            return self.has("gl", "sys")
        return self.has("acq_rel", "sc") and self.has(*WIDE)


def parse_instruction(text):
    text = " ".join(text.split())
    bare = re.sub(r"^@!?%\w+\s+", "", text)
    name, _, operands = bare.partition(" ")
    return Instruction(name.split("."), operands, text)


def functions(ptx):
    """Name and instructions of each function and kernel, labels among them."""
    headers = list(HEADER.finditer(ptx))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        rest = ptx[header.end() : following.start() if following else len(ptx)]
        begin, end = rest.find("\n{"), rest.rfind("\n}")
        if begin < 0:
            continue  # a declaration
        body = []
        for found in STATEMENT.finditer(rest[begin:end]):
            if found["label"]:
                body.append(Instruction([], "", found["label"], is_label=True))
            elif found["instruction"] and not found["instruction"].strip().startswith("."):
                body.append(parse_instruction(found["instruction"]))
        yield header[1], body


def before(body, index):
    """The fence that a path comes over just before, if any."""
    for instruction in reversed(body[:index]):
        if instruction.is_fence:
            return instruction
        if instruction.is_label or instruction.is_access or instruction.is_barrier:
            return None
    return None


def acquires_after(body, index):
    """Whether a fence, or a load of the same word that acquires, comes before
    anything else that accesses memory."""
    address = body[index].address
    for instruction in body[index + 1 :]:
        if instruction.is_fence:
            return instruction.is_wide_fence
        if instruction.is_access:
            return (
                instruction.kind == "ld"
                and instruction.has("acquire")
                and instruction.has(*WIDE)
                and instruction.address == address
            )
        if instruction.is_barrier or instruction.kind in ("bra", "ret", "exit"):
            return False
    return False


def check_atomic(body, index):
    atomic = body[index]
    if atomic.has(*NARROW):
        yield f"`{atomic.text}` is seen by its block alone"
    fence = before(body, index)
    if not atomic.has("release", "acq_rel") and not (fence and fence.is_wide_fence):
        yield f"`{atomic.text}` has no fence of the device before it"
    if not atomic.has("acquire", "acq_rel") and not acquires_after(body, index):
        yield f"`{atomic.text}` has neither a fence nor a load that acquires after it"
    if not any(instruction.is_barrier for instruction in body[:index]):
        yield f"`{atomic.text}`: its block has not met before it"
    if not any(instruction.is_barrier for instruction in body[index:]):
        yield f"`{atomic.text}`: its block does not meet after it"


def check_accesses(body):
    """Other accesses to what atomic operations change."""
    changed = {instruction.address for instruction in body if instruction.is_atomic}
    for instruction in body:
        if instruction.kind not in ("ld", "st") or instruction.address not in changed:
            continue
        ordered = "acquire" if instruction.kind == "ld" else "release"
        if not instruction.has(ordered) or not instruction.has(*WIDE):
            yield f"`{instruction.text}` does not {ordered} a word that is changed atomically"


def check(ptx):
    """What is wrong with the order of memory, and how many atomic operations and
    fences were looked at."""
    errors, atomics, fences = [], 0, 0
    ptx = LINE.sub("", COMMENT.sub("", ptx))
    for name, body in functions(ptx):
        faults = list(check_accesses(body))
        for index, instruction in enumerate(body):
            if instruction.is_atomic:
                atomics += 1
                faults += check_atomic(body, index)
            elif instruction.is_fence:
                fences += 1
                if not instruction.is_wide_fence:
                    faults.append(f"`{instruction.text}` is no fence of the device")
            if instruction.kind in ("ld", "st") and instruction.has(
                "relaxed", "acquire", "release"
            ):
                if not instruction.has(*WIDE):
                    faults.append(f"`{instruction.text}` is not seen by the device")
        errors += [f"{name}: {fault}" for fault in faults]
    # What was not understood is not passed over.
    for what, seen in (("atom|red", atomics), ("fence|membar", fences)):
        written = len(re.findall(rf"(?<![\w.%$])(?:{what})\.(?!{'|'.join(OTHER_FENCES)})", ptx))
        if written != seen:
            errors.append(f"{written} of {what} are written, {seen} stand in functions")
    return errors, atomics, fences
