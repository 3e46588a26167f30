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
#include "passes/schedule/Schedule.h"
#include "passes/support/Algorithms.h"
#include "passes/support/Entry.h"

namespace gatefold {
#define GEN_PASS_DEF_CHOOSEALGORITHMS
#include "passes/schedule/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

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
  if (attention && algorithm == residentAlgorithm &&
      !op->hasAttr(queryBlockName))
    op->setAttr(queryBlockName,
                Builder(op->getContext())
                    .getI64IntegerAttr(chooseQueryBlock(attention, target)));
}

/// Whether the size that a module gives, if it does, is one.
static bool hasValidSize(Operation *op, const ScheduledKind &kind) {
  Attribute attribute = op->getAttr(kind.sizeAttribute);
  auto size = dyn_cast_or_null<IntegerAttr>(attribute);
  return !attribute || (size && size.getType().isSignlessInteger(64) &&
                        size.getInt() >= 1 && size.getInt() <= kind.mostSize);
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

/// Writes what the user chose, over what the operation says.
static void applySchedule(Operation *op, const ScheduledKind &kind,
                          const Schedule::Choice &choice) {
  Builder builder(op->getContext());
  if (choice.algorithm)
    op->setAttr(algorithmName, builder.getStringAttr(*choice.algorithm));
  if (choice.size) {
    op->setAttr(kind.sizeAttribute, builder.getI64IntegerAttr(*choice.size));
    // Only this algorithm has the size.
    if (!op->hasAttr(algorithmName))
      op->setAttr(algorithmName, builder.getStringAttr(kind.algorithms[1]));
  }
  if (choice.isGiven() && choice.algorithm != naiveAlgorithm.str())
    op->setAttr(algorithmGivenName, builder.getUnitAttr());
}

namespace {
struct ChooseAlgorithms
    : gatefold::impl::ChooseAlgorithmsBase<ChooseAlgorithms> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    ScheduleFault fault;
    std::optional<Schedule> parsed = parseSchedule(schedule, fault);
    if (!parsed)
      return emitError(UnknownLoc::get(context))
             << "schedule: " << fault.message << "; " << fault.hint;
    if (naive && !schedule.empty())
      return emitError(UnknownLoc::get(context))
             << "schedule: `naive` leaves nothing to choose";
    given = *parsed;
    return success();
  }

  void runOnOperation() override {
    auto target = TargetDescription::fromModule(
        getOperation()->getParentOfType<ModuleOp>());
    WalkResult result = getOperation().walk([&](Operation *op) {
      const ScheduledKind *kind = findScheduledKind(op);
      return kind ? WalkResult(choose(op, *kind, target))
                  : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult choose(Operation *op, const ScheduledKind &kind,
                       const TargetDescription &target) {
    const Schedule::Choice &choice = given.of(kind);
    applySchedule(op, kind, choice);
    if (!op->hasAttr(algorithmName))
      op->setAttr(algorithmName,
                  StringAttr::get(&getContext(), naive
                                                     ? StringRef(naiveAlgorithm)
                                                     : chooseAlgorithm(op)));
    auto chosen = op->getAttrOfType<StringAttr>(algorithmName);
    if (!chosen || !llvm::is_contained(kind.algorithms, chosen.getValue())) {
      InFlightDiagnostic error = op->emitError("no lowering for algorithm ")
                                 << op->getAttr(algorithmName)
                                 << "; there is: ";
      llvm::interleaveComma(kind.algorithms, error, [&](StringRef name) {
        error << '"' << name << '"';
      });
      return error;
    }
    if (choice.size && chosen.getValue() == naiveAlgorithm)
      return op->emitError(kind.name)
             << " cannot be scheduled with " << kind.sizeKey
             << ": the module says that its algorithm is \"naive\"";
    if (!hasValidSize(op, kind))
      return op->emitError(kind.sizeAttribute)
             << " is " << op->getAttr(kind.sizeAttribute)
             << ", expected a number from 1 to " << kind.mostSize << " : i64";
    choosePlan(op, chosen.getValue(), target);
    remark::analysis(
        op->getLoc(),
        remark::RemarkOpts::name("algorithm").category("gf-choose-algorithms"))
        << describe(op, chosen.getValue());
    return success();
  }

private:
  Schedule given;
};
} // namespace
