// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes of phase cpu -----------------------*- C++ -*-===//

#ifndef PASSES_CPU_PASSES_H
#define PASSES_CPU_PASSES_H

#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/cpu/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_CPU_PASSES_H
