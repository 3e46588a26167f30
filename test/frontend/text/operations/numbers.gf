# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Arithmetic of numbers. A shape says what a number is.

func fixed(x: [2]) -> [2] {
  a = zeros(7 // 2) + zeros(3)
  b = zeros(-7 // 2 + 7) + zeros(3)
  c = zeros(-7 % 4) + zeros(1)
  d = zeros(6 / 4 * 2) + zeros(3)
  e = zeros(2**3) + zeros(8)
  f = zeros(2**-1 * 4) + zeros(2)
  g = zeros(sqrt(16)) + zeros(4)
  h = zeros(max(3, 2) + min(3, 2)) + zeros(5)
  i = zeros(abs(-3)) + zeros(3)
  j = zeros(-2**2 + 8) + zeros(4)
  k = zeros(7.5 // 2) + zeros(3)
  l = zeros(clamp(9, 1, 4)) + zeros(4)
  m = zeros(where(2 < 3, 4, 5)) + zeros(4)
# CHECK: numbers.gf:[[@LINE+1]]:13: error: a dimension = 1.5 is not a whole number
  n = zeros(3 / 2)
# CHECK: numbers.gf:[[@LINE+1]]:27: error: 9223372036854775807 + 1 does not fit into i64
  o = 9223372036854775807 + 1
# CHECK: numbers.gf:[[@LINE+2]]:7: error: -(-9223372036854775808) does not fit into i64
  least = -9223372036854775807 - 1
  o = -least
# CHECK: numbers.gf:[[@LINE+1]]:8: error: 2 ** 64 does not fit into i64
  p = 2**64
# CHECK: numbers.gf:[[@LINE+1]]:9: error: `/`: division by 0
  q = 1 / 0
# CHECK: numbers.gf:[[@LINE+1]]:9: error: `%`: division by 0
  r = 5 % 0
# CHECK: numbers.gf:[[@LINE+1]]:11: error: inf - inf is not a number
  s = inf - inf
# CHECK: numbers.gf:[[@LINE+1]]:7: error: `sqrt` of -1 is not a number
  t = sqrt(-1)
  return x
}

func sizes(x: [T, 2*M], y: [S, M]) -> [] {
  a = zeros(T + S) + concat(x[:, 0], y[:, 0])
  b = zeros(2*M / 2) + y[0]
  c = zeros((T - 1) // 2 + 1) + x[::2, 0]
  d = zeros(max(T, S)) + zeros(max(S, T))
  e = zeros(M**2) + reshape(zeros((M, M)), M*M)
# CHECK: numbers.gf:[[@LINE+1]]:16: error: `+`: [T] and [T + 1] do not fit
  f = zeros(T) + zeros(T + 1)
# CHECK: numbers.gf:[[@LINE+1]]:9: error: `//`: division by 0
  h = T // 0
  i = x / sqrt(T)
  j = where(T < S, x[0, 0], y[0, 0])
# Numbers take the type of what they meet.
  k = arange(T) + 1 == arange(T)
  l = arange(T) + 0.5
  return sum(l) + i[0, 0] + j
}
