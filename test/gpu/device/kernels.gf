# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A model for each family of kernels.
import cells, attention

model product(x: [B, 200]) -> [B, 152] {
  param l: linear(N=152)
  return l(x)
}

# Operations between an input and a table, row by row, and a reduction.
model pointwise(tokens: i64[B, T], x: [B, T, 72]) -> [B, T, 72] {
  param table: embedding(V=100, N=72), norm: layer_norm()
  return norm(tanh(x) * sigmoid(table(tokens)) + exp(-x))
}

model recurrent(x: [B, T, 96], lengths: i64[B], h: [B, 128], c: [B, 128]) -> [B, T, 128] {
  param l: lstm(H=128)
  y, _ = scan(l, x, lengths=lengths, init=(h, c))
  return y
}

model bidirectional(x: [B, T, 96], lengths: i64[B]) -> [B, T, 256] {
  param l: lstm(H=128, bidirectional=true)
  y, _ = scan(l, x, lengths=lengths)
  return y
}

model gated(x: [B, T, 96]) -> [B, T, 128] {
  param g: gru(H=128)
  y, _ = scan(g, x)
  return y
}

model attentive(q: [B, H, T, 64], k: [B, H, S, 64], v: [B, H, S, 64]) -> [B, H, T, 64] {
  return dot_product(q, k, v)
}

model attentive_128(q: [B, H, T, 128], k: [B, H, S, 128], v: [B, H, S, 128]) -> [B, H, T, 128] {
  return dot_product(q, k, v)
}

model causal(q: [B, H, T, 64], k: [B, H, T, 64], v: [B, H, T, 64]) -> [B, H, T, 64] {
  return dot_product(q, k, v, causal=true)
}

model masked(q: [B, H, T, 64], k: [B, H, S, 64], v: [B, H, S, 64], lengths: i64[B],
             mask: bool[B, 1, T, S]) -> [B, H, T, 64] {
  return dot_product(q, k, v, lengths=lengths, mask=mask)
}

model neighbours(q: [B, H, T, 64], k: [B, H, S, 64], v: [B, H, S, 64]) -> [B, H, T, 64] {
  return diff_window(q, k, v, width=3)
}

model differing(q1: [B, H, T, 64], q2: [B, H, T, 64], k1: [B, H, T, 64], k2: [B, H, T, 64],
                v: [B, H, T, 128], l: [B, H, T, 1]) -> [B, H, T, 128] {
  return differential(q1, q2, k1, k2, v, lambda=l, causal=true)
}

# For the time alone: larger ones.
model wide_product(x: [B, 4096]) -> [B, 4096] {
  param l: linear(N=4096)
  return l(x)
}

model wide_recurrent(x: [B, T, 512]) -> [B, T, 512] {
  param l: lstm(H=512)
  y, _ = scan(l, x)
  return y
}

model wide_bidirectional(x: [B, T, 512], lengths: i64[B]) -> [B, T, 1024] {
  param l: lstm(H=512, bidirectional=true)
  y, _ = scan(l, x, lengths=lengths)
  return y
}
