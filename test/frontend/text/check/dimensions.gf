# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Dimensions and settings of a use.

import cells, attention

func no_dimension(x: [B, T, M]) -> [B, T, H] {
  param c: lstm()
  # CHECK: dimensions.gf:[[@LINE+4]]:10: error: dimension `H` of `lstm` is not known
  # CHECK: note: it is needed here
  # CHECK: note: `c` is declared here
  # CHECK: hint: write `lstm(H=...)`
  y, _ = scan(c, x)
  return y
}

func clash(q: [T, 6], k: [S, 4], v: [S, 4]) -> [T, 4] {
  # CHECK: dimensions.gf:[[@LINE+3]]:25: error: dimension `D` of `dot_product` is 6 in `q` and 4 in `k`
  # CHECK: note: `D` is 6 from here
  # CHECK: note: `k` is [S, D] here
  return dot_product(q, k, v)
}

func too_few(q: [6], k: [S, 6]) -> [S, 6] {
  # CHECK: dimensions.gf:[[@LINE+3]]:22: error: `q` is [6], expected 2 dimensions or more
  # CHECK: note: declared here
  # CHECK: hint: a new dimension: `q[None, :]`
  return dot_product(q, k, k)
}

func not_whole(x: [T, 6], heads = 4) -> [T, 6] {
  D = 6 / heads
  # What is said of a line is said once.
  # CHECK: dimensions.gf:[[@LINE+2]]:13: error: a dimension = 1.5 is not a whole number
  # CHECK: hint: D = 6 / heads, heads=4
  param w: [D], u: [D]
  # CHECK: dimensions.gf:[[@LINE+2]]:13: error: a dimension = 1.5 is not a whole number
  # CHECK: hint: heads=4
  param v: [6/heads]
  # CHECK: dimensions.gf:[[@LINE+2]]:21: error: a dimension = 1.5 is not a whole number
  # CHECK: hint: D = 6 / heads, heads=4
  param l: linear(N=D)
  return x
}

func quarters(x: [M], heads) -> [M] {
  D = M / heads
  # CHECK: dimensions.gf:[[@LINE+3]]:13: error: a dimension = 1.5 is not a whole number
  # CHECK: note: in this use of `quarters`
  # CHECK: hint: D = M / heads, M=6, heads=4
  param w: [D]
  return x
}

func of_quarters(x: [6]) -> [6] {
  param q: quarters(heads=4)
  return q(x)
}

func solved(x: [4*H, H]) -> [H] {
  return x[0]
}

func solves(x: [10, 3], y: [12, 3], z: [N, M]) -> [3] {
  # CHECK: dimensions.gf:[[@LINE+2]]:14: error: no whole number makes `4*H` of `solved` equal to 10 in `x`
  # CHECK: note: declared here
  a = solved(x)
  b = solved(z)
  return solved(y)
}

func given(x: [K]) -> [K] {
  return x
}

func names(x: [3]) -> [3] {
  # CHECK: dimensions.gf:[[@LINE+3]]:13: error: dimension `K` of `given` is given as 4 and is 3 in `x`
  # CHECK: note: `K` is 4 from here
  # CHECK: note: `x` is [K] here
  a = given(x, K=4)
  # CHECK: dimensions.gf:[[@LINE+3]]:7: error: dimension `K` of `given` is not known
  # CHECK: note: it is needed here
  # CHECK: hint: write `given(K=...)`
  b = given(3)
  # CHECK: dimensions.gf:[[@LINE+1]]:18: error: a dimension must be a whole number, found [3]
  c = given(x, K=x)
  # CHECK: dimensions.gf:[[@LINE+1]]:18: error: a dimension = -1 is negative
  d = given(x, K=-1)
  return given(x, K=3)
}

func pair(a: [N], b: [N]) -> [N] {
  return a + b
}

# A fixed 1 stretches, wherever it stands.
func stretched(x: [B, 3], y: [C, 3], z: [4, 1], w: [5, 3]) -> [3] {
  a = pair(x, y)
  b = pair(x[0:1], z)
  c = pair(z, x[0])
  # CHECK: dimensions.gf:[[@LINE+1]]:7: error: the leading dimensions of the arguments of `pair` do not fit: [4] and [5]
  d = pair(z, w)
  return x[0]
}

func shape_of_scalar(x: [M], heads) -> [heads, M/heads] {
  return reshape(x, (heads, M / heads))
}

func defaults(x: [M], half = M / 2, quarter = half / 2) -> [quarter] {
  return x[:quarter]
}

func of_defaults(x: [8]) -> [3] {
  # CHECK: dimensions.gf:[[@LINE+2]]:10: error: the result is [2], expected [3]
  # CHECK: note: declared here
  return defaults(x)
}
