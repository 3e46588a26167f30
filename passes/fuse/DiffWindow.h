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

/// In the region: the query sees the keys [first, end) at most.
struct VisibleKeys {
  mlir::Value first, end;
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
  /// Of how many keys the scores are computed by themselves, for each query:
  /// at the ends of what it sees, where keys lack neighbours that exist for
  /// other queries.
  int64_t getEdgeColumns() {
    return found.radius * (int64_t(hasFirstEdge()) + int64_t(hasLastEdge()));
  }

private:
  /// A bound of the window, or -1 where there is none.
  int64_t getWindow(unsigned side) {
    return attention.getWindow() ? (*attention.getWindow())[side] : -1;
  }
  bool isVisibleOnly() {
    return neighbours.getScope() == NeighbourScope::Visible;
  }
  bool hasFirstEdge() { return isVisibleOnly() && getWindow(0) >= 0; }
  bool endsByPlace() { return attention.getCausal() || getWindow(1) >= 0; }
  bool hasLastEdge() {
    return isVisibleOnly() &&
           (endsByPlace() || (attention.getLengths() && !foldsLengths()));
  }
  /// Whether all queries that share a key end at the same one, so that its
  /// folded form knows the end.
  bool foldsLengths();
  mlir::Value constant(mlir::OpBuilder &builder, int64_t value);
  /// keys[.., place, ..] times (1 + N), minus its neighbours in the range.
  mlir::Value makeStencil(
      mlir::OpBuilder &builder, mlir::Value key, VisibleKeys range,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> read);
  mlir::Value makeLength(mlir::OpBuilder &builder, mlir::ValueRange indices,
                         mlir::Value count);
  mlir::Value foldKeys(mlir::Value keys, int64_t axis);
  mlir::BlockArgument addKeys(mlir::Value keys, mlir::Type rowType);
  mlir::BlockArgument addCapture(mlir::Value perSequence);
  VisibleKeys findVisible();
  mlir::Value takeQuery();
  mlir::Value makeScore(mlir::Value query, mlir::Value place);
  void addEdges(mlir::Value query, VisibleKeys range, bool isFirst,
                llvm::SmallVectorImpl<mlir::Value> &columns,
                llvm::SmallVectorImpl<mlir::Value> &edges);
  mlir::Value putEdges(mlir::Value scores);

  RowNeighboursOp neighbours;
  AttentionOp attention;
  mlir::IRRewriter &rewriter;
  mlir::Location loc;
  DiffWindow found;
};

} // namespace gatefold

#endif // PASSES_FUSE_DIFFWINDOW_H
