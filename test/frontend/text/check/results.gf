# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Results and tuples.

import cells

func shape(x: [B, T, 5]) -> [B, T, 6] {
  # CHECK: results.gf:[[@LINE+2]]:10: error: the result is [B, T, 5], expected [B, T, 6]
  # CHECK: note: declared here
  return x
}

func rank(x: [B, T, 5]) -> [B, T] {
  # CHECK: results.gf:[[@LINE+2]]:10: error: the result is [B, T, 5], expected [B, T]
  # CHECK: note: declared here
  return x
}

func element(x: [T]) -> i64[T] {
  # CHECK: results.gf:[[@LINE+2]]:10: error: the result is [T], expected i64[T]
  # CHECK: note: declared here
  return x
}

func found(x: [T, 4]) -> [T, N] {
  return x
}

func uses_found(x: [3, 4]) -> [3, 5] {
  # CHECK: results.gf:[[@LINE+2]]:10: error: the result is [3, 4], expected [3, 5]
  # CHECK: note: declared here
  return found(x)
}

func several(x: [B, 5]) -> (a: [B, 5], b: [B, 6], [B]) {
  # CHECK: results.gf:[[@LINE+3]]:13: error: result `b` is [B, 5], expected [B, 6]
  # CHECK: note: declared here
  # CHECK: results.gf:[[@LINE+1]]:16: error: result 3 must be a tensor of type f32, found a tuple of 2 values
  return x, x, (x, x)
}

func fewer(x: [B, 5]) -> (a: [B, 5], b: [B, 6]) {
  # CHECK: results.gf:[[@LINE+2]]:10: error: `fewer` has 2 results, found [B, 5]
  # CHECK: note: declared here
  return x
}

func tuples(x: [B, T, M]) -> [B, T, 4] {
  param rnn: lstm(H=4)
  # CHECK: results.gf:[[@LINE+2]]:3: error: 3 names on the left, a tuple of 2 values on the right
  # CHECK: hint: a tuple inside is taken apart by parentheses: `y, (h, c) = ...`
  a, b, c = scan(rnn, x)
  y, (h, c) = scan(rnn, x)
  # CHECK: results.gf:[[@LINE+1]]:3: error: 2 names on the left, [B, T, M] on the right
  a, b = x
  z = scan(rnn, x)
  # CHECK: results.gf:[[@LINE+2]]:9: error: `+` needs tensors, found a tuple of 2 values
  # CHECK: hint: take it apart first: `y, state = ...`
  d = z + 1
  return y
}
