// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerRecurrence.cpp - Recurrence to a loop over time ---------------===//
//
// The naive lowering of gf.recurrence: one step after the other.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "passes/support/Entry.h"
#include "passes/tile/Passes.h"
#include "passes/tile/RecurrenceSteps.h"
#include "passes/tile/Slices.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERRECURRENCE
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// Lowers one recurrence.
static LogicalResult lower(RecurrenceOp op, IRRewriter &rewriter) {
  Location loc = op.getLoc();
  int64_t timeAxis = op.getTimeAxisAttr().getInt();
  RecurrenceSteps steps(op, rewriter, /*isNaive=*/true);
  if (failed(steps.begin()))
    return failure();
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  auto loop = scf::ForOp::create(rewriter, loc, constant(0), steps.getCount(),
                                 constant(1), steps.getInitials());
  if (steps.getInitials().empty())
    rewriter.eraseOp(loop.getBody()->getTerminator());
  rewriter.setInsertionPointToEnd(loop.getBody());
  Value time = loop.getInductionVar();
  if (op.getReverse()) {
    Value last =
        arith::SubIOp::create(rewriter, loc, steps.getCount(), constant(1));
    time = arith::SubIOp::create(rewriter, loc, last, time);
  }
  SmallVector<Value> next =
      steps.makeStep(time, loop.getRegionIterArgs(), [&](unsigned i) {
        return takeSlice(rewriter, loc, op.getSequences()[i],
                         {{timeAxis, time}});
      });
  scf::YieldOp::create(rewriter, loc, next);
  rewriter.replaceOp(op, loop.getResults());
  return success();
}

namespace {
struct LowerRecurrence : gatefold::impl::LowerRecurrenceBase<LowerRecurrence> {
  void runOnOperation() override {
    SmallVector<RecurrenceOp> recurrences;
    // Inner ones come first.
    getOperation().walk([&](RecurrenceOp op) {
      if (hasAlgorithm(op, naiveAlgorithm))
        recurrences.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (RecurrenceOp op : recurrences) {
      if (failed(lower(op, rewriter)))
        return signalPassFailure();
      ++recurrencesLowered;
    }
  }
};
} // namespace
