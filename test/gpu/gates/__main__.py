# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gates for kernels of GPUs, without a GPU.

Compiles programs, assembles them with ptxas, and refuses kernels that spill, that a
multiprocessor cannot hold, that order memory wrongly, or that have other instructions of
tensor cores than their schedule asks for.

python test/gpu/gates [--all] [--family NAME]... [--program NAME]... [--chip CHIP]...
                      [--sampled COUNT [--seed N]] [--gatefold PATH] [--out DIR]
"""

import argparse
import pathlib
import sys
import tempfile
import time

import kernels
import sampled
from programs import CHIPS, programs

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def parse():
    parser = argparse.ArgumentParser(prog="gates")
    parser.add_argument("--all", action="store_true", help="every program for every chip")
    families = sorted({program.family for program in programs()})
    names = [program.name for program in programs()]
    parser.add_argument("--family", action="append", choices=families)
    parser.add_argument("--program", action="append", choices=names)
    parser.add_argument("--chip", action="append", choices=CHIPS)
    parser.add_argument("--sampled", type=int, metavar="COUNT", help="programs at random instead")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--gatefold", default=REPOSITORY / "build" / "bin" / "gatefold")
    parser.add_argument("--out", type=pathlib.Path, help="keeps PTX, cubins and logs")
    return parser.parse_args()


def named(options):
    """Programs that are listed, each with a chip."""
    pairs = [
        (program, chip)
        for program in programs()
        if not options.family or program.family in options.family
        if not options.program or program.name in options.program
        for chip in (options.chip or (CHIPS if options.all else program.chips))
    ]
    if not pairs:
        sys.exit("these are checked with --all or --chip only")
    return pairs


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if options.sampled:
            pairs = list(sampled.programs(folder, options.sampled, options.seed))
        else:
            pairs = named(options)
        failures = 0
        for program, chip in pairs:
            start = time.monotonic()
            try:
                errors, line = kernels.check(options.gatefold, program, chip, folder)
            except (kernels.Failed, RuntimeError, ValueError) as fault:
                errors, line = [str(fault)], "not assembled"
            seconds = time.monotonic() - start
            print(f"{program.name} {chip}: {line}, {seconds:.1f} s", flush=True)
            for error in errors:
                print(f"  error: {error}", flush=True)
            failures += bool(errors)
    print(f"{len(pairs)} kernels checked, {failures} refused")
    return 1 if failures else 0


sys.exit(main())
