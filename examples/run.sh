#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing, builds, and runs the main job: a published speech
# detector, compiled from its equations, on real recordings. A recording of
# your own: examples/run.sh FILE.wav ...
set -euo pipefail
source "$(dirname "$0")/../test/setup.sh"
exec "$root/examples/voice_activity/run.sh" "$@"
