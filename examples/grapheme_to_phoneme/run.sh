#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Says what the compiler makes of g2p.gf, then pronounces words: those given, else some
# that no dictionary has.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../test/setup.sh"
output=$build/examples/grapheme_to_phoneme
mkdir -p "$output"
export GATEFOLD_BUILD=$build
# NumPy's products on one thread, too.
export OPENBLAS_NUM_THREADS=1

"$build/bin/gatefold" report "$here/g2p.gf" --dim B=1,T=8
echo
exec "$python" "$here/grapheme_to_phoneme.py" --output "$output" "$@"
