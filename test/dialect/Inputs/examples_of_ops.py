# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a module of every ```mlir example in an ODS file, each in a function
that gives it the values that it names. An operation without an example, or
one that this file knows no values for, is an error.

Usage: examples_of_ops.py FILE.td
"""

import re
import sys
import textwrap

RECURRENCE = """\
%r:3 = gf.recurrence sequences(%in : tensor<?x?x8xf32>)
    states(%s0, %s1 : tensor<?x8xf32>, tensor<?x8xf32>) time_axis 1 -> (tensor<?x?x8xf32>) {
^step(%y: tensor<?x8xf32>, %next_h: tensor<?x8xf32>, %next_c: tensor<?x8xf32>):
EXAMPLE
}"""

ATTENTION = """\
%r = gf.attention queries(%in : tensor<?x64xf32>) keys(%ink : tensor<?x64xf32>) -> tensor<?x64xf32> {
^row(%qr: tensor<64xf32>, %kr: tensor<?x64xf32>, %row: index, %position: index):
EXAMPLE
  gf.yield %qr : tensor<64xf32>
}"""

ROW_INPUTS = "%in: tensor<?x64xf32>, %ink: tensor<?x64xf32>"

# Operation: what stands around the example, and the arguments of the function.
SETTINGS = {
    "parameter": ("EXAMPLE", ""),
    "yield": (RECURRENCE, "%in: tensor<?x?x8xf32>, %s0: tensor<?x8xf32>, %s1: tensor<?x8xf32>"),
    "recurrence": ("EXAMPLE", "%x: tensor<?x?x40xf32>, %h0: tensor<?x8xf32>, %n: tensor<?xi64>"),
    "attention": ("EXAMPLE", "%q: tensor<2x?x64xf32>, %k: tensor<2x?x64xf32>, %v: tensor<2x?x64xf32>"),
    "row_scores": (ATTENTION, ROW_INPUTS + ", %q: tensor<64xf32>, %k: tensor<?x64xf32>"),
    "row_softmax": (ATTENTION, ROW_INPUTS + ", %s: tensor<?xf32>, %near: tensor<?xi1>, %z: f32"),
    "row_neighbours": (ATTENTION, ROW_INPUTS + ", %s: tensor<?xf32>"),
    "row_top_k": (ATTENTION, ROW_INPUTS + ", %s: tensor<?xf32>"),
    "row_visible": (ATTENTION, ROW_INPUTS),
    "row_values": (ATTENTION, ROW_INPUTS + ", %p: tensor<?xf32>, %v: tensor<?x64xf32>"),
    "pack": ("EXAMPLE", "%w: tensor<100x40xf32>, %e: tensor<7x40x16xf32>, "
             "%v: tensor<4x100x40xf32>, %f: tensor<13x40x32xf32>"),
    "linear": ("EXAMPLE", "%x: tensor<?x40xf32>, %panels: tensor<7x40x16xf32>, "
               "%b: tensor<100xf32>, %e: tensor<?x100xf32>, %gates: tensor<13x40x32xf32>, "
               "%e2: tensor<?x4x100xf32>"),
    "team_size": ("EXAMPLE", ""),
    "team_rank": ("EXAMPLE", ""),
    "team_barrier": ("EXAMPLE", ""),
}


def main(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    definitions = re.split(r"^def Gf_\w+Op : Gf_\w+<\"", text, flags=re.MULTILINE)[1:]
    if not definitions:
        sys.exit(f"{path}: no operation found")
    for definition in definitions:
        name = definition[: definition.index('"')]
        examples = re.findall(r"```mlir\n(.*?)```", definition, flags=re.DOTALL)
        if not examples:
            sys.exit(f"{path}: gf.{name} has no example")
        if name not in SETTINGS:
            sys.exit(f"{path}: no values known for the example of gf.{name}")
        around, arguments = SETTINGS[name]
        for index, example in enumerate(examples):
            body = around.replace("EXAMPLE", textwrap.dedent(example).rstrip())
            print(f"func.func @{name}_{index}({arguments}) {{")
            print(body)
            print("  return\n}")


main(sys.argv[1])
