# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Differential Transformers, V1 and V2, that keep their keys and values: a run takes any
# number of new tokens, the first of them at place n, and gives what follows the last.
#
# The caches of all blocks stand one behind the other in one state, C places for each.
import attention

# V1: lambda from four vectors, sub-heads in pairs, heads normalised on their own.
func differential_v1(x: [B, T, M], keys: [B, 2*heads, L, M/heads/2], values: [B, heads, L, M/heads],
                     n: i64[], C, heads, depth) -> ([B, T, M], [B, 2*heads, L, M/heads/2],
                                                    [B, heads, L, M/heads]) {
  D = M / heads / 2
  param q_proj: linear(N=M, bias=false), k_proj: linear(N=M, bias=false)
  param v_proj: linear(N=M, bias=false), out_proj: linear(N=M, bias=false)
  param lambda_q1: [D], lambda_k1: [D], lambda_q2: [D], lambda_k2: [D]
  param subln: rms_norm()
  places = arange(T) + n
  q = rotary(split_heads(q_proj(x), 2 * heads), interleaved=true, positions=places)
  k = rotary(split_heads(k_proj(x), 2 * heads), interleaved=true, positions=places)
  keys = append(keys, k, at=n+depth*C)
  values = append(values, split_heads(v_proj(x), heads), at=n+depth*C)
  k, v = keys[:, :, depth*C:depth*C+C], values[:, :, depth*C:depth*C+C]
  lambda_init = 0.8 - 0.6 * exp(-0.3 * depth)
  lambda = exp(lambda_q1 @ lambda_k1) - exp(lambda_q2 @ lambda_k2) + lambda_init
  a = differential(q[:, 0::2], q[:, 1::2], k[:, 0::2], k[:, 1::2], v, lambda,
                   causal=true, offset=n)
  return out_proj(merge_heads((1 - lambda_init) * subln(a))), keys, values
}

# V2: twice the query heads, fewer heads of keys and values, lambda per token and head.
func differential_v2(x: [B, T, M], keys: [B, kv_heads, L, M/heads], values: [B, kv_heads, L, M/heads],
                     n: i64[], C, heads, kv_heads, depth) -> ([B, T, M], [B, kv_heads, L, M/heads],
                                                              [B, kv_heads, L, M/heads]) {
  D = M / heads
  param q_proj: linear(N=2*M, bias=false), lambda_proj: linear(N=heads, bias=false)
  param k_proj: linear(N=kv_heads*D, bias=false), v_proj: linear(N=kv_heads*D, bias=false)
  param o_proj: linear(N=M, bias=false)
  places = arange(T) + n
  q = rotary(split_heads(q_proj(x), 2 * heads), interleaved=true, positions=places)
  k = rotary(split_heads(k_proj(x), kv_heads), interleaved=true, positions=places)
  keys = append(keys, k, at=n+depth*C)
  values = append(values, split_heads(v_proj(x), kv_heads), at=n+depth*C)
  k, v = keys[:, :, depth*C:depth*C+C], values[:, :, depth*C:depth*C+C]
  lambda = sigmoid(lambda_proj(x)).T[..., None]  # [B, heads, T, 1]
  a = differential(q[:, 0::2], q[:, 1::2], k, k, v, lambda, causal=true, offset=n, gqa=true)
  return o_proj(merge_heads(a)), keys, values
}

func swiglu(x: [M], width) -> [M] {
  param gate_proj: linear(N=width, bias=false), up_proj: linear(N=width, bias=false)
  param down_proj: linear(N=M, bias=false)
  return down_proj(silu(gate_proj(x)) * up_proj(x))
}

model v1(tokens: i64[B, T], n: i64[], C = 1024, V = 4096, width = 256, heads = 4,
         blocks = 12) -> (next: i64[B], logits: [B, V]) {
  state keys: [B, 2*heads, blocks*C, width/heads/2], values: [B, heads, blocks*C, width/heads]
  param embed: embedding(V=V, N=width), norm: rms_norm()
  x, k, v = embed(tokens), keys, values
  for i in blocks {
    param input_norm: rms_norm(), output_norm: rms_norm(), mlp: swiglu(width=4*width)
    param attend: differential_v1(heads=heads, C=C, depth=i)
    a, k, v = attend(input_norm(x), k, v, n)
    x = x + a
    x = x + mlp(output_norm(x))
  }
  keys', values' = k, v
  logits = norm(x[:, -1]) @ embed.weight.T
  return argmax(logits, axis=1), logits
}

model v2(tokens: i64[B, T], n: i64[], C = 1024, V = 4096, width = 256, heads = 4, kv_heads = 2,
         blocks = 12) -> (next: i64[B], logits: [B, V]) {
  state keys: [B, kv_heads, blocks*C, width/heads], values: [B, kv_heads, blocks*C, width/heads]
  param embed: embedding(V=V, N=width), norm: rms_norm()
  x, k, v = embed(tokens), keys, values
  for i in blocks {
    param input_norm: rms_norm(), output_norm: rms_norm(), mlp: swiglu(width=4*width)
    param attend: differential_v2(heads=heads, kv_heads=kv_heads, C=C, depth=i)
    a, k, v = attend(input_norm(x), k, v, n)
    x = x + a
    x = x + mlp(output_norm(x))
  }
  keys', values' = k, v
  logits = norm(x[:, -1]) @ embed.weight.T
  return argmax(logits, axis=1), logits
}
