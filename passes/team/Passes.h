// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes that share a run among threads -----*- C++ -*-===//

#ifndef PASSES_TEAM_PASSES_H
#define PASSES_TEAM_PASSES_H

#include "dialect/GatefoldOps.h"
#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/team/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/team/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_TEAM_PASSES_H
