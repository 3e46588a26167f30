# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import attention

# Microsoft's Differential Transformer, V1: lambda from four vectors, heads
# normalised on their own, adjacent sub-heads paired.
func differential_v1(x: [B, T, M], heads, depth = 0) -> [B, T, M] {
  D = M / heads / 2
  param q_proj: linear(N=M, bias=false), k_proj: linear(N=M, bias=false)
  param v_proj: linear(N=M, bias=false), out_proj: linear(N=M, bias=false)
  param lambda_q1: [D], lambda_k1: [D], lambda_q2: [D], lambda_k2: [D]
  param subln: rms_norm(eps=1e-5)
  q = rotary(split_heads(q_proj(x), 2 * heads), interleaved=true)
  k = rotary(split_heads(k_proj(x), 2 * heads), interleaved=true)
  v = split_heads(v_proj(x), heads)  # [B, heads, T, 2*D]
  lambda_init = 0.8 - 0.6 * exp(-0.3 * depth)
  lambda = exp(lambda_q1 @ lambda_k1) - exp(lambda_q2 @ lambda_k2) + lambda_init
  a = differential(q[:, 0::2], q[:, 1::2], k[:, 0::2], k[:, 1::2], v, lambda, causal=true)
  return out_proj(merge_heads((1 - lambda_init) * subln(a)))
}

# V2: twice the query heads, shared keys and values, lambda per token and head.
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

# The lesson's "v2": elementwise scales, no lambda; and its adaptive form, whose
# gate weighs each output of the heads.
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

func gate(x: [B, T, M]) -> [B, T, M] {
  param down: linear(N=M/4) as "0", up: linear(N=M) as "2"
  return sigmoid(up(gelu(down(x))))
}

func scaled_differential_layer(x: [B, T, M], heads) -> [B, T, M] {
  param maps: scaled_heads(heads=heads) as "", wo: linear(N=M, bias=false)
  return wo(maps(x))
}

func adaptive_differential_layer(x: [B, T, M], heads) -> [B, T, M] {
  param maps: scaled_heads(heads=heads) as "", gate: gate(), wo: linear(N=M, bias=false)
  return wo(maps(x) * gate(x))
}

# A whole model: parameters are named layers.0.self_attn.q_proj.weight and so on.
func swiglu(x: [B, T, M], width) -> [B, T, M] {
  param gate_proj: linear(N=width, bias=false), up_proj: linear(N=width, bias=false)
  param down_proj: linear(N=M, bias=false)
  return down_proj(silu(gate_proj(x)) * up_proj(x))
}

func block(x: [B, T, M], heads, depth) -> [B, T, M] {
  param input_norm: rms_norm(), self_attn: differential_v1(heads=heads, depth=depth)
  param output_norm: rms_norm(), mlp: swiglu(width=4*M)
  x = x + self_attn(input_norm(x))
  return x + mlp(output_norm(x))
}

model language_model(tokens: i64[B, T], depth = 4, heads = 8) -> [B, T, V] {
  param embed: embedding(V=V, N=512), norm: rms_norm()
  x = embed(tokens)
  for i in depth {
    param layers: block(heads=heads, depth=i)
    x = layers(x)
  }
  return norm(x) @ embed.weight.T  # tied to the embedding
}
