# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Well-typed straight-line texts at random, each beside its meaning in NumPy."""

import math
import random

import numpy

FUNCS = """
func centre(x: [M]) -> [M] {
  return x - mean(x)
}

func weigh(x: [M], y: [M]) -> [] {
  return tanh(x @ y / (M + 1))
}

func turned(x: [P, M]) -> [M, P] {
  return flip(x.T, axis=0) + arange(P) / (P + 1)
}

func block(x: [P, M]) -> [P, M] {
  param norm: rms_norm(), out: linear(N=M), gain: [M]
  return x + gain * tanh(out(norm(x))) * mean(x, axis=0)
}

"""
CONVERT = "func f32_of(m: bool[]) -> [] {\n  return where(m, 1.0, 0.0)\n}\n\n"
erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def softmax(x, axis):
    largest = x.max(axis=axis, keepdims=True, initial=-1e300)
    powers = numpy.exp(x - largest)
    return powers / powers.sum(axis=axis, keepdims=True) if x.shape[axis] else powers


def mean(x, axis, keep=False):
    return x.sum(axis=axis, keepdims=keep) / max(x.shape[axis], 1)


def turned(x):
    width = x.shape[-2]
    return x.swapaxes(-1, -2)[..., ::-1, :] + numpy.arange(width) / (width + 1)


def rotary(x, interleaved):
    width = x.shape[-1]
    angle = numpy.arange(x.shape[-2])[:, None] * 10000.0 ** (
        -2 * numpy.arange(width // 2) / width
    )
    half = width // 2
    first = numpy.s_[..., ::2] if interleaved else numpy.s_[..., :half]
    second = numpy.s_[..., 1::2] if interleaved else numpy.s_[..., half:]
    result = numpy.empty_like(x)
    result[first] = x[first] * numpy.cos(angle) - x[second] * numpy.sin(angle)
    result[second] = x[second] * numpy.cos(angle) + x[first] * numpy.sin(angle)
    return result


UNARY = {
    "tanh({})": numpy.tanh,
    "sigmoid({})": sigmoid,
    "exp(-abs({}))": lambda x: numpy.exp(-abs(x)),
    "sin({})": numpy.sin,
    "cos({} * 2)": lambda x: numpy.cos(x * 2),
    "erf({})": erf,
    "gelu({})": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "silu({})": lambda x: x * sigmoid(x),
    "softplus({})": lambda x: numpy.maximum(x, 0) + numpy.log1p(numpy.exp(-abs(x))),
    "log_sigmoid({})": lambda x: numpy.minimum(x, 0) - numpy.log1p(numpy.exp(-abs(x))),
    "relu({}) - 0.25": lambda x: numpy.maximum(x, 0) - 0.25,
    "log(1 + abs({}))": lambda x: numpy.log(1 + abs(x)),
    "sqrt(abs({}) + 0.5)": lambda x: numpy.sqrt(abs(x) + 0.5),
    "-{} / 3": lambda x: -x / 3,
    "clamp({}, -0.5, 0.75)": lambda x: numpy.clip(x, -0.5, 0.75),
    "tanh({}) ** 2": lambda x: numpy.tanh(x) ** 2,
    "1 / (1 + {} ** 2)": lambda x: 1 / (1 + x**2),
}
BINARY = {
    "{} + {}": lambda a, b: a + b,
    "{} - {}": lambda a, b: a - b,
    "{} * tanh({})": lambda a, b: a * numpy.tanh(b),
    "{} / (1 + abs({}))": lambda a, b: a / (1 + abs(b)),
    "max({}, {})": numpy.maximum,
    "min({}, {})": numpy.minimum,
    "sigmoid({}) ** abs({})": lambda a, b: sigmoid(a) ** abs(b),
}
# What jumps is compared in f64 only, where rounding does not decide.
JUMPING = {
    "where({0} > {1}, {0}, {1} / 2)": lambda a, b: numpy.where(a > b, a, b / 2),
    "where({0} < 0 or {1} >= 0.5, {0}, 1)": lambda a, b: numpy.where(
        (a < 0) | (b >= 0.5), a, 1
    ),
    "{} + f32_of({} > 0.1)": lambda a, b: a + (b > 0.1),
    "{} % (1.5 + abs({}))": lambda a, b: numpy.remainder(a, 1.5 + abs(b)),
    "i64({} * 5) // 2 * 0.25 + {}": lambda a, b: numpy.trunc(a * 5) // 2 * 0.25 + b,
}


class Program:
    """`text`, and `run(inputs, weights)`, which gives all results in order."""

    INPUTS = {"x": ("B", "T", 6), "y": ("T", 6), "z": ("B", 4, 6), "v": (6,), "g": ()}

    def __init__(self, seed, steps, jumps):
        self.random = random.Random(seed)
        self.jumps = jumps
        self.shapes = dict(self.INPUTS)
        self.lines, self.instances, self.meanings = [], [], []
        while len(self.meanings) < steps:
            self.step()
        inputs = ", ".join(
            f"{n}: [{', '.join(map(str, shape))}]" for n, shape in self.INPUTS.items()
        )
        made = [name for name, _ in self.meanings]
        results = ", ".join(
            f"{n}_out: [{', '.join(f'D{n}x{i}' for i in range(len(self.shapes[n])))}]"
            for n in made
        )
        body = "\n".join(f"  {line}" for line in [*self.instances, *self.lines])
        self.text = (
            f"{FUNCS}{CONVERT}model m({inputs}) -> ({results}) {{\n{body}\n"
            f"  return {', '.join(made)}\n}}\n"
        )

    def run(self, inputs, weights):
        values = {n: numpy.asarray(a, numpy.float64) for n, a in inputs.items()}
        values["weights"] = weights
        with numpy.errstate(all="ignore"):
            for name, meaning in self.meanings:
                values[name] = meaning(values)
        return {f"{name}_out": values[name] for name, _ in self.meanings}

    # ---- one step ----

    def pick(self, fits=lambda shape: True):
        names = [n for n, shape in self.shapes.items() if fits(shape)]
        # The newest are likelier, so that programs grow deep.
        weights = [1 + 3 * i / len(names) for i in range(len(names))]
        return self.random.choices(names, weights)[0] if names else None

    def add(self, text, shape, meaning):
        if len(shape) > 4 or math.prod(s for s in shape if isinstance(s, int)) > 150:
            return
        name = f"a{len(self.meanings)}"
        self.lines.append(f"{name} = {text}")
        self.shapes[name] = tuple(shape)
        self.meanings.append((name, meaning))

    def step(self):
        kinds = [
            self.unary, self.unary, self.binary, self.binary, self.binary, self.reduction,
            self.reduction, self.softmax, self.product, self.product, self.layer, self.move,
            self.move, self.index, self.index, self.join, self.call, self.rotation, self.loop,
        ]  # fmt: skip
        self.random.choice(kinds)()

    def unary(self):
        a = self.pick()
        text, function = self.random.choice(list(UNARY.items()))
        self.add(text.format(a), self.shapes[a], lambda v: function(v[a]))

    def broadcast(self, left, right):
        """The common shape, None if there is none."""
        result = []
        for i in range(1, max(len(left), len(right)) + 1):
            a = left[-i] if i <= len(left) else 1
            b = right[-i] if i <= len(right) else 1
            if a != b and 1 not in (a, b):
                return None
            result.insert(0, b if a == 1 else a)
        return tuple(result)

    def binary(self):
        a = self.pick()
        b = self.pick(lambda shape: self.broadcast(self.shapes[a], shape) is not None)
        table = {**BINARY, **JUMPING} if self.jumps else BINARY
        text, function = self.random.choice(list(table.items()))
        shape = self.broadcast(self.shapes[a], self.shapes[b])
        self.add(text.format(a, b), shape, lambda v: function(v[a], v[b]))

    def axis_of(self, name):
        axis = self.random.randrange(len(self.shapes[name]))
        return axis, self.random.choice([axis, axis - len(self.shapes[name])])

    def reduction(self):
        a = self.pick(lambda shape: len(shape) > 0)
        axis, written = self.axis_of(a)
        shape = list(self.shapes[a])
        size, keep = shape[axis], self.random.random() < 0.4
        kinds = ["mean", "sum"] + (["max", "min"] if isinstance(size, int) and size > 0 else [])
        kind = self.random.choice(kinds)
        text = f"{kind}({a}, axis={written}{', keep=true' if keep else ''})"
        if keep:
            shape[axis] = 1
        else:
            del shape[axis]

        def reduced(v):
            if kind == "mean":
                return mean(v[a], axis, keep)
            return getattr(v[a], kind)(axis=axis, keepdims=keep) / (8 if kind == "sum" else 1)

        self.add(text + (" / 8" if kind == "sum" else ""), shape, reduced)

    def softmax(self):
        a = self.pick(lambda shape: len(shape) > 0)
        axis, written = self.axis_of(a)
        self.add(
            f"softmax({a}, axis={written})", self.shapes[a], lambda v: softmax(v[a], axis)
        )

    def product(self):
        a = self.pick(lambda shape: len(shape) > 0)
        left = self.shapes[a]
        transposed = self.random.random() < 0.5

        def fits(shape):
            if not shape:
                return False
            inner = shape[-1] if transposed or len(shape) == 1 else shape[-2]
            return inner == left[-1] and self.broadcast(left[:-2], shape[:-2]) is not None

        b = self.pick(fits)
        if b is None:
            return
        right = self.shapes[b]
        transposed &= len(right) > 1
        shape = list(self.broadcast(left[:-2], right[:-2]))
        shape += left[-2:-1]
        if len(right) > 1:
            shape.append(right[-2] if transposed else right[-1])

        def multiplied(v):
            other = v[b].swapaxes(-1, -2) if transposed else v[b]
            return numpy.tanh(v[a] @ other / 4)

        self.add(f"tanh({a} @ {b}{'.T' if transposed else ''} / 4)", shape, multiplied)

    def layer(self):
        a = self.pick(lambda s: len(s) > 1 and isinstance(s[-1], int) and s[-1] > 1)
        if a is None:
            return
        name, width = f"p{len(self.instances)}", self.shapes[a][-1]
        kind = self.random.choice(["linear", "rms_norm", "layer_norm", "block"])
        settings = f"N={self.random.choice([1, 3, 6])}" if kind == "linear" else ""
        if kind.endswith("_norm"):
            settings = "eps=0.1"
        shape = list(self.shapes[a])

        def applied(v):
            w = {n[len(name) + 1 :]: p for n, p in v["weights"].items()
                 if n.startswith(name + ".")}  # fmt: skip
            x = v[a]
            if not w:  # of nothing, and no parameter of the model
                return numpy.zeros([*x.shape[:-1], shape[-1]])
            if kind == "linear":
                return x @ w["weight"].T + w["bias"]
            if kind == "layer_norm":
                x = x - x.mean(-1, keepdims=True)
            eps = 1e-5 if kind == "block" else 0.1
            n = x / numpy.sqrt((x**2).mean(-1, keepdims=True) + eps)
            if kind == "block":
                n = n * w["norm.weight"]
                mixed = numpy.tanh(n @ w["out.weight"].T + w["out.bias"])
                return x + w["gain"] * mixed * mean(x, -2, True)
            return n * w["weight"] + w.get("bias", 0)

        if kind == "linear":
            shape[-1] = int(settings[2:])
        count = len(self.meanings)
        self.add(f"{name}({a})", shape, applied)
        if len(self.meanings) > count:
            self.instances.append(f"param {name}: {kind}({settings})")

    def move(self):
        a = self.pick(lambda shape: len(shape) > 1)
        shape = self.shapes[a]
        kind = self.random.choice(["permute", "T", "flip", "reshape", "merge", "heads"])
        if kind == "permute":
            order = self.random.sample(range(len(shape)), len(shape))
            moved = [shape[i] for i in order]
            text = f"permute({a}, ({', '.join(map(str, order))}))"
            self.add(text, moved, lambda v: v[a].transpose(order))
        elif kind == "T":
            moved = [*shape[:-2], shape[-1], shape[-2]]
            self.add(f"{a}.T", moved, lambda v: v[a].swapaxes(-1, -2))
        elif kind == "flip":
            axis, written = self.axis_of(a)
            text = f"flip({a}, axis={written})"
            self.add(text, shape, lambda v: numpy.flip(v[a], axis))
        elif kind == "reshape" and isinstance(shape[-1], int) and shape[-1] % 2 == 0:
            moved = [*shape[:-1], 2, shape[-1] // 2]
            text = f"reshape({a}, ({', '.join(map(str, moved))}))"
            self.add(text, moved, lambda v: v[a].reshape(*v[a].shape[:-1], 2, shape[-1] // 2))
        elif kind == "merge" and all(isinstance(s, int) for s in shape[-2:]):
            moved = [*shape[:-2], shape[-2] * shape[-1]]
            text = f"reshape({a}, ({', '.join(map(str, moved))},))"
            text = text.replace(",))", "))") if len(moved) > 1 else f"reshape({a}, -1)"
            self.add(text, moved, lambda v: v[a].reshape(*v[a].shape[:-2], moved[-1]))
        elif kind == "heads" and isinstance(shape[-1], int) and shape[-1] % 2 == 0:
            moved = [*shape[:-2], 2, shape[-2], shape[-1] // 2]
            self.add(f"split_heads({a}, 2)", moved, lambda v: v[a].reshape(
                *v[a].shape[:-1], 2, shape[-1] // 2).swapaxes(-2, -3))  # fmt: skip

    def index(self):
        a = self.pick(lambda shape: len(shape) > 0)
        entries, shape = [], []
        for size in self.shapes[a]:
            if self.random.random() < 0.15:
                entries.append("None")
                shape.append(1)
            if not isinstance(size, int):
                entries.append(":")
                shape.append(size)
                continue
            if size and self.random.random() < 0.2:
                entries.append(str(self.random.randrange(-size, size)))
                continue
            start, stop = (self.random.choice(["", *range(-size, size + 3)]) for _ in "ab")
            step = self.random.choice(["", "", 1, 2, 3])
            text = f"{start}:{stop}" + (f":{step}" if step else "")
            left = len(range(size)[slice(*(p if p != "" else None for p in (start, stop)),
                                         step or None)])  # fmt: skip
            # Keeps most of them non-empty.
            if left == 0 and self.random.random() < 0.9:
                text, left = ":", size
            entries.append(text)
            shape.append(left)
        if self.random.random() < 0.2:
            entries.insert(self.random.choice([0, len(entries)]), "...")
        text = ", ".join(entries)
        place = eval(f"numpy.index_exp[{text}]")
        self.add(f"{a}[{text}]", shape, lambda v: v[a][place])

    def join(self):
        a = self.pick(lambda shape: len(shape) > 0)
        shape = list(self.shapes[a])
        axis, written = self.axis_of(a)
        if self.random.random() < 0.5 and isinstance(shape[axis], int):
            b = self.pick(lambda s: len(s) == len(shape) and all(
                x == y or (i == axis and isinstance(x, int) and isinstance(y, int))
                for i, (x, y) in enumerate(zip(s, shape))))  # fmt: skip
            shape[axis] += self.shapes[b][axis]
            text = f"concat({a}, {b}, axis={written})"
            self.add(text, shape, lambda v: numpy.concatenate([v[a], v[b]], axis))
        elif self.random.random() < 0.5:
            b = self.pick(lambda s: s == tuple(shape))
            shape.insert(axis, 2)
            self.add(f"stack({a}, {b}, axis={axis})", shape,
                     lambda v: numpy.stack([v[a], v[b]], axis))  # fmt: skip
        elif isinstance(shape[-1], int):
            mode = self.random.choice(["zero", "edge"] if shape[-1] else ["zero"])
            left, right = self.random.randrange(3), self.random.randrange(3)
            shape[-1] += left + right

            def padded(v):
                widths = [(0, 0)] * (v[a].ndim - 1) + [(left, right)]
                return numpy.pad(v[a], widths, mode={"zero": "constant"}.get(mode, mode))

            self.add(f'pad({a}, left={left}, right={right}, mode="{mode}")', shape, padded)

    def call(self):
        kind = self.random.choice(["centre", "weigh", "turned"])
        a = self.pick(lambda shape: len(shape) > (kind == "turned"))
        shape = self.shapes[a]
        if kind == "centre":
            self.add(f"centre({a})", shape, lambda v: v[a] - mean(v[a], -1, True))
        elif kind == "turned":
            moved = [*shape[:-2], shape[-1], shape[-2]]
            self.add(f"turned({a})", moved, lambda v: turned(v[a]))
        else:
            b = self.pick(lambda s: len(s) > 0 and s[-1] == shape[-1]
                          and self.broadcast(s[:-1], shape[:-1]) is not None)  # fmt: skip
            lead = self.broadcast(shape[:-1], self.shapes[b][:-1])
            self.add(f"weigh({a}, {b})", lead, lambda v: numpy.tanh(
                (v[a] * v[b]).sum(-1) / (v[a].shape[-1] + 1)))  # fmt: skip

    def rotation(self):
        a = self.pick(lambda s: len(s) > 1 and isinstance(s[-1], int) and s[-1] % 2 == 0 and s[-1])
        if a is None:
            return
        interleaved = self.random.random() < 0.5
        text = f"rotary({a}, interleaved={'true' if interleaved else 'false'})"
        self.add(text, self.shapes[a], lambda v: rotary(v[a], interleaved))

    def loop(self):
        a = self.pick()
        count = self.random.randrange(4)
        name = f"a{len(self.meanings)}"

        def looped(v):
            x = v[a]
            for i in range(count):
                x = numpy.tanh(x * (i + 1)) + i / 2
            return x

        self.add(a, self.shapes[a], looped)
        self.lines.append(
            f"for i in {count} {{\n    {name} = tanh({name} * (i + 1)) + i / 2\n  }}"
        )
