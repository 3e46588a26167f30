// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DecomposeTensors.cpp - Tensor operations without buffers -----------===//
//
// Rewrites what one-shot bufferization has no answer for.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_DECOMPOSETENSORS
#include "passes/Passes.h.inc"
} // namespace gatefold

using namespace mlir;

namespace {
struct DecomposeTensors
    : gatefold::impl::DecomposeTensorsBase<DecomposeTensors> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
