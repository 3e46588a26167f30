// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowOperations.h - Row operations to linalg ---------------*- C++ -*-===//
//
// What the row operations of one query become, once it is known who sees whom.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_ROWOPERATIONS_H
#define PASSES_TILE_ROWOPERATIONS_H

#include "dialect/GatefoldOps.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// The query's row: its visible keys and its bias.
struct RowContext {
  /// Number of keys.
  mlir::Value keyCount;
  /// The keys that some query of the head can reach, [first, end).
  mlir::Value reachFirst, reachEnd;
  /// Whether that is all keys.
  bool reachesAll = false;
  /// Bool for each key: rank 1, over the keys.
  mlir::Value visible;
  /// Adds bias of key `key` to a score; null without a bias.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Value key,
                            mlir::Type element)>
      bias;
};

/// Replaces a row operation. Any other operation is left alone.
mlir::LogicalResult lowerRowOperation(mlir::Operation *op,
                                      const RowContext &context,
                                      mlir::RewriterBase &rewriter);

} // namespace gatefold

#endif // PASSES_TILE_ROWOPERATIONS_H
