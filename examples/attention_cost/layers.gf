# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Four attention layers of the same width, heads and projections, to compare what they
# cost: one map, two maps, two maps with a gate, two maps of the largest scores.
import attention

model standard(x: [B, T, 256], heads = 4) -> [B, T, 256] {
  param qkv: linear(N=3*256, bias=false), out: linear(N=256, bias=false)
  q, k, v = split(split_heads(qkv(x), 3 * heads), 3, axis=1)
  return out(merge_heads(dot_product(q, k, v)))
}

# Two maps of one projection, told apart by learned scales of its elements.
func two_maps(x: [B, T, M], heads) -> [B, T, M] {
  D = M / heads
  param qkv: linear(N=3*M, bias=false)
  param lambda_q1: [heads, D], lambda_k1: [heads, D]
  param lambda_q2: [heads, D], lambda_k2: [heads, D]
  q, k, v = split(split_heads(qkv(x), 3 * heads), 3, axis=1)
  return merge_heads(scaled_differential(q, k, v, lambda_q1, lambda_k1, lambda_q2, lambda_k2))
}

model differential_layer(x: [B, T, 256], heads = 4) -> [B, T, 256] {
  param maps: two_maps(heads=heads), out: linear(N=256, bias=false)
  return out(maps(x))
}

# The gate weighs each output of the heads by what the token is.
func gate(x: [M]) -> [M] {
  param down: linear(N=M/4), up: linear(N=M)
  return sigmoid(up(gelu(down(x))))
}

model adaptive(x: [B, T, 256], heads = 4) -> [B, T, 256] {
  param maps: two_maps(heads=heads), gate: gate(), out: linear(N=256, bias=false)
  return out(maps(x) * gate(x))
}

# Each query keeps its largest scores, and weighs them at two temperatures.
model sparse(x: [B, T, 256], heads = 4, fraction = 0.1) -> [B, T, 256] {
  param qkv: linear(N=3*256, bias=false), out: linear(N=256, bias=false)
  q, k, v = split(split_heads(qkv(x), 3 * heads), 3, axis=1)
  return out(merge_heads(sparse_differential(q, k, v, fraction=fraction)))
}
