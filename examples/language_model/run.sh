#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles Differential Transformers of 1 to 12 blocks and lets those of 12 write tokens,
# from their caches and from the whole text anew.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../test/setup.sh"
output=$build/examples/language_model
mkdir -p "$output"
export GATEFOLD_BUILD=$build

exec "$python" "$here/language_model.py" --output "$output" "$@"
