// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SequenceBlocks.h - Sequences computed block by block ----*- C++ -*-===//
//
// Computes a range of steps of a sequence instead of all of it, where it comes
// from operations that nothing else needs.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_SEQUENCEBLOCKS_H
#define PASSES_TILE_SEQUENCEBLOCKS_H

#include "dialect/GatefoldOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace gatefold {

/// The operations before a recurrence that give its sequences, and nothing
/// else, each step from the same steps of their operands.
class SequenceBlocks {
public:
  SequenceBlocks(RecurrenceOp op, mlir::RewriterBase &rewriter);

  /// Whether a product is among them, which gains by several steps at once.
  bool hasProduct() const { return product; }
  bool isComputed(mlir::Value sequence) const {
    return computed.count(sequence.getDefiningOp());
  }

  /// A block: `size` steps from `start` on.
  struct Range {
    mlir::OpFoldResult start, size;
  };
  /// Begins a block at the insertion point.
  void beginBlock(const Range &block) {
    range = block;
    blocks.clear();
  }
  /// The block of a sequence that isComputed.
  mlir::Value get(mlir::Value sequence) { return getBlock(sequence, timeAxis); }
  /// Erases what is computed in blocks now.
  void eraseWhole();

private:
  bool addIfPossible(mlir::Operation *op);
  bool mapOperands(mlir::Operation *op, int64_t timeDim,
                   llvm::SmallVectorImpl<std::pair<mlir::Value, int64_t>> &of);
  mlir::Value getBlock(mlir::Value value, int64_t timeDim);
  mlir::Value takeRange(mlir::Value value, int64_t timeDim);
  mlir::Value makeInit(mlir::Value init, int64_t timeDim);
  void compute(mlir::Operation *op);
  void computeLinalg(mlir::linalg::LinalgOp op);

  RecurrenceOp recurrence;
  mlir::RewriterBase &rewriter;
  int64_t timeAxis;
  bool product = false;
  /// The operations, the last first, and the dimension of their results that is
  /// time.
  llvm::MapVector<mlir::Operation *, int64_t> computed;
  Range range;
  llvm::DenseMap<mlir::Value, mlir::Value> blocks;
};

} // namespace gatefold

#endif // PASSES_TILE_SEQUENCEBLOCKS_H
