# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A cell of your own: write its equations. A layer-norm LSTM with peepholes; the
# normalisation is a func, written for one vector.

func normal(x: [N]) -> [N] {
  param gain: [N] = 1, shift: [N] = 0
  centred = x - mean(x)
  return gain * centred / sqrt(mean(centred**2) + 1e-5) + shift
}

cell layer_norm_lstm(x: [I]) -> [H] {
  state h: [H], c: [H]
  param w: [4*H, I], u: [4*H, H], peep_i: [H], peep_f: [H], peep_o: [H]
  param norm_x: normal(), norm_h: normal(), norm_c: normal()
  i, f, g, o = split(norm_x(w @ x) + norm_h(u @ h), 4)
  c' = sigmoid(f + peep_f * c) * c + sigmoid(i + peep_i * c) * tanh(g)
  h' = sigmoid(o + peep_o * c') * tanh(norm_c(c'))
  return h'
}

# Two layers, both directions, with a restart where a new sentence begins.
model tagger(x: [B, T, 40], first: bool[B, T], lengths: i64[B]) -> [B, T, 5] {
  param encoder: layer_norm_lstm(H=64, layers=2, bidirectional=true), tag: linear(N=5)
  y, _ = scan(encoder, x, lengths=lengths, reset=first)
  return tag(y)
}
