# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Element types and shapes of operators.

func shapes(x: [B, T, 6], y: [B, T, 4], z: [T, 6], n: i64[T], m: bool[T]) -> [] {
# CHECK: operators.gf:[[@LINE+1]]:9: error: `+`: [B, T, 6] and [B, T, 4] do not fit
  a = x + y
# CHECK: operators.gf:[[@LINE+1]]:9: error: `<`: [B, T, 6] and [B, T, 4] do not fit
  b = x < y
  c = x @ y  # fits where T is 6
# CHECK: operators.gf:[[@LINE+1]]:9: error: `@`: [B, T, 6] and [B, 4, T] do not fit
  d = x @ y.T
  e = x + z
  f = x @ z.T
# CHECK: operators.gf:[[@LINE+1]]:9: error: `.T` swaps the last two dimensions, found i64[T]
  g = n.T
  return sum(n) * 1.0
}

func elements(x: [M], m: bool[M], n: i64[M], k: i32[M], h: f16[M], d: f64[M]) -> [] {
# CHECK: operators.gf:[[@LINE+2]]:9: error: `+` does not apply to bool
# CHECK: hint: convert it: `f32(m)`
  a = m + 1
# CHECK: operators.gf:[[@LINE+1]]:9: error: `<` does not apply to bool
  b = m < m
# CHECK: operators.gf:[[@LINE+1]]:9: error: `==` does not apply to bool
  c = m == n
# CHECK: operators.gf:[[@LINE+1]]:7: error: `-` does not apply to bool
  e = -m
# CHECK: operators.gf:[[@LINE+2]]:9: error: f16 and f32 do not mix
# CHECK: hint: convert one: `f32(x)`
  f = h + x
# CHECK: operators.gf:[[@LINE+2]]:9: error: f32 and f64 do not mix
# CHECK: hint: convert one: `f64(x)`
  g = x * d
# CHECK: operators.gf:[[@LINE+1]]:9: error: `and` needs bool, found i64[M]
  i = m and n
# CHECK: operators.gf:[[@LINE+1]]:7: error: `not` needs bool, found [M]
  j = not x
# CHECK: operators.gf:[[@LINE+1]]:9: error: 3000000000 does not fit into i32
  l = k + 3000000000
# CHECK: operators.gf:[[@LINE+1]]:9: error: `//`: division by 0
  o = n // 0
# CHECK: operators.gf:[[@LINE+1]]:9: error: `@` needs tensors, found the number 3
  p = x @ 3
# CHECK: operators.gf:[[@LINE+2]]:15: error: `@` needs vectors or matrices, found the scalar []
# CHECK: hint: a product with a scalar is `*`
  q = (x @ x) @ x
  r = m == m
  s = m != true
  t = not m or m and m
  return x @ x
}

func tuples(x: [M, 4]) -> [] {
  t = split(x, 2)
# CHECK: operators.gf:[[@LINE+2]]:9: error: `+` needs tensors, found a tuple of 2 values
# CHECK: hint: take it apart first: `y, state = ...`
  a = t + x
# CHECK: operators.gf:[[@LINE+1]]:9: error: `*` needs tensors, found the string "a"
  b = x * "a"
# CHECK: operators.gf:[[@LINE+1]]:7: error: `exp` needs tensors, found a tuple of 2 values
  c = exp(t)
# CHECK: operators.gf:[[@LINE+1]]:7: error: an index needs a tensor, found a tuple of 2 values
  d = t[0]
# An error is reported once, where it is made.
  e = a + b * c
  return sum(e)
}
