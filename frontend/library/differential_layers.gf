# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Layers around `differential` and `scaled_differential`: projections, heads, lambda, and
# what comes after.
import attention

# Differential Transformer (Ye et al. 2025, section 2.1), in the names of Microsoft's unilm:
# lambda from four vectors, each head normalised on its own, adjacent sub-heads paired.
# `depth` counts layers from 0. Fewer heads of keys and values are pairs, too.
func differential_v1(x: [B, T, M], heads, depth = 0, kv_heads = heads) -> [B, T, M] {
  D = M / heads / 2
  param q_proj: linear(N=M, bias=false), k_proj: linear(N=2*kv_heads*D, bias=false)
  param v_proj: linear(N=2*kv_heads*D, bias=false), out_proj: linear(N=M, bias=false)
  param lambda_q1: [D], lambda_k1: [D], lambda_q2: [D], lambda_k2: [D]
  param subln: rms_norm(eps=1e-5)
  q = rotary(split_heads(q_proj(x), 2 * heads), interleaved=true)
  k = rotary(split_heads(k_proj(x), 2 * kv_heads), interleaved=true)
  v = split_heads(v_proj(x), kv_heads)  # [B, kv_heads, T, 2*D]
  lambda_init = 0.8 - 0.6 * exp(-0.3 * depth)
  lambda = exp(lambda_q1 @ lambda_k1) - exp(lambda_q2 @ lambda_k2) + lambda_init
  a = differential(q[:, 0::2], q[:, 1::2], k[:, 0::2], k[:, 1::2], v, lambda, causal=true, gqa=true)
  return out_proj(merge_heads((1 - lambda_init) * subln(a)))
}

# The same in the layout of transformers' DiffLlama: `heads` counts both maps, head h is
# paired with h + heads/2, rotary turns halves, the norm has no weight. kv_heads is even.
func differential_llama(x: [B, T, M], heads, kv_heads = heads, depth = 0, base = 10000, eps = 1e-5) -> [B, T, M] {
  D = M / heads
  half, kv_half = heads / 2, kv_heads / 2
  param q_proj: linear(N=M, bias=false), k_proj: linear(N=kv_heads*D, bias=false)
  param v_proj: linear(N=kv_heads*D, bias=false), o_proj: linear(N=M, bias=false)
  param lambda_q1: [D], lambda_k1: [D], lambda_q2: [D], lambda_k2: [D]
  param groupnorm: rms_norm(eps=eps, affine=false)
  q = rotary(split_heads(q_proj(x), heads), base=base)
  k = rotary(split_heads(k_proj(x), kv_heads), base=base)
  v = split_heads(v_proj(x), kv_heads)
  values = concat(v[:, :kv_half], v[:, kv_half:])  # [B, kv_heads/2, T, 2*D]
  lambda_init = 0.8 - 0.6 * exp(-0.3 * depth)
  lambda = exp(lambda_q1 @ lambda_k1) - exp(lambda_q2 @ lambda_k2) + lambda_init
  a = differential(q[:, :half], q[:, half:], k[:, :kv_half], k[:, kv_half:], values, lambda,
                   causal=true, gqa=true)
  return o_proj(merge_heads((1 - lambda_init) * groupnorm(a)))
}

# The second version (unilm's Diff-Transformer-V2, 2026): twice the query heads, shared keys
# and values, lambda a sigmoid for each token and head, no norm.
func differential_v2(x: [B, T, M], heads, kv_heads) -> [B, T, M] {
  D = M / heads
  param q_proj: linear(N=2*M, bias=false), lambda_proj: linear(N=heads, bias=false)
  param k_proj: linear(N=kv_heads*D, bias=false), v_proj: linear(N=kv_heads*D, bias=false)
  param o_proj: linear(N=M, bias=false)
  q = rotary(split_heads(q_proj(x), 2 * heads), interleaved=true)
  k = rotary(split_heads(k_proj(x), kv_heads), interleaved=true)
  v = split_heads(v_proj(x), kv_heads)
  lambda = sigmoid(lambda_proj(x)).T[..., None]  # [B, heads, T, 1]
  a = differential(q[:, 0::2], q[:, 1::2], k, k, v, lambda, causal=true, gqa=true)
  return o_proj(merge_heads(a))
}

# Maps told apart by elementwise scales, lambda 1: the heads alone, for the layers below.
func scaled_heads(x: [B, T, M], heads) -> [B, T, M] {
  D = M / heads
  param wq: linear(N=M, bias=false), wk: linear(N=M, bias=false), wv: linear(N=M, bias=false)
  param lambda_q1: [heads, D], lambda_k1: [heads, D]
  param lambda_q2: [heads, D], lambda_k2: [heads, D]
  q = split_heads(wq(x), heads)
  k = split_heads(wk(x), heads)
  v = split_heads(wv(x), heads)
  return merge_heads(scaled_differential(q, k, v, lambda_q1, lambda_k1, lambda_q2, lambda_k2))
}

func scaled_differential_layer(x: [B, T, M], heads) -> [B, T, M] {
  param maps: scaled_heads(heads=heads) as "", wo: linear(N=M, bias=false)
  return wo(maps(x))
}

# sigmoid(W2 gelu(W1 x + b1) + b2) weighs each output of the heads by what the token is.
func adaptive_gate(x: [M]) -> [M] {
  param down: linear(N=M/4) as "0", up: linear(N=M) as "2"
  return sigmoid(up(gelu(down(x))))
}

func adaptive_differential_layer(x: [B, T, M], heads) -> [B, T, M] {
  param maps: scaled_heads(heads=heads) as "", gate: adaptive_gate(), wo: linear(N=M, bias=false)
  return wo(maps(x) * gate(x))
}
