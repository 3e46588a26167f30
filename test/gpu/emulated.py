# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plugin of pytest: the numeric tests with kernels for a GPU, on the emulator.

pytest -p emulated test/numerics (with this folder in PYTHONPATH)

Every library of the tests is still compiled for this machine, for its interface; its
runs are `gatefold run --device emulator`, and a context's threads are blocks of the
grid. What does not apply is skipped, and says why (`DOES_NOT_APPLY`).

--emulated-results FILE keeps the outcome of each test in FILE, a line of JSON; a test that
stands there as passed or skipped does not run again. --emulated-target sm_90 takes the kernels
of another GPU.
"""

import fnmatch
import hashlib
import json
import pathlib
import subprocess
import tempfile

import numpy
import pytest

# Seconds that one run may take.
RUN_LIMIT = 1200
# What is about the CPU alone: patterns of tests, the reason.
DOES_NOT_APPLY = {
    "test_allocation.py::*": "a GPU's run allocates in no library that could be counted",
    "test_attention_blocks.py::test_memory_grows_*": "asks for the bytes of the CPU's workspace",
    "test_attention_memory.py::test_memory_*": "asks for the bytes of the CPU's workspace",
    "test_attention_online.py::test_memory_of_a_block": "asks for the bytes of the CPU's workspace",
    "test_products.py::test_bits_do_not_depend_on_parts*": "a GPU adds the terms of each product in parts of its own",
    "test_written_attention.py::test_memory_grows_*": "asks for the bytes of the CPU's workspace",
    "test_cache_cells.py::test_no_cache_is_copied": "asks for the bytes of the CPU's workspace",
    "test_empty.py::test_keys_that_are_known_to_be_out_of_reach[options1-*": "blocks of queries in registers are whole tiles, not 3",
    "test_gates.py::test_widths_of_panels_*[5]": "5 columns are no whole group of tensor cores: threads sum them, in their order",
    "test_models.py::test_run_and_library_*": "compares with the bits of this machine's library",
}
# In place of what would take hours, or is a CPU's: by module and name.
SMALLER = {
    "test_threads": {
        "THREADS": (1, 2, 7),
        "SIZES": [{"B": 1, "T": 5, "S": 20}, {"B": 18, "T": 2, "S": 5}, {"B": 3, "T": 0, "S": 2}],
        "FEW_ROWS": [{"B": b, "T": t} for b, t in [(1, 6), (1, 5), (2, 1), (1, 0)]],
    },
    "test_random_sequences": {
        "SIZES": [{"B": 2, "T": 3, "S": 3}, {"B": 1, "T": 0, "S": 1}],
        # In registers there are whole tiles of queries.
        "ATTENTION_SCHEDULES": [
            "",
            "",
            "attention.algorithm=resident,attention.query_block=2",
            "attention.query_block=16",
        ],
    },
    # In registers there are whole tiles of queries.
    "test_attention_blocks": {
        "ONE_QUERY": [
            "attention.query_block=16",
            "attention.algorithm=resident,attention.query_block=1",
            "attention.algorithm=online,attention.query_block=1,attention.key_block=64",
        ]
    },
    "test_half_programs": {"PIECES": (1, 2, 0, 4)},
    "test_fast_against_naive": {
        "SIZES": [
            {"B": 1, "T": 1, "S": 1},
            {"B": 3, "T": 7, "S": 5},
            {"B": 2, "T": 17, "S": 33},
            {"B": 2, "T": 0, "S": 3},
            {"B": 0, "T": 3, "S": 4},
        ]
    },
    "test_caches": {"CUTS": [[9, 1, 1, 6], [0, 16, 1]]},
    "test_cache_cells": {"CUTS": [[2, 0, 3]], "STEPS": 5},
    "test_every_cell": {"BATCHES": [(3, 5), (2, 0)]},
    "test_attention_caches": {"CUTS": [[9, 1, 1, 6], [0, 16, 1]], "CAPACITIES": (40,)},
}


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


def interface_arrays(module, arrays, descriptions):
    """As files can hold them: bf16 as float32, which the driver narrows to the same numbers."""
    elements = {d["name"]: d["element"] for d in descriptions}
    return {
        name: module.from_bf16(module.to_bf16(numpy.asarray(array)))
        if elements.get(name) == "bf16"
        else numpy.array(array)
        for name, array in arrays.items()
    }


def make_library(numerics, module, target):
    """A Library whose runs are emulated. `numerics` and `module`: the modules of the
    tests and of Library."""
    known = {}

    class EmulatedContext:
        """Threads of a context are blocks of a grid."""

        def __init__(self, library, threads):
            self.library, self.threads = library, threads

        def run(self, **inputs):
            return self.library.run_blocks(self.threads, inputs)

        def bound_run(self, inputs, outputs):
            def call():
                for name, array in self.run(**inputs).items():
                    # Who has memory of 16 bits wants the bits of bf16.
                    bits = outputs[name].dtype == numpy.uint16
                    outputs[name][...] = module.to_bf16(array) if bits else array

            return call

        def close(self):
            pass

    class EmulatedLibrary(numerics.Library):
        def __init__(self, path, source, options):
            super().__init__(path)
            self.source, self.options = source, without_target(options)
            self.weights = {}

        def prepare(self, weights):
            super().prepare(weights)
            self.weights = interface_arrays(module, weights, self.parameters)
            return self

        def context(self, threads=1):
            return EmulatedContext(self, threads)

        def run(self, **inputs):
            return self.run_blocks(None, inputs)

        def run_blocks(self, blocks, inputs):
            # What an own context refuses is refused here too.
            binder = module.Context.__new__(module.Context)
            binder.library = self
            binder.bind(inputs)
            given = interface_arrays(module, inputs, self.inputs)
            command = [numerics.GATEFOLD, "run", self.source, *self.options]
            command += ["--device", "emulator"]
            command += ["--target", target] if target else []
            command += ["--threads", str(blocks)] if blocks else []
            key = hashlib.sha256(repr([str(word) for word in command]).encode())
            for what in (self.weights, given):
                for name in sorted(what):
                    array = what[name]
                    key.update(f"{name} {array.dtype} {array.shape}".encode())
                    key.update(numpy.ascontiguousarray(array).tobytes())
            # The emulator gives the same for the same.
            key = key.digest()
            if key not in known:
                known[key] = self.emulate(command, given)
            return {name: array.copy() for name, array in known[key].items()}

        def emulate(self, command, inputs):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                command = [*command, "--output-dir", folder / "out"]
                for what, arrays in (("weights", self.weights), ("input", inputs)):
                    if arrays:
                        numpy.savez(folder / f"{what}.npz", **arrays)
                        command += [f"--{what}", folder / f"{what}.npz"]
                done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT)
                if done.returncode != 0:
                    raise module.GatefoldError(done.returncode, done.stderr)
                return {
                    result["name"]: numpy.load(folder / "out" / f"{result['name']}.npy")
                    for result in self.results
                }

    return EmulatedLibrary


def why_not(item):
    """Why a test does not apply; None: it does."""
    name = f"{item.path.name}::{item.name}"
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if parameters.get("target", "native") != "native":
        return "the same kernels as for this machine's whole processor"
    for pattern, reason in DOES_NOT_APPLY.items():
        # Brackets are no pattern here.
        if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")):
            return reason
    return None


def pytest_addoption(parser):
    parser.addoption("--emulated-results", metavar="FILE", help="keep outcomes, continue from them")
    parser.addoption("--emulated-target", metavar="GPU", help="sm_90, say")


def outcomes(path):
    """By test the last line of a file of outcomes."""
    if not path or not pathlib.Path(path).exists():
        return {}
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return {line["test"]: line for line in lines}


def finished(path):
    """The tests of a file of outcomes that need not run again."""
    last = outcomes(path)
    return {test for test, line in last.items() if line["outcome"] in ("passed", "skipped")}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    path = config.getoption("emulated_results")
    done = finished(path)
    if path:
        known = outcomes(path)
        for item in items:
            if item.nodeid not in known:
                config.emulated_recorder.write(test=item.nodeid, outcome="not run")
    left_out = [item for item in items if item.nodeid in done]
    items[:] = [item for item in items if item.nodeid not in done]
    config.hook.pytest_deselected(items=left_out)
    for module in {item.module for item in items}:
        for name, value in SMALLER.get(module.__name__, {}).items():
            # Where a test has its own name for a list, it is one list.
            if isinstance(value, list):
                getattr(module, name)[:] = value
            else:
                setattr(module, name, value)
    for item in items:
        reason = why_not(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    import conftest as numerics

    import gatefold_library

    emulated = make_library(numerics, gatefold_library, session.config.getoption("emulated_target"))

    def library(self, text, *options):
        path = self.library_path(text, *options)
        source = text if isinstance(text, pathlib.Path) else path.parent / (path.stem[3:] + ".gf")
        return emulated(path, source, options)

    numerics.Compiler.library = library


class Recorder:
    """Writes outcomes as they come. A test that has only begun was ended with its process."""

    def __init__(self, path):
        self.file = open(path, "a")
        self.seconds = 0.0

    def write(self, **line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def pytest_runtest_logstart(self, nodeid):
        self.seconds = 0.0
        self.write(test=nodeid, outcome="begun")

    def pytest_runtest_logreport(self, report):
        self.seconds += report.duration
        seconds = round(self.seconds, 2)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = (crash.message if crash else str(report.longrepr)).strip()
            self.write(test=report.nodeid, outcome="failed", seconds=seconds, reason=reason[:400])
        elif report.skipped:
            reason = report.longrepr[2].removeprefix("Skipped: ")
            self.write(test=report.nodeid, outcome="skipped", seconds=seconds, reason=reason)
        elif report.when == "call":
            self.write(test=report.nodeid, outcome="passed", seconds=seconds)


def pytest_configure(config):
    path = config.getoption("emulated_results")
    if path:
        config.emulated_recorder = Recorder(path)
        config.pluginmanager.register(config.emulated_recorder)
