// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerMath.cpp - Functions without an instruction -------------------===//
//
// Calls of libm, divisions that round down, conversions of bf16.
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/cpu/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERMATH
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;

namespace {
struct LowerMath : gatefold::impl::LowerMathBase<LowerMath> {
  void runOnOperation() override {
    // Code rounds to nearest even anyway; said of an operation, it would be
    // computed as if the processor might do otherwise.
    getOperation().walk([](arith::TruncFOp op) {
      if (op.getRoundingmode() == arith::RoundingMode::to_nearest_even)
        op.removeRoundingmodeAttr();
    });
    RewritePatternSet expansions(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(expansions);
    // Few processors convert bf16, and the call for it is in few libraries.
    arith::populateExpandBFloat16Patterns(expansions);
    math::populateExpansionPatterns(expansions, {"clampf"});
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(expansions),
                                     config)))
      return signalPassFailure();

    RewritePatternSet calls(&getContext());
    populateMathToLibmConversionPatterns(calls);
    ConversionTarget target(getContext());
    target.addLegalDialect<arith::ArithDialect, func::FuncDialect>();
    target.addIllegalDialect<math::MathDialect>();
    // What processors, or a few instructions, do.
    target.addLegalOp<
        math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
        math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp,
        math::FPowIOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
        math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp,
        math::RsqrtOp, math::SqrtOp, math::TruncOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(
            applyPartialConversion(getOperation(), target, std::move(calls))))
      signalPassFailure();
  }
};
} // namespace
