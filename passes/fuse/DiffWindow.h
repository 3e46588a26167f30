// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DiffWindow.h - Parts of gf-fold-diff-window --------------*- C++ -*-===//
//
// Scores plus their differences from neighbours, and what they become.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_DIFFWINDOW_H
#define PASSES_FUSE_DIFFWINDOW_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// s + row_neighbours(s), from its parts.
struct DiffWindow {
  RowScoresOp product;
  /// Null where the scores are not scaled.
  mlir::linalg::GenericOp scale;
  RowNeighboursOp neighbours;
  mlir::linalg::GenericOp sum;
  int64_t radius = 0;
};

/// Folds one.
class DiffWindowFold {
public:
  DiffWindowFold(RowNeighboursOp neighbours, mlir::IRRewriter &rewriter)
      : neighbours(neighbours),
        attention(neighbours->getParentOfType<AttentionOp>()),
        rewriter(rewriter), loc(neighbours.getLoc()) {}

  /// Null, or why it is not folded.
  const char *match();
  /// After a match.
  void fold();
  /// Whether some keys lack neighbours for some queries.
  bool hasEdges() {
    return neighbours.getScope() == NeighbourScope::Visible &&
           (attention.getCausal() || attention.getLengths() ||
            (attention.getWindow() && (*attention.getWindow())[1] >= 0));
  }

private:
  mlir::Value constant(mlir::OpBuilder &builder, int64_t value);
  /// keys[.., place, ..] times (1 + N), minus its neighbours in [0, end).
  mlir::Value makeStencil(
      mlir::OpBuilder &builder, mlir::Value key, mlir::Value end,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> read);
  mlir::Value foldKeys(mlir::Value keys, int64_t axis);
  mlir::BlockArgument addKeys(mlir::Value keys, mlir::Type rowType);
  mlir::BlockArgument addCapture(mlir::Value perSequence);
  mlir::Value endOfVisible();
  mlir::Value makeEdge(mlir::Value end, int64_t fromEnd);
  mlir::Value putEdges(mlir::Value scores);

  RowNeighboursOp neighbours;
  AttentionOp attention;
  mlir::IRRewriter &rewriter;
  mlir::Location loc;
  DiffWindow found;
};

} // namespace gatefold

#endif // PASSES_FUSE_DIFFWINDOW_H
