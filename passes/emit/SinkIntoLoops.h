// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SinkIntoLoops.h - Numbers of rare paths are made there ---*- C++ -*-===//
//
// A pass on the LLVM IR of kernels.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_SINKINTOLOOPS_H
#define PASSES_EMIT_SINKINTOLOOPS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"

namespace gatefold {

/// An attribute of a function that is a product of matrices and nothing else.
inline constexpr llvm::StringLiteral productOnlyName = "gatefold-product";

/// In functions that are products of matrices makes integers and addresses that
/// are used only beside the products, not with them, in the blocks that use
/// them, instead of keeping them in registers through the loop of the products.
struct SinkIntoLoopsPass : llvm::PassInfoMixin<SinkIntoLoopsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace gatefold

#endif // PASSES_EMIT_SINKINTOLOOPS_H
