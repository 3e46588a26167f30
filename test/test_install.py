# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `cmake --install` puts somewhere works there, without the build tree."""

import os
import pathlib
import subprocess

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("GATEFOLD_BUILD", ROOT / "build"))


def test_installed_program_compiles_with_its_library(tmp_path):
    prefix = tmp_path / "prefix"
    subprocess.run(
        ["cmake", "--install", BUILD, "--prefix", prefix],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    text = tmp_path / "m.gf"
    text.write_text(
        "import cells\n\nmodel m(x: [B, T, 2]) -> [B, T, 3] {\n"
        "  param rnn: gru(H=3)\n  y, _ = scan(rnn, x)\n  return y\n}\n"
    )
    library = tmp_path / "libm1.so"
    program = prefix / "bin" / "gatefold"
    subprocess.run([program, "compile", text, "-o", library], check=True)
    numpy.save(tmp_path / "x.npy", numpy.ones((1, 4, 2), numpy.float32))
    for file in (text, library):
        result = subprocess.run(
            [program, "run", file, "--seed", "1", "--input", f"x={tmp_path / 'x.npy'}"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert result.stdout.startswith("output  f32[1, 4, 3]")
    # A host that loads any library needs the generic header alone.
    host = tmp_path / "host.c"
    host.write_text('#include "runtime/Runtime.h"\nint main(void) { return 0; }\n')
    include = prefix / "include" / "gatefold"
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Werror", f"-I{include}", "-c", host, "-o", tmp_path / "host.o"],
        check=True,
    )
