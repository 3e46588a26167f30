# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gatefold compile --schedule`: what is chosen, and choices that cannot be."""

import re

import pytest
from driver import COMMAND_LINE_FAULT, RECURRENCE_AND_ATTENTION, files, gatefold, refusal, write


@pytest.mark.parametrize(
    "schedule, recurrence, attention",
    [
        (["recurrence.step_rows=64"], '"steps", .*gf.step_rows = 64 ', '"resident"'),
        (["recurrence.algorithm=naive,attention.query_block=48"], '"naive"}', ".*query_block = 48 "),
        (["recurrence.algorithm=steps", "attention.algorithm=naive"], '"steps"', '"naive"}'),
        (["attention.key_block=256,attention.query_block=6"], '"steps"',
         '"online", .*key_block = 256 .*query_block = 6 '),
    ],
)  # fmt: skip
def test_schedule(small, schedule, recurrence, attention):
    """The attributes are those that the command line chooses."""
    text = write(small.parent / "m.gf", RECURRENCE_AND_ATTENTION)
    options = [word for one in schedule for word in ("--schedule", one)]
    module = gatefold("compile", text, "--emit", "schedule", *options).out
    assert re.search("gf.recurrence .*gf.algorithm = " + recurrence, module)
    assert re.search("gf.attention .*gf.algorithm = " + attention, module)


KEYS = (
    "hint: there are recurrence.algorithm=naive|steps|scan, recurrence.step_rows=1...1048576, "
    "attention.algorithm=naive|resident|online|registers, attention.query_block=1...65536, "
    "attention.key_block=1...1048576, recurrence.directions=joined|apart, "
    "product.panel_width=0...1024\n"
)


@pytest.mark.parametrize(
    "options, words, hint",
    [
        (["--schedule", "speed=9"], "--schedule: no choice is named `speed`\n", KEYS),
        (["--schedule", "steps"], "--schedule: expected KEY=VALUE, found `steps`\n", KEYS),
        (["--schedule", ""], "--schedule: expected KEY=VALUE, found nothing\n", "hint: such as"),
        (["--schedule", "attention.algorithm=magic"],
         "`attention.algorithm` is naive, resident, online or registers, found `magic`\n", KEYS),
        (["--schedule", "recurrence.step_rows=0"],
         "`recurrence.step_rows` is a number from 1 to 1048576, found `0`\n", KEYS),
        (["--schedule", "attention.query_block=65537"], "1 to 65536, found `65537`\n", KEYS),
        (["--schedule", "attention.query_block=99999999999999999999"], "from 1 to 65536", KEYS),
        (["--schedule", "attention.query_block=1", "--schedule", "attention.query_block=1"],
         "`attention.query_block` is given twice", KEYS),
        (["--schedule", "recurrence.algorithm=naive,recurrence.step_rows=8"],
         "`recurrence.step_rows` is of the algorithms `steps` and `scan`", "hint: leave one of the two out\n"),
        (["--schedule", "attention.algorithm=naive,attention.query_block=8"],
         "is of the algorithms `resident`, `online` and `registers`, and `attention.algorithm` is `naive`",
         "hint: leave one of the two out\n"),
        (["--schedule", "attention.algorithm=resident,attention.key_block=64"],
         "`attention.key_block` is of the algorithms `online` and `registers`", "hint: leave one of the two out\n"),
        (["--schedule", "recurrence.directions=both"],
         "`recurrence.directions` is joined or apart, found `both`\n", KEYS),
        (["--schedule", "recurrence.directions=apart,recurrence.directions=joined"],
         "`recurrence.directions` is given twice", KEYS),
        (["--schedule", "product.panel_width=1025"],
         "`product.panel_width` is a number from 0 to 1024, found `1025`\n", KEYS),
        (["--schedule", "product.panel_width=8,product.panel_width=8"],
         "`product.panel_width` is given twice", KEYS),
        (["--schedule", "recurrence.step_rows=8", "--naive"], "--naive leaves nothing to", ""),
    ],
)  # fmt: skip
def test_schedules_that_are_none(small, options, words, hint):
    message = refusal(
        "compile", small, "-o", small.parent / "x.o", *options, status=COMMAND_LINE_FAULT
    )
    assert words in message and hint in message
    assert files(small.parent) == ["small.gf"]


def test_a_schedule_of_what_is_not_there(small):
    err = gatefold(
        "compile", small, "-o", small.parent / "x.o", "--schedule", "attention.query_block=4"
    ).err
    assert err == "gatefold: warning: --schedule: there is no attention in the program\n"


def test_a_schedule_that_an_operation_cannot_take(tmp_path):
    """What a user chose is not left to another algorithm."""
    row = "tensor<4xf16>, tensor<?x4xf16>"
    module = write(
        tmp_path / "m.mlir",
        f"""func.func @m(%q: tensor<?x4xf16>) -> tensor<?x4xf16> {{
  %y = gf.attention queries(%q : tensor<?x4xf16>) keys(%q : tensor<?x4xf16>)
      attributes {{gf.algorithm = "naive"}} -> tensor<?x4xf16> {{
  ^row(%query: tensor<4xf16>, %key: tensor<?x4xf16>, %row: index, %position: index):
    %s = gf.row_scores %query, %key : {row} -> tensor<?xf16>
    %w = gf.row_softmax %s : tensor<?xf16>
    %v = gf.row_values %w, %key : tensor<?xf16>, tensor<?x4xf16> -> tensor<4xf16>
    gf.yield %v : tensor<4xf16>
  }}
  return %y : tensor<?x4xf16>
}}
""",
    )
    message = refusal(
        "compile", module, "-o", tmp_path / "m.o", "--schedule", "attention.query_block=4"
    )
    assert f"{module}:2:8: error: attention cannot be scheduled with query_block" in message


@pytest.mark.parametrize(
    "schedule, words",
    [
        ("attention.key_block=100",
         "attention cannot be scheduled with key_block=100, expected a multiple of 64, the keys"),
        ("attention.algorithm=online", "attention cannot be scheduled as online: "),
    ],
)  # fmt: skip
def test_a_schedule_that_does_not_fit_the_target_or_the_text(tmp_path, schedule, words):
    """A fault of the command line and not of the compiler; it points into the text."""
    text = write(
        tmp_path / "m.gf",
        """import attention
model m(q: [T, 4], mask: bool[T, T]) -> [T, 4] {
  return diff_window(q, q, q, mask=mask)
}
""",
    )
    message = refusal(
        "compile", text, "-o", tmp_path / "m.o", "--target", "x86-64-v4", "--schedule", schedule
    )
    assert f"{text}:3:10: error: {words}" in message
    assert "see current operation" not in message and "fault of Gatefold" not in message
