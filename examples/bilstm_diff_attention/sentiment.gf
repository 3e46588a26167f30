# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sentiment of a text: two layers of a bidirectional LSTM, then multi-head attention
# that looks at how each score differs from its neighbours, then a mean.
import cells, attention

func multihead_diff_window(x: [B, T, M], lengths: i64[B], heads, width = 3) -> [B, T, M] {
  param query: linear(N=M), key: linear(N=M), value: linear(N=M)
  q = split_heads(query(x), heads)  # [B, heads, T, M/heads]
  k = split_heads(key(x), heads)
  v = split_heads(value(x), heads)
  return merge_heads(diff_window(q, k, v, width=width, lengths=lengths))
}

model sentiment(tokens: i64[B, T], lengths: i64[B]) -> [B, 2] {
  param embed: embedding(V=20000, N=300)
  param lstm: lstm(H=128, layers=2, bidirectional=true)
  param attention: multihead_diff_window(heads=4, width=3)
  param classifier: linear(N=2)
  h, _ = scan(lstm, embed(tokens), lengths=lengths)
  a = attention(h, lengths)
  return classifier(mean(a, axis=1, lengths=lengths))
}
