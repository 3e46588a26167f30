# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# NumPy's basic indexing.

func fixed(x: [4, 6]) -> [] {
  a = x[0] + zeros(6)
  b = x[-1, 2:] + zeros(4)
  c = x[:, -2:] + zeros((4, 2))
  d = x[None, ..., 1:100:2] + zeros((1, 4, 3))
  e = x[::3] + zeros((2, 6))
  f = x[..., 5] + zeros(4)
  g = x[3:1] + zeros((0, 6))
  h = x[:, :-2, None] + zeros((4, 4, 1))
# CHECK: indices.gf:[[@LINE+1]]:9: error: index 4 is out of range for a size of 4
  i = x[4]
# CHECK: indices.gf:[[@LINE+1]]:12: error: index -7 is out of range for a size of 6
  j = x[0, -7]
# CHECK: indices.gf:[[@LINE+1]]:7: error: 3 indices for [4, 6]
  k = x[0, 0, 0]
# CHECK: indices.gf:[[@LINE+1]]:7: error: an index holds at most one `...`
  l = x[..., ...]
# CHECK: indices.gf:[[@LINE+2]]:11: error: the step of a slice is at least 1, found -1
# CHECK: hint: to reverse an axis, write `flip(x, axis=k)`
  m = x[::-1]
# CHECK: indices.gf:[[@LINE+1]]:9: error: an index is a whole number, found the number 0.5
  n = x[0.5]
# CHECK: indices.gf:[[@LINE+2]]:9: error: an index is a whole number, found i64[4]
# CHECK: hint: to look up many places, write `take(x, i)`
  o = x[arange(4)]
# CHECK: indices.gf:[[@LINE+1]]:7: error: an index needs a tensor, found the number 3
  p = 3[0]
  return x[0, 0]
}

func open(x: [T, M], n: i64[T]) -> [] {
  a = x[1:] + zeros((max(T - 1, 0), M))
  b = x[:5] + zeros((min(T, 5), M))
  c = x[-1] + zeros(M)
  d = x[:T - 1, 0] + zeros(max(T - 1, 0))
  e = x[::2, 0] + zeros((T + 1) // 2)
  return x[0, 0]
}
