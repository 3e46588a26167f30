# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The nearest of some names."""

import random

import pytest

from weight_files import run


def nearest(name, *candidates):
    done = run("--nearest", name, *candidates)
    assert done.returncode == 0
    return done.stdout.decode().rstrip("\n") or None


@pytest.mark.parametrize(
    "name, candidates, expected",
    [
        ("wieght", ["bias", "weight"], "weight"),
        ("weight", ["weights", "weigh", "weight"], "weight"),
        ("weight", ["weights", "weigh"], "weights"),
        ("weight", ["bias", "gain"], None),
        ("x", ["y"], "y"),
        ("x", ["abc"], None),
        ("", ["a"], None),
        ("a", [""], ""),
        ("lstm.weight_ih", ["lstm.weight_hh", "lstm.bias_ih"], "lstm.weight_hh"),
        ("a" * 300, ["a" * 300], None),
        ("a" * 250, ["a" * 257], None),
        ("a" * 250, ["a" * 256], "a" * 256),
        ("a" * 256, ["b" * 9 + "a" * 247], None),
        ("a" * 256, ["b" * 8 + "a" * 248], "b" * 8 + "a" * 248),
    ],
    ids=lambda value: str(value)[:20],
)
def test_nearest(name, candidates, expected):
    found = nearest(name, *candidates)
    assert found == (expected or None)


def distance(left, right):
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row = row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(previous[j - 1] + (a != b), previous[j] + 1, row[j - 1] + 1))
    return row[-1]


def test_against_the_full_distance():
    """The band must give what the whole table gives."""
    source = random.Random(1)
    for _ in range(150):
        name = "".join(source.choices("ab.", k=source.randint(1, 20)))
        candidates = ["".join(source.choices("ab.", k=source.randint(1, 24))) for _ in range(8)]
        limit = min(max(len(name) // 3, 1), 8)
        best = min(candidates, key=lambda candidate: distance(name, candidate))
        expected = best if distance(name, best) <= limit else None
        assert nearest(name, *candidates) == expected
