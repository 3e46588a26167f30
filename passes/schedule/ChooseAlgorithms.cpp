// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ChooseAlgorithms.cpp - The algorithm of each operation -------------===//
//
// Writes gf.algorithm on recurrences and attentions, and says in a remark which
// one and why.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/schedule/Passes.h"
#include "passes/support/Entry.h"

namespace gatefold {
#define GEN_PASS_DEF_CHOOSEALGORITHMS
#include "passes/schedule/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// What the naive lowering makes of an operation, and what it spares.
static StringRef describeNaive(Operation *op) {
  return isa<RecurrenceOp>(op)
             ? "recurrence: naive, one time step after another; products with "
               "the step's input stay in the loop"
             : "attention: naive, one query's row after another; no score "
               "matrix is stored, no key is skipped";
}

namespace {
struct ChooseAlgorithms
    : gatefold::impl::ChooseAlgorithmsBase<ChooseAlgorithms> {
  void runOnOperation() override {
    auto naive = StringAttr::get(&getContext(), naiveAlgorithm);
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!isa<RecurrenceOp, AttentionOp>(op))
        return WalkResult::advance();
      Attribute chosen = op->getAttr(algorithmName);
      if (!chosen)
        op->setAttr(algorithmName, naive);
      else if (chosen != naive)
        return WalkResult(op->emitError("no lowering for algorithm ")
                          << chosen << "; there is: " << naive);
      remark::analysis(op->getLoc(), remark::RemarkOpts::name("algorithm")
                                         .category("gf-choose-algorithms"))
          << describeNaive(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
