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
#include "passes/support/TensorAxes.h"

namespace gatefold {

/// A tensor, and where each of its dimensions stands beside the result of an
/// attention of `leadRank` leading dimensions.
struct RowOperand {
  mlir::Value tensor;
  /// 0 to leadRank - 1: that leading dimension; leadRank: the queries; more:
  /// the region sees it, in the order of the dimensions. None: one of 1, which
  /// the region does not see.
  TensorAxes axes;
  unsigned leadRank;

  /// Whether it has a row for each query.
  bool isQuery() const { return hasAxis(leadRank); }
  bool hasAxis(int64_t axis) const;
  /// Whether it can be an operand of the attention.
  bool canAdd(AttentionOp op) const;
  /// Becomes a query or a capture of the attention; gives what the region
  /// sees, without dimensions of 1.
  mlir::BlockArgument addTo(mlir::RewriterBase &rewriter, AttentionOp op) const;
};

/// The size of a leading dimension or of the queries, if the result's type
/// tells it; of others dynamic.
int64_t getOuterSize(AttentionOp op, int64_t axis);

} // namespace gatefold

#endif // PASSES_FUSE_ROWOPERANDS_H
