// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowOps.cpp - Operations on one query's row -------------------------===//
//
// Verifiers and canonicalisers of the row operations of gf.attention.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gatefold;

/// Row operations read who sees whom from the attention around them.
static LogicalResult verifyInAttention(Operation *op) {
  if (op->getParentOfType<AttentionOp>())
    return success();
  return op->emitOpError("stands outside of a gf.attention");
}

/// Static sizes must agree; an open one agrees with any.
static bool agree(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

//===----------------------------------------------------------------------===//
// row_scores, row_values
//===----------------------------------------------------------------------===//

LogicalResult RowScoresOp::verify() {
  if (failed(verifyInAttention(*this)))
    return failure();
  RankedTensorType query = getQuery().getType(), keys = getKeys().getType();
  if (!agree(query.getDimSize(0), keys.getDimSize(1)))
    return emitOpError("the query has ")
           << query.getDimSize(0) << " elements, each key "
           << keys.getDimSize(1);
  if (!agree(getType().getDimSize(0), keys.getDimSize(0)))
    return emitOpError("gives ") << getType().getDimSize(0) << " scores for "
                                 << keys.getDimSize(0) << " keys";
  return success();
}

LogicalResult RowValuesOp::verify() {
  if (failed(verifyInAttention(*this)))
    return failure();
  RankedTensorType weights = getWeights().getType(),
                   values = getValues().getType();
  if (!agree(weights.getDimSize(0), values.getDimSize(0)))
    return emitOpError("has ") << weights.getDimSize(0) << " weights for "
                               << values.getDimSize(0) << " values";
  if (!agree(getType().getDimSize(0), values.getDimSize(1)))
    return emitOpError("gives ")
           << getType().getDimSize(0) << " elements from values of "
           << values.getDimSize(1);
  return success();
}

//===----------------------------------------------------------------------===//
// row_softmax
//===----------------------------------------------------------------------===//

LogicalResult RowSoftmaxOp::verify() {
  if (failed(verifyInAttention(*this)))
    return failure();
  if (Value where = getWhere()) {
    int64_t size = cast<RankedTensorType>(where.getType()).getDimSize(0);
    if (!agree(size, getType().getDimSize(0)))
      return emitOpError("has ") << size << " elements of 'where' for "
                                 << getType().getDimSize(0) << " scores";
  }
  if (Value sink = getSink())
    if (sink.getType() != getType().getElementType())
      return emitOpError("has a sink of type ")
             << sink.getType() << ", scores of type "
             << getType().getElementType();
  return success();
}

namespace {
/// softmax(s) where all-true = softmax(s).
struct DropTrueWhere : OpRewritePattern<RowSoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RowSoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getWhere())
      return failure();
    DenseElementsAttr where;
    bool allTrue = matchPattern(op.getWhere(), m_Constant(&where)) &&
                   where.isSplat() && where.getSplatValue<bool>();
    // The softmax is over visible keys anyway.
    if (!allTrue && !op.getWhere().getDefiningOp<RowVisibleOp>())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getWhereMutable().clear(); });
    return success();
  }
};
} // namespace

void RowSoftmaxOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<DropTrueWhere>(context);
}

//===----------------------------------------------------------------------===//
// row_neighbours, row_top_k, row_visible
//===----------------------------------------------------------------------===//

LogicalResult RowNeighboursOp::verify() {
  if (failed(verifyInAttention(*this)))
    return failure();
  int64_t width = getWidthAttr().getInt();
  if (width < 1 || width % 2 == 0)
    return emitOpError("needs an odd width of at least 1, found ") << width;
  return success();
}

namespace {
/// A window of one key has no neighbours: the difference is 0.
struct FoldSingleWidth : OpRewritePattern<RowNeighboursOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RowNeighboursOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getWidthAttr().getInt() != 1)
      return failure();
    Location loc = op.getLoc();
    Type element = op.getType().getElementType();
    Value zero = arith::ConstantOp::create(rewriter, loc,
                                           rewriter.getFloatAttr(element, 0));
    SmallVector<OpFoldResult> size =
        tensor::getMixedSizes(rewriter, loc, op.getScores());
    Value empty = tensor::EmptyOp::create(rewriter, loc, size, element);
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, zero, empty);
    return success();
  }
};
} // namespace

void RowNeighboursOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<FoldSingleWidth>(context);
}

LogicalResult RowTopKOp::verify() {
  if (failed(verifyInAttention(*this)))
    return failure();
  if (getCount().has_value() == getFraction().has_value())
    return emitOpError("needs either a count or a fraction");
  if (IntegerAttr count = getCountAttr())
    if (count.getInt() < 1)
      return emitOpError("needs a count of at least 1, found ")
             << count.getInt();
  if (FloatAttr fraction = getFractionAttr()) {
    double value = fraction.getValueAsDouble();
    // Written so that NaN is refused too.
    if (!(value >= 0.0 && value <= 1.0))
      return emitOpError("needs a fraction from 0 to 1, found ") << value;
  }
  if (!agree(getType().getDimSize(0), getScores().getType().getDimSize(0)))
    return emitOpError("gives ")
           << getType().getDimSize(0) << " elements for "
           << getScores().getType().getDimSize(0) << " scores";
  return success();
}

LogicalResult RowVisibleOp::verify() { return verifyInAttention(*this); }
