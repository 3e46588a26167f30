# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up JUnit reports and prints `N passed, N failed[, N skipped]`.

A report that is missing or holds no test fails: a suite that did not run is
not a suite that passed.
"""

import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """(passed, failed, skipped) of one report."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main(paths):
    total = [0, 0, 0]
    for path in paths:
        try:
            counts = count(path)
        except (OSError, ElementTree.ParseError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            counts = (0, 1, 0)
        if sum(counts) == 0:
            print(f"{path}: no test ran", file=sys.stderr)
            counts = (0, 1, 0)
        total = [a + b for a, b in zip(total, counts)]
    passed, failed, skipped = total
    line = f"{passed} passed, {failed} failed"
    if skipped:
        line += f", {skipped} skipped"
    print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
