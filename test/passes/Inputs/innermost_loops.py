# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what stands in each innermost loop with products of an assembly (AT&T
syntax of x86, or aarch64): products, broadcasts, widest registers, accesses to the
stack, calls, masked memory accesses, copies between vector registers.

Usage: innermost_loops.py [FUNCTION-PREFIX] < FILE.s
"""

import re
import sys

LABEL = re.compile(r"(\.L\w+|[A-Za-z_]\w*):")
JUMP = re.compile(r"\s+(?:j\w+|b|b\.\w+|cbn?z|tbn?z)\s+(?:.*\s)?(\.L\w+)\s*$")
PRODUCT = re.compile(r"v?fn?m(?:add|la)|v?mulp|fmul")
BROADCAST = re.compile(r"vbroadcast|ld1r|shufps|movddup|dup\b")
COPY = re.compile(r"v?mov[au]p\w\s+%[xyz]mm\d+, %[xyz]mm|\bmov\s+v\d")
MASKED = re.compile(r"vmaskmov|\{%k\d\}")


def widest(lines):
    for register in (r"%zmm", r"%ymm", r"%xmm", r"\bv\d+\.\d[sd]|\bq\d"):
        if any(re.search(register, line) for line in lines):
            return {r"%zmm": "zmm", r"%ymm": "ymm", r"%xmm": "xmm"}.get(register, "neon")
    return "scalar"


def loops(text):
    """Bodies of loops that hold no other, with the function around them."""
    lines = [re.sub(r"\s*(#|//).*", "", line) for line in text.splitlines()]
    labels, function, owner = {}, "", {}
    for number, line in enumerate(lines):
        if match := LABEL.match(line):
            labels[match[1]] = number
            if not match[1].startswith(".L"):
                function = match[1]
        owner[number] = function
    for number, line in enumerate(lines):
        match = JUMP.match(line)
        if not match or labels.get(match[1], number) >= number:
            continue
        start = labels[match[1]]
        body = lines[start + 1 : number + 1]
        if not any(LABEL.match(inner) for inner in body):
            yield owner[start], [inner for inner in body if re.match(r"\s+[a-z]", inner)]


def main(prefix=""):
    for function, body in loops(sys.stdin.read()):
        products = [line for line in body if PRODUCT.match(line.strip())]
        if not products or not function.startswith(prefix):
            continue
        count = lambda pattern: sum(bool(pattern.search(line)) for line in body)
        stack, calls = re.compile(r"%rsp|\[sp"), re.compile(r"\s(call|bl)\w*\s")
        kinds = sorted({line.split()[0][:6] for line in products})
        print(
            f"{function}: products={len(products)} ({','.join(kinds)}) "
            f"broadcasts={count(BROADCAST)} registers={widest(products)} "
            f"stack={count(stack)} calls={count(calls)} masked={count(MASKED)} "
            f"copies={count(COPY)}"
        )


main(*sys.argv[1:])
