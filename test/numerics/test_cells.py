# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every cell of the library, scanned and stepped, against float64."""

import functools
import itertools

import cell_references as cells
import numpy
import pytest
from conftest import SIZES, assert_close, lengths_of, random_weights

# name: (states with their initial value, what sizes the cell names)
CELLS = {
    "rnn_tanh": {"h": 0},
    "rnn_relu": {"h": 0},
    "lstm": {"h": 0, "c": 0},
    "lstm_textbook": {"h": 0, "c": 0},
    "lstm_peephole": {"h": 0, "c": 0},
    "lstm_projected": {"h": 0, "c": 0},
    "lstm_clipped": {"h": 0, "c": 0},
    "lstm_coupled": {"h": 0, "c": 0},
    "lstm_layer_norm": {"h": 0, "c": 0},
    "gru": {"h": 0},
    "gru_reset_before": {"h": 0},
    "gru_article": {"h": 0},
    "min_gru": {"h": 0},
    "min_lstm": {"h": 0},
    "sru": {"c": 0},
    "slstm": {"h": 0, "c": 0, "n": 0, "m": -numpy.inf},
}


# Settings of a cell: narrow clips, so that they bite.
SETTINGS = {"lstm_clipped": {"cell_clip": 0.25, "projection_clip": 0.125}}


class Case:
    """One cell at one size: its texts and its state shapes."""

    def __init__(self, name, size, width, more={}):
        self.name = name
        self.states = CELLS[name]
        self.input_size = width
        self.sizes = {state: size for state in self.states}
        self.output_size = size
        self.settings = f"H={size}"
        if name in ("lstm_projected", "lstm_clipped"):
            self.output_size = self.sizes["h"] = projected = max(1, size // 2)
            self.settings += f", P={projected}"
        if name == "sru":
            self.input_size = size
            self.settings = ""
        more = SETTINGS.get(name, {}) | more
        self.settings = self.settings_with(*(f"{k}={str(v).lower()}" for k, v in more.items()))
        numbers = {k: float(v) if v == "inf" else v for k, v in more.items()}
        self.cell = functools.partial(getattr(cells, name), **numbers)

    def settings_with(self, *more):
        return ", ".join(filter(None, [self.settings, *more]))

    def initials(self, *lead):
        return [
            numpy.full((*lead, self.sizes[s]), value, numpy.float64)
            for s, value in self.states.items()
        ]

    def random_states(self, generator, *lead):
        """States as a run could have left them (slstm's normaliser is positive)."""
        states = [generator.normal(size=(*lead, self.sizes[s])) for s in self.states]
        if self.name == "slstm":
            states[2] = 1 + abs(states[2])
        return [state.astype(numpy.float32) for state in states]


def listed(names):
    return ", ".join(names)


def tupled(names):
    names = list(names)
    return names[0] if len(names) == 1 else f"({listed(names)})"


def cases():
    """Each cell at one size; together they go round all sizes."""
    rotation = itertools.cycle(SIZES)
    widths = itertools.cycle((7, 1, 17, 3))
    for name, width in zip(CELLS, widths):
        yield pytest.param(Case(name, next(rotation), width), id=name)


def scan_text(case, layers=None, bidirectional=False, reverse=False):
    """A model that scans with lengths and init and gives outputs and states."""
    stacked = layers is not None or bidirectional
    rows = (layers or 1) * (2 if bidirectional else 1)
    lead = f"{rows}, B" if stacked else "B"
    states = [f"{s}0: [{lead}, {case.sizes[s]}]" for s in case.states]
    finals = [f"{s}: [{lead}, {case.sizes[s]}]" for s in case.states]
    width = case.output_size * (2 if bidirectional else 1)
    more = [f"layers={layers}"] if layers is not None else []
    more += ["bidirectional=true"] if bidirectional else []
    options = ", reverse=true" if reverse else ""
    return f"""
import cells

model scanned(x: [B, T, {case.input_size}], lengths: i64[B], {listed(states)}) -> (y: [B, T, {width}], {listed(finals)}) {{
  param cell: {case.name}({case.settings_with(*more)}) as ""
  y, {tupled(case.states)} = scan(cell, x, lengths=lengths, init={tupled(s + "0" for s in case.states)}{options})
  return y, {listed(case.states)}
}}
"""


def plain_text(case):
    return f"""
import cells

model scanned(x: [B, T, {case.input_size}]) -> [B, T, {case.output_size}] {{
  param cell: {case.name}({case.settings_with()}) as ""
  y, _ = scan(cell, x)
  return y
}}
"""


def step_text(case):
    states = [f"{s}: [B, {case.sizes[s]}]" for s in case.states]
    primed = [f"{s}'" for s in case.states]
    return f"""
import cells

model stepped(x: [B, {case.input_size}]) -> [B, {case.output_size}] {{
  state {listed(states)}
  param cell: {case.name}({case.settings_with()}) as ""
  y, {tupled(primed)} = step(cell, x, {tupled(case.states)})
  return y
}}
"""


def batches():
    """(B, T) that go through the sizes, and the empty ones."""
    return [(1, 1), (3, 7), (7, 3), (2, 17), (1, 65), (64, 1), (5, 0), (0, 4)]


# What differs from another cell in an operation or two goes forward alone.
FORWARD_ALONE = ("rnn_relu", "lstm_clipped", "lstm_coupled", "lstm_layer_norm")


@pytest.mark.parametrize(
    "case, reverse",
    [
        pytest.param(*case.values, reverse, id=f"{case.id}-{'reverse' if reverse else 'forward'}")
        for case in cases()
        for reverse in (False, True)
        if not (reverse and case.values[0].name in FORWARD_ALONE)
    ],
)
def test_scan_with_lengths_and_init(compiler, case, reverse):
    generator = numpy.random.default_rng(1)
    library = compiler.library(scan_text(case, reverse=reverse))
    weights = random_weights(library, generator)
    library.prepare(weights)
    for batch, time in batches():
        x = generator.normal(size=(batch, time, case.input_size)).astype(numpy.float32)
        lengths = lengths_of(generator, batch, time)
        states = case.random_states(generator, batch)
        result = library.run(
            x=x, lengths=lengths, **{s + "0": v for s, v in zip(case.states, states)}
        )
        y, finals = cells.scan(
            case.cell, weights, x, states, lengths, case.output_size, reverse
        )
        what = (batch, time, lengths)
        assert_close(result["y"], y, what)
        for name, final in zip(case.states, finals):
            assert_close(result[name], final, (name, *what))


OF_PAPER = Case("lstm_layer_norm", 17, 5, {"normalised_state": False})
NOT_CLIPPED = Case("lstm_clipped", 7, 3, {"cell_clip": "inf", "projection_clip": "inf"})
OTHERWISE_SET = [
    pytest.param(OF_PAPER, id="lstm_layer_norm_of_the_paper"),
    pytest.param(NOT_CLIPPED, id="lstm_not_clipped"),
]


@pytest.mark.parametrize("case", [*cases(), *OTHERWISE_SET])
def test_scan_from_the_declared_start(compiler, case):
    generator = numpy.random.default_rng(2)
    library = compiler.library(plain_text(case))
    weights = random_weights(library, generator)
    library.prepare(weights)
    for batch, time in [(2, 9), (1, 1)]:
        x = generator.normal(size=(batch, time, case.input_size)).astype(numpy.float32)
        y, _ = cells.scan(
            case.cell,
            weights,
            x,
            case.initials(batch),
            [time] * batch,
            case.output_size,
        )
        assert_close(library.run(x=x)["output"], y)


# Two layers of both directions: `test_every_cell`.
STACKS = [(1, False), (2, False), (3, True)]


@pytest.mark.parametrize("layers, bidirectional", STACKS)
@pytest.mark.parametrize("name", ["lstm", "gru", "lstm_projected", "slstm"])
def test_layers_and_directions(compiler, name, layers, bidirectional):
    generator = numpy.random.default_rng(3)
    case = Case(name, 7, 3)
    library = compiler.library(scan_text(case, layers, bidirectional))
    weights = random_weights(library, generator)
    library.prepare(weights)
    rows = layers * (2 if bidirectional else 1)
    for batch, time in [(3, 7), (1, 1), (4, 17), (2, 0)]:
        x = generator.normal(size=(batch, time, case.input_size)).astype(numpy.float32)
        lengths = lengths_of(generator, batch, time)
        states = case.random_states(generator, rows, batch)
        result = library.run(
            x=x, lengths=lengths, **{s + "0": v for s, v in zip(case.states, states)}
        )
        y, finals = cells.stacked_scan(
            case.cell,
            weights,
            x,
            states,
            lengths,
            case.output_size,
            layers,
            bidirectional,
        )
        assert_close(result["y"], y, (batch, time, lengths))
        for state, final in zip(case.states, finals):
            assert_close(result[state], final, state)


@pytest.mark.parametrize("case", list(cases()))
def test_steps_make_the_scan(compiler, case):
    """A model with states, run step by step, gives the same bits as the scan."""
    generator = numpy.random.default_rng(4)
    stepped = compiler.library(step_text(case))
    scanned = compiler.library(scan_text(case))
    weights = random_weights(stepped, generator)
    stepped.prepare(weights)
    scanned.prepare(weights)
    batch, time = 3, 5
    x = generator.normal(size=(batch, time, case.input_size)).astype(numpy.float32)
    states = dict(zip(case.states, case.random_states(generator, batch)))
    whole = scanned.run(
        x=x,
        lengths=numpy.full(batch, time),
        **{s + "0": v for s, v in states.items()},
    )
    for t in range(time):
        result = stepped.run(x=x[:, t], **states)
        numpy.testing.assert_array_equal(result["output"], whole["y"][:, t])
        states = {s: result[s] for s in case.states}
    for name, state in states.items():
        numpy.testing.assert_array_equal(state, whole[name])


@pytest.mark.parametrize("name", ["lstm", "sru", "slstm"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_padding_and_other_rows_are_not_read(compiler, name, reverse):
    """NaN beyond a length, or in another row, changes no bit of a result."""
    generator = numpy.random.default_rng(5)
    case = Case(name, 7, 3)
    library = compiler.library(scan_text(case, reverse=reverse))
    library.prepare(random_weights(library, generator))
    batch, time = 5, 9
    lengths = numpy.array([4, 0, 9, 1, 6])
    x = generator.normal(size=(batch, time, case.input_size)).astype(numpy.float32)
    states = {s + "0": v for s, v in zip(case.states, case.random_states(generator, batch))}
    clean = library.run(x=x, lengths=lengths, **states)
    dirty_x = x.copy()
    for b, n in enumerate(lengths):
        dirty_x[b, n:] = numpy.nan
    dirty_x[2] = numpy.nan
    dirty = library.run(x=dirty_x, lengths=lengths, **states)
    others = [b for b in range(batch) if b != 2]
    for result in clean:
        numpy.testing.assert_array_equal(dirty[result][others], clean[result][others])
    assert numpy.isnan(dirty["y"][2]).any()
    for b in others:
        alone = library.run(
            x=x[b : b + 1],
            lengths=lengths[b : b + 1],
            **{s: v[b : b + 1] for s, v in states.items()},
        )
        for result in clean:
            numpy.testing.assert_array_equal(alone[result][0], clean[result][b])
