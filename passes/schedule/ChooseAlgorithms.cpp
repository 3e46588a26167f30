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
#include "passes/tile/RecurrenceScanForm.h"
#include "passes/tile/TileAttentionRegisters.h"

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
  if (recurrence && algorithm != naiveAlgorithm && !op->hasAttr(stepRowsName))
    op->setAttr(stepRowsName,
                Builder(op->getContext())
                    .getI64IntegerAttr(chooseStepRows(recurrence, target)));
  auto attention = dyn_cast<AttentionOp>(op);
  if (!attention || algorithm == naiveAlgorithm)
    return;
  Builder builder(op->getContext());
  AttentionBlocks blocks = chooseBlocks(attention, algorithm, target);
  if (!op->hasAttr(queryBlockName)) {
    op->setAttr(queryBlockName, builder.getI64IntegerAttr(blocks.queries));
    if (blocks.scores != 0)
      op->setAttr(blockScoresName, builder.getI64IntegerAttr(blocks.scores));
  }
  if (algorithm != residentAlgorithm && !op->hasAttr(keyBlockName))
    op->setAttr(keyBlockName, builder.getI64IntegerAttr(blocks.keys));
}

/// Refuses a size that a module gives and that is none.
static LogicalResult checkSize(Operation *op, const ScheduledSize &size) {
  Attribute attribute = op->getAttr(size.attribute);
  auto number = dyn_cast_or_null<IntegerAttr>(attribute);
  if (!attribute || (number && number.getType().isSignlessInteger(64) &&
                     number.getInt() >= 1 && number.getInt() <= size.most))
    return success();
  return op->emitError(size.attribute)
         << " is " << attribute << ", expected a number from 1 to " << size.most
         << " : i64";
}

/// What is wrong with a size of an attention, chosen by a user or written in
/// the module.
static InFlightDiagnostic refuseSize(Operation *op, StringRef attribute,
                                     StringRef key, bool isChosenByUser) {
  int64_t size = op->getAttrOfType<IntegerAttr>(attribute).getInt();
  if (isChosenByUser)
    return op->emitError("attention cannot be scheduled with ")
           << key << '=' << size;
  return op->emitError(attribute) << " is " << size;
}

/// Blocks of keys are whole panels, and what a sum adds up side by side.
static LogicalResult checkKeyBlock(Operation *op, bool isChosenByUser,
                                   const TargetDescription &target) {
  auto keys = op->getAttrOfType<IntegerAttr>(keyBlockName);
  int64_t step = target.getKeyStep(Float32Type::get(op->getContext()));
  if (!keys || keys.getInt() % step == 0)
    return success();
  return refuseSize(op, keyBlockName, "key_block", isChosenByUser)
         << ", expected a multiple of " << step
         << ", the keys that this target adds up side by side";
}

/// Blocks in registers are whole tiles of as many warps as there are, and fit
/// in shared memory.
static LogicalResult checkRegisters(AttentionOp op,
                                    const Schedule::Choice &choice,
                                    const TargetDescription &target) {
  constexpr int64_t mostQueries = 128, mostKeys = 256;
  auto sizeOf = [&](StringRef name) {
    auto size = op->getAttrOfType<IntegerAttr>(name);
    return size ? size.getInt() : 0;
  };
  int64_t queries = sizeOf(queryBlockName), keys = sizeOf(keyBlockName);
  if (queries && (queries % registerTile != 0 || queries > mostQueries ||
                  !llvm::isPowerOf2_64(queries)))
    return refuseSize(op, queryBlockName, "query_block",
                      choice.sizes[0].has_value())
           << ", expected 16, 32, 64 or 128, whole tiles of the warps of a "
              "thread block, with the algorithm registers";
  if (keys % registerTile != 0 || keys > mostKeys)
    return refuseSize(op, keyBlockName, "key_block",
                      choice.sizes[1].has_value())
           << ", expected a multiple of " << registerTile << " up to "
           << mostKeys << " with the algorithm registers";
  // What has no form the lowering refuses, with its place.
  if (!findRegistersProducts(op).obstacle.empty())
    return success();
  if (std::string why = whyNotInRegisters(op, target); !keys && !why.empty())
    return op->emitError("attention cannot be scheduled as registers: ") << why;
  AttentionBlocks chosen = chooseBlocks(op, registersAlgorithm, target);
  AttentionBlocks blocks = {queries ? queries : chosen.queries,
                            keys ? keys : chosen.keys};
  int64_t bytes = needOfRegisters(op, blocks, target).sharedBytes;
  if (bytes <= target.blockSharedBytes)
    return success();
  return op->emitError("attention cannot be scheduled as registers: blocks of ")
         << blocks.queries << " queries and " << blocks.keys << " keys take "
         << bytes << " bytes of shared memory, and a thread block has "
         << target.blockSharedBytes;
}

/// A scan needs a step that is linear in the states.
static LogicalResult checkScan(RecurrenceOp op) {
  ScanForm form(op);
  if (form.isScan())
    return success();
  auto error = op.emitError("recurrence cannot be scheduled as a scan: ")
               << form.getReason();
  error.attachNote(form.getPlace()) << "it is here";
  return error;
}

/// Says of a recurrence that is taken step by step why it is no scan.
static void explainSteps(RecurrenceOp op) {
  ScanForm form(op);
  if (form.isScan() || op.getInitials().empty())
    return;
  std::string what = form.isLinear()
                         ? "linear recurrence, but taken step by step: "
                         : "not a linear recurrence: ";
  remark::missed(
      form.getPlace(),
      remark::RemarkOpts::name("algorithm").category("gf-choose-algorithms"))
      << what + form.getReason().str();
}

/// What an algorithm makes of an operation, and what it spares.
static StringRef describe(Operation *op, StringRef algorithm) {
  if (algorithm == stepsAlgorithm)
    return "recurrence: steps, one after another; what is known of a block of "
           "steps before them is computed for all of them at once";
  if (algorithm == scanAlgorithm)
    return "linear recurrence: scan, a block of steps at once; of the states "
           "each element goes through the block on its own";
  if (algorithm == residentAlgorithm)
    return "attention: resident, a block of queries at a time, whose rows of "
           "scores stay in the cache";
  if (algorithm == registersAlgorithm)
    return "attention: registers, a block of queries for each thread block, a "
           "block of keys at a time; scores and sums stay in registers";
  if (algorithm == onlineAlgorithm)
    return "attention: online, a block of queries and a block of keys at a "
           "time, with a running maximum and sum; no row of scores is stored";
  return isa<RecurrenceOp>(op)
             ? "recurrence: naive, one time step after another; products with "
               "the step's input stay in the loop"
             : "attention: naive, one query's row after another; no score "
               "matrix is stored, no key is skipped";
}

/// Writes what the user chose, over what the operation says.
static void applySchedule(Operation *op, const ScheduledKind &kind,
                          const Schedule::Choice &choice,
                          const TargetDescription &target) {
  Builder builder(op->getContext());
  if (choice.algorithm)
    op->setAttr(algorithmName, builder.getStringAttr(*choice.algorithm));
  for (auto [index, size] : llvm::enumerate(kind.sizes))
    if (std::optional<int64_t> number = choice.sizes[index])
      op->setAttr(size.attribute, builder.getI64IntegerAttr(*number));
  // Only some algorithms have the sizes.
  if (choice.isGiven() && !op->hasAttr(algorithmName))
    op->setAttr(algorithmName, builder.getStringAttr(findAlgorithmOf(
                                   kind, choice, chooseAlgorithm(op, target))));
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
    applySchedule(op, kind, choice, target);
    if (!op->hasAttr(algorithmName))
      op->setAttr(
          algorithmName,
          StringAttr::get(&getContext(), naive ? StringRef(naiveAlgorithm)
                                               : chooseAlgorithm(op, target)));
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
    bool isKeyBlockGiven = false;
    for (auto [index, size] : llvm::enumerate(kind.sizes)) {
      isKeyBlockGiven |= choice.sizes[index] && size.attribute == keyBlockName;
      if (choice.sizes[index] && !size.isOf(chosen.getValue()))
        return op->emitError(kind.name)
               << " cannot be scheduled with " << size.key
               << ": the module says that its algorithm is " << chosen;
      if (failed(checkSize(op, size)))
        return failure();
    }
    auto recurrence = dyn_cast<RecurrenceOp>(op);
    if (recurrence && chosen.getValue() == scanAlgorithm &&
        failed(checkScan(recurrence)))
      return failure();
    if (recurrence && chosen.getValue() == stepsAlgorithm && !choice.algorithm)
      explainSteps(recurrence);
    auto attention = dyn_cast<AttentionOp>(op);
    bool isInRegisters = chosen.getValue() == registersAlgorithm;
    if (isInRegisters && !target.isGpu())
      return op->emitError(
          "attention cannot be scheduled as registers: this "
          "target is no GPU, whose threads share the registers "
          "of a block; there is resident or online");
    if (failed(isInRegisters ? checkRegisters(attention, choice, target)
                             : checkKeyBlock(op, isKeyBlockGiven, target)))
      return failure();
    if (attention && target.isGpu() && !naive && !isInRegisters &&
        !choice.isGiven())
      if (std::string why = whyNotInRegisters(attention, target); !why.empty())
        remark::missed(op->getLoc(), remark::RemarkOpts::name("algorithm")
                                         .category("gf-choose-algorithms"))
            << "attention: not in registers, for " + why;
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
