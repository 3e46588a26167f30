// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HoistInvariant.cpp - What is the same at every step ----------------===//
//
// Moves out of the step of a recurrence, and out of the row of an attention,
// what is the same at each of them; columns of an attention's keys become an
// operand of their own.
//
// Exactness: the same operations on the same values, once instead of often.
// Nothing that can fail is moved, as there may be no step.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "passes/fuse/KeyColumns.h"
#include "passes/fuse/Passes.h"
#include "passes/fuse/StepConditions.h"

namespace gatefold {
#define GEN_PASS_DEF_HOISTINVARIANT
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// What an operation is to a reader of a remark; empty if it computes nothing
/// worth one.
static StringRef describe(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (linalg::isaContractionOpInterface(linalgOp))
      return "product";
    return linalgOp.getNumReductionLoops() ? "reduction"
                                           : "elementwise operation";
  }
  if (isa<AttentionOp>(op))
    return "attention";
  if (isa<RecurrenceOp>(op))
    return "recurrence";
  if (isa<tensor::ConcatOp>(op))
    return "concatenation";
  return OpTrait::hasElementwiseMappableTraits(op) &&
                 llvm::any_of(op->getResultTypes(),
                              [](Type type) { return isa<TensorType>(type); })
             ? "elementwise operation"
             : "";
}

/// Row operations read who sees whom from the attention that they stand in.
static bool mayMove(Operation *op) {
  if (isMadeAnew(op) || !isMemoryEffectFree(op) || !isSpeculatable(op))
    return false;
  return !isa_and_nonnull<GfDialect>(op->getDialect()) ||
         isa<AttentionOp, RecurrenceOp, ParameterOp>(op);
}

namespace {
struct HoistInvariant : gatefold::impl::HoistInvariantBase<HoistInvariant> {
  void runOnOperation() override {
    // Inner ones come first, so that what leaves an attention may leave the
    // recurrence around it.
    getOperation().walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        takeColumnsOf(attention);
      if (isa<AttentionOp, RecurrenceOp>(op))
        hoistFrom(op->getRegion(0));
    });
  }

  void takeColumnsOf(AttentionOp op) {
    IRRewriter rewriter(&getContext());
    SmallVector<tensor::ExtractSliceOp> slices(
        op.getBody().front().getOps<tensor::ExtractSliceOp>());
    for (tensor::ExtractSliceOp slice : slices) {
      Location loc = slice.getLoc();
      if (!takeKeyColumns(op, slice, rewriter))
        continue;
      ++operationsHoisted;
      remark::passed(loc, remark::RemarkOpts::name("hoisted").category(
                              "gf-hoist-invariant"))
          << "columns of all keys taken once before all rows";
    }
  }

  void hoistFrom(Region &region) {
    Operation *parent = region.getParentOp();
    bool isStep = isa<RecurrenceOp>(parent);
    IRRewriter rewriter(&getContext());
    moveLoopInvariantCode(
        {&region},
        [](Value value, Region *loop) {
          return isSameAtEachStep(value, *loop);
        },
        [](Operation *op, Region *) { return mayMove(op); },
        [&](Operation *op, Region *loop) {
          StringRef what = describe(op);
          if (!what.empty()) {
            auto remark = remark::passed(
                op->getLoc(), remark::RemarkOpts::name("hoisted").category(
                                  "gf-hoist-invariant"));
            if (remark)
              remark << (what + " computed once before all " +
                         (isStep ? "steps" : "rows"))
                            .str();
            ++operationsHoisted;
          }
          rewriter.setInsertionPoint(parent);
          takeOut(rewriter, op, *loop);
          rewriter.moveOpBefore(op, parent);
        });
  }

  /// Makes the operands of `op` that are made anew wherever they are needed.
  static void takeOut(RewriterBase &rewriter, Operation *op, Region &loop) {
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Region *owner = operand.get().getParentRegion();
        if (loop.isAncestor(owner) && !op->isAncestor(owner->getParentOp()))
          operand.set(makeAnew(rewriter, operand.get(), loop));
      }
    });
  }
};
} // namespace
