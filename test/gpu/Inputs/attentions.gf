# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Attentions that take all registers of a thread, in ways of their own, and what steps through
# a cache or is a scan.
import attention, cells

# Two queries are computed of one.
model scaled(q: [H, T, 64], k: [H, S, 64], v: [H, S, 64], a: [H, 64], b: [H, 64], c: [H, 64], d: [H, 64]) -> [H, T, 64] {
  return scaled_differential(q, k, v, a, b, c, d)
}

model wide(q1: [H, T, 128], q2: [H, T, 128], k1: [H, S, 128], k2: [H, S, 128], v: [H, S, 128]) -> [H, T, 128] {
  return differential(q1, q2, k1, k2, v, 0.3)
}

model masked(q1: [H, T, 64], q2: [H, T, 64], k1: [H, S, 64], k2: [H, S, 64], v: [H, S, 64],
             m: bool[H, T, S], b: [T, S]) -> [H, T, 64] {
  return differential(q1, q2, k1, k2, v, 0.3, mask=m, bias=b, causal=true)
}

# The kernel itself computes how far the keys of each block go.
model ragged(q1: [H, T, 64], q2: [H, T, 64], k1: [H, S, 64], k2: [H, S, 64], v: [H, S, 128], n: i64[H]) -> [H, T, 128] {
  return differential(q1, q2, k1, k2, v, 0.3, causal=true, lengths=n)
}

model many_maps(q: [H, T, 4*64], k: [H, S, 4*64], v: [H, S, 64], c: [H, T, 4]) -> [H, T, 64] {
  return mixed_maps(q, k, v, c)
}

# Many operations make a score.
model bucketed(q: [H, T, 128], k: [H, S, 128], v: [H, S, 128], table: [H, 32], m: bool[T, S]) -> [H, T, 128] {
  return bucketed_bias(q, k, v, table, mask=m)
}

# Three maps are added to, which live at once.
model three_maps(q: [B, 3, T, 3*64], k: [B, 3, S, 3*64], v: [B, 3, S, 64], c: [B, 3, T, 3], b: [T, S]) -> [B, 3, T, 64] {
  return mixed_maps(q, k, v, c, bias=b, window=(100, 0))
}

# Queries stay in shared memory, and two restrictions are read.
model restricted(q1: [H, T, 128], q2: [H, T, 128], k1: [H, S, 128], k2: [H, S, 128], v: [H, S, 64],
                 m: bool[H, T, S], b: [T, S]) -> [H, T, 64] {
  return differential(q1, q2, k1, k2, v, 0.3, mask=m, bias=b)
}

# Of each score a whole sigmoid.
model sigmoids(q: [B, 4, T, 128], k: [B, 4, S, 128], v: [B, 4, S, 128], shift: [4]) -> [B, 4, T, 128] {
  return sigmoid_dot_product(q, k, v, shift, window=(100, 0))
}

# A condition of the text beside a mask and the diagonal.
model prefixed(q: [B, 1, T, 128], k: [B, 1, S, 128], v: [B, 1, S, 128], n: i64[B, 1], m: bool[B, 1, 1, S]) -> [B, 1, T, 128] {
  return prefix_causal(q, k, v, n, causal=true, mask=m)
}

model step(q: [B, 4, T, 64], k: [B, 4, T, 64], v: [B, 4, T, 64], n: i64[]) -> [B, 4, T, 64] {
  state keys: [B, 4, 1024, 64], values: [B, 4, 1024, 64]
  keys' = append(keys, k, at=n)
  values' = append(values, v, at=n)
  return dot_product(q, keys', values', causal=true, offset=n)
}

# Scores at both ends of a row stand by themselves.
model near(q: [H, T, 64], k: [H, S, 64], v: [H, S, 64], n: i64[H]) -> [H, T, 64] {
  return diff_window(q, k, v, width=5, window=(64, 64), lengths=n)
}

# Queries that have just no registers beside those scores.
model near_offset(q: [H, T, 32], k: [H, S, 32], v: [H, S, 128], n: i64[H], o: i64[H]) -> [H, T, 128] {
  return diff_window(q, k, v, width=5, causal=true, lengths=n, offset=o)
}

# Of each query the last two keys have other neighbours.
model near_causal(q: [H, T, 64], k: [H, S, 64], v: [H, S, 128]) -> [H, T, 128] {
  return diff_window(q, k, v, width=5, causal=true)
}

# A known number of keys: sums over those at the ends of the window have no branch by it.
model near_known(q: [H, T, 40], k: [H, 77, 40], v: [H, 77, 80]) -> [H, T, 80] {
  return diff_window(q, k, v, width=5, window=(64, 32))
}

model linear_scan(x: [B, T, 128]) -> [B, T, 128] {
  param cell: min_gru(H=128)
  y, _ = scan(cell, x)
  return y
}
