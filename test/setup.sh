#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing and builds Gatefold. Shared by examples/run.sh and
# test/run.sh; safe to run again (then it takes seconds). Debian packages need
# root or sudo; Python packages go into a virtual environment of their own under the build
# folder. To be sourced: sets `root`, `build` and `python`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${GATEFOLD_BUILD:-$root/build}
python=$build/venv/bin/python

say() { printf '\n== %s\n' "$*"; }

debian_packages=(
  cmake g++ ninja-build clang-22
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools lld-22
  libzip-dev nlohmann-json3-dev
  python3 python3-venv
  alsa-utils
)
python_packages=(
  numpy==2.4.6 pytest==9.2.0
  onnx==1.23.2 onnxruntime==1.32.0 soundfile==0.14.0 soxr==1.1.0 matplotlib==3.11.2
)
# Without their own dependencies (PyTorch, NLTK): only their data and plain code are read.
python_data_packages=(silero-vad==6.2.3 g2p-en==2.1.0)

install_debian_packages() {
  local missing=() package
  for package in "${debian_packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "Installing Debian packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

install_python_packages() {
  # The list of packages is its own stamp: a changed list installs again.
  local wanted="${python_packages[*]} ${python_data_packages[*]}"
  local stamp=$build/venv/gatefold-packages
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return
  say "Installing Python packages into $build/venv"
  mkdir -p "$build"
  python3 -m venv "$build/venv"
  "$python" -m pip install --quiet --disable-pip-version-check "${python_packages[@]}"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps "${python_data_packages[@]}"
  printf '%s' "$wanted" >"$stamp"
}

build_gatefold() {
  if [ ! -f "$build/build.ninja" ]; then
    say "Configuring in $build"
    # Clang takes a third of GCC's time here, most of which is MLIR's headers.
    cmake -S "$root" -B "$build" -G Ninja \
      -DCMAKE_C_COMPILER="${CC:-clang-22}" -DCMAKE_CXX_COMPILER="${CXX:-clang++-22}"
  fi
  say "Building in $build"
  ninja -C "$build"
}

install_debian_packages
install_python_packages
build_gatefold
