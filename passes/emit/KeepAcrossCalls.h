// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KeepAcrossCalls.h - What lives across calls in memory ----*- C++ -*-===//
//
// A pass on the LLVM IR of kernels, the last one before code is generated.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_KEEPACROSSCALLS_H
#define PASSES_EMIT_KEEPACROSSCALLS_H

#include "llvm/IR/PassManager.h"

namespace gatefold {

/// Attribute of a function that takes nearly all registers of a thread. A
/// whole block calls it, with the same arguments in all threads.
inline constexpr llvm::StringLiteral greedyName = "gatefold-greedy";

/// Keeps in shared memory what functions that are greedy, or call such ones,
/// are given, and what their callers need behind the call.
struct KeepAcrossCallsPass : llvm::PassInfoMixin<KeepAcrossCallsPass> {
  /// `mostBytes`: of static shared memory, with what the module has already.
  explicit KeepAcrossCallsPass(int64_t mostBytes) : mostBytes(mostBytes) {}
  llvm::PreservedAnalyses run(llvm::Module &module,
                              llvm::ModuleAnalysisManager &analyses);

private:
  int64_t mostBytes;
};

} // namespace gatefold

#endif // PASSES_EMIT_KEEPACROSSCALLS_H
