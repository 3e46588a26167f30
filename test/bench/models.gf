# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the benchmark compiles. Sizes come from --dim and --arg.
import cells, attention

model plain(q: [N, T, 64], k: [N, S, 64], v: [N, S, 64]) -> [N, T, 64] {
  return dot_product(q, k, v)
}

model plain_causal(q: [N, T, 64], k: [N, S, 64], v: [N, S, 64]) -> [N, T, 64] {
  return dot_product(q, k, v, causal=true)
}

model two_maps(q1: [T, 64], q2: [T, 64], k1: [S, 64], k2: [S, 64], v: [S, 128],
               lambda: []) -> [T, 128] {
  return differential(q1, q2, k1, k2, v, lambda)
}

model neighbours(q: [T, 64], k: [S, 64], v: [S, 64]) -> [T, 64] {
  return diff_window(q, k, v, width=3)
}

model lstm_layer(x: [B, T, H]) -> [B, T, H] {
  param rnn: lstm(H=H)
  y, _ = scan(rnn, x)
  return y
}

model lstm_textbook_layer(x: [B, T, H]) -> [B, T, H] {
  param rnn: lstm_textbook(H=H)
  y, _ = scan(rnn, x)
  return y
}

model gru_layer(x: [B, T, H]) -> [B, T, H] {
  param rnn: gru(H=H)
  y, _ = scan(rnn, x)
  return y
}

model bilstm_layers(x: [B, T, H]) -> [B, T, 2*H] {
  param rnn: lstm(H=H, layers=2, bidirectional=true)
  y, _ = scan(rnn, x)
  return y
}

model peephole_layer(x: [B, T, H]) -> [B, T, H] {
  param rnn: lstm_peephole(H=H)
  y, _ = scan(rnn, x)
  return y
}

func normal(x: [N]) -> [N] {
  param gain: [N] = 1, shift: [N] = 0
  centred = x - mean(x)
  return gain * centred / sqrt(mean(centred**2) + 1e-5) + shift
}

# A cell that no peer has: layer-norm LSTM, as a user writes it.
cell layer_norm_lstm(x: [I]) -> [H] {
  state h: [H], c: [H]
  param w: [4*H, I], u: [4*H, H]
  param norm_x: normal(), norm_h: normal(), norm_c: normal()
  i, f, g, o = split(norm_x(w @ x) + norm_h(u @ h), 4)
  c' = sigmoid(f) * c + sigmoid(i) * tanh(g)
  h' = sigmoid(o) * tanh(norm_c(c'))
  return h'
}

model layer_norm_layer(x: [B, T, H]) -> [B, T, H] {
  param rnn: layer_norm_lstm(H=H)
  y, _ = scan(rnn, x)
  return y
}
