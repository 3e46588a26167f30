# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models at random that write attention out on whole tensors, each beside its meaning in NumPy, on
whole tensors, too."""

import numpy
from random_programs import sigmoid
from random_sequences import Calls


def softmax(scores):
    """Of each row; 0 where every score is -inf."""
    largest = scores.max(axis=-1, keepdims=True, initial=-numpy.inf)
    powers = numpy.exp(scores - numpy.where(largest == -numpy.inf, 0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / numpy.where(total == 0, 1, total)


class Written(Calls):
    def __init__(self, seed, element, mark=""):
        super().__init__(seed, element, mark)
        choose = self.random
        self.lead = choose.choice([(), ("B",), ("B", 2), (2, "B"), ("B", 3, 2)])
        self.width, self.values = choose.choice([1, 2, 4, 5, 17, 40]), choose.choice([1, 3, 8, 20])
        # Keys that all heads share stretch.
        self.shared = len(self.lead) > 1 and self.chance(0.2)
        self.meanings = []
        for place in range(choose.choice([1, 1, 1, 1, 2])):
            self.attention(place)

    def input(self, name):
        """One of the inputs, a shape for each."""
        lead, last = self.lead, self.lead[-1:]
        keys = (*lead[:-1], 1) if self.shared else lead
        ones = (1,) * len(lead[1:])
        shapes = {
            "q": (*lead, "T", self.width), "k": (*keys, "S", self.width), "v": (*keys, "S", self.values),
            "u": (self.width,), "r": ("T", "S"), "mix": (*lead, "T", 1), "slope": (*last, 1, 1), "table": (9,),
            "steep": (1, "S"),
        }  # fmt: skip
        integers = {
            "keys_in": ((*lead[:1], *ones, 1, 1), {"end": "S + 1"}),
            "past": ((*lead[:1], *ones, 1, 1), {"low": "-2", "end": "S + 1"}),
            "part_t": ((*lead[:1], *ones, "T", 1), {"end": "3"}),
            "part_s": ((*lead[:1], *ones, 1, "S"), {"end": "3"}),
        }  # fmt: skip
        if name in integers:
            shape, more = integers[name]
            return self.given(name, "i64", shape, **more)
        if name == "ok":
            return self.given(name, "bool", (*lead[:1], *ones, self.random.choice(["T", 1]), "S"))
        return self.given(name, "", shapes[name])

    def add(self, name, form):
        """A line; {x} of its text stands for an input or an earlier value, `v.x` of its meaning."""
        text, meaning = form
        names = {}

        class Names(dict):
            def __missing__(_, key):
                names[key] = self.input(key) if key in INPUTS else key + self.mark
                return names[key]

        line = text.format_map(Names())
        self.lines.append(f"{name}{self.mark} = {line}")
        self.meanings.append((name + self.mark, meaning, names))
        return name

    def attention(self, place):
        choose = self.random
        self.add("i", ("arange(T)[:, None]", lambda v: numpy.arange(v.T)[:, None]))
        self.add("j", ("arange(S)[None, :]", lambda v: numpy.arange(v.S)[None]))
        scores, maps = [], []
        for turn in range(choose.choice([1, 1, 2])):
            scores.append(self.add(f"s{place}_{turn}", choose.choice(FIRST)))
        for turn in range(choose.choice([0, 0, 1, 2])):
            scores.append(self.add(f"t{place}_{turn}", self.changed(choose.choice(scores))))
        for turn in range(choose.choice([1, 1, 1, 2, 3])):
            maps.append(self.add(f"a{place}_{turn}", self.weighed(choose.choice(scores))))
        signs = [choose.choice(["", "{mix} * ", "0.5 * "]) for _ in maps]
        factor = {"": lambda v: 1, "{mix} * ": lambda v: v.mix, "0.5 * ": lambda v: 0.5}
        text = " - ".join(f"{sign}{{{a}}}" for sign, a in zip(signs, maps))

        def mixed(v):
            parts = [factor[sign](v) * getattr(v, a) for sign, a in zip(signs, maps)]
            return parts[0] - sum(parts[1:])

        form = choose.choice(["({}) @ {v}", "({}) @ {v}", "({}) @ {v}", "({v}.T @ ({}).T).T", "({}) @ (0.5 * {v})"])
        half = 0.5 if "0.5" in form else 1
        out = self.add(f"o{place}", (form.replace("{}", text), lambda v: mixed(v) @ v.v * half))
        name = self.add(f"y{place}", choose.choice([
            (f"{{{out}}} + 0", lambda v: getattr(v, out)),
            (f"tanh({{{out}}}) + {{q}}[..., :1]", lambda v: numpy.tanh(getattr(v, out)) + v.q[..., :1]),
            (f"{{{out}}} - mean({{{out}}}, axis=-1, keep=true)",
             lambda v: getattr(v, out) - getattr(v, out).mean(axis=-1, keepdims=True)),
        ]))  # fmt: skip
        self.results.append((name + self.mark, ("", (*self.lead, "T", self.values))))
        if self.chance(0.1):  # then the weights are stored
            self.add(f"m{place}", (f"{{{maps[0]}}} + 0 * {{mix}}", lambda v: getattr(v, maps[0])))
            self.results.append((f"m{place}{self.mark}", ("", (*self.lead, "T", "S"))))

    def changed(self, s):
        return self.random.choice([
            (f"tanh({{{s}}})", lambda v: numpy.tanh(getattr(v, s))),
            (f"5 * tanh({{{s}}} / 5)", lambda v: 5 * numpy.tanh(getattr(v, s) / 5)),
            (f"{{{s}}} - {{slope}} * abs({{i}} - {{j}})", lambda v: getattr(v, s) - v.slope * abs(v.i - v.j)),
            (f"{{{s}}} + take({{table}}, clamp({{j}} - {{i}}, -4, 4) + 4)",
             lambda v: getattr(v, s) + v.table[numpy.clip(v.j - v.i, -4, 4) + 4]),
            (f"{{{s}}} / (1 + abs({{mix}}))", lambda v: getattr(v, s) / (1 + abs(v.mix))),
            (f"{{{s}}} * sigmoid({{{s}}}) + {{r}}", lambda v: getattr(v, s) * sigmoid(getattr(v, s)) + v.r),
            (f"{{{s}}} + {{steep}} - 0.5 * f32_of({{i}} % 2 == {{j}} % 2)",
             lambda v: getattr(v, s) + v.steep - 0.5 * (v.i % 2 == v.j % 2)),
        ])  # fmt: skip

    def condition(self, depth=0):
        """What a query sees."""
        choose = self.random
        if depth < 2 and self.chance(0.35):
            (a, left), (b, right) = self.condition(depth + 1), self.condition(depth + 1)
            return choose.choice([
                (f"({a} and {b})", lambda v: left(v) & right(v)), (f"({a} and {b})", lambda v: left(v) & right(v)),
                (f"({a} or {b})", lambda v: left(v) | right(v)), (f"({a} and not {b})", lambda v: left(v) & ~right(v)),
            ])  # fmt: skip
        return choose.choice(CONDITIONS)

    def weighed(self, s):
        """A softmax that some keys are hidden from."""
        text, seen = self.condition()

        def hidden(v):
            return softmax(numpy.where(seen(v), getattr(v, s), -numpy.inf))

        return self.random.choice([
            (f"softmax({{{s}}})", lambda v: softmax(getattr(v, s))),
            (f"softmax(2 * {{{s}}}, axis=-1)", lambda v: softmax(2 * getattr(v, s))),
            (f"softmax({{{s}}}, where={text})", hidden), (f"softmax(where({text}, {{{s}}}, -inf))", hidden),
            (f"softmax({{{s}}} + where({text}, 0, -inf))", hidden),
            (f"softmax(where(not {text}, -inf, {{{s}}}))", hidden),
            (f"softmax({{{s}}} + where({text}, 0, -1000))",
             lambda v: softmax(getattr(v, s) + numpy.where(seen(v), 0, -1000))),
        ])  # fmt: skip

    # ---- what it means ----

    def run(self, inputs, weights, sizes):
        values = self.floats(inputs)
        for name, meaning, names in self.meanings:
            known = type("Values", (), {own: values[given] for own, given in names.items()} | sizes)
            values[name] = numpy.asarray(meaning(known))
        return {
            n: numpy.broadcast_to(values[n], [sizes.get(s, s) for s in shape]) for n, (_, shape) in self.results
        }


INPUTS = {"q", "k", "v", "u", "r", "mix", "slope", "table", "steep", "keys_in", "past", "part_t", "part_s", "ok"}


def scores(q, k):
    return q @ k.swapaxes(-1, -2)


FIRST = [
    ("{q} @ {k}.T", lambda v: scores(v.q, v.k)),
    ("{q} @ {k}.T / 2", lambda v: scores(v.q, v.k) / 2),
    ("({q} * 0.3) @ {k}.T", lambda v: scores(v.q, v.k) * 0.3),
    ("({k} @ {q}.T).T", lambda v: scores(v.q, v.k)),
    ("{q} @ ({k} * {u}).T + {r}", lambda v: scores(v.q * v.u, v.k) + v.r),
    ("0.5 * ({q} @ {k}.T) + {q} @ (2 * {k}).T", lambda v: 2.5 * scores(v.q, v.k)),
    ("-sum(abs({q}[..., :, None, :] - {k}[..., None, :, :]), axis=-1)",
     lambda v: -abs(v.q[..., :, None, :] - v.k[..., None, :, :]).sum(axis=-1)),
]  # fmt: skip
CONDITIONS = [
    ("{j} <= {i}", lambda v: v.j <= v.i),
    ("{j} <= {i} + (S - T)", lambda v: v.j <= v.i + v.S - v.T),
    ("{i} - {j} < 3", lambda v: v.i - v.j < 3),
    ("abs({i} - {j}) <= 2", lambda v: abs(v.i - v.j) <= 2),
    ("{j} < {keys_in}", lambda v: v.j < v.keys_in),
    ("{j} <= {i} + {past}", lambda v: v.j <= v.i + v.past),
    ("{part_t} == {part_s}", lambda v: v.part_t == v.part_s),
    ("{ok}", lambda v: v.ok),
    ("{j} % 3 != 1", lambda v: v.j % 3 != 1),
    ("{j} < 2", lambda v: v.j < 2),
]
