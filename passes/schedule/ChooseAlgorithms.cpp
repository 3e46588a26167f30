// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ChooseAlgorithms.cpp - The algorithm of each operation -------------===//
//
// Writes gf.algorithm on recurrences and attentions.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "passes/Passes.h"
#include "passes/support/Entry.h"

namespace gatefold {
#define GEN_PASS_DEF_CHOOSEALGORITHMS
#include "passes/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

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
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
