// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - Every pass ------------------------------------*- C++ -*-===//
//
// Constructors and registration, generated from Passes.td of each folder.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H

#include "passes/bufferize/Passes.h"
#include "passes/cpu/Passes.h"
#include "passes/fuse/Passes.h"
#include "passes/gpu/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/simplify/Passes.h"
#include "passes/split/Passes.h"
#include "passes/team/Passes.h"
#include "passes/tile/Passes.h"

namespace gatefold {

inline void registerGatefoldPasses() {
  registerGatefoldSimplifyPasses();
  registerGatefoldFusePasses();
  registerGatefoldSchedulePasses();
  registerGatefoldTilePasses();
  registerGatefoldSplitPasses();
  registerGatefoldBufferizePasses();
  registerGatefoldTeamPasses();
  registerGatefoldCpuPasses();
  registerGatefoldGpuPasses();
}

} // namespace gatefold

#endif // PASSES_PASSES_H
