# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes texts that are awkward to print into a folder."""

import pathlib
import sys

HEAD = b"func f(x: [M]) -> [M] {\n"
TEXTS = {
    "tab": b"\ty\t = \t$x\n",
    "wide": '  y = pad(x, "語é") $ 1\n'.encode(),
    "long": b"  y = " + b"x+" * 152 + b"x $ " + b"x+" * 300 + b"x\n",
    "control": '  y = "\x1b" \u202e\n'.encode(),
    "bytes": b"  y = x # \xff\n",
    "crlf": b"  y = $x\r\n",
}

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, text in TEXTS.items():
    (folder / (name + ".gf")).write_bytes(HEAD + text + b"  return x\n}\n")
