# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An attention of your own: three maps of one score, each with its own score
# function and its own view, mixed by learned weights per query.

attention near_far_flat(q: [T, D], k: [S, D], v: [S, E], slope: [], mix: [T, 3]) -> [T, E] {
  distance = abs(position - col)
  s = q @ k.T / sqrt(D)
  near = softmax(s - slope * distance)
  far = softmax(30 * tanh(s / 30), where=distance >= 8)
  flat = softmax(s / 2)
  return (mix[:, 0:1] * near + mix[:, 1:2] * far - mix[:, 2:3] * flat) @ v
}

func mixed_attention(x: [B, T, M], heads) -> [B, T, M] {
  param qkv: linear(N=3*M), mix: linear(N=3*heads), out: linear(N=M), slope: [heads] = 0.5
  q, k, v = split(split_heads(qkv(x), 3 * heads), 3, axis=1)
  weights = sigmoid(split_heads(mix(x), heads))  # [B, heads, T, 3]
  a = near_far_flat(q, k, v, slope, weights, causal=true)
  return out(merge_heads(a))
}

model encoder(x: [B, T, 256]) -> [B, T, 256] {
  param attention: mixed_attention(heads=4), norm: layer_norm()
  return norm(x + attention(x))
}
