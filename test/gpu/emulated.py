# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plugin of pytest: the numeric tests with kernels for a GPU, on the emulator.

pytest -p emulated test/numerics (with this folder in PYTHONPATH)

Every library of the tests is still compiled for this machine, for its interface; its
runs are `gatefold run --device emulator`. What expects the bits of this
processor's library (`same_bits` in `test_models.py`) does not apply.
"""

import pathlib
import subprocess
import tempfile

import numpy
import pytest


def without_target(options):
    """The driver's options for another processor."""
    kept, rest = [], list(options)
    while rest:
        option = rest.pop(0)
        if option == "--target":
            rest.pop(0)
        elif not str(option).startswith("--target="):
            kept.append(option)
    return kept


def make_class(module):
    """A Library whose runs are emulated."""

    class EmulatedLibrary(module.Library):
        def __init__(self, path, source, options):
            super().__init__(path)
            self.source, self.options = source, without_target(options)
            self.weights = {}

        def prepare(self, weights):
            self.weights = {name: numpy.array(array) for name, array in weights.items()}
            return super().prepare(weights)

        def run(self, **inputs):
            for description in self.inputs:
                name = description["name"]
                if name not in inputs and "initial" not in description:
                    raise TypeError(f"the input {name!r} is not given")
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                command = [module.GATEFOLD, "run", self.source, *self.options]
                command += ["--device", "emulator", "--output-dir", folder / "out"]
                for what, arrays in (("weights", self.weights), ("input", inputs)):
                    if arrays:
                        numpy.savez(folder / f"{what}.npz", **arrays)
                        command += [f"--{what}", folder / f"{what}.npz"]
                done = subprocess.run(command, capture_output=True, text=True, timeout=600)
                if done.returncode != 0:
                    raise module.gatefold_library.GatefoldError(done.returncode, done.stderr)
                results = {}
                for result in self.results:
                    results[result["name"]] = numpy.load(folder / "out" / f"{result['name']}.npy")
                return results

    return EmulatedLibrary


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    import conftest as numerics

    import gatefold_library

    numerics.gatefold_library = gatefold_library
    emulated = make_class(numerics)

    def library(self, text, *options):
        path = self.library_path(text, *options)
        source = text if isinstance(text, pathlib.Path) else path.parent / (path.stem[3:] + ".gf")
        return emulated(path, source, options)

    numerics.Compiler.library = library
