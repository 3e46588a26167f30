# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives hostile texts to a command and judges how it ends.

usage: hostile.py SAMPLE FOLDER [--seconds S] COMMAND...

Each text ends in success or in a diagnostic: status 0 without a message or 1
with one, within S seconds (default 2), and a bounded output.
"""

import pathlib
import re
import resource
import subprocess
import sys

HEAD = "func f(x: [M]) -> [M] {\n"
BODY = HEAD + "  y = %s\n  return y\n}\n"
DEEP = 10_000
MILLION = 1_000_000
NESTED = "nested more than 200 deep"
CHAIN = "an expression of more than 1000 operations in a row"

# Name: (text, what standard error must hold; None where any good end will do).
TEXTS = {
    "empty": ("", None),
    "parentheses": (BODY % ("(" * DEEP + "x" + ")" * DEEP), NESTED),
    "parentheses-open": (BODY % ("(" * DEEP), NESTED),
    "parentheses-close": (BODY % (")" * DEEP), "expected an expression"),
    "calls": (BODY % ("exp(" * DEEP + "x" + ")" * DEEP), NESTED),
    "arguments": (BODY % ("exp(x=" * DEEP + "x" + ")" * DEEP), NESTED),
    "indices": (BODY % ("x[" * DEEP + "0" + "]" * DEEP), NESTED),
    "minus": (BODY % ("-" * DEEP + "x"), NESTED),
    "not": (BODY % ("not " * DEEP + "x"), NESTED),
    "power": (BODY % ("**".join("2" * DEEP)), NESTED),
    "targets": (HEAD + "  " + "(" * DEEP + "x" + ")" * DEEP + " = 1\n}\n", NESTED),
    "shapes": ("func f(x: [" + "f(" * DEEP + ") -> [] { return x }", NESTED),
    "blocks": (HEAD + "for i in 2 {\n" * DEEP + "}\n" * (DEEP + 1), NESTED),
    "blocks-open": (HEAD + "for i in 2 {" * DEEP, NESTED),
    "braces": ("{" * DEEP, "expected `cell`"),
    "braces-in-block": (HEAD + "{" * DEEP, "expected a statement, found `{`"),
    "sum": (BODY % "+".join("x" * MILLION), CHAIN),
    "product": (BODY % "*".join("x" * MILLION), CHAIN),
    "or": (BODY % " or ".join("x" * MILLION), CHAIN),
    "comparison": (BODY % "<".join("x" * MILLION), "comparisons do not chain"),
    "indexed": (BODY % ("x" + "[0]" * MILLION), CHAIN),
    "members": (BODY % ("x" + ".T" * MILLION), CHAIN),
    "nested-sums": (BODY % ("(" * 190 + "x" + "+x+x+x+x+x+x+x)" * 190), CHAIN),
    "tuple": (BODY % ",".join("x" * MILLION), None),
    "name": (BODY % ("a" * 10_000_000), None),
    "name-errors": (HEAD + ("a" * 200_000 + " + 1\n") * 50, "found `+`"),
    "statement-name": (HEAD + "a" * 10_000_000 + " b = 3\n}\n", "found `b`"),
    "found-name": (HEAD + "b " + "a" * 10_000_000 + " = 3\n}\n", "found `aaaa"),
    "element-name": (
        "func f(x: " + "e" * 10_000_000 + "[3]) -> [] { return x }",
        "is not an element type",
    ),
    "number": (BODY % ("9" * 10_000_000), "a number of 10000000 characters"),
    "number-whole": (BODY % 2**63, "the whole number `9223372036854775808`"),
    "number-large": (BODY % (2**63 - 1), None),
    "number-exponent": (BODY % "1e999999999", "is too large"),
    "number-small": (BODY % "1e-999999999", "is too small"),
    "string": (BODY % ('"' + "s" * 10_000_000), "at the end of a string"),
    "string-escapes": (BODY % ('"' + "\\q" * MILLION + '"'), "unknown escape `\\q`"),
    "comment": ("#" + "c" * 10_000_000, None),
    "newlines": (HEAD + "\n" * MILLION + "  return x\n}\n", None),
    "newlines-only": ("\n" * MILLION, None),
    "errors": (HEAD + "  x + 1\n" * MILLION + "}\n", "note: 999900 more errors"),
    "characters": ("$" * MILLION, "unexpected character `$`"),
    "characters-in-lines": (HEAD + "$\n" * MILLION, "unexpected character `$`"),
    "declarations": ("func f(\n" * MILLION, "expected"),
    "imports": ("import " + ",".join(f"a{i}" for i in range(100_000)), None),
    "nul": (b"func f\0(x: [M]) -> [M] { return x }\n", ":1:7: error: the text holds a NUL"),
    "nul-end": (HEAD + "  return x\n}\n\0", ":4:1: error: the text holds a NUL byte"),
    "invalid-utf8": (b"# \xff\n", ":1:3: error: the text is not UTF-8: unexpected byte 0xff"),
    "overlong-utf8": (b"# \xc0\x80\n", ":1:3: error: the text is not UTF-8"),
    "surrogate-utf8": (b"\n# \xed\xa0\x80\n", ":2:3: error: the text is not UTF-8"),
    "cut-utf8": (b"# \xe2\x82", ":1:3: error: the text is not UTF-8"),
    "utf16": ("func".encode("utf-16"), "the text is not UTF-8"),
    "control": (BODY % "\x1b[2J", r"unexpected character `\x1b`"),
    "reversed": (BODY % "\u202e", "unexpected character `\\xe2\\x80\\xae`"),
    "non-ascii": (BODY % "é", "unexpected character `é`"),
}


def processor_seconds():
    """What the programs run so far have used: other work on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def judge(name, folder, text, wanted, command, seconds):
    data = text if isinstance(text, bytes) else text.encode()
    path = folder / (name + ".gf")
    path.write_bytes(data)
    start = processor_seconds()
    try:
        done = subprocess.run(
            command + [str(path)], capture_output=True, timeout=10 * seconds
        )
    except subprocess.TimeoutExpired:
        return [f"{name}: not done after {10 * seconds} s"]
    elapsed = processor_seconds() - start
    path.unlink()
    message = done.stderr.decode("utf-8", "replace")
    faults = []
    if done.returncode not in (0, 1):
        faults.append(f"{name}: status {done.returncode}: {message[-2000:]}")
    if done.returncode == 1 and not re.search(r"\.gf:\d+:\d+: error: .", message):
        faults.append(f"{name}: status 1 without a place: {message[:500]}")
    if wanted is not None and (done.returncode != 1 or wanted not in message):
        faults.append(f"{name}: expected `{wanted}`: {message[:500]}")
    if elapsed > seconds:
        faults.append(f"{name}: took {elapsed:.1f} s")
    if len(message) > 300_000:
        faults.append(f"{name}: {len(message)} bytes of messages")
    if any(ord(c) < 32 and c != "\n" for c in message):
        faults.append(f"{name}: a control character in a message")
    return faults


def main():
    arguments = sys.argv[1:]
    sample = pathlib.Path(arguments.pop(0)).read_bytes()
    folder = pathlib.Path(arguments.pop(0))
    seconds = 2.0
    if arguments[0] == "--seconds":
        seconds = float(arguments[1])
        del arguments[:2]
    folder.mkdir(parents=True, exist_ok=True)

    faults = []
    for name, (text, wanted) in TEXTS.items():
        faults += judge(name, folder, text, wanted, arguments, seconds)
    # A text that ends anywhere, many in one run of the command.
    paths = []
    for size in range(len(sample)):
        path = folder / f"cut-{size}.gf"
        path.write_bytes(sample[:size])
        paths.append(path)
    for first in range(0, len(paths), 100):
        group = paths[first : first + 100]
        done = subprocess.run(
            arguments + [str(path) for path in group], capture_output=True, timeout=60
        )
        if done.returncode not in (0, 1):
            faults.append(f"cut at {first}..: status {done.returncode}")
    for path in paths:
        path.unlink()

    for fault in faults:
        print(fault)
    print(f"{len(TEXTS)} texts and {len(paths)} cuts, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
