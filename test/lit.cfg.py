# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit: which files are tests, what their RUN lines may say, and what only some
machines have.

Features: `ptxas` and `nvcc` (of NVIDIA's toolkit, on PATH), `avx512` (of this CPU), `cuda-driver`
(libcuda.so.1 can be opened), `cuda` (and has a GPU).
Substitutions beside the programs: `%python`, `%plugin`, `%test` (this folder in
the source tree), `%source` (the source tree), `%build` (the build's), `%cc` (the C compiler),
`%fakecuda` (the folder of the driver whose GPU is the emulator).
"""

import ctypes
import os
import shutil

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Gatefold"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".gf", ".test"]
config.excludes = ["Inputs", "bench", "device", "models"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.gatefold_build, "test")

python = os.path.join(config.gatefold_build, "venv", "bin", "python")
if not os.path.exists(python):
    python = shutil.which("python3")
plugin = os.path.join(config.gatefold_build, "lib", "libGatefoldPlugin" + config.plugin_suffix)

config.substitutions += [
    ("%python", python),
    ("%plugin", plugin),
    ("%source", config.gatefold_source),
    ("%build", config.gatefold_build),
    ("%fakecuda", os.path.join(config.gatefold_build, "test", "cuda", "fake")),
    ("%test", config.test_source_root),
    ("%cc", config.host_compiler),
]

llvm_config.use_default_substitutions()
programs = os.path.join(config.gatefold_build, "bin")
llvm_config.with_environment("PATH", [programs, config.llvm_tools_dir], append_path=True)
# A test that names a program which was not built fails when it runs.
llvm_config.add_tool_substitutions(
    [
        ToolSubst(name, unresolved="ignore")
        for name in ("gatefold", "gatefold-emulate", "gatefold-opt", "gatefold-lsp-server")
    ],
    [programs],
)
llvm_config.add_tool_substitutions(
    [ToolSubst("mlir-opt", unresolved="fatal")], [config.llvm_tools_dir]
)


def has_avx512():
    try:
        with open("/proc/cpuinfo") as info:
            return any(line.startswith("flags") and "avx512f" in line.split() for line in info)
    except OSError:
        return False


def count_gpus():
    """Those that the CUDA driver of this machine finds; none: there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    count = ctypes.c_int(0)
    if driver.cuInit(0) == 0:
        driver.cuDeviceGetCount(ctypes.byref(count))
    return count.value


gpus = count_gpus()
if gpus is not None:
    config.available_features.add("cuda-driver")
if gpus:
    config.available_features.add("cuda")
for tool in ("ptxas", "nvcc"):
    if shutil.which(tool):
        config.available_features.add(tool)
if has_avx512():
    config.available_features.add("avx512")
