# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs at random: attentions of the library with any widths and restrictions, and its
cells with any sizes. The same seed gives the same programs."""

import random

from programs import CHIPS, Program

ELEMENTS = ("f32", "f16", "bf16")
WIDTHS = (16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 128, 160, 192, 256)
USUAL_WIDTHS = (32, 64, 128)

PLAIN = ("q", "k", "v")
# Inputs of each attention in its order, and settings of which one is chosen.
ATTENTIONS = {
    "dot_product": (PLAIN, ("", "scale=1")),
    "diff_window": (PLAIN, ("width=3", "width=5")),
    "differential": (("q1", "q2", "k1", "k2", "v", "lambda"), ("",)),
    "scaled_differential": ((*PLAIN, "d1", "d2", "d3", "d4"), ("",)),
    "sparse_differential": (PLAIN, ("",)),
    "alibi": ((*PLAIN, "number"), ("",)),
    "soft_capped": (PLAIN, ("",)),
    "sparse_dot_product": (PLAIN, ("",)),
    "mixed_maps": (("qn", "kn", "v", "mix"), ("",)),
    "sigmoid_dot_product": ((*PLAIN, "number"), ("",)),
    "with_sink": ((*PLAIN, "number"), ("",)),
    "streaming": (PLAIN, ("first=4, recent=60",)),
    "prefix_causal": ((*PLAIN, "prefix"), ("",)),
    "relative_bias": ((*PLAIN, "distances"), ("",)),
    "bucketed_bias": ((*PLAIN, "buckets"), ("", "bidirectional=false")),
}
CELLS = ("rnn_tanh", "lstm", "lstm_peephole", "lstm_layer_norm", "gru", "gru_reset_before",
         "min_gru", "min_lstm", "slstm")  # fmt: skip


def attention(generator):
    """The text of a model, and what it is."""
    choose, jumps = generator.choice, generator.random
    name = choose(list(ATTENTIONS))
    names, settings = ATTENTIONS[name]
    width = choose(USUAL_WIDTHS if jumps() < 0.5 else WIDTHS)
    value_width = choose((width, 2 * width, choose(WIDTHS)))
    maps, heads = choose((2, 3, 4)), choose((1, 4, 6))
    kept = choose((heads, 1)) if jumps() < 0.3 else heads
    # Sizes that are known are other code than open ones.
    queries = choose(("T", "T", "T", 1, 200))
    keys = choose(("S", "S", "S", 77, 512))
    query, key = f"[B, {heads}, {queries}, ", f"[B, {kept}, {keys}, "
    shapes = {
        "q": f"{query}{width}]", "k": f"{key}{width}]", "v": f"{key}{value_width}]",
        "qn": f"{query}{maps * width}]", "kn": f"{key}{maps * width}]", "mix": f"{query}{maps}]",
        "q1": f"{query}{width}]", "q2": f"{query}{width}]", "k1": f"{key}{width}]",
        "k2": f"{key}{width}]", "lambda": choose((f"[{heads}, 1, 1]", f"{query}1]")),
        "d1": f"[{width}]", "d2": f"[{width}]", "d3": f"[{width}]", "d4": f"[{width}]",
        "number": f"[{heads}]", "prefix": "i64[B, 1]", "distances": f"[{heads}, 33]",
        "buckets": f"[{heads}, 32]", "mask": choose((f"bool[B, 1, {queries}, {keys}]",
        f"bool[{queries}, {keys}]", f"bool[B, 1, 1, {keys}]")),
        "bias": choose((f"[{heads}, {queries}, {keys}]", f"[{queries}, {keys}]",
                        f"[B, {heads}, {queries}, {keys}]")),
        "lengths": "i64[B]", "offset": "i64[B]", "ids": f"i64[B, {queries}]",
        "key_ids": f"i64[B, {keys}]",
    }  # fmt: skip
    setting = choose(settings)
    used, options = list(names), [setting] if setting else []
    view = choose(("", "", "causal=true", "window=(100, 0)", "window=(64, 32)"))
    if view:
        options.append(view)
        if jumps() < 0.25:
            used.append("offset")
            options.append("offset=offset")
    chance = choose((0, 0.3, 0.6))
    for option in ("mask", "bias", "lengths"):
        if jumps() < chance and not (option == "bias" and name == "sigmoid_dot_product"):
            used.append(option)
            options.append(f"{option}={option}")
    if jumps() < chance / 2:
        used += ["ids", "key_ids"]
        options.append("segments=(ids, key_ids)")
    if kept != heads:
        options.append("gqa=true")
    inputs = ", ".join(f"{used_name}: {shapes[used_name]}" for used_name in used)
    call = ", ".join([*names, *options])
    return (
        f"import attention\nmodel m({inputs}) -> {query}{value_width}] {{\n"
        f"  return {name}({call})\n}}\n"
    )


SIZES = 17, 40, 64, 96, 128, 200, 256, 384, 768, 1024, 2048


def recurrence(generator):
    choose = generator.choice
    name = choose(CELLS)
    size, width = choose(SIZES), choose((3, 40, 128, 512, 1024))
    rows, options = choose(("B", 1, 16)), choose(("", ", lengths=lengths", ", reverse=true"))
    more = ", lengths: i64[B]" if "lengths" in options else ""
    rows = "B" if more else rows
    return (
        f"import cells\nmodel m(x: [{rows}, T, {width}]{more}) -> [{rows}, T, {size}] {{\n"
        f"  param cell: {name}(H={size})\n  y, _ = scan(cell, x{options})\n  return y\n}}\n"
    )


def programs(folder, count, seed):
    """So many programs, each with a chip; three of four are attentions. Their texts lie in
    the folder."""
    for number in range(seed, seed + count):
        generator = random.Random(number)
        form = recurrence if generator.random() < 0.25 else attention
        path = folder / f"sampled_{number}.gf"
        path.write_text(form(generator))
        options = ("--float", generator.choice(ELEMENTS))
        yield Program(path.stem, "sampled", path, "m", options), generator.choice(CHIPS)
