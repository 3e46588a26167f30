# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles texts and compares what they compute with float64."""

import itertools
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "frontend" / "python"))
from gatefold_library import Library  # noqa: E402

GATEFOLD = BUILD / "bin" / "gatefold"
# Against a float64 reference, f32: rtol, atol.
RTOL, ATOL = 1.3e-6, 1e-5
# Odd sizes, one, and the neighbourhood of a power of two.
SIZES = (1, 3, 7, 17, 64, 65)


def pytest_addoption(parser):
    parser.addoption("--seeds", metavar="FIRST:END", help="of generated programs, in place of a suite's few")


def pytest_generate_tests(metafunc):
    """Seeds of generated programs: a suite's own `SEEDS`, which may differ by test, or those of --seeds;
    as `random_seeds` those that stand in one text, `TOGETHER` neighbours."""
    given = metafunc.config.getoption("--seeds", None)
    seeds = getattr(metafunc.module, "SEEDS", ())
    if given:
        seeds = range(*map(int, given.split(":")))
    elif isinstance(seeds, dict):
        seeds = seeds.get(metafunc.function.__name__, ())
    if "random_seed" in metafunc.fixturenames:
        metafunc.parametrize("random_seed", seeds)
    if "random_seeds" in metafunc.fixturenames:
        groups = [list(g) for _, g in itertools.groupby(seeds, lambda s: s // metafunc.module.TOGETHER)]
        metafunc.parametrize("random_seeds", groups, ids=[f"{g[0]}:{g[-1] + 1}" for g in groups])


class Compiler:
    """Compiles each text once a session."""

    def __init__(self, folder):
        self.folder = folder
        self.made = {}

    def library_path(self, text, *options):
        """The library of a text (or of a file that exists), with the driver's
        `options`."""
        key = (str(text), options)
        if key not in self.made:
            name = f"m{len(self.made)}"
            source = text
            if not isinstance(text, pathlib.Path):
                source = self.folder / f"{name}.gf"
                source.write_text(text)
            path = self.folder / f"lib{name}.so"
            result = subprocess.run(
                [GATEFOLD, "compile", source, "-o", path, *options],
                capture_output=True,
                text=True,
            )
            assert result.returncode == 0, result.stderr
            self.made[key] = path
        return self.made[key]

    def library(self, text, *options):
        """A fresh, unprepared Library."""
        return Library(self.library_path(text, *options))


@pytest.fixture(scope="session")
def compiler(tmp_path_factory):
    return Compiler(tmp_path_factory.mktemp("numerics"))


def random_weights(library, generator):
    """As `gatefold init` scales them, but biases are random too."""
    weights = {}
    for parameter in library.parameters:
        shape = parameter["shape"]
        width = 1 / numpy.sqrt(shape[-1]) if shape and shape[-1] else 1
        weights[parameter["name"]] = generator.uniform(-width, width, shape).astype(
            numpy.float32
        )
    return weights


def assert_close(found, expected, what=""):
    expected = numpy.asarray(expected)
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    numpy.testing.assert_allclose(
        found.astype(numpy.float64), expected, rtol=RTOL, atol=ATOL, err_msg=str(what)
    )


def lengths_of(generator, batch, time):
    """Lengths with 0, 1 and T among them where there is room."""
    special = [0, min(1, time), time]
    lengths = generator.integers(0, time + 1, batch)
    lengths[: len(special)] = special[:batch]
    return generator.permutation(lengths)
