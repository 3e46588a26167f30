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

/// How many queries, and with `online` and `registers` how many keys, an
/// attention looks at at a time.
struct AttentionBlocks {
  int64_t queries = 0, keys = 0;
  /// With `resident` and an open number of keys: queries times keys at most.
  int64_t scores = 0;
};

/// Queries: so many that their rows of scores stay in the second cache, and
/// take little memory (`ScoreRows`); a multiple of the rows that a product
/// takes at once. Keys: so many that the
/// scores of a few queries stay in the first; whole panels.
AttentionBlocks chooseBlocks(AttentionOp op, llvm::StringRef algorithm,
                             const TargetDescription &target);

/// Why an attention cannot be computed in a GPU's registers: `its 'OPERATION'
/// ..`, or how much it needs; empty where it can.
std::string whyNotInRegisters(AttentionOp op, const TargetDescription &target);

/// With `registers`: 32-bit registers that a thread needs, and bytes of shared
/// memory that a thread block needs, roughly.
struct RegistersNeed {
  int64_t registers = 0, sharedBytes = 0;
};
RegistersNeed needOfRegisters(AttentionOp op, AttentionBlocks blocks,
                              const TargetDescription &target);

/// Whether an attention in registers would have larger blocks, or fit at all,
/// if the queries that it computes were given.
bool lacksRegistersForQueries(AttentionOp op, const TargetDescription &target);

/// Attribute of a product: the width of its panels, 0 for a plain loop; instead
/// of what would be chosen.
inline constexpr llvm::StringLiteral tileName = "gf.tile";
/// Wider panels would only be emptier.
inline constexpr int64_t mostPanelWidth = 1024;

struct ProductForm {
  /// 0 where the product is left as it is, and why.
  int64_t panelWidth = 0;
  std::string reason;
};

/// The form of a product of `rows` rows with `columns` columns of elements
/// `type`; sizes may be ShapedType::kDynamic. `isPrepared`: the columns are
/// packed once, not in each run.
ProductForm chooseProductForm(const TargetDescription &target, mlir::Type type,
                              int64_t rows, int64_t columns, bool isPrepared);

} // namespace gatefold

#endif // PASSES_SCHEDULE_COSTMODEL_H
