#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Draws the maps of a differential attention over a sentence: the one given, else one
# that repeats its words.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../test/setup.sh"
output=$build/examples/attention_maps
mkdir -p "$output"
export GATEFOLD_BUILD=$build

exec "$python" "$here/attention_maps.py" --output "$output" "$@"
