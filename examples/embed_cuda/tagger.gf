# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A label for each frame of a recording: an LSTM reads it from both sides, then each
# frame looks at what came before it.
import cells, attention

model tagger(x: [B, T, 40], lengths: i64[B]) -> [B, T, 12] {
  param rnn: lstm(H=64, bidirectional=true)
  param query: linear(N=64), key: linear(N=64), head: linear(N=12)
  h, _ = scan(rnn, x, lengths=lengths)
  a = dot_product(query(h), key(h), h, causal=true, lengths=lengths)
  return head(a)
}
