# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Well-typed bodies of attentions at random, each beside its meaning in NumPy: one head, on whole
maps."""

import attention_references as references
import numpy
from attention_references import log_sum_exp, softmax, top_k
from random_programs import sigmoid
from random_sequences import typed

COEFFICIENTS = 3


def shapes_of(width, values):
    """Inputs of a body by name: element, shape of one head."""
    return {
        "q": ("", ("T", width)), "k": ("", ("S", width)), "v": ("", ("S", values)), "r": ("", ("T", "S")),
        "ok": ("bool", ("T", "S")), "slope": ("", ()), "sink": ("", ()), "u": ("", (width,)), "w": ("", (width,)),
        "table": ("", (7,)), "mix": ("", ("T", 1)), "age": ("i64", ("T", 1)), "stamp": ("i64", (1, "S")),
        "parts": ("", ("T", COEFFICIENTS)),
    }  # fmt: skip


class Head:
    """What one head's formula knows; statistics of its softmaxes in order."""

    def __init__(self, values, seen, offset, reached):
        self.__dict__.update(values)
        # What each query sees; what some query sees by its place: what a reduction runs over.
        self.seen, self.reached = seen, reached
        self.row, self.col = numpy.arange(seen.shape[0])[:, None], numpy.arange(seen.shape[1])[None, :]
        self.position = self.row + offset
        self.maps, self.logs, self.values = [], [], {}

    def largest(self, scores):
        scores = scores[:, self.reached]
        return scores.max(axis=1, keepdims=True) if scores.shape[1] else numpy.zeros((len(scores), 1))

    def softmax(self, scores, where=True, sink=None):
        seen = self.seen & where
        self.maps.append(softmax(scores, seen, sink))
        self.logs.append(log_sum_exp(scores, seen, sink))
        return self.maps[-1]


def neighbour_difference(scores, seen, width, scope):
    """With scope "visible", 0 of a key that is not seen."""
    if scope == "all":
        return references.neighbour_difference(scores, numpy.ones_like(seen), width)
    return numpy.where(seen, references.neighbour_difference(scores, seen, width), 0)


class Body:
    """`text` of an attention; `run(head)` gives its results. `given`: the inputs that it may have;
    None: any."""

    def __init__(self, generator, width, values, name, jumps, given=None):
        self.random, self.width, self.name, self.jumps = generator, width, name, jumps
        self.shapes, self.given = shapes_of(width, values), given
        self.values = values
        self.uses, self.lines, self.meanings = {"q", "k", "v"}, [], []
        self.scores, self.weights, self.softmaxes = [], [], 0
        self.add(self.scores, *self.first_map())
        for _ in range(generator.choice([0, 0, 1, 1, 2])):
            self.change()
        for _ in range(generator.choice([1, 1, 1, 1, 2, 3])):
            self.weigh()
            if generator.random() < 0.3:
                self.change()
        self.finish()
        inputs = ", ".join(f"{n}: {typed(*self.declared(n))}" for n in self.inputs())
        results = ", ".join([f"[T, {self.values}]", *["[T, 1]"] * (len(self.results) - 1)])
        if len(self.results) > 1:
            results = f"({results})"
        body = "".join(f"  {line}\n" for line in self.lines)
        self.text = f"attention {name}({inputs}) -> {results} {{\n{body}  return {', '.join(self.results)}\n}}\n"

    def inputs(self):
        return [n for n in self.shapes if n in self.uses]

    def declared(self, name):
        element, shape = self.shapes[name]
        return element, (shape[0], "D") if name in ("q", "k") else shape

    def choose(self, forms):
        """One whose inputs the body may have."""
        fits = [f for f in forms if self.given is None or set(f[2:]) <= self.given]
        return self.random.choice(fits)

    def add(self, kind, text, meaning, *uses):
        """One more value; the name in its text is {0} where it has several lines."""
        name = f"a{len(self.meanings)}"
        self.lines.append(text.format(name) if "{0}" in text else f"{name} = {text}")
        self.softmaxes += text.count("softmax(") * (COEFFICIENTS if "for " in text else 1)
        self.meanings.append((name, meaning))
        self.uses.update(uses)
        if kind is not None:
            kind.append(name)
        return name

    def first_map(self):
        root = numpy.sqrt(self.width)
        return self.choose([
            ("q @ k.T / sqrt(D)", lambda h: h.q @ h.k.T / root),
            ("q @ k.T / sqrt(D)", lambda h: h.q @ h.k.T / root),
            ("0.25 * (q @ k.T)", lambda h: h.q @ h.k.T / 4),
            ("(q * u) @ k.T", lambda h: (h.q * h.u) @ h.k.T, "u"),
            ("q @ (k * u).T + r", lambda h: h.q @ (h.k * h.u).T + h.r, "u", "r"),
            ("tanh(q[:, None, :] + k[None, :, :]) @ w", lambda h: numpy.tanh(h.q[:, None] + h.k[None]) @ h.w, "w"),
            ("-sum(abs(q[:, None, :] - k[None, :, :]), axis=2)", lambda h: -abs(h.q[:, None] - h.k[None]).sum(axis=2)),
            ("sum(exp(-abs(q[:, None, :] * u - k[None, :, :])), axis=2)",
             lambda h: numpy.exp(-abs(h.q[:, None] * h.u - h.k[None])).sum(axis=2), "u"),
            ("q[:, :2] @ k[:, :2].T - q[:, 2:] @ k[:, 2:].T",
             lambda h: h.q[:, :2] @ h.k[:, :2].T - h.q[:, 2:] @ h.k[:, 2:].T),
            ("q @ k.T / sqrt(D) + take(table, clamp(position - col + 3, 0, 6))",
             lambda h: h.q @ h.k.T / root + h.table[numpy.clip(h.position - h.col + 3, 0, 6)], "table"),
            ("q @ k.T - 0.25 * f32_of(age == stamp)", lambda h: h.q @ h.k.T - 0.25 * (h.age == h.stamp),
             "age", "stamp"),
            ("q @ k.T - 0.125 * sum(k**2, axis=1)[None, :] + q[:, :1]",
             lambda h: h.q @ h.k.T - 0.125 * (h.k**2).sum(axis=1)[None] + h.q[:, :1]),
            ("bent(q) @ k.T", lambda h: numpy.sin(h.q) @ h.k.T),
            ("rotary(q, positions=position[:, 0]) @ rotary(k, positions=col[0]).T / D",
             lambda h: turned(h.q, h.position[:, 0]) @ turned(h.k, h.col[0]).T / self.width),
        ][: None if self.width % 2 == 0 else -1])  # fmt: skip

    def change(self):
        """One more map of scores."""
        choose = self.random
        s, other = choose.choice(self.scores), choose.choice(self.scores + self.weights)
        width, scope = choose.choice([1, 3, 5, 7]), choose.choice(["visible", "visible", "all"])
        forms = [
            (f"tanh({s})", lambda h: numpy.tanh(h.values[s])),
            (f"30 * tanh({s} / 30)", lambda h: 30 * numpy.tanh(h.values[s] / 30)),
            (f"{s} * 0.5 + {other}", lambda h: h.values[s] * 0.5 + h.values[other]),
            (f"max({s}, {other}) - 0.5", lambda h: numpy.maximum(h.values[s], h.values[other]) - 0.5),
            (f"{s} - slope * abs(position - col)", lambda h: h.values[s] - h.slope * abs(h.position - h.col), "slope"),
            (f"{s} * sigmoid({other})", lambda h: h.values[s] * sigmoid(h.values[other])),
            (f"where(ok, {s}, {other})", lambda h: numpy.where(h.ok, h.values[s], h.values[other]), "ok"),
            (f"where(col > position, {s}, -{s})",
             lambda h: numpy.where(h.col > h.position, h.values[s], -h.values[s])),
            (f'{s} + neighbour_difference({s}, {width}, scope="{scope}")',
             lambda h: h.values[s] + neighbour_difference(h.values[s], h.seen, width, scope)),
            (f'{s} + neighbour_difference({s}, {width}, scope="{scope}")',
             lambda h: h.values[s] + neighbour_difference(h.values[s], h.seen, width, scope)),
            (f"{s} - 0.25 * sum(where(visible, {other}, 0), axis=1, keep=true)",
             lambda h: h.values[s] - 0.25 * numpy.where(h.seen, h.values[other], 0).sum(axis=1, keepdims=True)),
            (f"{s} - 0.5 * max(where(visible, {other}, -3), axis=1, keep=true)",
             lambda h: h.values[s] - 0.5 * h.largest(numpy.where(h.seen, h.values[other], -3))),
            (f"{s} / (1 + abs(mix))", lambda h: h.values[s] / (1 + abs(h.mix)), "mix"),
        ]  # fmt: skip
        self.add(self.scores, *self.choose(forms))

    def weigh(self):
        """One more map that is 0 where nothing is seen."""
        choose = self.random
        s = choose.choice(self.scores)

        def each_part(h):
            return sum(h.parts[:, n, None] * h.softmax(h.values[s] * (n + 1)) for n in range(COEFFICIENTS))

        forms = [
            (f"softmax({s})", lambda h: h.softmax(h.values[s])),
            (f"softmax({s})", lambda h: h.softmax(h.values[s])),
            (f"softmax({s}, where=ok)", lambda h: h.softmax(h.values[s], h.ok), "ok"),
            (f"softmax({s}, where=abs(position - col) <= 2 or col < 1)",
             lambda h: h.softmax(h.values[s], (abs(h.position - h.col) <= 2) | (h.col < 1))),
            (f"softmax({s}, sink=sink)", lambda h: h.softmax(h.values[s], sink=h.sink), "sink"),
            (f"softmax(2 * {s}, sink=mix)", lambda h: h.softmax(2 * h.values[s], sink=h.mix), "mix"),
            (f"where(visible, sigmoid({s} - 1), 0)", lambda h: numpy.where(h.seen, sigmoid(h.values[s] - 1), 0)),
            ("{0} = 0\n  for n in %d {\n    {0} = {0} + parts[:, n][:, None] * softmax(%s * (n + 1))\n  }"
             .replace("{\n", "{{\n").replace("\n  }", "\n  }}") % (COEFFICIENTS, s), each_part, "parts"),
        ]  # fmt: skip
        if self.weights:
            a = choose.choice(self.weights)
            forms += [
                (f"softmax({s} + 0.5 * {a})", lambda h: h.softmax(h.values[s] + 0.5 * h.values[a])),
                (f"{a} * {a} - 0.5 * {a}", lambda h: h.values[a] ** 2 - 0.5 * h.values[a]),
                (f"softmax({s} - log(abs({a}) + 0.5))",
                 lambda h: h.softmax(h.values[s] - numpy.log(abs(h.values[a]) + 0.5))),
            ]  # fmt: skip
        if self.jumps:
            count = choose.choice([1, 2, 5])
            forms += [
                (f"softmax({s}, where=top_k({s}, count={count}))",
                 lambda h: h.softmax(h.values[s], top_k(h.values[s], h.seen, count=count))),
                (f"where(top_k({s}, fraction=0.4), {s}, 0)",
                 lambda h: numpy.where(top_k(h.values[s], h.seen, fraction=0.4), h.values[s], 0)),
                (f"softmax({s}, where={s} > 0.25)", lambda h: h.softmax(h.values[s], h.values[s] > 0.25)),
            ]  # fmt: skip
        self.add(self.weights, *self.choose(forms))

    def finish(self):
        choose = self.random
        terms = choose.sample(self.weights, choose.randrange(1, min(3, len(self.weights)) + 1))
        mixes = self.given is None or "mix" in self.given
        signs = [choose.choice(["", "mix * " if mixes else "", "0.5 * "]) for _ in terms]
        if "mix * " in signs:
            self.uses.add("mix")
        factor = {"": lambda h: 1, "mix * ": lambda h: h.mix, "0.5 * ": lambda h: 0.5}
        text = " - ".join(f"{sign}{term}" for sign, term in zip(signs, terms))

        def difference(h):
            parts = [factor[sign](h) * h.values[term] for sign, term in zip(signs, terms)]
            return parts[0] - sum(parts[1:])

        values, of = choose.choice([("v", lambda h: h.v)] * 4 + [("tanh(v)", lambda h: numpy.tanh(h.v))])
        if choose.random() < 0.3 and len(terms) > 1:
            text = " - ".join(f"{sign}({term} @ {values})" for sign, term in zip(signs, terms))
        else:
            text = f"({text}) @ {values}"
        out = self.add(None, text, lambda h: difference(h) @ of(h))
        forms = [
            (f"{out}", lambda h: h.values[out]),
            (f"{out}", lambda h: h.values[out]),
            (f"tanh({out}) + q[:, :1]", lambda h: numpy.tanh(h.values[out]) + h.q[:, :1]),
            (f"{out} - mean({out}, axis=1, keep=true)",
             lambda h: h.values[out] - h.values[out].mean(axis=1, keepdims=True)),
            (f"{out} / (1 + sum({terms[0]}, axis=1, keep=true) ** 2)",
             lambda h: h.values[out] / (1 + h.values[terms[0]].sum(axis=1, keepdims=True) ** 2)),
        ]  # fmt: skip
        if self.values == self.width - 1:
            forms.append((f"tanh({out}) + q[:, 1:]", lambda h: numpy.tanh(h.values[out]) + h.q[:, 1:]))
        self.results = [self.add(None, *choose.choice(forms))]
        if choose.random() < 0.2:
            self.results.append(self.add(None, f"sum({terms[0]} * col, axis=1, keep=true)",
                                         lambda h: (h.values[terms[0]] * h.col).sum(1, keepdims=True)))  # fmt: skip

    def run(self, head):
        for name, meaning in self.meanings:
            head.values[name] = meaning(head)
        return [head.values[n] for n in self.results]


def turned(x, positions):
    """Rotary, of pairs half the width apart."""
    half = x.shape[1] // 2
    angle = positions[:, None] * 10000.0 ** (-numpy.arange(half) / max(half, 1))
    sine, cosine, a, b = numpy.sin(angle), numpy.cos(angle), x[:, :half], x[:, half:]
    return numpy.concatenate([a * cosine - b * sine, b * cosine + a * sine], axis=1)
