// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Gates.h - Parts of the fusion of gates -------------------*- C++ -*-===//
//
// What gf-fuse-gates consists of: sums of biases, products that become one,
// and elementwise operations on the parts of one tensor that become one.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_GATES_H
#define PASSES_FUSE_GATES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"

namespace gatefold {

/// A tensor, and slices of it that cover one of its dimensions in order.
struct Partition {
  mlir::Value whole;
  int64_t dim;
  llvm::SmallVector<mlir::Value> parts;
  llvm::SmallVector<int64_t> sizes;
  int64_t total = 0;
};

inline mlir::remark::RemarkOpts gateRemark(llvm::StringRef name) {
  return mlir::remark::RemarkOpts::name(name).category("gf-fuse-gates");
}

/// What the values of a function depend on. Follows what a rewriter makes and
/// erases; finding out anew each time takes time that grows with the square of
/// a program's length.
class Origins : public mlir::RewriterBase::Listener {
public:
  explicit Origins(mlir::Operation *function);

  /// Whether a tensor of fixed size depends on parameters alone.
  bool isWeight(mlir::Value value) const;
  /// Whether a value depends on a state of the recurrence around it.
  bool dependsOnState(mlir::Value value) const {
    return ofState.contains(value);
  }

private:
  void add(mlir::Operation *op);
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint) override {
    add(op);
  }
  void notifyOperationErased(mlir::Operation *op) override;

  llvm::DenseSet<mlir::Value> ofParameters, ofState;
};

/// The operation of the function's own block that `op` is or stands in.
mlir::Operation *getOutermost(mlir::Operation *op);

/// Moves what makes a value that depends on parameters alone before `anchor`,
/// an operation of the function's own block, unless it is there.
void moveWeight(mlir::RewriterBase &rewriter, mlir::Value value,
                mlir::Operation *anchor);

/// Weights side by side along a dimension, before the function's operation that
/// `user` stands in.
mlir::Value concatWeights(mlir::RewriterBase &rewriter, mlir::Operation *user,
                          int64_t dim, mlir::ArrayRef<mlir::Value> weights);

/// Fills in the slices of a partition, right behind `whole`.
void makeParts(mlir::RewriterBase &rewriter, mlir::Location loc,
               Partition &partition);

/// The sizes of a tensor of the kind that `init` makes, `size` along `dim`;
/// null where `init` is not made from an empty tensor.
mlir::Value makeEmptyLike(mlir::RewriterBase &rewriter, mlir::Location loc,
                          mlir::Value init, int64_t dim, int64_t size);

/// Adds parameters that are added to a product to each other first, and then
/// to the product. How many sums it changed.
unsigned sumBiases(mlir::RewriterBase &rewriter, const Origins &origins,
                   mlir::Operation *root);

/// Makes elementwise operations that do the same to each part one operation on
/// the whole, and goes on with its parts. How many operations became fewer.
unsigned joinElementwise(mlir::RewriterBase &rewriter, const Origins &origins,
                         Partition partition);

} // namespace gatefold

#endif // PASSES_FUSE_GATES_H
