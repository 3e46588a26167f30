// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceCanonicalizer.cpp - Simpler forms of a recurrence --------===//
//
// Drops what a recurrence does not need and merges what it holds twice:
// sequences, states and outputs. `lengths`, `resets` and the order of what
// stays are never touched.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace gatefold;

namespace {

/// Which sequences, states and outputs are not needed.
struct Dropped {
  explicit Dropped(RecurrenceOp op)
      : sequences(op.getSequences().size()), states(op.getInitials().size()),
        outputs(op.getNumOutputs()) {}
  bool any() const { return sequences.any() || states.any() || outputs.any(); }
  llvm::BitVector sequences, states, outputs;
};

/// The values whose index is not dropped.
SmallVector<Value> keep(ValueRange values, const llvm::BitVector &dropped) {
  SmallVector<Value> kept;
  for (auto [index, value] : llvm::enumerate(values))
    if (!dropped.test(index))
      kept.push_back(value);
  return kept;
}

/// Makes the recurrence again without what is dropped, of which no use is
/// left.
void rebuild(PatternRewriter &rewriter, RecurrenceOp op,
             const Dropped &dropped) {
  llvm::BitVector arguments = dropped.sequences;
  arguments.resize(op.getBody().getNumArguments());
  llvm::BitVector results = dropped.outputs;
  results.resize(op.getNumResults());
  for (unsigned state : dropped.states.set_bits()) {
    arguments.set(op.getSequences().size() + state);
    results.set(op.getNumOutputs() + state);
  }

  YieldOp yield = op.getYield();
  rewriter.modifyOpInPlace(yield, [&] {
    yield.getValuesMutable().assign(keep(yield.getValues(), results));
  });
  SmallVector<Type> outputTypes;
  for (unsigned i = 0, e = op.getNumOutputs(); i < e; ++i)
    if (!dropped.outputs.test(i))
      outputTypes.push_back(op.getResult(i).getType());
  SmallVector<Value> resetStates;
  if (!op.getResetStates().empty())
    resetStates = keep(op.getResetStates(), dropped.states);

  auto simpler = RecurrenceOp::create(
      rewriter, op.getLoc(), outputTypes,
      keep(op.getSequences(), dropped.sequences),
      keep(op.getInitials(), dropped.states), op.getLengths(), op.getResets(),
      resetStates, op.getSteps(), op.getTimeAxisAttr().getInt(),
      op.getReverse());
  simpler->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.eraseBlock(&simpler.getBody().front());
  rewriter.inlineRegionBefore(op.getBody(), simpler.getBody(),
                              simpler.getBody().begin());
  Block &body = simpler.getBody().front();
  rewriter.modifyOpInPlace(simpler, [&] { body.eraseArguments(arguments); });

  unsigned next = 0;
  for (unsigned i = 0, e = op.getNumResults(); i < e; ++i)
    if (!results.test(i))
      rewriter.replaceAllUsesWith(op.getResult(i), simpler.getResult(next++));
  rewriter.eraseOp(op);
}

/// The first index before `index` that is the same by `same` and not dropped.
template <typename Same>
std::optional<unsigned> findEarlier(unsigned index,
                                    const llvm::BitVector &dropped, Same same) {
  for (unsigned i = 0; i < index; ++i)
    if (!dropped.test(i) && same(i))
      return i;
  return std::nullopt;
}

struct SimplifyRecurrence : OpRewritePattern<RecurrenceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RecurrenceOp op,
                                PatternRewriter &rewriter) const override {
    Dropped dropped(op);
    dropOutputs(op, rewriter, dropped);
    dropStates(op, rewriter, dropped);
    dropSequences(op, rewriter, dropped);
    if (!dropped.any())
      return failure();
    rebuild(rewriter, op, dropped);
    return success();
  }

private:
  /// Outputs without a use, and outputs that are yielded twice.
  static void dropOutputs(RecurrenceOp op, PatternRewriter &rewriter,
                          Dropped &dropped) {
    OperandRange yielded = op.getYield().getValues();
    for (unsigned i = 0, e = op.getNumOutputs(); i < e; ++i) {
      Value output = op.getResult(i);
      auto earlier = findEarlier(i, dropped.outputs, [&](unsigned other) {
        return yielded[other] == yielded[i] &&
               op.getResult(other).getType() == output.getType();
      });
      if (earlier)
        rewriter.replaceAllUsesWith(output, op.getResult(*earlier));
      if (output.use_empty())
        dropped.outputs.set(i);
    }
  }

  /// States that nothing reads, that never change, and that are the same as
  /// another one.
  static void dropStates(RecurrenceOp op, PatternRewriter &rewriter,
                         Dropped &dropped) {
    ValueRange initials = op.getInitials(), resetStates = op.getResetStates();
    ValueRange next = op.getYield().getValues().drop_front(op.getNumOutputs());
    // The leading sizes may be known from states alone.
    unsigned needed = op.getSequences().empty() ? 1 : 0;
    for (unsigned i = 0, e = initials.size(); i < e; ++i) {
      if (e - dropped.states.count() <= needed)
        return;
      Value argument = op.getStateArguments()[i], final = op.getFinals()[i];
      bool resetsToInitial =
          resetStates.empty() || resetStates[i] == initials[i];
      if (next[i] == argument && resetsToInitial &&
          argument.getType() == initials[i].getType()) {
        rewriter.replaceAllUsesWith(final, initials[i]);
        // The yield of the state itself goes with it.
        rewriter.replaceAllUsesWith(argument, initials[i]);
        dropped.states.set(i);
        continue;
      }
      auto earlier = findEarlier(i, dropped.states, [&](unsigned other) {
        return initials[other] == initials[i] && next[other] == next[i] &&
               op.getStateArguments()[other].getType() == argument.getType() &&
               (resetStates.empty() || resetStates[other] == resetStates[i]);
      });
      if (earlier) {
        rewriter.replaceAllUsesWith(final, op.getFinals()[*earlier]);
        rewriter.replaceAllUsesWith(argument, op.getStateArguments()[*earlier]);
      }
      if (final.use_empty() && argument.use_empty())
        dropped.states.set(i);
    }
  }

  /// Sequences that the step does not read, and those that are given twice. One
  /// stays: it says how many steps there are.
  static void dropSequences(RecurrenceOp op, PatternRewriter &rewriter,
                            Dropped &dropped) {
    for (unsigned i = 0, e = op.getSequences().size(); i < e; ++i) {
      Value argument = op.getStepArguments()[i];
      auto earlier = findEarlier(i, dropped.sequences, [&](unsigned other) {
        return op.getSequences()[other] == op.getSequences()[i] &&
               op.getStepArguments()[other].getType() == argument.getType();
      });
      if (earlier)
        rewriter.replaceAllUsesWith(argument, op.getStepArguments()[*earlier]);
      if (argument.use_empty() && dropped.sequences.count() + 1 < e)
        dropped.sequences.set(i);
    }
  }
};

} // namespace

void RecurrenceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<SimplifyRecurrence>(context);
}
