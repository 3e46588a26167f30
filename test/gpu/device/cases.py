# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is checked and what is measured: a program, its float type, the sizes of runs."""

import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE / "kernels.gf"
MODELS = HERE.parent.parent / "models"


@dataclasses.dataclass
class Case:
    name: str
    source: pathlib.Path
    entry: str
    # Open dimensions of each run; odd sizes, and lengths of 0 and 1, among them.
    runs: list
    floats: str = "f32"
    # Of the compilation.
    options: tuple = ()
    # Integers are below this, but for lengths.
    bound: int = 100


def family(entry, runs, floats=("f32", "f16", "bf16"), **more):
    return [Case(f"{entry} {f}", KERNELS, entry, runs, f, **more) for f in floats]


CORRECTNESS = [
    *family("product", [{"B": 1}, {"B": 77}, {"B": 1024}]),
    *family("pointwise", [{"B": 1, "T": 1}, {"B": 3, "T": 37}], ("f32",)),
    *family("recurrent", [{"B": 1, "T": 1}, {"B": 5, "T": 33}, {"B": 64, "T": 20}, {"B": 2, "T": 0}]),
    *family("bidirectional", [{"B": 1, "T": 1}, {"B": 7, "T": 29}], ("f32", "f16")),
    *family("gated", [{"B": 4, "T": 17}], ("f32",)),
    *family("attentive", [{"B": 1, "H": 1, "T": 1, "S": 1}, {"B": 2, "H": 3, "T": 77, "S": 201}]),
    *family("attentive_128", [{"B": 1, "H": 2, "T": 130, "S": 65}], ("f32", "f16")),
    *family("causal", [{"B": 1, "H": 1, "T": 1}, {"B": 2, "H": 2, "T": 333}]),
    *family("masked", [{"B": 3, "H": 2, "T": 50, "S": 83}], ("f32", "f16")),
    *family("neighbours", [{"B": 1, "H": 2, "T": 70, "S": 131}], ("f32", "f16")),
    *family("differing", [{"B": 1, "H": 1, "T": 1}, {"B": 2, "H": 2, "T": 193}]),
    Case("sentiment", MODELS / "bilstm_diff_attention.gf", "sentiment",
         [{"B": 1, "T": 1}, {"B": 3, "T": 61}], bound=20000),
    Case("tagger", MODELS / "your_own_cell.gf", "tagger", [{"B": 3, "T": 21}],
         options=("--dim", "I=24")),
    Case("encoder", MODELS / "your_own_attention.gf", "encoder", [{"B": 2, "T": 100}]),
    Case("translate", MODELS / "attn_seq2seq.gf", "translate", [{"B": 2, "S": 19, "T": 11}],
         options=("--dim", "I=40,J=24,O=30")),
    Case("language_model", MODELS / "differential_transformer.gf", "language_model",
         [{"B": 1, "T": 65}], options=("--dim", "V=500", "--arg", "depth=2"), bound=500),
]  # fmt: skip


@dataclasses.dataclass
class Timing:
    name: str
    entry: str
    floats: str
    sizes: dict
    # Multiplications and additions of a run that are needed, each counted as one.
    operations: float
    # What PyTorch has for it: peers.py.
    peer: str = ""

    @property
    def library(self):
        return f"{self.entry} {self.floats}"


def attention(entry, floats, b, h, n, width=64, causal=False, peer="attention"):
    pairs = b * h * n * n / (2 if causal else 1)
    sizes = {"B": b, "H": h, "T": n} | ({} if causal else {"S": n})
    return Timing(f"{entry} {floats} B={b} H={h} N={n}", entry, floats, sizes,
                  4 * pairs * width, "causal" if causal else peer)  # fmt: skip


def lstm(entry, floats, b, t, directions=1, hidden=512):
    operations = 2 * b * t * 4 * hidden * 2 * hidden * directions
    return Timing(f"{entry} {floats} B={b} T={t}", entry, floats, {"B": b, "T": t}, operations,
                  "lstm" if directions == 1 else "bilstm")  # fmt: skip


SPEED = [
    attention("attentive", "f16", 4, 16, 4096),
    attention("attentive", "bf16", 4, 16, 4096),
    attention("attentive", "f16", 16, 16, 1000),
    attention("attentive", "f32", 2, 16, 2048),
    attention("attentive_128", "f16", 4, 8, 4096, width=128),
    attention("causal", "f16", 4, 16, 4096, causal=True),
    attention("neighbours", "f16", 4, 16, 4096, peer=""),
    # Two maps of width 64, values of 128.
    Timing("differing f16 B=2 H=8 N=4096", "differing", "f16", {"B": 2, "H": 8, "T": 4096},
           2 * 8 * 4096**2 / 2 * (2 * 2 * 64 + 2 * 2 * 128), "differential"),
    lstm("wide_recurrent", "f32", 64, 256),
    lstm("wide_recurrent", "f16", 64, 256),
    lstm("wide_recurrent", "f16", 1, 256),
    lstm("wide_bidirectional", "f16", 32, 256, directions=2),
    Timing("wide_product f16 B=8192", "wide_product", "f16", {"B": 8192},
           2 * 8192 * 4096 * 4096, "linear"),
    Timing("wide_product f32 B=8192", "wide_product", "f32", {"B": 8192},
           2 * 8192 * 4096 * 4096, "linear"),
]  # fmt: skip


def libraries():
    """What must be compiled: by name the source, the entry and the options."""
    wanted = {}
    for case in CORRECTNESS:
        wanted[case.name] = (case.source, case.entry, ("--float", case.floats, *case.options))
    for timing in SPEED:
        wanted.setdefault(timing.library, (KERNELS, timing.entry, ("--float", timing.floats)))
    return wanted
