# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages the layout of texts and asks a formatter to settle it again.

usage: layout.py FOLDER TEXT... -- COMMAND...

COMMAND with files behind it rewrites them in the standard layout. Where only
spaces, indents and blank lines were damaged, the text comes back byte for byte;
where lines were broken too, its tokens do, and a second run changes nothing.
"""

import pathlib
import random
import re
import subprocess
import sys

TOKEN = re.compile(
    r"""\#[^\n]* | "(?:\\.|[^"\\])*" | [A-Za-z_]\w*'? | \d(?:[eE][+-]\d|\w|\.(?!\.))*
      | \.\.\. | -> | [=!<>]= | \*\* | // | [^\s\w]""",
    re.VERBOSE,
)
TURNS = 20


def tokens(text):
    # A comment keeps its words, not the spaces at its end.
    return [token.rstrip() for token in TOKEN.findall(text)]


def spaces(chance, least, most):
    return " " * chance.randint(least, most)


def damage_line(line, chance):
    found = tokens(line)
    out = ""
    for token in found:
        glued = tokens(out + token) == tokens(out) + [token] if out else True
        least = 0 if glued else 1
        # Half of the gaps stay without a space, as far as the tokens allow.
        out += spaces(chance, least, chance.choice([least, 3])) + token
    return out + spaces(chance, 0, 2)


def damage(text, chance):
    """The text with other spaces, indents and blank lines."""
    out = []
    lines = text.split("\n")[:-1]
    for i, line in enumerate(lines):
        if not line:
            out += [spaces(chance, 0, 3)] * chance.randint(1, 3)
            continue
        code = line.split("#")[0].strip()
        if code == "}":
            out += [""] * chance.randint(0, 2)
        out.append(damage_line(line, chance))
        if code.endswith("{"):
            out += [spaces(chance, 0, 3)] * chance.randint(0, 2)
    end = chance.choice(["\n", "\r\n"])
    start = chance.choice(["", "\n\n", "\ufeff"])
    return start + end.join(out) + chance.choice(["", end, 3 * end])


def break_lines(text, chance):
    """The text with line breaks, blank lines and comments after some commas."""

    def broken(match):
        return match[0] + chance.choice(["", "", "\n", "\n\n\n", " # why\n", "\n# why\n"])

    lines = []
    for line in text.split("\n"):
        if "#" not in line:
            line = re.sub(r"[,(\[] ?(?=.)", broken, line)
        lines.append(line)
    return "\n".join(lines)


def settle(command, paths):
    done = subprocess.run(command + [str(path) for path in paths], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}: {done.stderr[:2000]}")
    return [path.read_bytes().decode() for path in paths]


def main():
    split = sys.argv.index("--")
    folder = pathlib.Path(sys.argv[1])
    samples = [pathlib.Path(name).read_text() for name in sys.argv[2:split]]
    command = sys.argv[split + 1 :]
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)

    cases = [(sample, False) for sample in samples for _ in range(TURNS)]
    cases += [(sample, True) for sample in samples for _ in range(TURNS)]
    paths, damaged = [], []
    for i, (sample, broken) in enumerate(cases):
        text = break_lines(sample, chance) if broken else sample
        text = damage(text, chance)
        path = folder / f"damaged-{i}.gf"
        path.write_bytes(text.encode())
        paths.append(path)
        damaged.append(text)

    changed = sum(text != sample for text, (sample, _) in zip(damaged, cases))
    once = settle(command, paths)
    twice = settle(command, paths)
    faults = 0
    for path, (sample, broken), text, first, second in zip(paths, cases, damaged, once, twice):
        good = first == second and (
            tokens(first) == tokens(text.lstrip("\ufeff")) if broken else first == sample
        )
        if good:
            path.unlink()
        else:
            faults += 1
            print(f"{path}: the layout was not settled")
    print(f"{len(paths)} texts, {changed} damaged, {faults} faults")
    sys.exit(1 if faults or changed < len(paths) // 2 else 0)


main()
