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

/// What follows an attention and computes one query's row of its results from
/// that row alone.
class AttentionTail {
public:
  /// Finds the operations; changes nothing.
  AttentionTail(AttentionOp op, mlir::IRRewriter &rewriter);

  /// In the order of the program; each reads results of the attention or of
  /// others.
  llvm::ArrayRef<mlir::Operation *> getOperations() const { return operations; }
  /// Null if the first `count` operations leave one result in place of one of
  /// the attention's, or why they do not.
  const char *whyNot(unsigned count) const;
  /// The attention with the first `count` operations in its region, which
  /// whyNot allows, beside the one that there is.
  AttentionOp build(unsigned count);
  /// Puts what was built in place of the attention and of the operations.
  void replace(AttentionOp built, unsigned count);

private:
  bool isRow(mlir::Value value) const { return rows.contains(value); }
  bool canSink(mlir::Operation *next) const;
  bool canSinkGeneric(mlir::linalg::GenericOp generic) const;
  void findHeads();
  bool hasRows(mlir::RankedTensorType type) const;
  /// Sizes behind the queries.
  llvm::ArrayRef<int64_t> getRest(mlir::Value value) const;
  /// The loops over leading dimensions and queries, by those of the result.
  std::optional<llvm::SmallVector<unsigned>>
  findRowLoops(mlir::linalg::GenericOp generic) const;
  RowOperand findPlaces(mlir::linalg::GenericOp generic,
                        mlir::OpOperand *operand) const;
  RowOperand splitHeads(RowOperand operand) const;
  bool isOuterSize(mlir::Value value, mlir::Operation *user) const;
  bool isUsedOutside(mlir::Value value, unsigned count) const;
  llvm::SmallVector<mlir::Value> findLeaving(unsigned count) const;
  void replaceSize(mlir::tensor::DimOp dim);
  void repeat(mlir::linalg::GenericOp generic, AttentionOp built,
              mlir::IRMapping &mapping);
  mlir::Value repeatInit(mlir::Value init, AttentionOp built,
                         mlir::IRMapping &mapping);

  AttentionOp op;
  mlir::IRRewriter &rewriter;
  unsigned leadRank;
  /// Leading dimensions and queries, of which some may stand together, as
  /// grouped heads, and their sizes so.
  llvm::SmallVector<mlir::ReassociationIndices> outer;
  llvm::SmallVector<int64_t> outerShape;
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::DenseSet<mlir::Value> rows;
};

} // namespace gatefold

#endif // PASSES_FUSE_ATTENTIONTAIL_H
