// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParallelLoops.cpp - Marked loops become scf.forall -----------------===//
//
// A tiling marks the loops whose iterations are independent; nests of them
// become one scf.forall.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/support/Entry.h"
#include "passes/team/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_PARALLELLOOPS
#include "passes/team/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static bool isParallel(Operation *op) {
  return isa<scf::ForOp>(op) && op->hasAttr(parallelName);
}

/// The one marked loop in the body of a loop, if nothing else there writes or
/// reads memory, and its bounds do not depend on the loop.
static scf::ForOp findInner(scf::ForOp loop) {
  scf::ForOp inner;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isMemoryEffectFree(&op))
      continue;
    if (inner || !isParallel(&op) || op.getNumResults() != 0)
      return {};
    inner = cast<scf::ForOp>(op);
  }
  if (!inner)
    return {};
  for (Value bound :
       {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
    if (!loop.isDefinedOutsideOfLoop(bound))
      return {};
  return inner;
}

static void makeForall(scf::ForOp outermost) {
  SmallVector<scf::ForOp> nest = {outermost};
  while (scf::ForOp inner = findInner(nest.back()))
    nest.push_back(inner);
  OpBuilder builder(outermost);
  SmallVector<OpFoldResult> lower, upper, steps;
  for (scf::ForOp loop : nest) {
    lower.push_back(getAsOpFoldResult(loop.getLowerBound()));
    upper.push_back(getAsOpFoldResult(loop.getUpperBound()));
    steps.push_back(getAsOpFoldResult(loop.getStep()));
  }
  auto forall = scf::ForallOp::create(builder, outermost.getLoc(), lower, upper,
                                      steps, ValueRange(), std::nullopt);
  Operation *end = forall.getTerminator();
  for (auto [number, loop] : llvm::enumerate(nest)) {
    loop.getInductionVar().replaceAllUsesWith(forall.getInductionVar(number));
    Operation *inner =
        number + 1 < nest.size() ? nest[number + 1].getOperation() : nullptr;
    for (Operation &op :
         llvm::make_early_inc_range(loop.getBody()->without_terminator()))
      if (&op != inner)
        op.moveBefore(end);
  }
  outermost.erase();
}

namespace {
struct ParallelLoops : gatefold::impl::ParallelLoopsBase<ParallelLoops> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto entry = module.lookupSymbol<func::FuncOp>(runFunction);
    if (!entry) {
      module.emitError("has no function '") << runFunction << "'";
      return signalPassFailure();
    }
    SmallVector<scf::ForOp> outermost;
    WalkResult result = entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<scf::ForallOp>(op))
        return WalkResult::skip();
      if (!isParallel(op))
        return WalkResult::advance();
      if (op->getNumResults() != 0) {
        op->emitError("is marked as parallel, but hands a value from one "
                      "iteration to the next");
        return WalkResult::interrupt();
      }
      outermost.push_back(cast<scf::ForOp>(op));
      return WalkResult::skip();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (scf::ForOp loop : outermost) {
      makeForall(loop);
      ++loopsMade;
    }
  }
};
} // namespace
