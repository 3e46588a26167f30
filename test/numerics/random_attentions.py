# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Well-typed attentions at random, called with random options, each beside its meaning in NumPy:
one head, on whole maps."""

import random

import attention_references as references
import numpy
from attention_references import added_bias, log_sum_exp, softmax, top_k
from random_programs import CONVERT, sigmoid

MAPS = ("r", "ok")
OF_KEYS = ("k", "v", "stamp")


def typed(element, shape):
    return f"{element}[{', '.join(map(str, shape))}]"


def shapes_of(width):
    """Inputs of a body by name: element, shape of one head."""
    return {
        "q": ("", ("T", width)), "k": ("", ("S", width)), "v": ("", ("S", width - 1)), "r": ("", ("T", "S")),
        "ok": ("bool", ("T", "S")), "slope": ("", ()), "sink": ("", ()), "u": ("", (width,)), "w": ("", (width,)),
        "table": ("", (7,)), "mix": ("", ("T", 1)), "age": ("i64", ("T", 1)), "stamp": ("i64", (1, "S")),
    }  # fmt: skip


class Head:
    """What one head's formula knows; statistics of its softmaxes in order."""

    def __init__(self, values, seen, offset):
        self.__dict__.update(values)
        self.seen = seen
        self.row, self.col = numpy.arange(seen.shape[0])[:, None], numpy.arange(seen.shape[1])[None, :]
        self.position = self.row + offset
        self.maps, self.logs, self.values = [], [], {}

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
    """`text` of an attention; `run(head)` gives its results."""

    def __init__(self, generator, width, name, jumps):
        self.random, self.width, self.name, self.jumps = generator, width, name, jumps
        self.shapes = shapes_of(width)
        self.uses, self.lines, self.meanings = {"q", "k", "v"}, [], []
        self.scores, self.weights, self.flags = [], [], []
        self.add(self.scores, *self.first_map())
        for _ in range(generator.randrange(0, 4)):
            self.change()
        for _ in range(generator.choice([1, 1, 1, 2, 3])):
            self.weigh()
            if generator.random() < 0.3:
                self.change()
        self.finish()
        inputs = ", ".join(f"{n}: {typed(*self.shapes[n])}" for n in self.inputs())
        inputs = inputs.replace(f"q: [T, {self.width}]", "q: [T, D]").replace(f"k: [S, {self.width}]", "k: [S, D]")
        results = ", ".join([f"[T, {self.width - 1}]", *["[T, 1]"] * (len(self.results) - 1)])
        if len(self.results) > 1:
            results = f"({results})"
        body = "".join(f"  {line}\n" for line in self.lines)
        self.text = f"attention {name}({inputs}) -> {results} {{\n{body}  return {', '.join(self.results)}\n}}\n"

    def inputs(self):
        return [n for n in self.shapes if n in self.uses]

    def add(self, kind, text, meaning, *uses):
        name = f"a{len(self.meanings)}"
        self.lines.append(f"{name} = {text}")
        self.meanings.append((name, meaning))
        self.uses.update(uses)
        if kind is not None:
            kind.append(name)
        return name

    def first_map(self):
        root = numpy.sqrt(self.width)
        return self.random.choice([
            ("q @ k.T / sqrt(D)", lambda h: h.q @ h.k.T / root),
            ("q @ k.T / sqrt(D)", lambda h: h.q @ h.k.T / root),
            ("0.25 * (q @ k.T)", lambda h: h.q @ h.k.T / 4),
            ("(q * u) @ k.T", lambda h: (h.q * h.u) @ h.k.T, "u"),
            ("q @ (k * u).T + r", lambda h: h.q @ (h.k * h.u).T + h.r, "u", "r"),
            ("tanh(q[:, None, :] + k[None, :, :]) @ w", lambda h: numpy.tanh(h.q[:, None] + h.k[None]) @ h.w, "w"),
            ("-sum(abs(q[:, None, :] - k[None, :, :]), axis=2)", lambda h: -abs(h.q[:, None] - h.k[None]).sum(axis=2)),
            ("q[:, :2] @ k[:, :2].T - q[:, 2:] @ k[:, 2:].T",
             lambda h: h.q[:, :2] @ h.k[:, :2].T - h.q[:, 2:] @ h.k[:, 2:].T),
            ("q @ k.T / sqrt(D) + take(table, clamp(position - col + 3, 0, 6))",
             lambda h: h.q @ h.k.T / root + h.table[numpy.clip(h.position - h.col + 3, 0, 6)], "table"),
            ("q @ k.T - 0.25 * f32_of(age == stamp)", lambda h: h.q @ h.k.T - 0.25 * (h.age == h.stamp),
             "age", "stamp"),
            ("q @ k.T - 0.125 * sum(k**2, axis=1)[None, :] + q[:, :1]",
             lambda h: h.q @ h.k.T - 0.125 * (h.k**2).sum(axis=1)[None] + h.q[:, :1]),
            ("bent(q) @ k.T", lambda h: numpy.sin(h.q) @ h.k.T),
        ])  # fmt: skip

    def change(self):
        """One more map of scores."""
        choose = self.random
        s, other = choose.choice(self.scores), choose.choice(self.scores + self.weights)
        width, scope = choose.choice([1, 3, 5]), choose.choice(["visible", "visible", "all"])
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
            (f"{s} / (1 + abs(mix))", lambda h: h.values[s] / (1 + abs(h.mix)), "mix"),
        ]  # fmt: skip
        self.add(self.scores, *choose.choice(forms))

    def weigh(self):
        """One more map that is 0 where nothing is seen."""
        choose = self.random
        s = choose.choice(self.scores)
        forms = [
            (f"softmax({s})", lambda h: h.softmax(h.values[s])),
            (f"softmax({s})", lambda h: h.softmax(h.values[s])),
            (f"softmax({s}, where=ok)", lambda h: h.softmax(h.values[s], h.ok), "ok"),
            (f"softmax({s}, where=abs(position - col) <= 2 or col < 1)",
             lambda h: h.softmax(h.values[s], (abs(h.position - h.col) <= 2) | (h.col < 1))),
            (f"softmax({s}, sink=sink)", lambda h: h.softmax(h.values[s], sink=h.sink), "sink"),
            (f"softmax(2 * {s}, sink=mix)", lambda h: h.softmax(2 * h.values[s], sink=h.mix), "mix"),
            (f"where(visible, sigmoid({s} - 1), 0)", lambda h: numpy.where(h.seen, sigmoid(h.values[s] - 1), 0)),
        ]  # fmt: skip
        if self.weights:
            a = choose.choice(self.weights)
            forms += [
                (f"softmax({s} + 0.5 * {a})", lambda h: h.softmax(h.values[s] + 0.5 * h.values[a])),
                (f"{a} * {a} - 0.5 * {a}", lambda h: h.values[a] ** 2 - 0.5 * h.values[a]),
                (f"softmax({s} - log({a} + 0.5))", lambda h: h.softmax(h.values[s] - numpy.log(h.values[a] + 0.5))),
            ]
        if self.jumps:
            count = choose.choice([1, 2, 5])
            forms += [
                (f"softmax({s}, where=top_k({s}, count={count}))",
                 lambda h: h.softmax(h.values[s], top_k(h.values[s], h.seen, count=count))),
                (f"where(top_k({s}, fraction=0.4), {s}, 0)",
                 lambda h: numpy.where(top_k(h.values[s], h.seen, fraction=0.4), h.values[s], 0)),
            ]  # fmt: skip
        self.add(self.weights, *choose.choice(forms))

    def finish(self):
        choose = self.random
        terms = choose.sample(self.weights, choose.randrange(1, min(3, len(self.weights)) + 1))
        signs = [choose.choice(["", "mix * ", "0.5 * "]) for _ in terms]
        if "mix * " in signs:
            self.uses.add("mix")
        factor = {"": lambda h: 1, "mix * ": lambda h: h.mix, "0.5 * ": lambda h: 0.5}
        text = " - ".join(f"{sign}{term}" for sign, term in zip(signs, terms))

        def joined(h):
            parts = [factor[sign](h) * h.values[term] for sign, term in zip(signs, terms)]
            return parts[0] - sum(parts[1:])

        if choose.random() < 0.3 and len(terms) > 1:
            text = " - ".join(f"{sign}({term} @ v)" for sign, term in zip(signs, terms))
        else:
            text = f"({text}) @ v"
        out = self.add(None, text, lambda h: joined(h) @ h.v)
        name = self.add(None, *choose.choice([
            (f"{out}", lambda h: h.values[out]),
            (f"{out}", lambda h: h.values[out]),
            (f"tanh({out}) + q[:, 1:]", lambda h: numpy.tanh(h.values[out]) + h.q[:, 1:]),
            (f"{out} - mean({out}, axis=1, keep=true)",
             lambda h: h.values[out] - h.values[out].mean(axis=1, keepdims=True)),
            (f"{out} / (1 + sum({terms[0]}, axis=1, keep=true) ** 2)",
             lambda h: h.values[out] / (1 + h.values[terms[0]].sum(axis=1, keepdims=True) ** 2)),
        ]))  # fmt: skip
        self.results = [name]
        if choose.random() < 0.2:
            self.results.append(self.add(None, f"sum({terms[0]} * col, axis=1, keep=true)",
                                         lambda h: (h.values[terms[0]] * h.col).sum(1, keepdims=True)))  # fmt: skip

    def softmaxes(self):
        return sum(" softmax(" in line for line in self.lines)

    def run(self, head):
        for name, meaning in self.meanings:
            head.values[name] = meaning(head)
        return [head.values[n] for n in self.results]


class Attentions:
    """A model of some attentions. `text`; `run(inputs, weights, sizes)` gives all results."""

    def __init__(self, seed, jumps, calls=2):
        self.random = random.Random(seed)
        self.inputs, self.calls, self.lines, self.results, texts = {}, [], [], [], []
        self.heads, self.kept = self.random.choice([(None, None), (2, 2), (4, 2), (6, 2), (3, 1), (6, 3)])
        self.width = self.random.choice([4, 4, 4, 5, 17, 33, 64])
        for place in range(calls):
            body = Body(self.random, self.width, f"b{place}", jumps)
            texts.append(body.text)
            self.call(place, body)
        inputs = ", ".join(f"{n}: {typed(*t)}" for n, t in self.inputs.items())
        results = ", ".join(f"{n}: {typed(*t)}" for n, t in self.results)
        lines = "".join(f"  {line}\n" for line in self.lines)
        self.text = (
            f"{CONVERT}{HELPERS}{''.join(texts)}\nmodel m({inputs}) -> ({results}) {{\n{lines}"
            f"  return {', '.join(n for n, _ in self.results)}\n}}\n"
        )

    def given(self, name, element, shape):
        self.inputs.setdefault(name, (element, tuple(shape)))
        return name

    def call(self, place, body):
        choose, jumps = self.random, self.random.random
        lead = ("B",) if self.heads is None else ("B", self.heads)
        call = {"body": body, "lead": lead}
        arguments, options = [], []
        for name in body.inputs():
            element, shape = body.shapes[name]
            own = lead
            if name in OF_KEYS and self.heads:
                own = ("B", self.kept)
            if name in MAPS and self.heads:
                own = ("B", 1) if self.kept == self.heads else ("B", self.heads)
            if name in ("u", "w", "table", "slope", "sink"):
                own = (self.heads,) if self.heads and name != "u" else ()
                name_given = name + "_own"
            else:
                name_given = name
            arguments.append(self.given(name_given, element, (*own, *shape)))
        if self.heads and self.kept != self.heads:
            options.append("gqa=true")
        view = choose.choice(["", "causal", "causal", "window", "both"])
        if view in ("causal", "both"):
            call["causal"] = True
            options.append("causal=true")
        if view in ("window", "both"):
            left, right = choose.choice([(2, 1), (0, 0), (1, None), (None, 1), (3, 2)])
            call["window"] = (left, right)
            options.append(f"window=({'inf' if left is None else left}, {'inf' if right is None else right})")
        if jumps() < 0.35 and view:
            call["offset"] = choose.choice([0, 1, -1, "offset"])
            if call["offset"] == "offset":
                self.given("offset", "i64", ("B",))
            options.append(f"offset={call['offset']}")
        if jumps() < 0.4:
            call["lengths"] = self.given("keys_in", "i64", ("B",))
            options.append("lengths=keys_in")
        if jumps() < 0.25:
            call["segments"] = True
            self.given("segments_t", "i64", ("B", "T"))
            self.given("segments_s", "i64", ("B", "S"))
            options.append("segments=(segments_t, segments_s)")
        if jumps() < 0.3:
            heads, rows = [1] if self.heads else [], choose.choice(["T", 1])
            call["mask"] = self.given("mask_in", "bool", ("B", *heads, rows, "S"))
            options.append("mask=mask_in")
        if jumps() < 0.3 and body.softmaxes():
            call["bias"] = self.given("bias_in", "", (*([self.heads] if self.heads else []), "T", "S"))
            options.append("bias=bias_in")
        count = body.softmaxes()
        names = [f"y{place}_{i}" for i in range(len(body.results))]
        left = list(names)
        shapes = [("", (*lead, "T", self.width - 1)), *[("", (*lead, "T", 1))] * (len(names) - 1)]
        for option, shape, chance in (("lse", (*lead, "T"), 0.25), ("weights", (*lead, "T", "S"), 0.15)):
            if not count or jumps() >= chance:
                continue
            options.append(f"{option}=true")
            call[option] = True
            own = [f"{option}{place}_{i}" for i in range(count)]
            left.append(f"({', '.join(own)})" if count > 1 else own[0])
            names += own
            element = "LSE" if option == "lse" else ""
            shapes += [(element, shape)] * count
        self.lines.append(f"{', '.join(left)} = {body.name}({', '.join(arguments + options)})")
        call["names"], call["arguments"] = names, arguments
        self.results += zip(names, shapes)
        self.calls.append(call)

    # ---- what it means ----

    def run(self, inputs, weights, sizes):
        values = {n: a.astype(numpy.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}
        found = {n: numpy.zeros([sizes.get(x, x) for x in shape]) for n, (_, shape) in self.results}
        with numpy.errstate(all="ignore"):
            for call in self.calls:
                for place in numpy.ndindex(*[sizes.get(x, x) for x in call["lead"]]):
                    for name, value in zip(call["names"], self.head(call, place, values, sizes)):
                        found[name][place] = value
        return found

    def own(self, array, place, rank, lead=2):
        """Of a head: leading dimensions at the right, in groups, or stretched."""
        if self.heads is None or array.ndim == rank:
            return array[place[: array.ndim - rank]]
        batch, head = place
        size = array.shape[array.ndim - rank - 1]
        if array.ndim - rank == 1:
            return array[head]
        return array[batch, head * size // self.heads]

    def head(self, call, place, values, sizes):
        body, queries, keys = call["body"], sizes["T"], sizes["S"]
        mine = {}
        for name, given in zip(body.inputs(), call["arguments"]):
            mine[name] = self.own(values[given], place, len(body.shapes[name][1]))
        offset = call.get("offset", keys - queries)
        offset = int(values["offset"][place[0]]) if offset == "offset" else offset
        length = int(values["keys_in"][place[0]]) if "lengths" in call else None
        seen = references.visible(queries, keys, causal=call.get("causal", False), window=call.get("window"),
                                  offset=offset, length=length)  # fmt: skip
        if "segments" in call:
            first, second = (values[n][place[0]] for n in ("segments_t", "segments_s"))
            seen = seen & (first[:, None] == second[None])
        if "mask" in call:
            seen = seen & self.own(values["mask_in"], place, 2)
        head = Head(mine, seen, offset)
        bias = 0
        if "bias" in call:
            bias = values["bias_in"] if self.heads is None else values["bias_in"][place[1]]
        with added_bias(bias):
            results = body.run(head)
        if "lse" in call:
            results += head.logs
        if "weights" in call:
            results += head.maps
        return results


HELPERS = """
func bent(x: [D]) -> [D] {
  return sin(x)
}

"""
