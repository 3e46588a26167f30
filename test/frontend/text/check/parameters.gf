# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Parameters and their checkpoint names.

func names(x: [3]) -> [3] {
  # CHECK: parameters.gf:[[@LINE+6]]:25: error: two parameters have the checkpoint name `l.weight`
  # CHECK: note: the other one
  # CHECK: hint: to share one, use the first in both places
  # CHECK: parameters.gf:[[@LINE+3]]:25: error: two parameters have the checkpoint name `l.bias`
  # CHECK: note: the other one
  # CHECK: hint: to share one, use the first in both places
  param l: linear(N=3), a: linear(N=3) as "l"
  # CHECK: parameters.gf:[[@LINE+3]]:9: error: two parameters have the checkpoint name `weight`
  # CHECK: note: the other one
  # CHECK: hint: to share one, use the first in both places
  param s: linear(N=3, bias=false) as "", weight: [3, 3]
  y = l(x)
  z = a(x)
  u = s(x)
  return x
}

func no_name(x: [3]) -> [3] {
  # CHECK: parameters.gf:[[@LINE+1]]:19: error: a parameter needs a name; `as ""` is for an instance
  param w: [3] as ""
  return x * w
}

func first_use(x: [3]) -> [3] {
  param l: linear(N=3)
  y = l(x)
  # CHECK: parameters.gf:[[@LINE+4]]:7: error: the parameter `l.weight` is [3, 2] here and [3, 3] at its first use
  # CHECK: note: first used here
  # CHECK: note: declared here
  # CHECK: hint: declare another instance for another shape
  z = l(y[:2])
  return x
}

func members(x: [M]) -> [M] {
  param fc: linear(N=M), late: linear(N=M)
  # CHECK: parameters.gf:[[@LINE+2]]:18: error: `fc` has no parameter `wieght`
  # CHECK: hint: did you mean `weight`?
  z = fc(x) @ fc.wieght
  # CHECK: parameters.gf:[[@LINE+2]]:7: error: `late` has no parameters before its first use
  # CHECK: note: declared here
  y = late.weight @ x
  return late(fc(x)) @ fc.weight.T
}

func unused(x: [M]) -> [M] {
  # CHECK: parameters.gf:[[@LINE+1]]:9: warning: `fc` is never used and has no parameters
  param fc: linear(N=M)
  return x
}

func initial(x: [M], s = "a") -> [M] {
  # CHECK: parameters.gf:[[@LINE+3]]:18: error: the initial value of a parameter must be a number, found [M]
  # CHECK: parameters.gf:[[@LINE+2]]:30: error: the initial value of a parameter must be a number, found the string "a"
  # CHECK: parameters.gf:[[@LINE+1]]:50: error: an instance has no initial value
  param w: [M] = x, v: [M] = s, u: linear(N=M) = 1
  return x * w
}

func huge(x: [M]) -> [M] {
  # CHECK: parameters.gf:[[@LINE+1]]:9: error: the parameter `w` [1000000, 1000000, 1000000] is too large
  param w: [1_000_000, 1_000_000, 1_000_000]
  return x
}

# The same name says the same of the checkpoint's name, which is not reported too.
func twice(x: [3]) -> [3] {
  # CHECK: parameters.gf:[[@LINE+2]]:17: error: `a` is declared twice in `twice`
  # CHECK: note: first declared here
  param a: [3], a: [3]
  return x + a
}

# What stops the use of an instance stops its parameters: nothing is said of these.
func failed_use(i: i64[T], x: [T, 4]) -> [T, 4] {
  # CHECK: parameters.gf:[[@LINE+2]]:22: error: `V` is not defined
  # CHECK: parameters.gf:[[@LINE+1]]:44: error: `nothing` is not defined
  param e: embedding(V, N=4), fc: linear(N=nothing, bias=V)
  return e(i) @ e.weight.T + fc(x) @ fc.weight
}

func too_large(i: i64[T]) -> [T, 4] {
  # CHECK: parameters.gf:[[@LINE+1]]:9: error: the parameter `e.weight` [1000000000000000, 4] is too large
  param e: embedding(V=1_000_000_000_000_000, N=4)
  return e(i) + e.weight[:1]
}
