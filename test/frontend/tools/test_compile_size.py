# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much code models become: what the time of a compilation goes with.

Times depend on the machine, lines of what the last phase gives LLVM do not. The
bounds are about a quarter above what stands.
"""

import re

import pytest
from driver import REPOSITORY, gatefold

MODELS = REPOSITORY / "test" / "models"
BENCH = REPOSITORY / "test" / "bench" / "models.gf"
VOICE = REPOSITORY / "examples" / "voice_activity" / "silero_vad.gf"
TRANSFORMER = (MODELS / "differential_transformer.gf", "--entry", "language_model")


def code(*arguments, form="cpu"):
    return gatefold(
        "compile", *arguments, "--emit", form, "-o", "-", "--target", "x86-64-v4"
    ).out


def lines(*arguments, form="cpu"):
    return len(code(*arguments, form=form).splitlines())


@pytest.mark.parametrize(
    "bound, arguments",
    [
        (14000, (MODELS / "attn_seq2seq.gf", "--dim", "I=128,J=64,O=32")),
        (16500, (MODELS / "bilstm_diff_attention.gf",)),
        (18500, (*TRANSFORMER, "--dim", "V=32000")),
        (10700, (MODELS / "your_own_attention.gf",)),
        (19000, (MODELS / "your_own_cell.gf", "--dim", "I=64")),
        (13200, (VOICE,)),
        (5700, (BENCH, "--entry", "two_maps")),
        (6300, (BENCH, "--entry", "lstm_layer", "--dim", "H=128")),
    ],
)
def test_code_of_samples(bound, arguments):
    assert 1000 < lines(*arguments) <= bound


@pytest.mark.parametrize("form", ["cpu", "llvm"])
def test_code_does_not_grow_with_time(form):
    model = (BENCH, "--entry", "bilstm_layers", "--dim")
    short, long = (lines(*model, f"H=64,T={t},B=1", form=form) for t in (128, 100000))
    assert 1000 < long <= 1.05 * short


def test_layers_cost_the_same(tmp_path):
    """Each further layer adds as much as the one before, less than the first."""

    def layers(count):
        path = tmp_path / f"layers{count}.gf"
        path.write_text(BENCH.read_text().replace("layers=2", f"layers={count}"))
        return lines(path, "--entry", "bilstm_layers", "--dim", "H=64")

    first, third, fifth = (layers(count) for count in (1, 3, 5))
    assert 0 < fifth - third <= 1.3 * (third - first)
    assert (fifth - third) / 2 < first


def test_blocks_cost_the_same():
    first, third, fifth = (
        lines(*TRANSFORMER, "--dim", "V=64", "--arg", f"depth={depth}") for depth in (1, 3, 5)
    )
    assert 0 < fifth - third <= 1.3 * (third - first)
    assert (fifth - third) / 2 < first


def test_equal_layers_are_compiled_once(tmp_path):
    """Of a stack, what lies between its ends is calls of the same functions."""

    def stack(count):
        path = tmp_path / f"stack{count}.gf"
        path.write_text(BENCH.read_text().replace("layers=2", f"layers={count}"))
        return code(path, "--entry", "bilstm_layers", "--dim", "H=64")

    assert_equal_parts_are_shared(stack)


def test_equal_blocks_are_compiled_once():
    assert_equal_parts_are_shared(
        lambda depth: code(*TRANSFORMER, "--dim", "V=64", "--arg", f"depth={depth}")
    )


def assert_equal_parts_are_shared(stack):
    few, many = stack(5), stack(8)
    assert many.count("llvm.func") == few.count("llvm.func")
    calls = few.count("llvm.call")
    assert 0 < many.count("llvm.call") - calls <= 0.2 * calls
    # The size of the arena, arguments and views remain.
    size = len(few.splitlines())
    assert len(many.splitlines()) - size <= 0.2 * size


def test_glue_is_not_optimized():
    """What runs once, without a loop, is left; kernels never are."""
    text = code(BENCH, "--entry", "lstm_layer", "--dim", "H=128", form="llvm")
    groups = dict(re.findall(r"^attributes #(\d+) = \{(.*)\}$", text, re.MULTILINE))
    functions = re.findall(r"^define .*@(\w+)\(.*\) (?:\w+ )*#(\d+) ", text, re.MULTILINE)
    left = {name for name, group in functions if "optnone" in groups[group]}
    assert {"gatefold_sizes", "gatefold_arena_bytes"} <= left
    kernels = {name for name, _ in functions if "linear" in name or "kernel" in name}
    assert kernels and not kernels & left
