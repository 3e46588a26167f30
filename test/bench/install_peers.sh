#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs the peers that the set-up of the tests leaves out, into the project's Python:
# OpenVINO (60 MB), and with `--torch` PyTorch (its wheel on PyPI brings CUDA: 5 GB).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${GATEFOLD_BUILD:-$root/build}/venv/bin/python
[ -x "$python" ] || { echo "no $python: run test/run.sh or examples/run.sh first" >&2; exit 1; }
"$python" -m pip install --quiet openvino==2026.4.1
[ "${1:-}" != --torch ] || "$python" -m pip install --quiet torch==2.15.0
"$python" -m pip list 2>/dev/null | grep -iE "^(onnxruntime|openvino|torch) "
