# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch as a peer: its fused operators, and torch.compile of the equations."""

import numpy
import torch

import peers


class Torch(peers.Candidate):
    def prepare(self):
        pass

    def tensors(self):
        return {k: torch.from_numpy(v) for k, v in self.case.inputs.items()}

    def build(self):
        torch.set_num_threads(self.threads)
        self.function = self.make(self.tensors())

    def run(self):
        with torch.inference_mode():
            self.output = self.function()

    def result(self):
        return self.output.numpy()


class Attention(Torch):
    name = "torch sdpa"

    def make(self, t):
        causal = self.case.options["causal"]
        return lambda: torch.nn.functional.scaled_dot_product_attention(
            t["q"][None], t["k"][None], t["v"][None], is_causal=causal
        )[0]


class TwoAttentions(Torch):
    """Two fused calls and a subtraction, queries and keys padded to the values' width,
    since the fused path wants one width."""

    name = "torch two sdpa"

    def make(self, t):
        sdpa = torch.nn.functional.scaled_dot_product_attention
        pad = lambda x: torch.nn.functional.pad(x, (0, 64))[None, None]  # noqa: E731
        q1, q2, k1, k2 = (pad(t[name]) for name in ("q1", "q2", "k1", "k2"))
        v = t["v"][None, None]

        def run():
            first = sdpa(q1, k1, v, scale=64**-0.5)
            return (first - t["lambda"] * sdpa(q2, k2, v, scale=64**-0.5))[0, 0]

        return run


class Compiled(Torch):
    name = "torch.compile"

    def make(self, t):
        equations = {"two_maps": self.two_maps, "neighbours": self.neighbours}
        function = torch.compile(equations[self.case.family], dynamic=False)
        names = list(t.values())
        return lambda: function(*names)

    @staticmethod
    def two_maps(q1, q2, k1, k2, v, weight):
        a1 = torch.softmax(q1 @ k1.T * 64**-0.5, -1)
        a2 = torch.softmax(q2 @ k2.T * 64**-0.5, -1)
        return (a1 - weight * a2) @ v

    @staticmethod
    def neighbours(q, k, v):
        s = q @ k.T * 64**-0.5
        left, right = s[:, 1:] - s[:, :-1], s[:, :-1] - s[:, 1:]
        s = s + torch.nn.functional.pad(left, (1, 0)) + torch.nn.functional.pad(right, (0, 1))
        return torch.softmax(s, -1) @ v


class Recurrent(Torch):
    name = "torch.nn"

    def make(self, t):
        weights = self.case.weights
        hidden = self.case.dimensions["H"]
        both = self.case.family == "bilstm_layers"
        kind = torch.nn.GRU if self.case.family == "gru_layer" else torch.nn.LSTM
        rnn = kind(hidden, hidden, 2 if both else 1, batch_first=False, bidirectional=both)
        with torch.no_grad():
            for name, parameter in rnn.named_parameters():
                ours = name if both else name.removesuffix("_l0")
                parameter.copy_(torch.from_numpy(weights["rnn." + ours]))
        x = torch.from_numpy(peers.peer_inputs(self.case)["x"])
        return lambda: rnn(x)[0]

    def result(self):
        return numpy.ascontiguousarray(self.output.numpy().transpose(1, 0, 2))


def candidates(case):
    return {
        "plain": [Attention],
        "two_maps": [TwoAttentions, Compiled],
        "neighbours": [Compiled],
        "lstm_layer": [Recurrent],
        "lstm_textbook_layer": [Recurrent],
        "gru_layer": [Recurrent],
        "bilstm_layers": [Recurrent],
    }.get(case.family, [])
