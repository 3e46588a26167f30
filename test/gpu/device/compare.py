# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case: the kernels of a library beside its code for the CPU."""

import numpy

from gpu_model import GpuModel, library, random_inputs, random_weights

# Each path is this near to a float64 reference, so both are twice as near to each other.
TOLERANCES = {"f32": (1.3e-6, 1e-5), "f16": (1e-3, 1e-3), "bf16": (1.6e-2, 1e-3)}
BAD_DATA = 2


def tolerance(model):
    """That of the narrowest float at the interface."""
    tensors = [*model.inputs, *model.results, *model.parameters]
    elements = {tensor["element"] for tensor in tensors}
    name = next(name for name in ("bf16", "f16", "f32") if name in elements)
    relative, absolute = TOLERANCES[name]
    return 2 * relative, 2 * absolute


def difference(found, expected, relative, absolute):
    """The largest difference in units of what is allowed; NaN equals NaN."""
    if found.shape != expected.shape:
        raise AssertionError(f"shape {found.shape}, expected {expected.shape}")
    if found.dtype.kind != "f":
        return 0.0 if numpy.array_equal(found, expected) else float("inf")
    found, expected = found.astype(numpy.float64), expected.astype(numpy.float64)
    both = numpy.isnan(found) & numpy.isnan(expected)
    with numpy.errstate(invalid="ignore"):
        units = numpy.abs(found - expected) / (absolute + relative * numpy.abs(expected))
    units[both | (found == expected)] = 0
    units[numpy.isnan(units)] = float("inf")
    return float(units.max()) if units.size else 0.0


def compare(case, path):
    """The record of a case: the largest difference of each run, and whether a second run of
    the same inputs gives the same bits."""
    gpu = GpuModel(path)
    relative, absolute = tolerance(gpu.cpu)
    weights = random_weights(gpu.cpu.parameters)
    cpu = gpu.cpu.prepare(weights)
    gpu.prepare(weights)
    runs, passed = [], True
    for dimensions in case.runs:
        inputs = random_inputs(cpu.inputs, dimensions, case.bound)
        expected = cpu.run(**inputs)
        gpu.bind(inputs, dimensions)
        results = []
        for _ in range(2):
            gpu.launch()
            gpu.finish()
            results.append(gpu.fetch())
        largest = max(
            difference(results[0][name], values, relative, absolute)
            for name, values in expected.items()
        )
        same = all(results[0][n].tobytes() == results[1][n].tobytes() for n in expected)
        refused = refuses_lengths(gpu, inputs, dimensions)
        passed &= largest <= 1 and same and refused
        runs.append(
            {"sizes": dimensions, "difference": largest, "same_bits": same, "refuses": refused}
        )
    record = {"passed": passed, "device": gpu.name, "tolerance": [relative, absolute], "runs": runs}
    gpu.close()
    return record


def refuses_lengths(gpu, inputs, dimensions):
    """Whether a length out of range is found by the GPU, in a program that has lengths."""
    if "lengths" not in inputs or not inputs["lengths"].size:
        return True
    wrong = dict(inputs, lengths=inputs["lengths"] + 10**6)
    gpu.bind(wrong, dimensions)
    try:
        gpu.launch()
        gpu.finish()
    except library.GatefoldError as error:
        return error.status == BAD_DATA and "`lengths`" in str(error)
    return False
