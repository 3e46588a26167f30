# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Recurrent cells. Gate order, bias layout and reset placement follow the
# system that each is named after.

cell rnn_tanh(x: [I]) -> [H] {
  state h: [H]
  param weight_ih: [H, I], weight_hh: [H, H], bias_ih: [H] = 0, bias_hh: [H] = 0
  h' = tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh)
  return h'
}

# PyTorch's nonlinearity="relu", the RNN of Le et al. 2015 (section 3).
cell rnn_relu(x: [I]) -> [H] {
  state h: [H]
  param weight_ih: [H, I], weight_hh: [H, H], bias_ih: [H] = 0, bias_hh: [H] = 0
  h' = relu(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh)
  return h'
}

# PyTorch order: input, forget, candidate, output.
cell lstm(x: [I]) -> [H] {
  state h: [H], c: [H]
  param weight_ih: [4*H, I], weight_hh: [4*H, H], bias_ih: [4*H] = 0, bias_hh: [4*H] = 0
  i, f, g, o = split(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh, 4)
  c' = sigmoid(f) * c + sigmoid(i) * tanh(g)
  h' = sigmoid(o) * tanh(c')
  return h'
}

# The same cell as a textbook writes it: four gates, eight matrices. Gate
# fusion must make it as fast as `lstm`.
cell lstm_textbook(x: [I]) -> [H] {
  state h: [H], c: [H]
  param w_f: [H, I], u_f: [H, H], b_f: [H] = 1
  param w_i: [H, I], u_i: [H, H], b_i: [H] = 0
  param w_c: [H, I], u_c: [H, H], b_c: [H] = 0
  param w_o: [H, I], u_o: [H, H], b_o: [H] = 0
  f = sigmoid(w_f @ x + u_f @ h + b_f)
  i = sigmoid(w_i @ x + u_i @ h + b_i)
  o = sigmoid(w_o @ x + u_o @ h + b_o)
  c' = f * c + i * tanh(w_c @ x + u_c @ h + b_c)
  h' = o * tanh(c')
  return h'
}

# Input and forget gates see the old cell state, the output gate the new one.
cell lstm_peephole(x: [I]) -> [H] {
  state h: [H], c: [H]
  param weight_ih: [4*H, I], weight_hh: [4*H, H], bias_ih: [4*H] = 0, bias_hh: [4*H] = 0
  param peep_i: [H], peep_f: [H], peep_o: [H]
  i, f, g, o = split(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh, 4)
  c' = sigmoid(f + peep_f * c) * c + sigmoid(i + peep_i * c) * tanh(g)
  h' = sigmoid(o + peep_o * c') * tanh(c')
  return h'
}

# PyTorch's proj_size: P outputs from H cells.
cell lstm_projected(x: [I]) -> [P] {
  state h: [P], c: [H]
  param weight_ih: [4*H, I], weight_hh: [4*H, P], bias_ih: [4*H] = 0, bias_hh: [4*H] = 0
  param weight_hr: [P, H]
  i, f, g, o = split(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh, 4)
  c' = sigmoid(f) * c + sigmoid(i) * tanh(g)
  h' = weight_hr @ (sigmoid(o) * tanh(c'))
  return h'
}

# ELMo's (Sak et al. 2014, section 2, with both states clipped), in the names and the
# gate order of AllenNLP's LstmCellWithProjection. A clip of inf clips nothing.
#   c' = clip(sigmoid(f) * c + sigmoid(i) * tanh(g)), h' = clip(W (sigmoid(o) * tanh(c')))
cell lstm_clipped(x: [I], cell_clip = 3, projection_clip = 3) -> [P] {
  state h: [P], c: [H]
  param input_linearity: linear(N=4*H, bias=false), state_linearity: linear(N=4*H)
  param state_projection: linear(N=P, bias=false)
  i, f, g, o = split(input_linearity(x) + state_linearity(h), 4)
  c' = clamp(sigmoid(f) * c + sigmoid(i) * tanh(g), -cell_clip, cell_clip)
  h' = clamp(state_projection(sigmoid(o) * tanh(c')), -projection_clip, projection_clip)
  return h'
}

# Coupled gates (Greff et al. 2017, section III, CIFG; ONNX's input_forget): what is
# forgotten makes room for what is new, f = 1 - i. PyTorch's order without the forget
# gate: input, candidate, output.
cell lstm_coupled(x: [I]) -> [H] {
  state h: [H], c: [H]
  param weight_ih: [3*H, I], weight_hh: [3*H, H], bias_ih: [3*H] = 0, bias_hh: [3*H] = 0
  i, g, o = split(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh, 3)
  c' = (1 - sigmoid(i)) * c + sigmoid(i) * tanh(g)
  h' = sigmoid(o) * tanh(c')
  return h'
}

# Ba et al. 2016, equations 20 to 22, in the names of PyTorch's LayerNormLSTMCell
# (benchmarks/fastrnns). That cell keeps the normalised c as its state; the paper
# normalises it only where h reads it, and there normalised_state is false.
cell lstm_layer_norm(x: [I], normalised_state = true) -> [H] {
  state h: [H], c: [H]
  param weight_ih: [4*H, I], weight_hh: [4*H, H]
  param layernorm_i: layer_norm(), layernorm_h: layer_norm(), layernorm_c: layer_norm()
  i, f, g, o = split(layernorm_i(weight_ih @ x) + layernorm_h(weight_hh @ h), 4)
  mixed = sigmoid(f) * c + sigmoid(i) * tanh(g)
  normal = layernorm_c(mixed)
  c' = where(normalised_state, normal, mixed)
  h' = sigmoid(o) * tanh(normal)
  return h'
}

# PyTorch and cuDNN: reset gate after the recurrent product.
cell gru(x: [I]) -> [H] {
  state h: [H]
  param weight_ih: [3*H, I], weight_hh: [3*H, H], bias_ih: [3*H] = 0, bias_hh: [3*H] = 0
  r_x, z_x, n_x = split(weight_ih @ x + bias_ih, 3)
  r_h, z_h, n_h = split(weight_hh @ h + bias_hh, 3)
  r = sigmoid(r_x + r_h)
  z = sigmoid(z_x + z_h)
  n = tanh(n_x + r * n_h)
  h' = (1 - z) * n + z * h
  return h'
}

# ONNX's default (Cho et al. 2014): reset gate before the recurrent product.
cell gru_reset_before(x: [I]) -> [H] {
  state h: [H]
  param weight_ih: [3*H, I], weight_hh: [3*H, H], bias_ih: [3*H] = 0, bias_hh: [3*H] = 0
  r_x, z_x, n_x = split(weight_ih @ x + bias_ih + bias_hh, 3)
  r = sigmoid(r_x + weight_hh[:H] @ h)
  z = sigmoid(z_x + weight_hh[H:2*H] @ h)
  n = tanh(n_x + weight_hh[2*H:] @ (r * h))
  h' = (1 - z) * n + z * h
  return h'
}

# As the LSTM/attention article prints it: reset before the product, and z weighs
# the candidate. The article has no biases, checkpoints do.
cell gru_article(x: [I]) -> [H] {
  state h: [H]
  param w_z: [H, I], u_z: [H, H], b_z: [H] = 0
  param w_r: [H, I], u_r: [H, H], b_r: [H] = 0
  param w: [H, I], u: [H, H], b: [H] = 0
  z = sigmoid(w_z @ x + u_z @ h + b_z)
  r = sigmoid(w_r @ x + u_r @ h + b_r)
  n = tanh(w @ x + u @ (r * h) + b)
  h' = (1 - z) * h + z * n
  return h'
}

# Linear in its state: the compiler proves it and may scan in parallel.
cell min_gru(x: [I]) -> [H] {
  state h: [H]
  param weight_z: [H, I], weight_h: [H, I]
  z = sigmoid(weight_z @ x)
  h' = (1 - z) * h + z * (weight_h @ x)
  return h'
}

# Feng et al. 2024, section 3.2, in the names of its appendix. Linear as min_gru is.
#   f, i = sigmoid(..); h' = f / (f + i) * h + i / (f + i) * candidate
# f / (f + i) is the sigmoid of log f - log i: no division of 0 by 0 far out.
cell min_lstm(x: [I]) -> [H] {
  state h: [H]
  param linear_f: linear(N=H), linear_i: linear(N=H), linear_h: linear(N=H)
  kept = sigmoid(log_sigmoid(linear_f(x)) - log_sigmoid(linear_i(x)))
  h' = kept * h + (1 - kept) * linear_h(x)
  return h'
}

cell sru(x: [H]) -> [H] {
  state c: [H]
  param w: [H, H], w_f: [H, H], v_f: [H], b_f: [H] = 0
  param w_r: [H, H], v_r: [H], b_r: [H] = 0
  f = sigmoid(w_f @ x + v_f * c + b_f)
  r = sigmoid(w_r @ x + v_r * c + b_r)
  c' = f * c + (1 - f) * (w @ x)
  return r * c' + (1 - r) * x
}

# xLSTM's scalar cell: exponential gates, a stabiliser and a normaliser state.
cell slstm(x: [I]) -> [H] {
  state h: [H], c: [H], n: [H], m: [H] = -inf
  param weight_ih: [4*H, I], weight_hh: [4*H, H], bias: [4*H] = 0
  i, f, z, o = split(weight_ih @ x + weight_hh @ h + bias, 4)
  m' = max(log_sigmoid(f) + m, i)
  f_stable = exp(log_sigmoid(f) + m - m')
  i_stable = exp(i - m')
  c' = f_stable * c + i_stable * tanh(z)
  n' = f_stable * n + i_stable
  h' = sigmoid(o) * c' / n'
  return h'
}
