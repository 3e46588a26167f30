// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GatefoldPrecompiled.cpp - Carrier of the precompiled header --------===//
//
// CMake builds a precompiled header with the sources of some target: this one.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldPrecompiled.h"
