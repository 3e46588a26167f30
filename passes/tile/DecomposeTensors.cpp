// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DecomposeTensors.cpp - Tensor operations without buffers -----------===//
//
// Rewrites what one-shot bufferization has no answer for, or a bad one.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/tile/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_DECOMPOSETENSORS
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;

namespace {
/// A large constant of one value as a fill.
struct FillLargeSplat : OpRewritePattern<arith::ConstantOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op,
                                PatternRewriter &rewriter) const override {
    constexpr int64_t largestConstant = 64 << 10;
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!splat || !type || !type.getElementType().isIntOrIndexOrFloat())
      return failure();
    // The product of the sizes may overflow: stop at the limit.
    int64_t elements = 1;
    for (int64_t size : type.getShape()) {
      if (size == 0)
        return failure();
      if (elements > largestConstant / size) {
        elements = largestConstant + 1;
        break;
      }
      elements *= size;
    }
    int64_t bits = type.getElementType().isIndex()
                       ? 64
                       : type.getElementType().getIntOrFloatBitWidth();
    if (elements * llvm::divideCeil(bits, 8) <= largestConstant)
      return failure();
    Location loc = op.getLoc();
    Value value = arith::ConstantOp::create(rewriter, loc,
                                            splat.getSplatValue<TypedAttr>());
    Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                          type.getElementType());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, value, empty);
    return success();
  }
};

/// Upstream takes tensors that are filled alike and then concatenated as one
/// that is filled: over the concatenation of what they were before, which
/// nobody may have written.
struct FillOfConcat : OpRewritePattern<linalg::FillOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::FillOp op,
                                PatternRewriter &rewriter) const override {
    auto concat =
        op.getDpsInitOperand(0)->get().getDefiningOp<tensor::ConcatOp>();
    ReifiedRankedShapedTypeDims sizes;
    if (!concat || failed(concat.reifyResultShapes(rewriter, sizes)))
      return failure();
    Value empty =
        tensor::EmptyOp::create(rewriter, op.getLoc(), sizes.front(),
                                concat.getResultType().getElementType());
    rewriter.modifyOpInPlace(op, [&] { op.getDpsInitOperand(0)->set(empty); });
    return success();
  }
};

struct DecomposeTensors
    : gatefold::impl::DecomposeTensorsBase<DecomposeTensors> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FillLargeSplat>(&getContext());
    // Before the concatenation is decomposed.
    patterns.add<FillOfConcat>(&getContext(), /*benefit=*/2);
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
