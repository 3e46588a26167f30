# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Well-typed cells at random, each beside its meaning in NumPy: one step of one sample."""

import numpy
from attention_references import visible
from random_bodies import Body, Head
from random_programs import Program, sigmoid
from random_sequences import KINDS, joined, typed

# For two rows at each of nine steps.
CAPACITY = 18


class Shapes:
    """Inputs of a cell by name, those with a step's value and those that stay, as element and
    shape; shapes of float states. `width` is even; the size S is open."""

    def __init__(self, width):
        self.width = width
        self.sequences = {
            "x": ("", (width,)), "y": ("", (2, 3)), "token": ("i64", ()), "m": ("bool", ()), "g": ("", ()),
        }  # fmt: skip
        self.fixed = {
            "a": ("", (width,)), "s": ("", ()), "keys": ("", ("S", 4)), "values": ("", ("S", 3)), "seen": ("i64", ()),
        }  # fmt: skip
        self.states = [(), (1,), (3,), (width,), (width,), (2, 3), (3, 1), (4,)]


def attended(query, keys, values, count):
    """One query over the first keys."""
    keys, values = keys[:count], values[:count]
    if not len(keys):
        return numpy.zeros(values.shape[1:])
    weights = numpy.exp(keys @ query / numpy.sqrt(len(query)))
    return weights @ values / weights.sum()


class NothingFits(Exception):
    """No value has the shape that a step wants."""


class Cell(Program):
    """`text` of a cell; `step(inputs, states, weights)` gives outputs and states."""

    def __init__(self, generator, shapes, name, jumps, kind, inner=None):
        """`kind`: what the cell is for: "any", "linear" in its float states, "layers" (one
        sequence, one result of its width), "halves" (of half its width), "writer" (no
        sequence, and a flag that stops it), "inner" (for one in another cell: one sequence). `inner`:
        of what cell one stands in it."""
        self.random, self.of, self.name, self.jumps, self.kind = generator, shapes, name, jumps, kind
        self.shapes, self.lines, self.instances, self.meanings = {}, [], [], []
        self.parameters, self.inner, self.attention = {}, None, ""
        self.choose_inputs()
        self.choose_states()
        if inner:
            self.inner = inner
            for name, type in inner.states.items():
                self.states[f"of_{name}"] = type
                self.initial[f"of_{name}"] = ("", lambda v, type=type: numpy.zeros(type[1], KINDS[type[0]]))
        self.declare_derived()
        self.grow(self.random.randrange(3, 8))
        self.assign_states()
        self.grow(self.random.randrange(0, 4))
        self.choose_results()
        self.text = self.make_text()

    # ---- what the cell has ----

    def choose_inputs(self):
        choose = self.random
        others = [n for n in self.of.sequences if n != "x" and choose.random() < 0.35]
        alone = {"layers": ["x"], "halves": ["x"], "inner": ["x"], "writer": []}
        self.sequences = alone.get(self.kind, ["x", *others])
        self.fixed = [n for n in ("a", "s") if choose.random() < 0.3 and self.kind != "inner"]
        if self.kind == "writer" and not self.fixed:
            self.fixed = ["a"]
        self.attends = self.kind not in ("linear", "inner") and choose.random() < 0.2
        if self.attends:
            self.fixed += ["keys", "values"] + (["seen"] if choose.random() < 0.5 else [])
        self.inputs = {n: self.of.sequences[n] for n in self.sequences}
        self.inputs |= {n: self.of.fixed[n] for n in self.fixed}
        for name, (element, shape) in self.inputs.items():
            if not element and "S" not in shape:
                self.shapes[name] = shape

    def choose_states(self):
        choose = self.random
        self.states = {f"h{i}": ("", choose.choice(self.of.states)) for i in range(choose.choice([1, 1, 2, 3]))}
        self.initial = {}
        for name, (_, shape) in self.states.items():
            given = choose.random()
            if given < 0.4:
                self.initial[name] = ("", lambda v, shape=shape: numpy.zeros(shape))
            elif given < 0.6:
                self.initial[name] = (" = 0.5", lambda v, shape=shape: numpy.full(shape, 0.5))
            elif given < 0.8 and "a" in self.fixed and shape == (self.of.width,):
                self.initial[name] = (" = tanh(a)", lambda v: numpy.tanh(v["a"]))
            else:
                start = self.parameter(shape)
                self.initial[name] = (f" = {start}", lambda v, start=start: v["weights"][start])
        if choose.random() < 0.4 or self.kind == "writer":
            self.states["n"] = (choose.choice(["i64", "i64", "i32"]), choose.choice([(), (), (3,)]))
            self.initial["n"] = (" = 2", lambda v: numpy.full(self.states["n"][1], 2))
        if self.kind == "writer":
            self.states["n"] = ("i64", ())
        if choose.random() < 0.3 or self.kind == "writer":
            self.states["done"] = ("bool", ())
            self.initial["done"] = (" = false", lambda v: numpy.bool_(False))
        if choose.random() < {"writer": 0.4, "any": 0.15}.get(self.kind, 0):
            self.states["cache"], self.states["count"] = ("", (CAPACITY, 4)), ("i64", ())
            self.appends = choose.choice([1, 2])
            self.initial["cache"] = ("", lambda v: numpy.zeros((CAPACITY, 4)))
            self.initial["count"] = ("", lambda v: numpy.int64(0))
        if self.kind != "linear":
            for name, (element, shape) in self.states.items():
                if not element and name != "cache":
                    self.shapes[name] = shape

    def parameter(self, shape):
        name = f"w{len(self.parameters)}"
        self.parameters[name] = shape
        return name

    def declare_derived(self):
        """Floats of what is no float, and what a step attends to."""
        choose = self.random
        if "token" in self.inputs:
            table = self.parameter((5, self.of.width))
            self.add(f"take({table}, token)", (self.of.width,), lambda v: v["weights"][table][v["token"]])
        if "m" in self.inputs:
            self.add("where(m, 0.75, -0.5) * x", (self.of.width,), lambda v: numpy.where(v["m"], 0.75, -0.5) * v["x"])
        if self.kind == "linear":
            return
        if "n" in self.states:
            self.add("sin(0.5 * n)", self.states["n"][1], lambda v: numpy.sin(0.5 * v["n"]))
        if "done" in self.states:
            self.add("where(done, 0.25, 1.5)", (), lambda v: numpy.where(v["done"], 0.25, 1.5))
        if self.attends:
            lengths = ", lengths=seen" if "seen" in self.fixed else ""
            sources = [n for n, s in self.shapes.items() if len(s) == 1 and s[0] >= 4]
            if sources and choose.random() < 0.5:
                self.attend(choose.choice(sources), lengths)
            elif sources:
                source = choose.choice(sources)
                self.add(
                    f"dot_product({source}[None, :4], keys, values{lengths})[0]",
                    (3,),
                    lambda v: attended(v[source][:4], v["keys"], v["values"], v["seen"] if lengths else None),
                )

    def attend(self, source, lengths):
        """Calls an attention with one query."""
        body = Body(self.random, 4, 3, f"of_{self.name}", self.jumps, {"u", "w", "table", "slope", "sink"})
        self.attention = body.text
        given = {n: self.parameter(body.shapes[n][1]) for n in body.inputs() if n not in ("q", "k", "v")}
        written = {"q": f"{source}[None, :4]", "k": "keys", "v": "values"} | given
        causal = self.random.random() < 0.3
        arguments = ", ".join(written[n] for n in body.inputs()) + lengths + ", causal=true, offset=2" * causal

        def run(v):
            mine = {"q": v[source][None, :4], "k": v["keys"], "v": v["values"]}
            mine |= {n: v["weights"][name] for n, name in given.items()}
            count, offset = len(v["keys"]), 2 if causal else len(v["keys"]) - 1
            length = v["seen"] if lengths else None
            seen = visible(1, count, causal=causal, offset=offset, length=length)
            head = Head(mine, seen, offset, seen[0])
            return numpy.concatenate([part[0] for part in body.run(head)])

        outputs = [f"d{i}" for i in range(len(body.results))]
        self.lines.append(f"{', '.join(outputs)} = {body.name}({arguments})")
        self.add(f"concat({', '.join(f'{n}[0]' for n in outputs)}, axis=0)" if len(outputs) > 1 else "d0[0]",
                 (2 + len(outputs),), run)  # fmt: skip

    def step(self):
        if self.kind != "linear" and self.random.random() < 0.15:
            self.gate()
        else:
            super().step()

    def gate(self):
        """Products of parameters with vectors, as gates have them."""
        a, b = (self.pick(lambda s: len(s) == 1 and isinstance(s[0], int) and s[0] > 0) for _ in "ab")
        width = self.random.choice([1, 3, self.of.width])
        w, u, bias = (self.parameter(s) for s in ((width, *self.shapes[a]), (width, *self.shapes[b]), (width,)))

        def gated(v):
            return sigmoid(v["weights"][w] @ v[a] + v["weights"][u] @ v[b] + v["weights"][bias])

        self.add(f"sigmoid({w} @ {a} + {u} @ {b} + {bias})", (width,), gated)

    def grow(self, steps):
        count = len(self.meanings) + steps
        for _ in range(steps * 20):
            if len(self.meanings) >= count:
                break
            try:
                self.step()
            except NothingFits:
                pass

    def pick(self, fits=lambda shape: True):
        name = super().pick(fits)
        if name is None:
            raise NothingFits
        return name

    # ---- the next states ----

    def value_for(self, shape, names=None):
        """A value that stretches to a shape."""
        fits = [
            n
            for n, own in self.shapes.items()
            if (names is None or n in names) and self.broadcast(own, shape) == shape
        ]
        return self.random.choice(fits) if fits else None

    def step_inner(self):
        """A cell inside this one, whose states this one has."""
        source = self.value_for((self.of.width,), {n for n, s in self.shapes.items() if s == (self.of.width,)})
        given = source or self.parameter((self.of.width,))
        outputs, states = [f"o{i}" for i in range(len(self.inner.results))], list(self.inner.states)

        def stepped(v):
            head = "inner."
            w = {n: numpy.zeros(s) for n, s in self.inner.parameters.items()}
            w |= {n[len(head) :]: a for n, a in v["weights"].items() if n.startswith(head)}
            made, after = self.inner.step_of({"x": v[source] if source else v["weights"][given]}, {n: v[f"of_{n}"] for n in states}, w)
            return dict(zip(outputs, made)) | {f"of_{n}'": after[n] for n in states}

        left = f"{joined(outputs)}, {joined([f'of_{n}{chr(39)}' for n in states])}"
        self.lines.append(f"{left} = step(inner, {given}, {joined([f'of_{n}' for n in states])})")
        self.meanings.append(("all of inner", stepped))
        for name, (_, element, shape) in zip(outputs, self.inner.results):
            self.meanings.append((name, lambda v, name=name: v["all of inner"][name]))
            if not element:
                self.shapes[name] = shape
        for name in states:
            name = f"of_{name}'"
            self.meanings.append((name, lambda v, name=name: v["all of inner"][name]))

    def assign_states(self):
        before = dict(self.shapes)
        for name, (element, shape) in self.states.items():
            if name.startswith("of_"):
                continue
            text, meaning = getattr(self, f"next_{element or 'float'}")(name, shape, before)
            self.lines.append(f"{name}' = {text}")
            self.meanings.append((f"{name}'", meaning))
            if not element and name != "cache":
                self.shapes[f"{name}'"] = shape
        if self.inner:
            self.step_inner()
        if "cache" in self.states:
            self.add(
                "dot_product(cache[:1] + 1, cache', cache', causal=true, offset=count)[0]",
                (4,),
                lambda v: attended(v["cache"][0] + 1, v["cache'"], v["cache'"], v["count"] + 1),
            )
        if self.kind == "linear":
            self.shapes |= {n: s for n, (e, s) in self.states.items() if not e}

    def next_float(self, name, shape, before):
        if name == "cache":
            source, rows = self.value_for((4,), before), self.appends
            if source is None:
                return f"append(cache, ones(({rows}, 4)), at=count)", lambda v: put(v, numpy.ones((rows, 4)))
            text = f"append(cache, tanh({source}) + zeros(({rows}, 4)), at=count)"
            return text, lambda v: put(v, numpy.tanh(v[source]) + numpy.zeros((rows, 4)))
        a, b = self.value_for(shape, before), self.value_for(shape, before)
        if a is None:
            a = b = self.parameter(shape)
            read = lambda v, n: v["weights"][n]  # noqa: E731
        else:
            read = lambda v, n: v[n]  # noqa: E731
        forms = LINEAR if self.kind == "linear" else [*LINEAR, *NONLINEAR]
        text, form = self.random.choice(forms)
        if "{h}" not in text:  # or the shape might be less than the state's
            text += " + 0 * {h}"
        earlier = [n for n, (e, s) in self.states.items() if not e and s == shape and f"{n}'" in self.shapes]
        if earlier and self.random.random() < 0.4:
            other = self.random.choice(earlier)
            prime = self.random.choice(["", "'"])
            text = f"({text}) + 0.25 * {other}{prime}"
            return text.format(h=name, a=a, b=b), lambda v: (
                form(v[name], read(v, a), read(v, b)) + 0.25 * v[other + prime] + numpy.zeros(shape)
            )
        return text.format(h=name, a=a, b=b), lambda v: form(v[name], read(v, a), read(v, b)) + numpy.zeros(shape)

    def next_i64(self, name, shape, before):
        if name == "count":
            return f"count + {self.appends}", lambda v: v["count"] + self.appends
        forms = [
            ("n + 1", lambda v: v["n"] + 1),
            ("(n * 3 + 1) % 7", lambda v: (v["n"] * 3 + 1) % 7),
            ("max(n - 1, 1 - n // 2)", lambda v: numpy.maximum(v["n"] - 1, 1 - v["n"] // 2)),
        ]
        if "token" in self.inputs and self.states["n"][0] == "i64":
            forms.append(("n + token - 2", lambda v: v["n"] + v["token"] - 2))
        if "m" in self.inputs:
            forms.append(("where(m, 0, n + 1)", lambda v: numpy.where(v["m"], 0, v["n"] + 1)))
        return self.random.choice(forms[:1] if self.kind == "writer" else forms)

    next_i32 = next_i64

    def next_bool(self, name, shape, before):
        forms = [("not done", lambda v: not v["done"])]
        if "m" in self.inputs:
            forms += [("m", lambda v: v["m"]), ("done != m", lambda v: v["done"] != v["m"])]
        if "n" in self.states and self.states["n"][1] == ():
            forms = [*forms, ("done or n' > 4", lambda v: v["done"] or v["n'"] > 4)]
        if self.kind == "writer":
            forms = forms[-1:]
        return self.random.choice(forms)

    # ---- results ----

    def choose_results(self):
        wanted = {"layers": (self.of.width,), "halves": (self.of.width // 2,)}.get(self.kind)
        names = [n for n, s in self.shapes.items() if wanted is None or s == wanted]
        if wanted and not names:
            source = self.value_for(wanted)
            if source is None:
                source = self.parameter(wanted)
                self.add(f"{source} * 1", wanted, lambda v: v["weights"][source])
            else:
                self.add(f"{source} + zeros({wanted[0]})", wanted, lambda v: v[source] + numpy.zeros(wanted))
            names = [self.meanings[-1][0]]
        count = 1 if wanted else self.random.choice([1, 1, 2])
        recent = names[-6:]
        self.results = [(n, "", self.shapes[n]) for n in self.random.sample(recent, min(count, len(recent)))]
        if not wanted:
            for name in ("n", "done"):
                if name in self.states and self.random.random() < 0.6:
                    prime = self.random.choice(["", "'"])
                    self.results.append((name + prime, *self.states[name]))

    def make_text(self):
        inputs = ", ".join(f"{n}: {typed(*self.inputs[n])}" for n in self.inputs)
        results = ", ".join(typed(e, s) for _, e, s in self.results)
        states = ", ".join(f"{n}: {typed(*t)}{self.initial[n][0]}" for n, t in self.states.items())
        parameters = [f"param {n}: {typed('', s)}" for n, s in self.parameters.items()]
        inner = [f"param inner: {self.inner.name}()"] if self.inner else []
        lines = [*parameters, *inner, *self.instances, f"state {states}", *self.lines]
        body = "".join(f"  {line}\n" for line in lines)
        if len(self.results) > 1:
            results = f"({results})"
        returned = ", ".join(n for n, *_ in self.results)
        return f"{self.attention}cell {self.name}({inputs}) -> {results} {{\n{body}  return {returned}\n}}\n"

    # ---- what it means ----

    def start(self, inputs, weights):
        return {n: self.initial[n][1](inputs | {"weights": weights}) for n in self.states}

    def step_of(self, inputs, states, weights):
        values = inputs | states | {"weights": weights}
        for name, meaning in self.meanings:
            values[name] = meaning(values)
        return [values[n] for n, *_ in self.results], {n: values[f"{n}'"] for n in self.states}


def put(values, rows):
    cache, at = values["cache"].copy(), values["count"]
    cache[at : at + len(rows)] = rows
    return cache


# What a state of a recurrence that is linear in its states may become.
LINEAR = [
    ("sigmoid({a}) * {h} + {b}", lambda h, a, b: sigmoid(a) * h + b),
    ("{h} + sigmoid({a}) * ({b} - {h})", lambda h, a, b: h + sigmoid(a) * (b - h)),
    ("({h} + {b}) / (1 + abs({a}))", lambda h, a, b: (h + b) / (1 + abs(a))),
    ("({h} * 0.5 - {b} - {h}) * cos({a})", lambda h, a, b: (h * 0.5 - b - h) * numpy.cos(a)),
    ("-{h} + {b} * {a}", lambda h, a, b: -h + b * a),
    ("tanh({a}) + {b}", lambda h, a, b: numpy.tanh(a) + b),
    ("where({a} > 0, {h}, {b})", lambda h, a, b: numpy.where(a > 0, h, b)),
    ("0.9 * {h} - {h} * 0.25 * sigmoid({a})", lambda h, a, b: 0.9 * h - h * 0.25 * sigmoid(a)),
]
NONLINEAR = [
    ("tanh({h} + {a})", lambda h, a, b: numpy.tanh(h + a)),
    ("0.5 * {h} + tanh({a}) * 0.5", lambda h, a, b: 0.5 * h + 0.5 * numpy.tanh(a)),
    ("sigmoid({h} * {a}) - {b}", lambda h, a, b: sigmoid(h * a) - b),
    ("clamp({h} + 0.25 * {a}, -1, 1)", lambda h, a, b: numpy.clip(h + 0.25 * a, -1, 1)),
    ("max(0.5 * {h}, {a})", lambda h, a, b: numpy.maximum(0.5 * h, a)),
]
