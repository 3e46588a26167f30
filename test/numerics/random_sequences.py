# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What generated programs over sequences share: their inputs, and one text of several of them, which
is compiled at once."""

import random
import zlib
from dataclasses import dataclass

import numpy
from halves import rounded
from random_programs import CONVERT, FUNCS

KINDS = {"": float, "f16": float, "bf16": float, "i64": numpy.int64, "i32": numpy.int32, "bool": bool}


def typed(element, shape):
    return f"{element}[{', '.join(map(str, shape))}]"


def joined(names):
    """As a tuple where there are several."""
    return f"({', '.join(names)})" if len(names) > 1 else names[0]


@dataclass
class Input:
    """Integers lie between sums of sizes, `low` and `end`, and rise along the last axis if `rises`; of
    floats `holes` are -inf."""

    element: str
    shape: tuple
    low: str = "0"
    end: str = "5"
    rises: bool = False
    holes: float = 0

    def draw(self, generator, sizes, element):
        shape = [sizes.get(s, s) for s in self.shape]
        if self.element == "bool":
            return generator.random(shape) < 0.3
        if self.element in ("i64", "i32"):
            array = generator.integers(eval(self.low, {}, sizes), eval(self.end, {}, sizes), shape)
            array = numpy.asarray(array, KINDS[self.element])
            return numpy.sort(array, axis=-1) if self.rises else array
        array = numpy.asarray(generator.normal(size=shape))
        array[generator.random(shape) < self.holes] = -numpy.inf
        array = array.astype(numpy.float64 if element == "f64" else numpy.float32)
        return rounded(array, element) if element in ("f16", "bf16") else array


class Calls:
    """A program: lines of a model, the declarations that they use, `run(inputs, weights, sizes)` for
    their results. `mark` ends the names that others in the model must not have."""

    def __init__(self, seed, element, mark):
        self.random, self.element, self.mark = random.Random(seed), element, mark
        # What jumps is compared in f64 only, where rounding does not decide.
        self.jumps = element == "f64"
        self.inputs, self.states, self.lines, self.results, self.texts = {}, {}, [], [], []
        # Whether it gives in parts, one after the other, what it gives at once.
        self.parts = False

    def given(self, name, element, shape, **more):
        """An input; one of that name which is there already."""
        name += self.mark
        self.inputs.setdefault(name, Input(element, tuple(shape), **more))
        return name

    def chance(self, share):
        return self.random.random() < share

    def floats(self, inputs):
        return {n: a.astype(numpy.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}


class Batch:
    """Programs whose names differ, in one model."""

    HEAD = f"import attention\n{FUNCS}{CONVERT}\nfunc bent(x: [D]) -> [D] {{\n  return sin(x)\n}}\n\n"

    def __init__(self, programs):
        self.programs = programs
        self.inputs = {n: i for p in programs for n, i in p.inputs.items()}
        self.results = [r for p in programs for r in p.results]
        states = {n: i for p in programs for n, i in p.states.items()}
        inputs = ", ".join(f"{n}: {typed(i.element, i.shape)}" for n, i in self.inputs.items())
        results = ", ".join(f"{n}: {typed(*t)}" for n, t in self.results)
        lines = [f"state {n}: {typed(i.element, i.shape)}" for n, i in states.items()]
        lines += [line for p in programs for line in p.lines]
        texts = "".join(text for p in programs for text in p.texts)
        self.text = (
            f"{self.HEAD}{texts}\nmodel m({inputs}) -> ({results}) {{\n"
            + "".join(f"  {line}\n" for line in lines)
            + f"  return {', '.join(n for n, _ in self.results)}\n}}\n"
        )
        # Of the model these are inputs and results, too.
        self.inputs |= states
        self.results += [(n, (i.element, i.shape)) for n, i in states.items()]

    def draw(self, generator, sizes, element):
        """Every input by name, each from a generator of its own: a program alone gets the same."""
        return {n: i.draw(generator(n), sizes, element) for n, i in self.inputs.items()}

    def run_in_parts(self, library, inputs, first):
        """The results of those that may run in parts: of `first` steps, then of the others."""
        begin = {}
        rest = dict(inputs)
        for name, i in self.inputs.items():
            if "T" in i.shape:
                begin[name], rest[name] = numpy.split(inputs[name], [first], axis=i.shape.index("T"))
            elif name.startswith("steps_in"):
                begin[name], rest[name] = numpy.minimum(inputs[name], first), 0 * inputs[name]
            elif name.startswith("place"):
                begin[name], rest[name] = inputs[name], inputs[name] + first
            else:
                begin[name] = inputs[name]
        made = library.run(**begin)
        rest |= {n: made[n] for p in self.programs if p.parts for n in p.states}
        then, found = library.run(**rest), {}
        for program in self.programs:
            for name, (_, shape) in program.results if program.parts else ():
                parts = [made[name], then[name]]
                found[name] = numpy.concatenate(parts, axis=shape.index("T")) if "T" in shape else then[name]
        return found

    def run(self, inputs, weights, sizes):
        found = {}
        with numpy.errstate(all="ignore"):
            for program in self.programs:
                found |= program.run(inputs, weights, sizes)
        return found


def generator_of(seed):
    """By a name a generator of numbers that depends on it and `seed`."""
    return lambda name: numpy.random.default_rng([seed, zlib.crc32(name.encode())])
