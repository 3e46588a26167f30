# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tokens, lengths and a state in one program: what a GPU checks, and what it keeps.
import cells

model tagger(tokens: i64[B, T], lengths: i64[B]) -> [B, T, 5] {
  param words: embedding(V=11, N=6), rnn: gru(H=7), head: linear(N=5)
  h, _ = scan(rnn, words(tokens), lengths=lengths)
  return head(h)
}
