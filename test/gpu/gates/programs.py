# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs whose kernels are checked: one of each family at least."""

import pathlib
from dataclasses import dataclass

TESTS = pathlib.Path(__file__).resolve().parents[2]
MODELS = TESTS / "models"
LAYERS = TESTS / "gpu" / "Inputs" / "layers.gf"
ATTENTIONS = TESTS / "gpu" / "Inputs" / "attentions.gf"
BENCH = TESTS / "bench" / "models.gf"
CELLS = TESTS.parent / "frontend" / "library" / "cells.gf"
EXAMPLES = TESTS.parent / "examples"
VOICE = EXAMPLES / "voice_activity" / "silero_vad.gf"
COST = EXAMPLES / "attention_cost" / "layers.gf"
OWN = EXAMPLES / "your_own" / "your_own_attention.gf"


# Each program is checked for the first two, or for those that it names; --all takes
# every program for every chip.
USUAL_CHIPS = ("sm_80", "sm_120")
CHIPS = (*USUAL_CHIPS, "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100")


@dataclass(frozen=True)
class Attention:
    """What the products of an attention are made of, as its equations say."""

    maps: int
    key_width: int
    value_width: int
    # Loops over blocks of keys in its code.
    loops: int = 1


@dataclass(frozen=True)
class Program:
    name: str
    family: str
    text: pathlib.Path
    entry: str
    options: tuple[str, ...] = ()
    chips: tuple[str, ...] = USUAL_CHIPS
    attention: Attention | None = None

    @property
    def is_half(self):
        return "f16" in self.options or "bf16" in self.options


def chips_of(element):
    """The other type of 16 bits differs by the name of an instruction."""
    return ("sm_80",) if element == "bf16" else USUAL_CHIPS


def attentions():
    plain, two_maps = Attention(1, 64, 64), Attention(2, 64, 128)
    for name, entry, attention in (
        ("attention", "plain", plain),
        ("causal", "plain_causal", plain),
        ("two-maps", "two_maps", two_maps),
    ):
        for element in ("f32", "f16", "bf16"):
            everywhere = name in ("attention", "two-maps") and element == "f16"
            yield Program(f"{name}-{element}", "attention", BENCH, entry, ("--float", element),
                          CHIPS if everywhere else chips_of(element),
                          attention)  # fmt: skip
    yield Program("own-attention", "attention", MODELS / "your_own_attention.gf", "encoder")
    transformer = MODELS / "differential_transformer.gf"
    for element in ("f32", "f16"):
        yield Program(f"transformer-layer-{element}", "attention", transformer, "block",
                      ("--arg", "heads=4", "--arg", "depth=0", "--dim", "M=256",
                       "--float", element))  # fmt: skip


def full():
    """Attentions that are near the limit of registers, each in its own way: on the chip and
    in the type where it is nearest."""
    half = ("--float", "f16")
    two_maps, many_maps = Attention(2, 64, 64), Attention(4, 64, 64)
    wide = Attention(2, 128, 128)
    for name, entry, options, chip, attention in (
        ("scaled-f32", "scaled", (), "sm_80", two_maps),
        ("scaled-f16", "scaled", half, "sm_90", None),
        ("wide-f32", "wide", (), "sm_86", wide),
        ("wide-f16", "wide", half, "sm_80", wide),
        ("masked-f16", "masked", half, "sm_80", two_maps),
        ("masked-f32", "masked", (), "sm_120", two_maps),
        ("ragged-f32", "ragged", (), "sm_90", Attention(2, 64, 128)),
        ("many-maps-f16", "many_maps", half, "sm_80", many_maps),
        ("bucketed-f16", "bucketed", half, "sm_80", Attention(1, 128, 128)),
        ("step-f16", "step", half, "sm_90", None),
        ("three-maps-f32", "three_maps", (), "sm_120", Attention(3, 64, 64)),
        ("restricted-f16", "restricted", half, "sm_80", Attention(2, 128, 64)),
        ("sigmoids-f16", "sigmoids", half, "sm_90a", None),
        ("near-f32", "near", (), "sm_80", None),
        ("near-offset-f32", "near_offset", (), "sm_120", None),
        ("near-causal-f16", "near_causal", half, "sm_80", None),
        ("near-known-f16", "near_known", half, "sm_89", None),
        ("prefixed-bf16", "prefixed", ("--float", "bf16"), "sm_100", Attention(1, 128, 128)),
    ):
        yield Program(name, "attention", ATTENTIONS, entry, options, (chip,), attention)
    yield Program("diff-window", "attention", BENCH, "neighbours", half, ("sm_80",))
    yield Program("differential-layer", "attention", COST, "adaptive", chips=("sm_80",))
    yield Program("own-encoder", "attention", OWN, "encoder", chips=("sm_90",))


def recurrences():
    size = ("--dim", "H=128")
    yield Program("lstm", "recurrence", BENCH, "lstm_layer", size, CHIPS)
    yield Program("lstm-f16", "recurrence", BENCH, "lstm_layer", (*size, "--float", "f16"))
    yield Program("gru", "recurrence", BENCH, "gru_layer", size)
    yield Program("bidirectional", "recurrence", LAYERS, "bidirectional")
    yield Program("own-cell", "recurrence", BENCH, "layer_norm_layer", ("--dim", "H=64"),
                  ("sm_80",))  # fmt: skip
    # Products that are so wide that all ways of their loops are there.
    wide = ("--dim", "H=1024,I=512", "--float", "f16")
    yield Program("wide-lstm-f16", "recurrence", CELLS, "lstm", wide, ("sm_120",))
    yield Program("wide-gru-f16", "recurrence", CELLS, "gru", (*wide, "--lead", "2"), chips=())
    yield Program("wide-lstm-bf16", "recurrence", CELLS, "lstm",
                  ("--dim", "H=2048,I=1024", "--float", "bf16", "--lead", "2"), chips=())  # fmt: skip
    yield Program("wide-norm-f16", "recurrence", CELLS, "lstm_layer_norm", (*wide, "--lead", "2"),
                  chips=())  # fmt: skip


def others():
    yield Program("linear-scan", "other", ATTENTIONS, "linear_scan", chips=("sm_80",))
    for element in ("f32", "f16", "bf16"):
        chips = CHIPS if element == "f16" else chips_of(element)
        yield Program(f"product-{element}", "other", LAYERS, "projected", ("--float", element), chips)
    for entry in ("elementwise", "normalized", "embedded", "largest"):
        yield Program(entry, "other", LAYERS, entry, chips=CHIPS)
    yield Program("convolution", "other", VOICE, "silero_vad", chips=CHIPS)


def deep():
    """What takes the assembler seconds."""
    yield Program("sentiment", "deep", MODELS / "bilstm_diff_attention.gf", "sentiment",
                  chips=("sm_80",))  # fmt: skip
    yield Program("tagger", "deep", MODELS / "your_own_cell.gf", "tagger", ("--dim", "I=40"),
                  chips=())  # fmt: skip
    yield Program("transformer", "deep", MODELS / "differential_transformer.gf",
                  "language_model", ("--dim", "V=1000"), chips=())  # fmt: skip


def programs():
    yield from (*attentions(), *full(), *recurrences(), *others(), *deep())
