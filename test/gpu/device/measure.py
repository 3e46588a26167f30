# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case's time by events of the driver, interleaved with what PyTorch has for it."""

import importlib.util
import time

import numpy

import peers
from gpu_model import Driver, GpuModel, random_inputs, random_weights

# A round of one candidate takes about this long, and all rounds of a case that long.
ROUND_MILLISECONDS = 10
CASE_SECONDS = 4
LEAST_ROUNDS, MOST_ROUNDS = 5, 100


def has_torch():
    return importlib.util.find_spec("torch") is not None


def quantiles(values):
    return [float(numpy.quantile(values, part)) for part in (0.1, 0.5, 0.9)]


def measure(timing, path):
    left_out, candidates, stream = {}, {}, 0
    driver = Driver()
    torch = None
    if has_torch():
        import torch

        if torch.cuda.is_available():
            stream = torch.cuda.current_stream().cuda_stream
        else:
            left_out["torch"], torch = "torch.cuda is not available", None
    else:
        left_out["torch"] = "not installed"
    driver.use_primary_context()
    gpu = GpuModel(path)
    gpu.prepare(random_weights(gpu.cpu.parameters))
    gpu.set_stream(stream)
    inputs = random_inputs(gpu.cpu.inputs, timing.sizes, bound=100)
    # Whole sequences: what the operations are counted for, and what peers compute.
    if "lengths" in inputs:
        inputs["lengths"][...] = timing.sizes["T"]
    gpu.bind(inputs, timing.sizes)
    candidates["gatefold"] = gpu.launch
    if torch and timing.peer:
        with torch.no_grad():
            candidates |= peers.make(timing)

    begin, end = driver.event(), driver.event()

    def clock(call, count):
        driver.record(begin, stream)
        for _ in range(count):
            call()
        driver.record(end, stream)
        return driver.milliseconds(begin, end) / count

    counts = {}
    for name, call in list(candidates.items()):
        try:
            with torch.no_grad() if torch else NoContext():
                clock(call, 1)
                once = min(clock(call, 1) for _ in range(3))
        except RuntimeError as error:
            if name == "gatefold":
                raise
            left_out[name] = str(error).splitlines()[0]
            del candidates[name]
            continue
        counts[name] = max(1, min(200, int(ROUND_MILLISECONDS / max(once, 1e-3))))
    gpu.finish()

    times = {name: [] for name in candidates}
    start, order = time.monotonic(), list(candidates)
    with torch.no_grad() if torch else NoContext():
        for number in range(MOST_ROUNDS):
            if number >= LEAST_ROUNDS and time.monotonic() - start > CASE_SECONDS:
                break
            order = order[1:] + order[:1]
            for name in order:
                times[name].append(clock(candidates[name], counts[name]))
    gpu.finish()
    own = numpy.array(times["gatefold"])
    record = {
        "device": gpu.name,
        "rounds": len(own),
        "milliseconds": quantiles(own),
        "tflops": timing.operations / (numpy.median(own) * 1e-3) / 1e12,
        # The other's time over Gatefold's in the same round: above 1 Gatefold is faster.
        "ratios": {n: quantiles(numpy.array(t) / own) for n, t in times.items() if n != "gatefold"},
        "peer_tflops": {
            n: timing.operations / (numpy.median(t) * 1e-3) / 1e12
            for n, t in times.items()
            if n != "gatefold"
        },
        "left_out": left_out,
    }
    gpu.close()
    return record


class NoContext:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False
