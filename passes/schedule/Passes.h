// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes of phase schedule ------------------*- C++ -*-===//

#ifndef PASSES_SCHEDULE_PASSES_H
#define PASSES_SCHEDULE_PASSES_H

#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_SCHEDULE_PASSES_H
