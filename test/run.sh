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

# Two at a time. The numeric tests take longer than all others together, so that those
# whose names begin with f or h run beside these.
say "pytest"
run_pytest() { # NAME ARGUMENT...
  local name=$1
  shift
  GATEFOLD_BUILD=$build "$python" -m pytest -q -p no:cacheprovider "$@" \
    --junit-xml "$reports/$name.xml"
}
run_pytest numerics "$root/test/numerics" --ignore-glob "$root/test/numerics/test_[fh]*" \
  >"$reports/numerics.log" 2>&1 &
numerics=$!
run_pytest pytest "$root/test" "$root/examples" \
  --ignore-glob "$root/test/numerics/test_[!fh]*" || status=1
wait "$numerics" || status=1
cat "$reports/numerics.log"

"$python" "$root/test/summary.py" "$reports/lit.xml" "$reports/pytest.xml" "$reports/numerics.xml" || status=1
exit $status
