// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes of phase bufferize -----------------*- C++ -*-===//

#ifndef PASSES_BUFFERIZE_PASSES_H
#define PASSES_BUFFERIZE_PASSES_H

#include "dialect/GatefoldOps.h"
#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/bufferize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/bufferize/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_BUFFERIZE_PASSES_H
