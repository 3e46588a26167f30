// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ChooseAlgorithms.cpp - The algorithm of each operation -------------===//
//
// Writes gf.algorithm on recurrences and attentions, and says in a remark which
// one and why.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/schedule/CostModel.h"
#include "passes/schedule/Passes.h"
#include "passes/support/Algorithms.h"
#include "passes/support/Entry.h"

namespace gatefold {
#define GEN_PASS_DEF_CHOOSEALGORITHMS
#include "passes/schedule/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// The algorithms that an operation can be lowered by, the naive one first.
static ArrayRef<StringRef> getAlgorithms(Operation *op) {
  static constexpr StringRef recurrence[] = {naiveAlgorithm, stepsAlgorithm};
  static constexpr StringRef attention[] = {naiveAlgorithm, residentAlgorithm};
  return isa<RecurrenceOp>(op) ? ArrayRef(recurrence) : ArrayRef(attention);
}

/// What is best for an operation.
static StringRef choose(Operation *op) {
  return isa<RecurrenceOp>(op) ? StringRef(stepsAlgorithm)
                               : StringRef(residentAlgorithm);
}

/// Writes what an algorithm needs to know beside its name, where the text does
/// not give it.
static void choosePlan(Operation *op, StringRef algorithm,
                       const TargetDescription &target) {
  auto recurrence = dyn_cast<RecurrenceOp>(op);
  if (recurrence && algorithm == stepsAlgorithm && !op->hasAttr(stepRowsName))
    op->setAttr(stepRowsName,
                Builder(op->getContext())
                    .getI64IntegerAttr(chooseStepRows(recurrence, target)));
  auto attention = dyn_cast<AttentionOp>(op);
  if (attention && algorithm == residentAlgorithm && !op->hasAttr(queryBlockName))
    op->setAttr(queryBlockName,
                Builder(op->getContext())
                    .getI64IntegerAttr(chooseQueryBlock(attention, target)));
}

/// What an algorithm makes of an operation, and what it spares.
static StringRef describe(Operation *op, StringRef algorithm) {
  if (algorithm == stepsAlgorithm)
    return "recurrence: steps, one after another; what is known of a block of "
           "steps before them is computed for all of them at once";
  if (algorithm == residentAlgorithm)
    return "attention: resident, a block of queries at a time, whose rows of "
           "scores stay in the cache";
  return isa<RecurrenceOp>(op)
             ? "recurrence: naive, one time step after another; products with "
               "the step's input stay in the loop"
             : "attention: naive, one query's row after another; no score "
               "matrix is stored, no key is skipped";
}

namespace {
struct ChooseAlgorithms
    : gatefold::impl::ChooseAlgorithmsBase<ChooseAlgorithms> {
  using Base::Base;
  void runOnOperation() override {
    auto target = TargetDescription::fromModule(
        getOperation()->getParentOfType<ModuleOp>());
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!isa<RecurrenceOp, AttentionOp>(op))
        return WalkResult::advance();
      if (!op->hasAttr(algorithmName))
        op->setAttr(
            algorithmName,
            StringAttr::get(&getContext(),
                            naive ? StringRef(naiveAlgorithm) : choose(op)));
      auto chosen = op->getAttrOfType<StringAttr>(algorithmName);
      ArrayRef<StringRef> algorithms = getAlgorithms(op);
      if (!chosen || !llvm::is_contained(algorithms, chosen.getValue())) {
        InFlightDiagnostic error = op->emitError("no lowering for algorithm ")
                                   << op->getAttr(algorithmName)
                                   << "; there is: ";
        llvm::interleaveComma(algorithms, error, [&](StringRef name) {
          error << '"' << name << '"';
        });
        return WalkResult(error);
      }
      choosePlan(op, chosen.getValue(), target);
      remark::analysis(op->getLoc(), remark::RemarkOpts::name("algorithm")
                                         .category("gf-choose-algorithms"))
          << describe(op, chosen.getValue());
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
