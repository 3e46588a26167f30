// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes of phase split ---------------------*- C++ -*-===//

#ifndef PASSES_SPLIT_PASSES_H
#define PASSES_SPLIT_PASSES_H

#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/split/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/split/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_SPLIT_PASSES_H
