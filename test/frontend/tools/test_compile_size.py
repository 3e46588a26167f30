# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much code models become: what the time of a compilation goes with.

Times depend on the machine, lines of what the last phase gives LLVM do not. The
bounds are about a quarter above what stands.
"""

import pytest
from driver import REPOSITORY, gatefold

MODELS = REPOSITORY / "test" / "models"
BENCH = REPOSITORY / "test" / "bench" / "models.gf"
VOICE = REPOSITORY / "examples" / "voice_activity" / "silero_vad.gf"
TRANSFORMER = (MODELS / "differential_transformer.gf", "--entry", "language_model")


def lines(*arguments, form="cpu"):
    run = gatefold("compile", *arguments, "--emit", form, "-o", "-", "--target", "x86-64-v4")
    return len(run.out.splitlines())


@pytest.mark.parametrize(
    "bound, arguments",
    [
        (12500, (MODELS / "attn_seq2seq.gf", "--dim", "I=128,J=64,O=32")),
        (13500, (MODELS / "bilstm_diff_attention.gf",)),
        (24500, (*TRANSFORMER, "--dim", "V=32000")),
        (11000, (MODELS / "your_own_attention.gf",)),
        (17500, (MODELS / "your_own_cell.gf", "--dim", "I=64")),
        (13500, (VOICE,)),
        (6900, (BENCH, "--entry", "two_maps")),
        (6400, (BENCH, "--entry", "lstm_layer", "--dim", "H=128")),
    ],
)
def test_code_of_samples(bound, arguments):
    assert 1000 < lines(*arguments) <= bound


@pytest.mark.parametrize("form", ["cpu", "llvm"])
def test_code_does_not_grow_with_time(form):
    model = (BENCH, "--entry", "bilstm_layers", "--dim")
    short, long = (lines(*model, f"H=64,T={t},B=1", form=form) for t in (16, 8192))
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
