#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles sentiment.gf twice, with and without --naive, makes random weights, writes
# the program as it stands after each phase, and runs sentiment.py.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../test/setup.sh"
output=$build/examples/bilstm_diff_attention
gatefold=$build/bin/gatefold
mkdir -p "$output/phases"

"$gatefold" init "$here/sentiment.gf" --seed 1 -o "$output/sentiment.safetensors"
"$gatefold" compile "$here/sentiment.gf" -o "$output/libsentiment.so" --timing
"$gatefold" compile "$here/sentiment.gf" -o "$output/libsentiment_naive.so" --naive
for phase in import simplify fuse schedule tile bufferize cpu; do
  "$gatefold" compile "$here/sentiment.gf" --emit $phase -o "$output/phases/$phase.mlir"
done
"$gatefold" report "$here/sentiment.gf" --dim B=1,T=512
exec "$python" "$here/sentiment.py" --output "$output" "$@"
