# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import differential_layers

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
