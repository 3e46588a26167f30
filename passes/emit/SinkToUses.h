// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SinkToUses.h - Values are made where they are used -------*- C++ -*-===//
//
// A pass on the LLVM IR of kernels.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_SINKTOUSES_H
#define PASSES_EMIT_SINKTOUSES_H

#include "llvm/IR/PassManager.h"

namespace gatefold {

/// In functions that take nearly all registers (greedyName) makes what is
/// computed of other values in front of its first use in its block. Memory,
/// barriers and instructions of a warp keep their order.
struct SinkToUsesPass : llvm::PassInfoMixin<SinkToUsesPass> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace gatefold

#endif // PASSES_EMIT_SINKTOUSES_H
