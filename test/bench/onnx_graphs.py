# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's cases as ONNX graphs, for ONNX Runtime and OpenVINO.

Weights are initialisers under ONNX's gate orders, as an exporter leaves them.
Every function gives the bytes of a model.
"""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
MICROSOFT = "com.microsoft"


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, inputs, outputs, constants, domains=()):
    graph = helper.make_graph(
        nodes,
        "case",
        inputs,
        outputs,
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    opsets += [helper.make_opsetid(domain, 1) for domain in domains]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return made.SerializeToString()


def scalar(number):
    return numpy.array(number, numpy.float32)


# Attention ----------------------------------------------------------------


def map_nodes(query, key, result, causal=False):
    """softmax(q k^T / sqrt(64)), with a mask of -inf where causal."""
    nodes = [
        helper.make_node("MatMul", [query, key], [result + "_raw"]),
        helper.make_node("Mul", [result + "_raw", "scale"], [result + "_scores"]),
    ]
    scores = result + "_scores"
    if causal:
        nodes.append(helper.make_node("Add", [scores, "hidden"], [result + "_masked"]))
        scores = result + "_masked"
    nodes.append(helper.make_node("Softmax", [scores], [result], axis=-1))
    return nodes


def plain(inputs, causal=False):
    n, t, d = inputs["q"].shape
    s = inputs["k"].shape[1]
    constants = {"scale": scalar(d**-0.5)}
    if causal:
        rows, columns = numpy.ogrid[:t, :s]
        hidden = numpy.where(columns > rows + s - t, -numpy.inf, 0)
        constants["hidden"] = hidden.astype(numpy.float32)
    nodes = [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        *map_nodes("q", "kt", "a", causal),
        helper.make_node("MatMul", ["a", "v"], ["output"]),
    ]
    return model(
        nodes,
        [value("q", [n, t, d]), value("k", [n, s, d]), value("v", [n, s, d])],
        [value("output", [n, t, d])],
        constants,
    )


def multi_head(inputs, causal=False):
    """ONNX Runtime's fused operator, heads as it wants them: [1, T, heads * d]."""
    n, t, d = inputs["q"].shape
    s = inputs["k"].shape[1]
    node = helper.make_node(
        "MultiHeadAttention",
        ["q", "k", "v"],
        ["output"],
        domain=MICROSOFT,
        num_heads=n,
        unidirectional=int(causal),
    )
    return model(
        [node],
        [value("q", [1, t, n * d]), value("k", [1, s, n * d]), value("v", [1, s, n * d])],
        [value("output", [1, t, n * d])],
        {},
        [MICROSOFT],
    )


def two_maps(inputs):
    t, d = inputs["q1"].shape
    s, e = inputs["v"].shape
    nodes = [
        helper.make_node("Transpose", ["k1"], ["k1t"]),
        helper.make_node("Transpose", ["k2"], ["k2t"]),
        *map_nodes("q1", "k1t", "a1"),
        *map_nodes("q2", "k2t", "a2"),
        helper.make_node("Mul", ["lambda", "a2"], ["weighed"]),
        helper.make_node("Sub", ["a1", "weighed"], ["a"]),
        helper.make_node("MatMul", ["a", "v"], ["output"]),
    ]
    return model(
        nodes,
        [value(name, inputs[name].shape) for name in ("q1", "q2", "k1", "k2", "v", "lambda")],
        [value("output", [t, e])],
        {"scale": scalar(d**-0.5)},
    )


def neighbours(inputs):
    """Diff-window of width 3, the stencil on the keys written out: the best that the
    graph allows."""
    t, d = inputs["q"].shape
    s = inputs["k"].shape[0]
    # 1 + number of neighbours, and the sum of the neighbouring keys.
    count = numpy.full((s, 1), 3, numpy.float32)
    count[0] = count[-1] = 2
    nodes = [
        helper.make_node("Pad", ["k", "pads"], ["padded"]),
        helper.make_node("Slice", ["padded", "zero", "end", "axis"], ["before"]),
        helper.make_node("Slice", ["padded", "two", "end2", "axis"], ["behind"]),
        helper.make_node("Mul", ["k", "count"], ["own"]),
        helper.make_node("Sub", ["own", "before"], ["less"]),
        helper.make_node("Sub", ["less", "behind"], ["folded"]),
        helper.make_node("Transpose", ["folded"], ["kt"]),
        *map_nodes("q", "kt", "a"),
        helper.make_node("MatMul", ["a", "v"], ["output"]),
    ]
    integers = lambda *numbers: numpy.array(numbers, numpy.int64)  # noqa: E731
    constants = {
        "scale": scalar(d**-0.5),
        "count": count,
        "pads": integers(1, 0, 1, 0),
        "zero": integers(0),
        "end": integers(s),
        "two": integers(2),
        "end2": integers(s + 2),
        "axis": integers(0),
    }
    return model(
        nodes,
        [value("q", [t, d]), value("k", [s, d]), value("v", [s, d])],
        [value("output", [t, d])],
        constants,
    )


# Recurrences --------------------------------------------------------------


def gates(matrix, order):
    """Blocks of rows in another order."""
    parts = numpy.split(matrix, len(order))
    return numpy.concatenate([parts[i] for i in order])


LSTM_ORDER = (0, 3, 1, 2)  # i f g o -> i o f c
GRU_ORDER = (1, 0, 2)  # r z n -> z r h


def direction(weights, prefix, suffix, order, names):
    """W, R and B of one direction."""
    part = lambda name: weights[f"{prefix}{name}{suffix}"]  # noqa: E731
    w, r, b, c = (gates(part(name), order) for name in names)
    return w, r, numpy.concatenate([b, c])


def stacked(operator, inputs, weights, order, layers=1, both=False, **attributes):
    """Layers of LSTM or GRU; x is [T, B, I], as ONNX Runtime wants it."""
    b, t, width = inputs["x"].shape
    nodes, constants, last = [], {}, "x"
    hidden = None
    for layer in range(layers):
        parts = []
        for backwards in range(2 if both else 1):
            suffix = f"_l{layer}" if layers > 1 or both else ""
            suffix += "_reverse" if backwards else ""
            parts.append(
                direction(
                    weights,
                    "rnn.",
                    suffix,
                    order,
                    ("weight_ih", "weight_hh", "bias_ih", "bias_hh"),
                )
            )
        w, r, bias = (numpy.stack(p) for p in zip(*parts))
        hidden = r.shape[2]
        names = [f"w{layer}", f"r{layer}", f"b{layer}"]
        constants.update(zip(names, (w, r, bias)))
        extra = []
        if operator == "LSTM" and "rnn.peep_i" in weights:
            p = numpy.concatenate([weights["rnn.peep_" + gate] for gate in "iof"])
            constants["p"] = p[None]
            extra = ["", "", "", "p"]
        nodes += [
            helper.make_node(
                operator,
                [last, *names, *extra],
                [f"y{layer}"],
                hidden_size=hidden,
                direction="bidirectional" if both else "forward",
                **attributes,
            ),
            # [T, directions, B, H] -> [T, B, directions * H]
            helper.make_node("Transpose", [f"y{layer}"], [f"z{layer}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"z{layer}", "flat"], [f"x{layer}"]),
        ]
        last = f"x{layer}"
    constants["flat"] = numpy.array([0, 0, -1], numpy.int64)
    nodes[-1].output[0] = "output"
    size = hidden * (2 if both else 1)
    return model(nodes, [value("x", [t, b, width])], [value("output", [t, b, size])], constants)


def lstm(inputs, weights):
    return stacked("LSTM", inputs, weights, LSTM_ORDER)


def gru(inputs, weights):
    return stacked("GRU", inputs, weights, GRU_ORDER, linear_before_reset=1)


def bilstm(inputs, weights):
    return stacked("LSTM", inputs, weights, LSTM_ORDER, layers=2, both=True)


def scan(inputs, states, body, constants):
    """A cell as the body of Scan: what ONNX offers for a cell of one's own."""
    b, t, width = inputs["x"].shape
    hidden = constants["zeros"].shape[1]
    step = helper.make_graph(
        body,
        "step",
        [value(s, [b, hidden]) for s in states] + [value("x_t", [b, width])],
        [value(s + "_next", [b, hidden]) for s in states] + [value("y_t", [b, hidden])],
    )
    node = helper.make_node(
        "Scan",
        ["zeros"] * len(states) + ["x"],
        [s + "_last" for s in states] + ["output"],
        num_scan_inputs=1,
        body=step,
    )
    return model([node], [value("x", [t, b, width])], [value("output", [t, b, hidden])], constants)


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs, [output], **attributes)


def lstm_tail(forget, keep, candidate, output, cell="c_next"):
    """c' = forget * c + keep * candidate, up to h' = output * tanh(cell)."""
    return [
        node("Mul", [forget, "c"], "kept"),
        node("Mul", [keep, candidate], "added"),
        node("Add", ["kept", "added"], "c_next"),
    ], [
        node("Tanh", [cell], "shown"),
        node("Mul", [output, "shown"], "h_next"),
        node("Identity", ["h_next"], "y_t"),
    ]


def peephole_scan(inputs, weights):
    hidden = weights["rnn.weight_hh"].shape[1]
    constants = {
        "w": numpy.ascontiguousarray(weights["rnn.weight_ih"].T),
        "u": numpy.ascontiguousarray(weights["rnn.weight_hh"].T),
        "bias": weights["rnn.bias_ih"] + weights["rnn.bias_hh"],
        "zeros": numpy.zeros((inputs["x"].shape[0], hidden), numpy.float32),
        **{"p_" + gate: weights["rnn.peep_" + gate] for gate in "ifo"},
    }
    update, end = lstm_tail("f", "i", "g", "o")
    peep = lambda gate, cell: [  # noqa: E731
        node("Mul", ["p_" + gate, cell], "p" + gate),
        node("Add", [gate + "_raw", "p" + gate], gate + "_sum"),
        node("Sigmoid", [gate + "_sum"], gate),
    ]
    body = [
        node("MatMul", ["x_t", "w"], "wx"),
        node("MatMul", ["h", "u"], "uh"),
        node("Add", ["wx", "uh"], "sum"),
        node("Add", ["sum", "bias"], "all"),
        helper.make_node(
            "Split", ["all"], ["i_raw", "f_raw", "g_raw", "o_raw"], axis=1
        ),
        *peep("i", "c"),
        *peep("f", "c"),
        node("Tanh", ["g_raw"], "g"),
        *update,
        *peep("o", "c_next"),
        *end,
    ]
    return scan(inputs, ["h", "c"], body, constants)


def layer_norm_scan(inputs, weights):
    hidden = weights["rnn.u"].shape[1]
    constants = {
        "w": numpy.ascontiguousarray(weights["rnn.w"].T),
        "u": numpy.ascontiguousarray(weights["rnn.u"].T),
        "zeros": numpy.zeros((inputs["x"].shape[0], hidden), numpy.float32),
        **{
            f"{part}_{norm}": weights[f"rnn.norm_{norm}.{part}"]
            for norm in "xhc"
            for part in ("gain", "shift")
        },
    }
    normal = lambda norm, of, to: node(  # noqa: E731
        "LayerNormalization", [of, "gain_" + norm, "shift_" + norm], to, epsilon=1e-5
    )
    update, end = lstm_tail("f", "i", "g", "o", "c_normal")
    body = [
        node("MatMul", ["x_t", "w"], "wx"),
        node("MatMul", ["h", "u"], "uh"),
        normal("x", "wx", "nx"),
        normal("h", "uh", "nh"),
        node("Add", ["nx", "nh"], "all"),
        helper.make_node(
            "Split", ["all"], ["i_raw", "f_raw", "g_raw", "o_raw"], axis=1
        ),
        node("Sigmoid", ["i_raw"], "i"),
        node("Sigmoid", ["f_raw"], "f"),
        node("Tanh", ["g_raw"], "g"),
        node("Sigmoid", ["o_raw"], "o"),
        *update,
        normal("c", "c_next", "c_normal"),
        *end,
    ]
    return scan(inputs, ["h", "c"], body, constants)


def check(data):
    onnx.checker.check_model(onnx.load_from_string(data))
