// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionTail.h - Parts of gf-sink-into-attention --------*- C++ -*-===//
//
// Operations on whole tensors that follow an attention row by row, and what
// they become in its region.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_ATTENTIONTAIL_H
#define PASSES_FUSE_ATTENTIONTAIL_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/fuse/RowOperands.h"

namespace gatefold {

/// A tensor that holds a row for each leading index and query, in any order and
/// merged in any way.
struct RowTensor {
  /// Leading dimensions, queries, then the dimensions of a row.
  TensorAxes axes;
  /// The sizes of these, none of which is 1.
  llvm::SmallVector<int64_t> row;
};

/// What follows an attention and computes one query's row of its results from
/// that row alone.
class AttentionTail {
public:
  /// Finds the operations; changes nothing.
  AttentionTail(AttentionOp op, mlir::IRRewriter &rewriter);

  /// In the order of the program; each reads results of the attention or of
  /// others.
  llvm::ArrayRef<mlir::Operation *> getOperations() const { return operations; }
  bool isRow(mlir::Value value) const { return rows.contains(value); }
  /// Null if the first `count` operations leave one result in place of one of
  /// the attention's, or why they do not.
  const char *whyNot(unsigned count) const;
  /// The attention with the first `count` operations in its region, which
  /// whyNot allows, beside the one that there is.
  AttentionOp build(unsigned count);
  /// Puts what was built in place of the attention and of the operations.
  void replace(AttentionOp built, unsigned count);

private:
  /// Of each loop of an operation on rows, the axes that it runs over; along
  /// the row it is `alongRow`.
  using LoopAxes = llvm::SmallVector<DimensionAxes>;
  int64_t alongRow() const { return leadRank + 1; }

  int64_t getSize(const RowTensor &tensor, int64_t axis) const;
  bool addRows(mlir::Operation *next);
  bool addView(mlir::Operation *view);
  bool addGeneric(mlir::linalg::GenericOp generic);
  std::optional<LoopAxes> findLoops(mlir::linalg::GenericOp generic) const;
  bool canRead(mlir::linalg::GenericOp generic, const LoopAxes &loops) const;
  bool canRepeatBody(mlir::linalg::GenericOp generic,
                     const LoopAxes &loops) const;
  std::optional<RowTensor> findResult(mlir::linalg::GenericOp generic,
                                      mlir::OpOperand *init,
                                      const LoopAxes &loops) const;
  RowOperand findOperand(mlir::linalg::GenericOp generic,
                         mlir::OpOperand *operand, const LoopAxes &loops) const;
  std::optional<int64_t> getOuterAxis(mlir::Value value,
                                      mlir::Operation *user) const;
  bool isUsedOutside(mlir::Value value, unsigned count) const;
  llvm::SmallVector<mlir::Value> findLeaving(unsigned count) const;
  void replaceSize(mlir::tensor::DimOp dim, int64_t axis);
  void repeat(mlir::linalg::GenericOp generic, AttentionOp built,
              mlir::IRMapping &mapping);
  mlir::Value repeatInit(mlir::linalg::GenericOp generic, mlir::OpOperand *init,
                         mlir::IRMapping &mapping);

  AttentionOp op;
  mlir::IRRewriter &rewriter;
  unsigned leadRank;
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::DenseMap<mlir::Value, RowTensor> rows;
  llvm::DenseMap<mlir::Operation *, LoopAxes> loopsOf;
};

} // namespace gatefold

#endif // PASSES_FUSE_ATTENTIONTAIL_H
