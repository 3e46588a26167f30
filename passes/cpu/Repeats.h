// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Repeats.h - Sequences of operations that occur again -----*- C++ -*-===//
//
// Finds sequences that are equal but for the values they use.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_REPEATS_H
#define PASSES_CPU_REPEATS_H

#include "passes/PassCommon.h"

namespace gatefold {

/// Operations of one block with effects, one after another. What stands between
/// them only computes values.
using Stretch = llvm::SmallVector<mlir::Operation *>;

/// Stretches that are equal but for values from around them.
struct Repeat {
  llvm::SmallVector<Stretch> occurrences;
  /// Operations of one, with those nested in it.
  int64_t size;
  /// Where the first one begins, among all operations.
  unsigned place;
  /// Operations that all but one of the occurrences hold.
  int64_t saved() const { return size * (int64_t(occurrences.size()) - 1); }
};

/// All repeats of a module outside of loops, those that save most first. They
/// may overlap.
llvm::SmallVector<Repeat> findRepeats(mlir::ModuleOp module);

/// Calls `visit` for each use of a value from around a stretch, in an order
/// that is the same for equal ones.
void forEachOuterUse(llvm::ArrayRef<mlir::Operation *> stretch,
                     llvm::function_ref<void(mlir::OpOperand &)> visit);

} // namespace gatefold

#endif // PASSES_CPU_REPEATS_H
