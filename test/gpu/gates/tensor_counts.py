# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many instructions of tensor cores a program's kernels must have.

An instruction multiplies 16 rows of k elements with 8 columns: k is 16 for f16 and
bf16, 8 for tf32. A product of f32 is three of tf32 (high with high, high with low, low with
high).
"""

import re

WARPS = 8  # of a block
ROWS, COLUMNS = 16, 8  # of an instruction
HALF_DEPTH, TF32_DEPTH = 16, 8
EXACT_PRODUCTS = 3

# Of a tile of so many rows: warps along its rows and its columns, and panels. Both operands
# have 16 bits; one has 32; a loop around the product keeps weights; each step of a recurrence
# does it: then the warps share the steps of k.
NARROW_TILES = {128: (4, 2, 2), 64: (4, 2, 1), 16: (1, 8, 2)}
WIDE_TILES = {64: (4, 2, 1), 16: (1, 8, 1)}
LOOP_TILES = {32: (2, 4, 1), 16: (1, 8, 1)}
STEP_TILES = {32: (1, 1, 1), 16: (1, 1, 1)}
MOST_PANEL_COLUMNS = 64
STEP_BYTES = 64  # along k, of a row
# LLVM may unroll the loop over k, or take its few steps apart; ptxas unrolls some by four, and
# has the steps that are left, two and one, and the last once more.
MOST_COPIES = 8

PRODUCT = re.compile(
    r"gatefold_linear_(?P<x>f32|f16|bf16)(?:_(?P<panels>f32|f16|bf16)_\w+?_\w+?)?"
    r"_(?P<width>\d+)(?P<gates>_gates\d+)?(?P<step>_step)?(?:_(?P<loop>kept|beside))?"
    r"_rows(?P<rows>\d+)(?:_\d+)?"
)
SCHEDULED = re.compile(r"gf\.attention .*?attributes \{([^}]*)\}")
ATTRIBUTE = re.compile(r'gf\.(\w+) = (?:"(\w+)"|(\d+))')


def schedules(module):
    """gf.algorithm, gf.query_block, gf.key_block of each attention."""
    return [
        {name: text or int(number) for name, text, number in ATTRIBUTE.findall(attributes)}
        for attributes in SCHEDULED.findall(module)
    ]


def product(rows, columns, depth, left_is_half, right_is_half, is_same=True):
    """A product of one warp."""
    tiles = -(-rows // ROWS) * -(-columns // COLUMNS)
    if left_is_half and right_is_half and is_same:
        return tiles * -(-depth // HALF_DEPTH)
    # What has 16 bits is a tf32, and has no low part.
    exact = EXACT_PRODUCTS - left_is_half - right_is_half
    return tiles * -(-depth // TF32_DEPTH) * exact


def attention_block(attention, schedule, is_half):
    """Of a warp for its queries and one block of keys: scores of each map, and a product
    with the values for each."""
    queries, keys = schedule["query_block"], schedule["key_block"]
    rows = max(queries // WARPS, ROWS)
    scores = product(rows, keys, attention.key_width, is_half, is_half)
    values = product(rows, attention.value_width, keys, is_half, is_half)
    return attention.maps * (scores + values)


def check_attention(attention, found, is_half, counts):
    """Functions that have instructions of tensor cores have them for whole blocks of
    keys: once in a loop over blocks, and once more where the last ones are apart."""
    if len(found) != 1 or found[0].get("algorithm") != "registers":
        yield f"scheduled as {found}, expected one attention in registers"
        return
    block = attention_block(attention, found[0], is_half)
    if not counts:
        yield f"no instruction of tensor cores, expected {block} for a block of keys"
    for name, count in counts.items():
        copies, rest = divmod(count, block)
        if rest or copies > attention.loops:
            yield (
                f"{name}: {count} instructions of tensor cores, expected {block} for a block of "
                f"keys, at most {attention.loops} times"
            )


def linear_step(found):
    """Of a warp for one step of k of a tile of a product and one panel, by the name of its function;
    and of how many panels it has the code: where there is one alone, or some are left of those that
    it takes at a time, there are fewer or more."""
    x, panels = found["x"], found["panels"] or found["x"]
    rows, width = int(found["rows"]), int(found["width"])
    columns = max(c for c in range(8, MOST_PANEL_COLUMNS + 1, 8) if width % c == 0)
    is_same = x == panels
    tiles = NARROW_TILES if x != "f32" and is_same else WIDE_TILES
    tiles = STEP_TILES if found["step"] else LOOP_TILES if found["loop"] else tiles
    warp_rows, warp_columns, panel_count = tiles[rows]
    # Of gates a warp has all.
    if found["gates"]:
        warp_columns = 1
    # Each warp has whole columns of instructions.
    while columns % (warp_columns * COLUMNS):
        warp_columns -= 1
    step = STEP_BYTES // (2 if x != "f32" and is_same else 4)
    one = product(
        rows // warp_rows, columns // warp_columns, step, x != "f32", panels != "f32", is_same
    )
    return one, panel_count + (panel_count > 1)


def check_products(counts, has_attention):
    for name, count in counts.items():
        found = PRODUCT.fullmatch(name)
        if not found and not has_attention:
            yield f"{name}: {count} instructions of tensor cores in what is no product"
        elif found:
            step, panels = linear_step(found)
            copies, rest = divmod(count, step)
            if rest or copies > MOST_COPIES * panels:
                yield (
                    f"{name}: {count} instructions of tensor cores, expected {step} for a step of "
                    f"k, at most {MOST_COPIES * panels} times"
                )


def check(program, schedule, code):
    counts = {f.name: f.count(("HMMA",)) for f in code if f.count(("HMMA",))}
    found = schedules(schedule)
    if program.attention:
        yield from check_attention(program.attention, found, program.is_half, counts)
    else:
        yield from check_products(counts, bool(found))
