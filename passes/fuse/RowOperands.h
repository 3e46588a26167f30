// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowOperands.h - Whole tensors as operands of rows --------*- C++ -*-===//
//
// Gives the region of an attention what operations on whole tensors, before or
// behind it, read.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_ROWOPERANDS_H
#define PASSES_FUSE_ROWOPERANDS_H

#include "dialect/GatefoldOps.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// A tensor, and where each of its dimensions stands beside the result of an
/// attention of `leadRank` leading dimensions.
struct RowOperand {
  /// A dimension of 1 that the region does not see.
  static constexpr int64_t unit = -1;

  mlir::Value tensor;
  /// 0 to leadRank - 1: that leading dimension; leadRank: the queries; more:
  /// the region sees it.
  llvm::SmallVector<int64_t> places;
  unsigned leadRank;

  /// Whether the dimensions have an attention's order.
  bool isOrdered() const;
  /// Whether it has a row for each query.
  bool isQuery() const;
  /// Becomes a query or a capture of the attention; gives what the region
  /// sees, without dimensions of 1.
  mlir::BlockArgument addTo(mlir::RewriterBase &rewriter, AttentionOp op) const;

private:
  unsigned countOuter() const;
  mlir::Value arrange(mlir::RewriterBase &rewriter, mlir::Location loc) const;
};

} // namespace gatefold

#endif // PASSES_FUSE_ROWOPERANDS_H
