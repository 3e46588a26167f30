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

struct DecomposeTensors
    : gatefold::impl::DecomposeTensorsBase<DecomposeTensors> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FillLargeSplat>(&getContext());
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
