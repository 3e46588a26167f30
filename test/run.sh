#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing, builds, and runs every quick test: lit (texts, IR,
# messages, the C interface), then pytest (numbers against float64, file readers).
# Closes with one line counted over all of them.
set -euo pipefail
source "$(dirname "$0")/setup.sh"

reports=$build/test-reports
rm -rf "$reports"
mkdir -p "$reports"
status=0

say "lit"
lit=$(sed -n 's/^LLVM_EXTERNAL_LIT:[A-Z]*=//p' "$build/CMakeCache.txt")
"$lit" -sv "$build/test" --xunit-xml-output "$reports/lit.xml" || status=1

say "pytest"
GATEFOLD_BUILD=$build "$python" -m pytest -q -p no:cacheprovider "$root/test" "$root/examples" \
  --junit-xml "$reports/pytest.xml" || status=1

"$python" "$root/test/summary.py" "$reports/lit.xml" "$reports/pytest.xml" || status=1
exit $status
