#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prints the operations of four attention layers as formulas of the length, then counts
# and measures them from 512 to 8192 tokens: a table and a picture.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../test/setup.sh"
output=$build/examples/attention_cost
mkdir -p "$output"
export GATEFOLD_BUILD=$build

for layer in standard differential_layer adaptive sparse; do
  "$build/bin/gatefold" report "$here/layers.gf" --entry $layer --dim B=1 | grep -E '^entry|^operations'
done
echo
exec "$python" "$here/attention_cost.py" --output "$output" "$@"
