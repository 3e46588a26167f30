// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PointwisePrepare.cpp - Copies and constants in their readers -------===//
//
// What gf-fuse-pointwise does before it groups: operations read where their
// elements come from, and begin from nothing where they read nothing.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/tile/PointwiseGroups.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;
using linalg::LinalgOp;

/// Named operations whose bodies can join others.
static void generalize(func::FuncOp function) {
  SmallVector<LinalgOp> named;
  function.walk([&](LinalgOp op) {
    if (isa<linalg::MapOp, linalg::TransposeOp, linalg::BroadcastOp,
            linalg::ReduceOp>(op))
      named.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}

/// Whether an operation only says where elements come from.
static bool isCopy(GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.getNumDpsInputs() == 1 &&
         op.getNumDpsInits() == 1 &&
         op.getBody()->getTerminator()->getOperand(0) ==
             op.getBody()->getArgument(0);
}

/// Copies and broadcasts are read where they come from.
static bool shouldInline(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<GenericOp>();
  auto user = cast<LinalgOp>(operand->getOwner());
  if (!producer || !isCopy(producer) || user.getNumReductionLoops() != 0)
    return false;
  AffineMap map = producer.getIndexingMapsArray()[0];
  if (!map.isProjectedPermutation())
    return false;
  // One transposition for many is better than many times one.
  bool isInOrder = true;
  unsigned previous = 0;
  for (auto [place, expression] : llvm::enumerate(map.getResults())) {
    unsigned dim = cast<AffineDimExpr>(expression).getPosition();
    isInOrder &= place == 0 || dim > previous;
    previous = dim;
  }
  return isInOrder || producer.getResult(0).hasOneUse();
}

namespace {
/// An operation that reads a copy reads where it comes from.
struct InlineCopy : OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand *input : op.getDpsInputOperands()) {
      if (!shouldInline(input) || !linalg::areElementwiseOpsFusable(input))
        continue;
      FailureOr<linalg::ElementwiseOpFusionResult> fused =
          linalg::fuseElementwiseOps(rewriter, input);
      if (failed(fused))
        continue;
      SmallVector<Value> results;
      for (Value result : op.getResults())
        results.push_back(fused->replacements[result]);
      rewriter.replaceOp(op, results);
      return success();
    }
    return failure();
  }
};

/// The one value of all elements, if there is such.
static Value getScalar(PatternRewriter &rewriter, Location loc, Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return fill.getInputs()[0];
  SplatElementsAttr splat;
  if (!matchPattern(tensor, m_Constant(&splat)))
    return {};
  return arith::ConstantOp::create(rewriter, loc,
                                   splat.getSplatValue<TypedAttr>());
}

/// An element that is the same everywhere is a number in the body.
struct InlineConstant : OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return failure();
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (argument.use_empty())
        continue;
      if (Value scalar = getScalar(rewriter, op.getLoc(), input->get())) {
        rewriter.modifyOpInPlace(
            op, [&] { rewriter.replaceAllUsesWith(argument, scalar); });
        return success();
      }
    }
    return failure();
  }
};

/// Whether what an operation begins from may be its result, as a sum of no
/// elements is.
static bool mayReduceNothing(GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  return llvm::any_of(reduced, [&](unsigned dim) {
    return ShapedType::isDynamic(sizes[dim]) || sizes[dim] == 0;
  });
}

/// What is not read is not kept for it. A state, an argument of a block, stays:
/// it says where the result is to be.
struct StartEmpty : OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || mayReduceNothing(op))
      return failure();
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Operation *source = init.get().getDefiningOp();
      if (!source || isa<tensor::EmptyOp>(source) ||
          op.payloadUsesValueFromOperand(&init))
        continue;
      Value empty = tensor::EmptyOp::create(
          rewriter, op.getLoc(),
          tensor::getMixedSizes(rewriter, op.getLoc(), init.get()),
          getElementTypeOrSelf(init.get().getType()));
      rewriter.modifyOpInPlace(op, [&] { init.set(empty); });
      return success();
    }
    return failure();
  }
};
} // namespace

LogicalResult gatefold::preparePointwise(func::FuncOp function) {
  generalize(function);
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  patterns.add<InlineCopy, InlineConstant, StartEmpty>(context);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  linalg::populateFoldReshapeOpsByCollapsingPatterns(
      patterns, [](OpOperand *operand) {
        auto user = dyn_cast<GenericOp>(operand->getOwner());
        return user && user.getNumReductionLoops() == 0 &&
               operand->get().getDefiningOp<tensor::ExpandShapeOp>();
      });
  tensor::populateFoldTensorEmptyPatterns(patterns);
  // Sizes come from where they are known, not through what is to be fused.
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  tensor::DimOp::getCanonicalizationPatterns(patterns, context);
  return applyPatternsGreedily(function, std::move(patterns));
}
