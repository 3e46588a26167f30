// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes of phase tile ----------------------*- C++ -*-===//

#ifndef PASSES_TILE_PASSES_H
#define PASSES_TILE_PASSES_H

#include "dialect/GatefoldDialect.h"
#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/tile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/tile/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_TILE_PASSES_H
