# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a text whose expressions and blocks nest as deep as the argument says."""

import sys

depth = int(sys.argv[1])
blocks = depth - 1  # the body of a declaration is one
print("func f(x: [M]) -> [M] {")
print("  y = " + "(" * depth + "x" + ")" * depth)
print("  " + "(" * depth + "y" + ")" * depth + " = x")
print("  y = " + "not " * depth + "x")
print("  y = 1" + "**2" * depth)
print("  y = " + "x[" * depth + "0" + "]" * depth)
print("  for i in 2 {\n" * blocks + "  y = x")
print("  }\n" * blocks + "  return y\n}")
