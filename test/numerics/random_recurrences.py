# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of recurrences at random, of cells at random, each beside its meaning in NumPy: one
sample after the other, one step after the other."""

import random

import numpy
from random_cells import KINDS, Cell, Shapes, typed
from random_programs import CONVERT, FUNCS


class Recurrences:
    """A model of some scans. `text`; `run(inputs, weights)` gives all results in order."""

    def __init__(self, seed, jumps, scans=2):
        self.random = random.Random(seed)
        self.jumps = jumps
        self.inputs, self.calls, self.lines, self.results, self.texts = {}, [], [], [], []
        self.lead = self.random.choice([("B",), ("B",), ("B", 2), (), (1, "B")])
        self.shapes = Shapes(self.random.choice([6, 6, 6, 2, 18, 40]))
        for place in range(scans):
            kind = self.random.choice(["any", "any", "any", "linear", "linear", "layers", "halves", "writer"])
            inner = cell if place and self.random.random() < 0.6 else None
            cell = Cell(self.random, self.shapes, f"c{place}", jumps, kind, inner)
            self.texts.append(cell.text)
            self.scan(place, cell, kind)
        inputs = ", ".join(f"{n}: {typed(*t)}" for n, t in self.inputs.items())
        results = ", ".join(f"{n}: {typed(*t)}" for n, t in self.results)
        body = "".join(f"  {line}\n" for line in self.lines)
        self.text = (
            f"import attention\n{FUNCS}{CONVERT}{''.join(self.texts)}\nmodel m({inputs}) -> ({results}) {{\n{body}"
            f"  return {', '.join(n for n, _ in self.results)}\n}}\n"
        )

    def given(self, name, element, shape):
        self.inputs[name] = (element, tuple(shape))
        return name

    def scan(self, place, cell, kind):
        choose, lead = self.random, self.lead
        call = {"cell": cell, "prefix": f"p{place}", "suffixes": [""], "length": None, "init": None}
        settings, options = "", []
        layers = choose.choice([0, 1, 2, 3]) if kind in ("layers", "halves") else 0
        both = kind == "halves" or (kind == "any" and choose.random() < 0.15 and self.may_join(cell))
        if layers:
            settings = f"layers={layers}"
        if both:
            settings += (", " if settings else "") + "bidirectional=true"
        call["layers"], call["both"], call["stacked"] = max(layers, 1), both, bool(layers or both)
        sequences = []
        for n in cell.sequences:
            element, shape = self.shapes.sequences[n]
            sequences.append(self.given(n, element, (*lead, "T", *shape)))
        for n in cell.fixed:
            element, shape = self.shapes.fixed[n]
            stays = n == "s" and cell.sequences and choose.random() < 0.2
            self.given(n, element, shape if stays else (*lead, *shape))
        first = ", ".join(sequences)
        first = f"({first}), " if len(sequences) > 1 else f"{first}, " if sequences else ""
        if cell.fixed:
            options.append(f"with=({', '.join(cell.fixed)})" if len(cell.fixed) > 1 else f"with={cell.fixed[0]}")
        if not sequences:
            call["steps"] = choose.choice([1, 4, 7])
            options.append(f"steps={call['steps']}")
        if "done" in cell.states and (kind == "writer" or choose.random() < 0.4) and not call["stacked"]:
            call["until"] = "done"
            options.append('until="done"')
        if choose.random() < 0.4 and sequences:
            call["lengths"] = self.given("steps_in", "i64", lead[:1])
            options.append(f"lengths={call['lengths']}")
        if choose.random() < 0.3 and sequences and "cache" not in cell.states:
            call["reset"] = self.given("first", "bool", (*lead[:1], *[1] * len(lead[1:]), "T"))
            options.append("reset=first")
        if choose.random() < 0.3 and not both and sequences:
            call["reverse"] = True
            options.append("reverse=true")
        stack = (call["layers"] * (1 + both),) if call["stacked"] else ()
        if choose.random() < 0.3 and "cache" not in cell.states:
            names = [self.given(f"{n}_{place}", e, (*stack, *lead, *s)) for n, (e, s) in cell.states.items()]
            call["init"] = names
            options.append(f"init=({', '.join(names)})" if len(names) > 1 else f"init={names[0]}")
        outputs = [f"y{place}_{i}" for i in range(len(cell.results))]
        states = [f"z{place}_{n}" for n in cell.states]
        left = f"({', '.join(outputs)})" if len(outputs) > 1 else outputs[0]
        right = f"({', '.join(states)})" if len(states) > 1 else states[0]
        self.lines.append(f"param p{place}: {cell.name}({settings})")
        self.lines.append(f"{left}, {right} = scan(p{place}, {first}{', '.join(options)})".replace(", )", ")"))
        time = call["steps"] if not sequences else "T"
        shapes = []
        for name, (_, element, shape) in zip(outputs, cell.results):
            shape = (*shape[:-1], shape[-1] * 2) if both else shape
            shapes.append((element, shape))
            self.results.append((name, (element, (*lead, time, *shape))))
        for name, (element, shape) in zip(states, cell.states.values()):
            self.results.append((name, (element, (*stack, *lead, *shape))))
        call["time"], call["names"] = time, (outputs, states)
        self.calls.append(call)

    @staticmethod
    def may_join(cell):
        return all(s for _, _, s in cell.results)

    # ---- what it means ----

    def run(self, inputs, weights, sizes):
        known = lambda shape: [sizes.get(s, s) for s in shape]  # noqa: E731
        values = {n: a.astype(numpy.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}
        found = {n: numpy.zeros(known(s), KINDS[e]) for n, (e, s) in self.results}
        with numpy.errstate(all="ignore"):
            for call in self.calls:
                for place in numpy.ndindex(*known(self.lead)):
                    self.sample(call, place, values, weights, sizes, found)
        return found

    def sample(self, call, place, values, weights, sizes, found):
        cell = call["cell"]

        def own(name, rank):
            array = values[name]
            return array[place[: array.ndim - rank]]

        fixed = {n: own(n, len(self.shapes.fixed[n][1])) for n in cell.fixed}
        sequences = [own(n, 1 + len(self.shapes.sequences[n][1])) for n in cell.sequences]
        time = call["steps"] if "steps" in call else sizes["T"]
        length = int(own(call["lengths"], 0)) if "lengths" in call else time
        reset = values["first"][(*place[:1], *[0] * len(place[1:]))] if "reset" in call else None
        outputs, states = call["names"]
        for layer in range(call["layers"]):
            made = []
            for direction in range(1 + call["both"]):
                index = layer * (1 + call["both"]) + direction
                suffix = f"_l{layer}" + "_reverse" * direction if call["stacked"] else ""
                head = f"{call['prefix']}."
                w = {n[len(head) : len(n) - len(suffix)]: a for n, a in weights.items()
                     if n.startswith(head) and n.endswith(suffix)}  # fmt: skip
                # What no result needs is no parameter of the model.
                w = {n: numpy.zeros(shape) for n, shape in cell.parameters.items()} | w
                start, stacked = None, (index,) if call["stacked"] else ()
                if call["init"]:
                    start = {n: values[given][(*stacked, *place)] for n, given in zip(cell.states, call["init"])}
                reverse = call.get("reverse", False) != bool(direction)
                steps = range(length)[::-1] if reverse else range(length)
                times = (time, length, steps)
                rows, last = self.loop(cell, sequences, fixed, w, start, times, reset, call.get("until"))
                made.append(rows)
                for name, value in zip(states, last.values()):
                    found[name][(*stacked, *place)] = value
            joined = [numpy.concatenate(pair, axis=-1) if call["both"] else pair[0] for pair in zip(*made)]
            sequences = joined[:1] if layer + 1 < call["layers"] else sequences
        for name, rows in zip(outputs, joined):
            found[name][place] = rows

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
