// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileLinear.h - Sums of products as packed products -------*- C++ -*-===//
//
// What the parts of gf-tile-linear share: a sum of products seen as a product
// of rows with columns, and the rewrites around the products.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_TILELINEAR_H
#define PASSES_TILE_TILELINEAR_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// y[batch.., rows.., columns..] = sum over `summed` of x * weights, each a set
/// of loops of one structured operation.
struct Contraction {
  mlir::linalg::LinalgOp op;
  mlir::Value x, weights;
  mlir::AffineMap xMap, weightsMap, resultMap;
  /// `batch` loops are in both operands and the result, `rows` in x and the
  /// result, `columns` in the weights and the result, `summed` in both operands
  /// only; the first three in the order of the result.
  llvm::SmallVector<unsigned> batch, rows, columns, summed;
  /// Of each loop: its size, or ShapedType::kDynamic.
  llvm::SmallVector<int64_t> ranges;
  /// Whether the weights depend on parameters alone.
  bool isPrepared = false;
  /// Whether products are marked as those of a step (schedule/StepPanels.h).
  bool isOfStep = false;

  /// How many times each element of x is in the windows that are gathered from
  /// it, at most; ShapedType::kDynamic if that is not known.
  int64_t countOverlaps() const;

  /// The product of the sizes of some loops, or ShapedType::kDynamic.
  int64_t count(llvm::ArrayRef<unsigned> loops) const;
};

/// Attribute of a sum of products, without a value: it is a part of an
/// attention. Its sizes may be those that a query sees, so that the target
/// alone decides whether it is packed.
inline constexpr llvm::StringLiteral attentionProductName =
    "gf.attention_product";

/// Whether the operation sums products of two tensors.
bool isProductSum(mlir::linalg::LinalgOp op);

/// Lowers an attention by `lower`, and marks the sums of products that stand in
/// its place then.
llvm::LogicalResult
markingProducts(AttentionOp op,
                llvm::function_ref<llvm::LogicalResult()> lower);

/// A product sum as a contraction, with the operand as weights that it pays to
/// pack; else failure, and in `reason` why.
mlir::FailureOr<Contraction> matchContraction(mlir::linalg::LinalgOp op,
                                              std::string &reason);

/// Puts gf.pack and gf.linear in the place of a contraction. Returns what
/// replaces its result: gf.linear's, or a view or a transposition of it.
mlir::Value buildLinear(mlir::IRRewriter &rewriter, Contraction contraction,
                        int64_t width);

/// Whether every element of a tensor is known to be +0 or -0.
bool isZeroTensor(mlir::Value value);

/// The permutation of a copy that does nothing but transpose: result[d] =
/// source[map(d)].
std::optional<mlir::AffineMap> getTransposition(mlir::Value value);

/// `source` in another order of its dimensions: result[d] = source[map(d)].
mlir::Value makeTransposition(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value source, mlir::AffineMap map);

/// Moves a transposition behind what follows it as long as that costs nothing.
void sinkTransposition(mlir::IRRewriter &rewriter, mlir::Value transposed);

/// Moves additions to products into the value that their sums begin with;
/// returns how many additions are gone.
unsigned foldInitials(mlir::IRRewriter &rewriter, mlir::Operation *root);

} // namespace gatefold

#endif // PASSES_TILE_TILELINEAR_H
