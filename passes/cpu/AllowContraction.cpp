// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AllowContraction.cpp - Products and sums as one operation ----------===//
//
// Lets the processor round a product and the sum that takes it once.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_ALLOWCONTRACTION
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;

namespace {
struct AllowContraction
    : gatefold::impl::AllowContractionBase<AllowContraction> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (!isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op))
        return;
      auto flagged = cast<arith::ArithFastMathInterface>(op);
      arith::FastMathFlags flags = flagged.getFastMathFlagsAttr().getValue();
      op->setAttr(flagged.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(
                      &getContext(), flags | arith::FastMathFlags::contract));
      ++operationsFlagged;
    });
  }
};
} // namespace
