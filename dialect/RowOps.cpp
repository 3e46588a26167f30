// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowOps.cpp - Operations on one query's row -------------------------===//
//
// Verifiers and canonicalisers of the row operations of gf.attention.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "dialect/SharedSizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gatefold;

/// Row operations read who sees whom from the attention around them, and their
/// rows have one element for each of its keys.
static LogicalResult verifyInAttention(Operation *op, RankedTensorType row) {
  auto attention = op->getParentOfType<AttentionOp>();
  if (!attention)
    return op->emitOpError("stands outside of a gf.attention");
  for (Value key : attention.getKeyArguments()) {
    int64_t count = cast<RankedTensorType>(key.getType()).getDimSize(0);
    if (!agree(count, row.getDimSize(0)))
      return op->emitOpError("has a row of ")
             << row.getDimSize(0) << " elements in an attention over " << count
             << " keys";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// row_scores, row_values
//===----------------------------------------------------------------------===//

LogicalResult RowScoresOp::verify() {
  if (failed(verifyInAttention(*this, getType())))
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
  if (failed(verifyInAttention(*this, getWeights().getType())))
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
  if (failed(verifyInAttention(*this, getType())))
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
  if (Value logSumExp = getLogSumExp())
    if (Type expected = getLogSumExpType(getType());
        logSumExp.getType() != expected)
      return emitOpError("has a log-sum-exp of type ")
             << logSumExp.getType() << ", expected " << expected
             << " with scores of type " << getType().getElementType();
  return success();
}

RankedTensorType RowSoftmaxOp::getLogSumExpType(Type scores) {
  Type element = getElementTypeOrSelf(scores);
  if (!element.isF64())
    element = Float32Type::get(scores.getContext());
  return RankedTensorType::get({}, element);
}

/// Every element is true, as far as can be seen.
static bool isAllTrue(Value value) {
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return matchPattern(splat.getInput(), m_One());
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.value(), m_One());
  DenseElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
         elements.getSplatValue<bool>();
}

namespace {
/// softmax(s) where all-true = softmax(s).
struct DropTrueWhere : OpRewritePattern<RowSoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RowSoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getWhere())
      return failure();
    // The softmax is over visible keys anyway, which some query reaches.
    if (!isAllTrue(op.getWhere()) &&
        !op.getWhere().getDefiningOp<RowVisibleOp>())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getWhereMutable().clear(); });
    return success();
  }
};

/// A log-sum-exp that nothing reads is not computed.
struct DropLogSumExp : OpRewritePattern<RowSoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RowSoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getLogSumExp() || !op.getLogSumExp().use_empty())
      return failure();
    auto simpler = RowSoftmaxOp::create(rewriter, op.getLoc(), op.getScores(),
                                        op.getWhere(), op.getSink());
    simpler->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceAllUsesWith(op.getResult(), simpler.getResult());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void RowSoftmaxOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<DropTrueWhere, DropLogSumExp>(context);
}

//===----------------------------------------------------------------------===//
// row_neighbours, row_top_k, row_visible
//===----------------------------------------------------------------------===//

LogicalResult RowNeighboursOp::verify() {
  if (failed(verifyInAttention(*this, getType())))
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
  if (failed(verifyInAttention(*this, getType())))
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

namespace {
/// All of the visible scores are kept: k = floor(1.0 * visible).
struct KeepAllVisible : OpRewritePattern<RowTopKOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RowTopKOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getFractionAttr() || op.getFractionAttr().getValueAsDouble() != 1.0)
      return failure();
    rewriter.replaceOpWithNewOp<RowVisibleOp>(op, op.getType());
    return success();
  }
};
} // namespace

void RowTopKOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<KeepAllVisible>(context);
}

LogicalResult RowVisibleOp::verify() {
  return verifyInAttention(*this, getType());
}

namespace {
/// Without lengths, causal and window some query reaches each key.
struct ReachAllKeys : OpRewritePattern<RowVisibleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RowVisibleOp op,
                                PatternRewriter &rewriter) const override {
    auto attention = op->getParentOfType<AttentionOp>();
    if (!op.getAnyQuery() || attention.getLengths() || attention.getCausal() ||
        attention.getWindow())
      return failure();
    Location loc = op.getLoc();
    Value keys = attention.getKeyArguments().front();
    OpFoldResult size = tensor::getMixedSize(rewriter, loc, keys, 0);
    if (!op.getType().isDynamicDim(0))
      size = rewriter.getIndexAttr(op.getType().getDimSize(0));
    Value yes =
        arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, ArrayRef<OpFoldResult>{size}, rewriter.getI1Type());
    Value all = linalg::FillOp::create(rewriter, loc, yes, empty).getResult(0);
    if (all.getType() != op.getType())
      all = tensor::CastOp::create(rewriter, loc, op.getType(), all);
    rewriter.replaceOp(op, all);
    return success();
  }
};
} // namespace

void RowVisibleOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<ReachAllKeys>(context);
}
