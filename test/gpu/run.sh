#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks and measures kernels on a machine with a GPU, in less than 12 minutes:
#
#   test/gpu/run.sh [OPTION...] [PART...]
#
#   machine       what this machine has, and loudly what it lacks and what follows
#   compile       a library for each case; may be done elsewhere with --target sm_90
#   correctness   every family of kernels beside the library's code for the CPU
#   speed         times by the driver's events, TFLOP/s, and beside PyTorch and cuDNN where
#                 they are, in ratios of interleaved rounds
#
# All parts if none is named. What is finished is kept in the folder of results (--results, else
# gpu-results of the build), so that a rerun continues; results.json there holds everything.
# --only WORDS takes cases whose names contain them. The build is GATEFOLD_BUILD, else build.
#
# Status: 0 all passed, 1 something failed or no time was left, 77 there is no GPU here.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${GATEFOLD_BUILD:-$here/../../build}
results=$build/gpu-results
parts=() options=()
while [ $# -gt 0 ]; do
  case $1 in
    --results) results=${2:?--results needs a folder}; shift 2 ;;
    --only | --target) options+=("$1" "${2:?$1 needs a value}"); shift 2 ;;
    --emulate) options+=("$1"); shift ;;
    machine | compile | correctness | speed) parts+=("$1"); shift ;;
    *) echo "run.sh: expected machine, compile, correctness, speed, --results, --only, --target or --emulate, found $1" >&2; exit 2 ;;
  esac
done
[ ${#parts[@]} -gt 0 ] || parts=(machine compile correctness speed)

# One that has PyTorch, if any does.
find_python() {
  local candidate first=
  for candidate in ${GATEFOLD_PYTHON:-} python3 "$build/venv/bin/python"; do
    "$candidate" -c 'import numpy' 2>/dev/null || continue
    first=${first:-$candidate}
    "$candidate" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' && { echo "$candidate"; return; }
  done
  echo "${first:-python3}"
}
python=$(find_python)

# run PART SECONDS: the status of a part, which may take so long.
run() {
  timeout --signal=TERM --kill-after=10 "$2" "$python" "$here/device" "$1" --results "$results" \
    --gatefold "$build/bin/gatefold" --limit "$(($2 > 60 ? $2 - 60 : $2))" ${options[@]+"${options[@]}"}
}

status=0 here_is_gpu=true
declare -A limits=([machine]=70 [compile]=240 [correctness]=180 [speed]=180)
mkdir -p "$results"
for part in "${parts[@]}"; do
  echo "== $part"
  run "$part" "${limits[$part]}"
  code=$?
  [ $code -eq 2 ] && exit 1
  [ $code -eq 124 ] && echo "$part: longer than ${limits[$part]} s; a rerun continues"
  if [ $code -eq 77 ]; then here_is_gpu=false; elif [ $code -ne 0 ]; then status=1; fi
  if [ "$part" = machine ] && grep -q '"GPU":' "$results/machine.json" 2>/dev/null; then
    here_is_gpu=false
    case " ${options[*]-} " in
      *" --target "*) ;;
      *) break ;;
    esac
  fi
done
if [ $status -eq 0 ] && ! $here_is_gpu; then
  echo "run.sh: there is no GPU here, so no kernel was run" >&2
  exit 77
fi
case " ${parts[*]} " in
  *" correctness "* | *" speed "*) run summary 20 || status=1 ;;
esac
exit $status
