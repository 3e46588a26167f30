// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BlockUniformity.h - Values alike in a thread block -------*- C++ -*-===//
//
// LLVM's uniformity analysis for NVPTX takes all that is not plain arithmetic
// for divergent: even the number of a block, and what a function returns.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_BLOCKUNIFORMITY_H
#define PASSES_EMIT_BLOCKUNIFORMITY_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/TargetTransformInfoImpl.h"
#include "llvm/Analysis/UniformityAnalysis.h"

namespace gatefold {

/// Tells which values are the same in all threads of a block. Functions are
/// called by whole blocks, with the same arguments in all threads, unless a
/// caller says something else.
class BlockUniformity {
public:
  explicit BlockUniformity(llvm::FunctionAnalysisManager &analyses)
      : analyses(analyses) {}

  /// Of a function as it is now.
  llvm::UniformityInfo analyze(llvm::Function &function);
  /// Whether a call of it has the same result in all threads, if its arguments
  /// are the same.
  bool isResultUniform(llvm::Function &function);

private:
  llvm::FunctionAnalysisManager &analyses;
  llvm::DenseMap<llvm::Function *, bool> results;
};

} // namespace gatefold

#endif // PASSES_EMIT_BLOCKUNIFORMITY_H
