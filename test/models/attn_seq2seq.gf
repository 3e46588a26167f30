# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Encoder-decoder with attention inside the decoder's step.
import cells, attention

cell attention_decoder(y: [I], memory: [S, M], memory_lengths: i64[]) -> [O] {
  state h: [M], c: [M]
  param rnn: lstm(H=M), fc: linear(N=O)
  context = dot_product(h[None, :], memory, memory, lengths=memory_lengths)[0]
  _, (h', c') = step(rnn, concat(y, context), (h, c))
  return fc(concat(h', context))
}

model translate(source: [B, S, I], source_lengths: i64[B], target: [B, T, J]) -> [B, T, O] {
  param encoder: lstm(H=256, layers=1, bidirectional=true)
  param decoder: attention_decoder(O=O)
  memory, (h, c) = scan(encoder, source, lengths=source_lengths)
  start = (concat(h[0], h[1]), concat(c[0], c[1]))
  y, _ = scan(decoder, target, with=(memory, source_lengths), init=start)
  return y
}
