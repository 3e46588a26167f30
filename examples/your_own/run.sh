#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Says what the compiler makes of the cell and of the attention, then runs your_own.py:
# it compiles both, with and without --naive, against float64 NumPy and the clock.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../test/setup.sh"
output=$build/examples/your_own
mkdir -p "$output"
export GATEFOLD_BUILD=$build

for text in your_own_cell your_own_attention; do
  "$build/bin/gatefold" report "$here/$text.gf" --dim B=1,T=512
  echo
done
exec "$python" "$here/your_own.py" --output "$output" "$@"
