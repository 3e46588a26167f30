#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles silero_vad.gf to a library and runs it on recordings: those given, else
# the ones of Debian's alsa-utils. Expects a built Gatefold (examples/run.sh builds).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${GATEFOLD_BUILD:-$here/../../build}
output=$build/examples/voice_activity
mkdir -p "$output"

[ $# -gt 0 ] || set -- /usr/share/sounds/alsa/*.wav

echo "gatefold compile silero_vad.gf -o libsilero_vad.so --dim B=1 --timing"
"$build/bin/gatefold" compile "$here/silero_vad.gf" -o "$output/libsilero_vad.so" --dim B=1 --timing
echo
exec "$build/venv/bin/python" "$here/voice_activity.py" \
  --library "$output/libsilero_vad.so" --picture "$output/voice_activity.png" "$@"
