# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recurrent cells in float64, written from their formulas, and time.

A cell here is a function (w, x, state) -> (y, next state) of one sample; `w`
holds its parameters by name, a state is a tuple of vectors.
"""

import numpy

split, tanh, exp = numpy.split, numpy.tanh, numpy.exp


def sigmoid(x):
    return 1 / (1 + exp(-x))


def log_sigmoid(x):
    return -numpy.logaddexp(0, -x)


def gates(w, x, h):
    return w["weight_ih"] @ x + w["bias_ih"] + w["weight_hh"] @ h + w["bias_hh"]


def rnn_tanh(w, x, state):
    h = tanh(gates(w, x, state[0]))
    return h, (h,)


def rnn_relu(w, x, state):
    h = numpy.maximum(gates(w, x, state[0]), 0)
    return h, (h,)


def lstm(w, x, state):
    h, c = state
    i, f, g, o = split(gates(w, x, h), 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return h, (h, c)


def lstm_textbook(w, x, state):
    h, c = state
    f, i, o = (sigmoid(w[f"w_{k}"] @ x + w[f"u_{k}"] @ h + w[f"b_{k}"]) for k in "fio")
    c = f * c + i * tanh(w["w_c"] @ x + w["u_c"] @ h + w["b_c"])
    h = o * tanh(c)
    return h, (h, c)


def lstm_peephole(w, x, state):
    h, old = state
    i, f, g, o = split(gates(w, x, h), 4)
    c = sigmoid(f + w["peep_f"] * old) * old + sigmoid(i + w["peep_i"] * old) * tanh(g)
    h = sigmoid(o + w["peep_o"] * c) * tanh(c)
    return h, (h, c)


def lstm_projected(w, x, state):
    h, c = state
    i, f, g, o = split(gates(w, x, h), 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = w["weight_hr"] @ (sigmoid(o) * tanh(c))
    return h, (h, c)


def lstm_clipped(w, x, state, cell_clip=3, projection_clip=3):
    h, c = state
    preactivations = w["input_linearity.weight"] @ x
    preactivations = preactivations + w["state_linearity.weight"] @ h + w["state_linearity.bias"]
    i, f, g, o = split(preactivations, 4)
    c = numpy.clip(sigmoid(f) * c + sigmoid(i) * tanh(g), -cell_clip, cell_clip)
    h = w["state_projection.weight"] @ (sigmoid(o) * tanh(c))
    h = numpy.clip(h, -projection_clip, projection_clip)
    return h, (h, c)


def lstm_coupled(w, x, state):
    h, c = state
    i, g, o = split(gates(w, x, h), 3)
    c = (1 - sigmoid(i)) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return h, (h, c)


def lstm_layer_norm(w, x, state, normalised_state=True):
    h, c = state

    def normal(values, name):
        centred = values - values.mean()
        scaled = centred / numpy.sqrt((centred**2).mean() + 1e-5)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    sums = normal(w["weight_ih"] @ x, "layernorm_i") + normal(w["weight_hh"] @ h, "layernorm_h")
    i, f, g, o = split(sums, 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    read = normal(c, "layernorm_c")
    h = sigmoid(o) * tanh(read)
    return h, (h, read if normalised_state else c)


def gru(w, x, state):
    (h,) = state
    r_x, z_x, n_x = split(w["weight_ih"] @ x + w["bias_ih"], 3)
    r_h, z_h, n_h = split(w["weight_hh"] @ h + w["bias_hh"], 3)
    r, z = sigmoid(r_x + r_h), sigmoid(z_x + z_h)
    h = (1 - z) * tanh(n_x + r * n_h) + z * h
    return h, (h,)


def gru_reset_before(w, x, state):
    (h,) = state
    r_x, z_x, n_x = split(w["weight_ih"] @ x + w["bias_ih"] + w["bias_hh"], 3)
    w_r, w_z, w_n = split(w["weight_hh"], 3)
    r, z = sigmoid(r_x + w_r @ h), sigmoid(z_x + w_z @ h)
    h = (1 - z) * tanh(n_x + w_n @ (r * h)) + z * h
    return h, (h,)


def gru_article(w, x, state):
    (h,) = state
    z = sigmoid(w["w_z"] @ x + w["u_z"] @ h + w["b_z"])
    r = sigmoid(w["w_r"] @ x + w["u_r"] @ h + w["b_r"])
    n = tanh(w["w"] @ x + w["u"] @ (r * h) + w["b"])
    h = (1 - z) * h + z * n
    return h, (h,)


def min_gru(w, x, state):
    (h,) = state
    z = sigmoid(w["weight_z"] @ x)
    h = (1 - z) * h + z * (w["weight_h"] @ x)
    return h, (h,)


def min_lstm(w, x, state):
    (h,) = state
    f, i, candidate = (w[f"linear_{k}.weight"] @ x + w[f"linear_{k}.bias"] for k in "fih")
    f, i = sigmoid(f), sigmoid(i)
    h = f / (f + i) * h + i / (f + i) * candidate
    return h, (h,)


def sru(w, x, state):
    (c,) = state
    f = sigmoid(w["w_f"] @ x + w["v_f"] * c + w["b_f"])
    r = sigmoid(w["w_r"] @ x + w["v_r"] * c + w["b_r"])
    c = f * c + (1 - f) * (w["w"] @ x)
    return r * c + (1 - r) * x, (c,)


def slstm(w, x, state):
    h, c, n, m = state
    i, f, z, o = split(w["weight_ih"] @ x + w["weight_hh"] @ h + w["bias"], 4)
    new_m = numpy.maximum(log_sigmoid(f) + m, i)
    f_stable, i_stable = exp(log_sigmoid(f) + m - new_m), exp(i - new_m)
    c = f_stable * c + i_stable * tanh(z)
    n = f_stable * n + i_stable
    h = sigmoid(o) * c / n
    return h, (h, c, n, new_m)


def scan_sample(cell, w, x, state, output_size, reverse=False):
    """One sample of its own length: outputs [n, ..] in time order, last state."""
    outputs = numpy.zeros((len(x), output_size))
    order = range(len(x))
    for t in reversed(order) if reverse else order:
        outputs[t], state = cell(w, x[t], state)
    return outputs, state


def scan(cell, w, x, states, lengths, output_size, reverse=False):
    """x [B, T, I], states a tuple of [B, ..]: outputs [B, T, output_size] with zeros
    beyond each length, and last states."""
    batch, time, _ = x.shape
    outputs = numpy.zeros((batch, time, output_size))
    last = [numpy.array(state, numpy.float64) for state in states]
    for b, n in enumerate(lengths):
        outputs[b, :n], final = scan_sample(
            cell, w, x[b, :n], tuple(s[b] for s in states), output_size, reverse
        )
        for k, value in enumerate(final):
            last[k][b] = value
    return outputs, tuple(last)


def stacked_scan(cell, weights, x, states, lengths, output_size, layers, bidirectional):
    """Layers and directions. `weights` by checkpoint name; states stack as (layers *
    directions, B, ..), forward before reverse."""
    directions = ("", "_reverse") if bidirectional else ("",)
    finals = [[] for _ in states]
    for layer in range(layers):
        outputs = []
        for number, direction in enumerate(directions):
            suffix = f"_l{layer}{direction}"
            w = {
                name.removesuffix(suffix): value
                for name, value in weights.items()
                if name.endswith(suffix)
            }
            index = layer * len(directions) + number
            y, final = scan(
                cell,
                w,
                x,
                tuple(state[index] for state in states),
                lengths,
                output_size,
                reverse=bool(direction),
            )
            outputs.append(y)
            for k, value in enumerate(final):
                finals[k].append(value)
        x = numpy.concatenate(outputs, axis=2)
    return x, tuple(numpy.stack(final) for final in finals)
