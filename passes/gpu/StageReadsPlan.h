// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StageReadsPlan.h - Which reads are staged, and where -----*- C++ -*-===//

#ifndef PASSES_GPU_STAGEREADSPLAN_H
#define PASSES_GPU_STAGEREADSPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/gpu/SharedTile.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace gatefold {

/// A matrix that goes to shared memory once, and the reads of one block that
/// all read just it.
struct StagedTile {
  llvm::SmallVector<mlir::vector::TransferReadOp> reads;

  mlir::vector::TransferReadOp first() const { return reads.front(); }
  SharedTile layout() const;
  /// From one tile to the next.
  int64_t bytes() const;
};

/// A body of a loop or of a branch, or that of the function.
struct StagingScope {
  mlir::Block *block;
  /// Copied where they are read.
  llvm::SmallVector<StagedTile> atOnce;
  /// In a loop: at places that follow its counter alone, so that a later
  /// iteration's can be copied while this one computes.
  llvm::SmallVector<StagedTile> ahead;
  /// What the loop's counter becomes in the places of `ahead`.
  llvm::SetVector<mlir::Operation *> places;
  /// How many iterations' tiles of `ahead` there are at once; 1: they are
  /// copied where they are read, too.
  int64_t stages = 1;
  /// Those that have tiles themselves, in order. They use one memory in turns.
  std::vector<StagingScope> inner;

  bool hasTiles() const { return !atOnce.empty() || !ahead.empty(); }
  mlir::scf::ForOp loop() const {
    return mlir::dyn_cast<mlir::scf::ForOp>(block->getParentOp());
  }
  /// Shared memory of it and all that is in it.
  int64_t bytes() const;
};

/// Finds what can be staged in a function, and chooses how many stages fit in
/// `available` bytes. `wanted` stages for each loop, or what suits it for 0.
/// `leavesRight`: not the right operands of products, of which each element is
/// for one warp. Says in remarks what is not staged.
StagingScope planStaging(mlir::func::FuncOp function, int64_t available,
                         int64_t wanted, bool leavesRight);

} // namespace gatefold

#endif // PASSES_GPU_STAGEREADSPLAN_H
