# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products on tensor cores: odd sizes, types, initial values, and the bits of a row,
on the emulator."""

import os
import pathlib
import subprocess

import numpy
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", REPOSITORY / "build"))
GATEFOLD = BUILD / "bin" / "gatefold"
# Of each type: rtol, atol (SEMANTICS.md).
TOLERANCES = {"f32": (1.3e-6, 1e-5), "f16": (1e-3, 1e-3), "bf16": (1.6e-2, 1e-3)}

PLAIN = """model plain(x: [M, {k}]) -> [M, {n}] {{
  param weight: [{n}, {k}]
  return x @ weight.T
}}
"""
BIAS = """model biased(x: [M, {k}]) -> [M, {n}] {{
  param l: linear(N={n})
  return l(x)
}}
"""
# The rows are computed, so that they are f32 whatever the weights are.
COMPUTED = """model computed(x: [M, {k}]) -> [M, {n}] {{
  param weight: [{n}, {k}]
  return (0.5 * x) @ weight.T
}}
"""
FULL = """model full(x: [M, {k}], y: [M, {n}]) -> [M, {n}] {{
  param weight: [{n}, {k}]
  return x @ weight.T + y
}}
"""


def rounded(array, element):
    if element == "f16":
        return array.astype(numpy.float16).astype(numpy.float32)
    if element == "bf16":
        bits = array.astype(numpy.float32).view(numpy.uint32)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return bits.astype(numpy.uint32).view(numpy.float32)
    return array.astype(numpy.float32)


def make_data(m, k, n, element):
    generator = numpy.random.default_rng(m * 10007 + k * 101 + n)
    bound = 1 / max(k, 1) ** 0.5
    weights = {
        "weight": generator.uniform(-bound, bound, (n, k)),
        "bias": generator.uniform(-bound, bound, n),
    }
    inputs = {"x": generator.standard_normal((m, k)), "y": generator.standard_normal((m, n))}
    return [
        {name: rounded(array, element) for name, array in each.items()}
        for each in (weights, inputs)
    ]


def run(folder, text, weights, inputs, *options):
    path = folder / "product.gf"
    path.write_text(text)
    numpy.savez(folder / "weights.npz", **weights)
    numpy.savez(folder / "inputs.npz", **inputs)
    done = subprocess.run(
        [GATEFOLD, "run", path, "--device", "emulator", "--weights", folder / "weights.npz",
         "--input", folder / "inputs.npz", "--output-dir", folder / "out", *options],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    output = folder / "out" / "output.npy"
    return numpy.load(output).astype(numpy.float32) if output.exists() else None


def compute(folder, form, m, k, n, element, *options):
    """The result and the reference in float64."""
    weights, inputs = make_data(m, k, n, element)
    x, weight = inputs["x"].astype(numpy.float64), weights["weight"].astype(numpy.float64)
    expected = (0.5 * x if form is COMPUTED else x) @ weight.T
    used = {"weight": weights["weight"]}
    given = {"x": inputs["x"]}
    if form is BIAS:
        used = {"l.weight": weights["weight"], "l.bias": weights["bias"]}
        expected = expected + weights["bias"]
    elif form is FULL:
        given["y"] = inputs["y"]
        expected = expected + inputs["y"]
    text = form.format(k=k, n=n)
    found = run(folder, text, used, given, "--float", element, *options)
    return found, expected


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize(
    "form, m, k, n",
    [
        (PLAIN, 1, 1, 17),
        (PLAIN, 0, 8, 20),
        (PLAIN, 17, 33, 65),
        (BIAS, 5, 40, 100),
        (BIAS, 33, 70, 200),
        (FULL, 70, 19, 48),
        (COMPUTED, 130, 64, 130),
    ],
)
def test_numbers(tmp_path, form, m, k, n, element):
    found, expected = compute(tmp_path, form, m, k, n, element, "--threads", "1")
    rtol, atol = TOLERANCES[element]
    assert found.shape == expected.shape
    numpy.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("element", TOLERANCES)
def test_bits_of_a_row(tmp_path, element):
    """Of tiles of 128, 64, 32 and 16 rows, of one block or several, and whenever operands come
    to shared memory."""
    m, k, n = 210, 50, 72
    weights, inputs = make_data(m, k, n, element)
    text = COMPUTED.format(k=k, n=n)
    options = ["--float", element, "--threads"]
    used = {"weight": weights["weight"]}
    whole = run(tmp_path, text, used, {"x": inputs["x"]}, *options, "1")
    shared = run(tmp_path, text, used, {"x": inputs["x"]}, *options, "3")
    early = run(tmp_path, text, used, {"x": inputs["x"]}, *options, "3", "--copies", "early")
    assert whole.tobytes() == shared.tobytes() == early.tobytes()
    for rows in (1, 16, 20, 40, 65):
        part = run(tmp_path, text, used, {"x": inputs["x"][-rows:]}, *options, "1")
        assert part.tobytes() == whole[-rows:].tobytes(), rows


def test_infinite_numbers(tmp_path):
    """As IEEE has it, of either operand: infinite times a number, zero, infinite and none; beside
    the greatest numbers, those that round to no tf32 among them, whose low bits are lost."""
    inf, nan, most = numpy.inf, numpy.nan, numpy.finfo(numpy.float32).max
    special = [inf, -inf, nan, 0.0, -0.3, 1.0, 5000.3, -7e4 / 3, 1e-3, 3.4e38, -3.4e38, most, -most]
    numbers = numpy.asarray(special, numpy.float32)
    weights, inputs = make_data(numbers.size, 17, numbers.size, "f32")
    x, weight = inputs["x"], weights["weight"]
    x[:, 3] = numbers
    weight[:, 3] = 0.75 * numpy.abs(weight[:, 3]) + 1e-3
    weight[::2, 3] *= -1
    for left, right in ((x, weight), (weight, x)):
        found = run(tmp_path, PLAIN.format(k=17, n=numbers.size), {"weight": right}, {"x": left})
        with numpy.errstate(invalid="ignore"):
            expected = left.astype(numpy.float64) @ right.astype(numpy.float64).T
        numpy.testing.assert_allclose(found, expected, rtol=2**-10, atol=1e-5)
        assert numpy.isinf(found).any() and numpy.isnan(found).any()
    weight[:, 3] = numbers
    found = run(tmp_path, PLAIN.format(k=17, n=numbers.size), {"weight": weight}, {"x": x})
    few = numpy.abs(numbers) < 1e30
    few |= ~numpy.isfinite(numbers)
    with numpy.errstate(invalid="ignore"):
        expected = x[few].astype(numpy.float64) @ weight[few].astype(numpy.float64).T
    numpy.testing.assert_allclose(found[few][:, few], expected, rtol=1e-5, atol=1e-4)


def test_fast_math(tmp_path):
    """One product in tf32: some 10 bits of each factor."""
    found, expected = compute(tmp_path, PLAIN, 20, 100, 64, "f32", "--fast-math")
    error = numpy.abs(found - expected).max()
    assert 1e-5 < error < 5e-3


@pytest.mark.parametrize("width", [8, 24, 128, 20])
def test_other_widths_of_panels(tmp_path, width):
    """Whole groups of columns, parts of a panel, and what is no whole group."""
    found, expected = compute(
        tmp_path, BIAS, 18, 36, 150, "f32", "--schedule", f"product.panel_width={width}"
    )
    numpy.testing.assert_allclose(found, expected, rtol=1.3e-6, atol=1e-5)
