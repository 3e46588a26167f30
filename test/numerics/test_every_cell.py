# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One model with every cell of the library, two layers in both directions where the cell has them:
in f32 and f64 against float64, over ragged lengths, and with rows that are no numbers."""

import re

import cell_references as cells
import numpy
import pytest
from conftest import ATOL, ROOT, RTOL, lengths_of, random_weights
from test_cells import CELLS, Case, listed, tupled

SIZE, WIDTH = 7, 7
CASES = [Case(name, SIZE, WIDTH) for name in CELLS]
BATCHES = [(3, 7), (1, 1), (4, 17), (2, 0), (0, 3)]
ELEMENTS = {"f32": (numpy.float32, RTOL, ATOL), "f64": (numpy.float64, 1e-11, 1e-12)}


def layers_of(case):
    """What both directions of a layer give is twice as wide: too wide for a cell as wide as its input."""
    return 1 if case.name == "sru" else 2


def text():
    inputs, results, parameters, scans, values = [], [], [], [], []
    for case in CASES:
        rows = 2 * layers_of(case)
        settings = case.settings_with(f"layers={layers_of(case)}", "bidirectional=true")
        parameters.append(f"{case.name}: {case.name}({settings})")
        states = [f"{case.name}_{state}" for state in case.states]
        shapes = [f"[{rows}, B, {size}]" for size in case.sizes.values()]
        inputs += [f"{state}0: {shape}" for state, shape in zip(states, shapes, strict=True)]
        results += [f"{case.name}_y: [B, T, {2 * case.output_size}]"]
        results += [f"{state}: {shape}" for state, shape in zip(states, shapes, strict=True)]
        starts = tupled(f"{state}0" for state in states)
        scans.append(f"  {case.name}_y, {tupled(states)} = scan({case.name}, x, lengths=n, init={starts})")
        values += [f"{case.name}_y", *states]
    return "\n".join(
        [
            "import cells",
            "",
            f"model all(x: [B, T, {WIDTH}], n: i64[B], {listed(inputs)}) ->",
            f"    ({listed(results)}) {{",
            f"  param {listed(parameters)}",
            *scans,
            f"  return {listed(values)}",
            "}",
            "",
        ]
    )


def made(compiler, element):
    """The library, prepared, and its weights."""
    library = compiler.library(text(), "--float", element)
    weights = random_weights(library, numpy.random.default_rng(12))
    weights = {name: array.astype(ELEMENTS[element][0]) for name, array in weights.items()}
    return library.prepare(weights), weights


def inputs_of(generator, batch, time, dtype):
    given = {"x": generator.normal(size=(batch, time, WIDTH)), "n": lengths_of(generator, batch, time)}
    for case in CASES:
        states = case.random_states(generator, 2 * layers_of(case), batch)
        given |= {f"{case.name}_{state}0": array for state, array in zip(case.states, states, strict=True)}
    return {name: array if name == "n" else array.astype(dtype) for name, array in given.items()}


def test_every_cell_of_the_library_is_here():
    library = (ROOT / "frontend" / "library" / "cells.gf").read_text()
    assert re.findall(r"^cell (\w+)", library, re.M) == list(CELLS)


@pytest.mark.parametrize("element", ELEMENTS)
def test_layers_and_directions(compiler, element):
    library, weights = made(compiler, element)
    dtype, rtol, atol = ELEMENTS[element]
    generator = numpy.random.default_rng(13)
    for batch, time in BATCHES:
        given = inputs_of(generator, batch, time, dtype)
        found = library.run(**given)
        for case in CASES:
            prefix = f"{case.name}."
            own = {
                name.removeprefix(prefix): array.astype(numpy.float64)
                for name, array in weights.items()
                if name.startswith(prefix)
            }
            y, finals = cells.stacked_scan(
                case.cell, own, given["x"].astype(numpy.float64),
                [given[f"{case.name}_{state}0"].astype(numpy.float64) for state in case.states],
                given["n"], case.output_size, layers_of(case), True,
            )  # fmt: skip
            for name, expected in zip(["y", *case.states], [y, *finals], strict=True):
                result = found[f"{case.name}_{name}"]
                assert result.dtype == dtype and result.shape == expected.shape
                numpy.testing.assert_allclose(
                    result.astype(numpy.float64), expected, rtol, atol, err_msg=f"{case.name} {name} {batch} {time}"
                )


@pytest.mark.parametrize("element", ELEMENTS)
def test_one_bad_row(compiler, element):
    """What is no number in one row of a batch, or behind a length, changes no bit of another row."""
    library, _ = made(compiler, element)
    given = inputs_of(numpy.random.default_rng(14), 5, 9, ELEMENTS[element][0])
    given["n"] = numpy.array([4, 9, 0, 6, 9])
    clean = library.run(**given)
    bad, good = [1, 4], [0, 2, 3]
    for value in (numpy.nan, numpy.inf):
        dirty = {name: array.copy() for name, array in given.items()}
        for row, length in enumerate(given["n"]):
            dirty["x"][row, length:] = value
        # Of one the input, of the other the states.
        dirty["x"][1, 3:] = value
        for name in dirty:
            if name.endswith("0"):
                dirty[name][:, 4] = value
        found = library.run(**dirty)
        for name, array in found.items():
            rows = 0 if name.endswith("_y") else 1
            numpy.testing.assert_array_equal(
                array.take(good, axis=rows), clean[name].take(good, axis=rows), f"{name} {value}"
            )
        for case in CASES:
            both = found[f"{case.name}_y"][bad] != clean[f"{case.name}_y"][bad]
            assert both.any(axis=(1, 2)).all(), (case.name, value)
