# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One model for each kind of kernel.
import cells, attention

model elementwise(x: [N, M], y: [N, M]) -> [N, M] {
  return tanh(x) * sigmoid(y) + exp(-x)
}

model normalized(x: [B, T, 64]) -> [B, T, 64] {
  param norm: layer_norm()
  return norm(x)
}

model projected(x: [B, 40]) -> [B, 100] {
  param l: linear(N=100)
  return l(x)
}

model embedded(tokens: i64[B, T]) -> [B, T, 24] {
  param e: embedding(V=100, N=24)
  return e(tokens)
}

model recurrent(x: [B, T, 32], lengths: i64[B]) -> [B, T, 48] {
  param l: lstm(H=48)
  h, _ = scan(l, x, lengths=lengths)
  return h
}

model bidirectional(x: [B, T, 32], lengths: i64[B]) -> [B, T, 96] {
  param l: lstm(H=48, bidirectional=true)
  h, _ = scan(l, x, lengths=lengths)
  return h
}

model attentive(q: [B, H, T, 32], k: [B, H, S, 32], v: [B, H, S, 32]) -> [B, H, T, 32] {
  return dot_product(q, k, v, causal=true)
}

model differing(q1: [B, H, T, 32], q2: [B, H, T, 32], k1: [B, H, S, 32], k2: [B, H, S, 32],
                v: [B, H, S, 64], l: [B, H, T, 1]) -> [B, H, T, 64] {
  return differential(q1, q2, k1, k2, v, lambda=l, causal=true)
}

# The largest of nothing ends a run.
model largest(x: [B, T]) -> [B] {
  return max(x, axis=-1)
}

# Two equal parts of a run, which tell whether they failed.
model biased(q: [T, 6], k: [S, 6], v: [S, 2], b: [T, S], n: i64[]) -> (y: [T, 2], z: [T, 2]) {
  return dot_product(q, k, v, lengths=n, bias=b), dot_product(q, k, v, bias=b)
}
