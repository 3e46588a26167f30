# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of recurrences at random, of cells at random, each beside its meaning in NumPy: one
sample after the other, one step after the other."""

import numpy
from random_cells import Cell, Shapes
from random_sequences import KINDS, Calls, Input, joined


class Recurrences(Calls):
    """Scans; a later one may read what an earlier one gives."""

    def __init__(self, seed, element, mark=""):
        super().__init__(seed, element, mark)
        self.lead = self.random.choice([("B",), ("B",), ("B", 2), (), (1, "B")])
        self.shapes = Shapes(self.random.choice([6, 6, 6, 2, 18, 40]))
        self.calls, self.layers = [], {}
        self.integer = self.random.choice(["i64", "i64", "i32"])
        # Whether all states are the model's, so that it may run in parts.
        self.stays = self.chance(0.3)
        count = self.random.choice([1, 1, 1, 2])
        for place in range(count):
            if self.calls and not self.calls[-1]["stacked"] and self.chance(0.3):
                self.scan(place, self.calls[-1]["cell"], self.calls[-1]["kind"], self.calls[-1]["prefix"])
                continue
            kind = self.random.choice(["any", "any", "any", "linear", "linear", "layers", "halves", "writer"])
            cell = self.cell(f"c{place}", kind)
            if kind != "writer" and self.chance(0.08):
                self.step(place, cell)
            else:
                self.scan(place, cell, kind)
        self.parts = all(call.get("in_parts") for call in self.calls)

    def cell(self, name, kind):
        """A cell, with cells in it."""
        inner = None
        if kind in ("any", "inner", "writer") and self.chance(0.25):
            inner = self.cell(f"{name}i", "inner")
        cell = Cell(self.random, self.shapes, name + self.mark, self.jumps, kind, inner)
        self.texts.append(cell.text)
        return cell

    # ---- the calls ----

    def sequence(self, name, time):
        """An input of a cell; at times what an earlier scan gives."""
        element, shape = self.shapes.sequences[name]
        wanted = (element, (*self.lead, *time, *shape))
        earlier = [n for n, given in self.results if given == wanted]
        if earlier and self.chance(0.7):
            return self.random.choice(earlier)
        given = self.given(name if time else f"{name}_now", *wanted)
        return self.layer(given) if name == "x" and self.chance(0.15) else given

    def layer(self, name):
        """A linear layer before a recurrence, or behind it."""
        made, param = (f"{what}{len(self.layers)}{self.mark}" for what in "rl")
        self.lines += [f"param {param}: linear(N={self.shapes.width})", f"{made} = {param}({name})"]
        self.layers[made] = (name, param)
        return made

    def feed(self, call, cell, time, options):
        """What stands first in a call; `with` among the options."""
        call["sequences"] = [self.sequence(n, time) for n in cell.sequences]
        call["fixed"] = []
        for n in cell.fixed:
            element, shape = self.shapes.fixed[n]
            end = "S + 1" if n == "seen" else "5"
            alone = n == "s" and cell.sequences and self.chance(0.2)
            name = "s_alone" if alone else n
            call["fixed"].append(self.given(name, element, shape if alone else (*self.lead, *shape), end=end))
        if cell.fixed:
            options.append(f"with={joined(call['fixed'])}")
        return [joined(call["sequences"])] if call["sequences"] else []

    def start(self, place, cell, call, stack=()):
        types = [(f"{n}_{place}", e, (*stack, *self.lead, *s)) for n, (e, s) in cell.states.items()]
        call["kept"] = self.stays
        if self.stays:
            call["init"] = [name + self.mark for name, *_ in types]
            self.states |= {name: Input(e, s) for name, (_, e, s) in zip(call["init"], types)}
        else:
            call["init"] = [self.given(*type) for type in types]
        return joined(call["init"])

    def step(self, place, cell):
        """One step, without time."""
        call = {"cell": cell, "prefix": f"p{place}{self.mark}", "layers": 1, "both": False, "stacked": False}
        call["kind"] = "any"
        options = []
        first = self.feed(call, cell, (), options)
        if self.chance(0.7) and "cache" not in cell.states:
            first.append(self.start(place, cell, call))
        self.finish(place, call, "step", "", first + options, ())

    def scan(self, place, cell, kind, prefix=None):
        """`prefix`: the instance that an earlier call has made."""
        choose, lead = self.random, self.lead
        call = {"cell": cell, "prefix": prefix or f"p{place}{self.mark}", "kind": kind}
        settings, options = [], []
        layers = choose.choice([0, 1, 2, 3]) if kind in ("layers", "halves") and not prefix else 0
        joins = kind == "any" and self.chance(0.15) and all(s for _, _, s in cell.results)
        both = not prefix and (kind == "halves" or joins)
        if layers:
            settings.append(f"layers={layers}")
        if both:
            settings.append("bidirectional=true")
        call["layers"], call["both"], call["stacked"] = max(layers, 1), both, bool(layers or both)
        first = self.feed(call, cell, ("T",), options)
        sequences = call["sequences"]
        if not sequences:
            call["steps"] = choose.choice([1, 4, 7])
            options.append(f"steps={call['steps']}")
        if "done" in cell.states and (kind == "writer" or self.chance(0.4)) and not call["stacked"]:
            call["until"] = "done"
            options.append('until="done"')
        if self.chance(0.4) and sequences:
            front = lead[: choose.choice([1, 1, 2])]
            call["lengths"] = self.given(f"steps_in{len(front)}", self.integer, front, end="T + 1")
            options.append(f"lengths={call['lengths']}")
        if self.chance(0.3) and sequences and "cache" not in cell.states:
            call["reset"] = self.given("first", "bool", (*lead[:1], *[1] * len(lead[1:]), "T"))
            options.append(f"reset={call['reset']}")
        if self.chance(0.3) and not both and sequences:
            call["reverse"] = True
            options.append("reverse=true")
        stack = (call["layers"] * (1 + both),) if call["stacked"] else ()
        if "cache" not in cell.states and (self.stays or self.chance(0.3)):
            options.append(f"init={self.start(place, cell, call, stack)}")
            call["in_parts"] = self.stays and sequences and not both and not {"lengths", "reverse"} & call.keys()
        time = ("T",) if sequences else (call["steps"],)
        self.finish(place, call, "scan", ", ".join(settings), first + options, time, stack)

    def finish(self, place, call, function, settings, arguments, time, stack=()):
        cell, mark = call["cell"], self.mark
        outputs = [f"y{place}_{i}{mark}" for i in range(len(cell.results))]
        states = [f"z{place}_{n}{mark}" for n in cell.states]
        if call["prefix"] not in (earlier["prefix"] for earlier in self.calls):
            self.lines.append(f"param {call['prefix']}: {cell.name}({settings})")
        written = ", ".join([call["prefix"], *arguments])
        self.lines.append(f"{joined(outputs)}, {joined(states)} = {function}({written})")
        if call.get("kept"):
            self.lines += [f"{n}' = {z}" for n, z in zip(call["init"], states)]
        for name, (_, element, shape) in zip(outputs, cell.results):
            shape = (*shape[:-1], shape[-1] * 2) if call["both"] else shape
            self.results.append((name, (element, (*self.lead, *time, *shape))))
        for name, (element, shape) in zip(states, cell.states.values()):
            self.results.append((name, (element, (*stack, *self.lead, *shape))))
        vectors = [n for n, (_, e, s) in zip(outputs, cell.results) if not e and s == (self.shapes.width,)]
        if vectors and not call["both"] and self.chance(0.2):
            made = self.layer(vectors[0])
            self.results.append((made, ("", (*self.lead, *time, self.shapes.width))))
        call["names"], call["single"] = (outputs, states), not time
        self.calls.append(call)

    # ---- what it means ----

    def run(self, inputs, weights, sizes):
        known = lambda shape: [sizes.get(s, s) for s in shape]  # noqa: E731
        values = self.floats(inputs)
        found = {n: numpy.zeros(known(s), KINDS[e]) for n, (e, s) in self.results}
        self.apply(self.inputs, values, weights)
        for call in self.calls:
            for place in numpy.ndindex(*known(self.lead)):
                self.sample(call, place, found | values, weights, sizes, found)
            self.apply(call["names"][0], found, weights)
        for call in self.calls:
            if call.get("kept"):
                found |= {n: found[z] for n, z in zip(call["init"], call["names"][1])}
        return found

    def apply(self, names, values, weights):
        """The layers of what has these names."""
        for made, (name, param) in self.layers.items():
            if name in names:
                width = self.shapes.width
                w = self.parameters({"weight": (width, width), "bias": (width,)}, weights, f"{param}.")
                values[made] = values[name] @ w["weight"].T + w["bias"]

    def sample(self, call, place, values, weights, sizes, found):
        cell = call["cell"]

        def own(name, rank):
            array = values[name]
            return array[place[: array.ndim - rank]]

        fixed = {n: own(given, len(self.shapes.fixed[n][1])) for n, given in zip(cell.fixed, call["fixed"])}
        ranks = [len(self.shapes.sequences[n][1]) + (not call["single"]) for n in cell.sequences]
        sequences = [own(given, rank) for given, rank in zip(call["sequences"], ranks)]
        if call["single"]:
            sequences = [s[None] for s in sequences]
        time = 1 if call["single"] else call["steps"] if "steps" in call else sizes["T"]
        length = int(own(call["lengths"], 0)) if "lengths" in call else time
        reset = values[call["reset"]][(*place[:1], *[0] * len(place[1:]))] if "reset" in call else None
        outputs, states = call["names"]
        for layer in range(call["layers"]):
            made = []
            for direction in range(1 + call["both"]):
                index = layer * (1 + call["both"]) + direction
                suffix = f"_l{layer}" + "_reverse" * direction if call["stacked"] else ""
                w = self.parameters(cell.parameters, weights, f"{call['prefix']}.", suffix)
                start, stacked = None, (index,) if call["stacked"] else ()
                if "init" in call:
                    start = {n: values[given][(*stacked, *place)] for n, given in zip(cell.states, call["init"])}
                reverse = call.get("reverse", False) != bool(direction)
                steps = range(length)[::-1] if reverse else range(length)
                times = (time, length, steps)
                rows, last = self.loop(cell, sequences, fixed, w, start, times, reset, call.get("until"))
                made.append(rows)
                for name, value in zip(states, last.values()):
                    found[name][(*stacked, *place)] = value
            both = [numpy.concatenate(pair, axis=-1) if call["both"] else pair[0] for pair in zip(*made)]
            sequences = both[:1] if layer + 1 < call["layers"] else sequences
        for name, rows in zip(outputs, both):
            found[name][place] = rows[0] if call["single"] else rows

    @staticmethod
    def parameters(shapes, weights, head, suffix=""):
        """What no result needs is no parameter of the model."""
        w = {n[len(head) : len(n) - len(suffix)]: a for n, a in weights.items()
             if n.startswith(head) and n.endswith(suffix)}  # fmt: skip
        return {n: numpy.zeros(shape) for n, shape in shapes.items()} | w

    @staticmethod
    def loop(cell, sequences, fixed, weights, start, times, reset, until):
        time, length, steps = times
        reverse = steps.step < 0
        states = start or cell.start(fixed, weights)
        rows = [numpy.zeros((time, *shape), KINDS[element]) for _, element, shape in cell.results]
        for t in steps:
            border = t + 1 if reverse else t
            if reset is not None and border < length and reset[border]:
                states = cell.start(fixed, weights)
            if until and states[until]:
                continue
            inputs = fixed | {n: s[t] for n, s in zip(cell.sequences, sequences)}
            values, states = cell.step_of(inputs, states, weights)
            for row, value in zip(rows, values):
                row[t] = value
        return rows, states
