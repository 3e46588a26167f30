# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Recurrences by how often blocks have to meet in a step.
import cells

# A cell that no library has: three gates, two states, an output that is none of them.
cell own(x: [I]) -> [H] {
  state h: [H], s: [H] = 0.25
  param w: [3*H, I], u: [3*H, H], b: [3*H] = 0.1
  a, d, e = split(w @ x + u @ h + b, 3)
  s' = sigmoid(a) * s + (1 - sigmoid(a)) * tanh(d)
  h' = s' * sigmoid(e - s)
  return h' + s
}

model lstm_layer(x: [B, T, 80], lengths: i64[B]) -> [B, T, 256] {
  param l: lstm(H=256)
  h, _ = scan(l, x, lengths=lengths)
  return h
}

model both_ways(x: [B, T, 80], lengths: i64[B]) -> [B, T, 512] {
  param l: lstm(H=256, bidirectional=true)
  h, _ = scan(l, x, lengths=lengths)
  return h
}

model gru_layer(x: [T, 80]) -> [T, 250] {
  param l: gru(H=250)
  h, _ = scan(l, x)
  return h
}

model own_layer(x: [B, T, 80]) -> [B, T, 256] {
  param l: own(H=256)
  h, _ = scan(l, x)
  return h
}

model restarted(x: [B, T, 80], first: bool[B, T]) -> [B, T, 256] {
  param l: own(H=256)
  h, _ = scan(l, x, reset=first)
  return h
}

model reset_before(x: [B, T, 80]) -> [B, T, 256] {
  param l: gru_reset_before(H=256)
  h, _ = scan(l, x)
  return h
}

model projected(x: [B, T, 80]) -> [B, T, 128] {
  param l: lstm_projected(H=256, P=128)
  h, _ = scan(l, x)
  return h
}

model normed(x: [B, T, 80]) -> [B, T, 256] {
  param l: lstm_layer_norm(H=256)
  h, _ = scan(l, x)
  return h
}

model both_projected(x: [B, T, 80]) -> [B, T, 256] {
  param l: lstm_projected(H=256, P=128, bidirectional=true)
  h, _ = scan(l, x)
  return h
}

model both_normed(x: [B, T, 80]) -> [B, T, 512] {
  param l: lstm_layer_norm(H=256, bidirectional=true)
  h, _ = scan(l, x)
  return h
}

model small(x: [4, T, 80]) -> [4, T, 32] {
  param l: lstm_layer_norm(H=32)
  h, _ = scan(l, x)
  return h
}
