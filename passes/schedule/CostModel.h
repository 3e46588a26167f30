// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CostModel.h - What an algorithm's sizes are chosen from --*- C++ -*-===//
//
// Chooses algorithms and their block sizes from the shapes of an operation and
// the caches of the target. Nothing else makes such a choice.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SCHEDULE_COSTMODEL_H
#define PASSES_SCHEDULE_COSTMODEL_H

#include "dialect/GatefoldOps.h"
#include "passes/support/Target.h"

namespace gatefold {

/// What is best for a recurrence or an attention, of which only the sizes that
/// are known count.
llvm::StringRef chooseAlgorithm(mlir::Operation *op,
                                const TargetDescription &target);

/// How many rows of a sequence (steps times batch) a block of steps holds, so
/// that what is computed for all of them at once stays in the second cache.
int64_t chooseStepRows(RecurrenceOp op, const TargetDescription &target);

/// How many queries, and with `online` how many keys, an attention looks at at
/// a time.
struct AttentionBlocks {
  int64_t queries = 0, keys = 0;
};

/// Queries: so many that their rows of scores stay in the second cache; a
/// multiple of the rows that a product takes at once. Keys: so many that the
/// scores of a few queries stay in the first; whole panels.
AttentionBlocks chooseBlocks(AttentionOp op, llvm::StringRef algorithm,
                             const TargetDescription &target);

} // namespace gatefold

#endif // PASSES_SCHEDULE_COSTMODEL_H
