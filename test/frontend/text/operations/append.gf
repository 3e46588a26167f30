# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Rows that are appended to a tensor of a capacity.

func right(keys: [B, 2, C, 4], k: [B, 2, T, 4], n: i64[], m: i64[B], o: i32[B, 2], x: [C], y: [T], i: i64[B, C]) ->
    ([B, 2, C, 4], [B, 2, C, 4], [B, 2, C, 4], [C], i64[B, C], [B, 2, C, 4]) {
  each = append(i, i[:, :1], at=m, axis=-1)
  return append(keys, k, at=n), append(keys, k, at=m), append(keys, k, at=o), append(x, y, at=2), each, append(keys, k[:, :, 0:1], at=C-1)
}

# Leading dimensions map: a place for each sequence.
func mapped(keys: [C, 4], k: [T, 4], n: i64[]) -> [C, 4] {
  return append(keys, k, at=n)
}
func maps(keys: [B, C, 4], k: [B, T, 4], n: i64[B]) -> [B, C, 4] {
  return mapped(keys, k, n)
}

func no_place(keys: [C, 4], k: [T, 4]) -> [C, 4] {
# CHECK: append.gf:[[@LINE+1]]:10: error: `append` needs at=, where the first row goes
  return append(keys, k)
# CHECK: hint: `append(keys, k, at=n)`, with n rows in `keys` already
}

func other_width(keys: [C, 4], k: [T, 3]) -> [C, 4] {
# CHECK: append.gf:[[@LINE+1]]:10: error: `append`: [C, 4] and rows [T, 3] do not fit
  return append(keys, k, at=0)
}

func other_rank(keys: [C, 4], k: [4]) -> [C, 4] {
# CHECK: append.gf:[[@LINE+1]]:10: error: `append`: [C, 4] and rows [4] do not fit
  return append(keys, k, at=0)
}

func other_type(keys: f16[C, 4], k: f64[T, 4]) -> f16[C, 4] {
# CHECK: append.gf:[[@LINE+1]]:10: error: f16 and f64 do not mix
  return append(keys, k, at=0)
# CHECK: hint: convert the rows: `f16(x)`
}

func too_many(keys: [3, 4], k: [5, 4], n: i64[]) -> [3, 4] {
# CHECK: append.gf:[[@LINE+1]]:10: error: `append`: 5 rows, found a capacity of 3
  return append(keys, k, at=n)
}

func too_far(keys: [5, 4], k: [2, 4]) -> [5, 4] {
# CHECK: append.gf:[[@LINE+1]]:29: error: `append`: 2 rows at 4, found a capacity of 5
  return append(keys, k, at=4)
}

func float_place(keys: [5, 4], k: [2, 4], n: []) -> [5, 4] {
# CHECK: append.gf:[[@LINE+1]]:29: error: at needs integers, found []
  return append(keys, k, at=n)
}

func places_of_rows(keys: [B, 5, 4], k: [B, 2, 4], n: i64[B, 5]) -> [B, 5, 4] {
# CHECK: append.gf:[[@LINE+1]]:29: error: at is [B, 5], expected the first of [B]
  return append(keys, k, at=n)
}

func other_axis(keys: [5, 4], k: [2, 4]) -> [5, 4] {
# CHECK: append.gf:[[@LINE+1]]:37: error: `append`: axis 2 does not exist in [5, 4]
  return append(keys, k, at=0, axis=2)
}

attention of_keys(q: [T, D], k: [S, D], c: [S, D]) -> [T, D] {
# CHECK: append.gf:[[@LINE+1]]:29: error: `append` works along the keys, S
  return softmax(q @ k.T) @ append(c, k, at=0)
}
