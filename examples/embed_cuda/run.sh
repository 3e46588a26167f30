#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles tagger.gf for the CPU and two kinds of GPUs into one library, builds main.cu beside
# it with nvcc, and runs it. Expects a built Gatefold (examples/run.sh builds). Leaves
# everything in a folder of the build, or in the one that is given. Ends with 77 where there is
# no nvcc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${GATEFOLD_BUILD:-$here/../../build}
output=${1:-$build/examples/embed_cuda}
gatefold=$build/bin/gatefold

nvcc=$(PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin" command -v nvcc) || {
  echo "embed_cuda: nvcc, of NVIDIA's toolkit, is neither on PATH nor in CUDA_HOME: main.cu cannot be built" >&2
  exit 77
}

mkdir -p "$output"
"$gatefold" init "$here/tagger.gf" --seed 1 -o "$output/tagger.safetensors"
"$gatefold" compile "$here/tagger.gf" --weights "$output/tagger.safetensors" \
  --target native --target sm_80 --target sm_90 -o "$output/libtagger.so"

# The library opens the driver itself: nothing here is linked to libcuda.
"$nvcc" -std=c++17 -O2 -I "$output" "$here/main.cu" "$output/libtagger.so" \
  -Xlinker -rpath -Xlinker "$output" -o "$output/embed_cuda"
exec "$output/embed_cuda"
