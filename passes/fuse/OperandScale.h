// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperandScale.h - Parts of gf-fold-key-scales -------------*- C++ -*-===//
//
// Scales of whole tensors in front of an attention.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_OPERANDSCALE_H
#define PASSES_FUSE_OPERANDSCALE_H

#include "passes/fuse/KeyScale.h"
#include "passes/fuse/RowOperands.h"

namespace gatefold {

/// An operation that scales what an attention reads as a query or as keys, and
/// the views between the two, as the splitting of heads.
class OperandScale {
public:
  /// Of the operand with the number, if one stands before it.
  static std::optional<OperandScale> find(AttentionOp op, unsigned number);

  mlir::linalg::GenericOp getOperation() const { return scale.getOperation(); }
  const KeyScale &getScale() const { return scale; }
  /// Whether a factor is another one for each key.
  bool variesAlongKeys() const { return variesAlong({keyAxis()}); }
  /// Whether one is as large as the queries are.
  bool isOfQueryElements() const {
    return variesAlong({int64_t(op.getLeadRank()), rowAxis()});
  }
  /// Whether what is scaled is needed scaled by something else, too.
  bool hasOtherReader() const;
  /// Whether the region can be given the factors.
  bool canFold() const;
  /// The operand is what was given. The region sees the factors, of which the
  /// scaled tensor is null, by the maps for one row.
  void fold(mlir::IRRewriter &rewriter,
            llvm::SmallVectorImpl<mlir::Value> &factors,
            llvm::SmallVectorImpl<mlir::AffineMap> &maps) const;

private:
  OperandScale(AttentionOp op, unsigned number, KeyScale scale)
      : op(op), number(number), scale(scale) {}
  int64_t rowAxis() const { return AttentionOp(op).getLeadRank() + 1; }
  int64_t keyAxis() const { return AttentionOp(op).getLeadRank() + 2; }
  static std::optional<TensorAxes> axesOf(AttentionOp op, unsigned number);
  bool variesAlong(llvm::ArrayRef<int64_t> all) const;

  mutable AttentionOp op;
  unsigned number;
  KeyScale scale;
  llvm::SmallVector<mlir::Operation *> views;
  /// Of each input; the axes of what is scaled are those of the loops.
  llvm::SmallVector<RowOperand> inputs;
};

} // namespace gatefold

#endif // PASSES_FUSE_OPERANDSCALE_H
