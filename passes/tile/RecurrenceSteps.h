// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceSteps.h - The steps of a recurrence -----------*- C++ -*-===//
//
// What every loop over the steps of a gf.recurrence needs: the values that it
// carries, and one step.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_RECURRENCESTEPS_H
#define PASSES_TILE_RECURRENCESTEPS_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallBitVector.h"

namespace gatefold {

/// What `value` is a view of.
mlir::Value viewedTensor(mlir::Value value);

/// The slices that are written into `state` until it is `value`, in loops too;
/// false where it is made of anything else.
bool findWrites(mlir::Value value, mlir::Value state,
                llvm::SmallVectorImpl<mlir::tensor::InsertSliceOp> &writes);

/// Builds the steps of one recurrence.
class RecurrenceSteps {
public:
  /// Naive steps update states and zeros in their place one by one; others give
  /// each a new place, so that operations can be fused, and bufferization finds
  /// it.
  RecurrenceSteps(RecurrenceOp op, mlir::RewriterBase &rewriter, bool isNaive)
      : op(op), rewriter(rewriter), loc(op.getLoc()),
        timeAxis(op.getTimeAxisAttr().getInt()), isNaive(isNaive) {}

  /// Computes what stands before the loop, at the place of the recurrence; a
  /// diagnostic where the size of an output is known to a step alone.
  mlir::LogicalResult begin();

  /// Resets what the first step begins with, where each step does that for the
  /// next one. Without it each does it for itself.
  void resetInitials();

  /// The number of steps, and the first one that is behind the end of every
  /// sequence: a loop may end there, and then calls `finish`.
  mlir::Value getCount() const { return count; }
  mlir::Value getEnd() const { return end; }
  /// What the loop begins with: outputs, then states.
  llvm::ArrayRef<mlir::Value> getInitials() const { return initials; }

  /// Makes step `time`, whose part of sequence i is `takeStep(i)`, at the
  /// insertion point, and gives what is carried to the next step. The region
  /// moves there, so there is only one such place. A step that no sequence
  /// takes, since all have ended by a state of their own, is skipped.
  llvm::SmallVector<mlir::Value>
  makeStep(mlir::Value time, mlir::ValueRange carried,
           llvm::function_ref<mlir::Value(unsigned)> takeStep);

  /// Writes zeros into the steps from `getEnd` on, behind the loop that left
  /// `carried`, and gives the results of the recurrence.
  llvm::SmallVector<mlir::Value> finish(mlir::ValueRange carried);

private:
  mlir::Value findGreatestLength();
  mlir::Value constant(int64_t value);
  // RecurrenceResets.cpp: where a sequence may start, between two steps.
  struct Border {
    mlir::Value index;
    /// Null where there is one in every run.
    mlir::Value exists;
    /// Whether a sequence starts there.
    mlir::Value resets;
  };
  Border getBorder(mlir::Value time);
  Border getBorderBehind(mlir::Value time);
  mlir::Value resetState(const Border &border, mlir::Value state,
                         mlir::Value fresh, bool inPlace);
  bool isResetAhead(unsigned state);
  llvm::SmallVector<mlir::Value> resetStates(mlir::Value time,
                                             mlir::ValueRange states);
  mlir::Value isValid(mlir::OpBuilder &builder, mlir::Value time,
                      mlir::Value length);
  mlir::Value makeDestination(mlir::Value state,
                              llvm::SmallVectorImpl<mlir::Value> &inputs,
                              llvm::SmallVectorImpl<mlir::AffineMap> &maps,
                              bool inPlace = false);
  mlir::Value select(mlir::Value time, mlir::Value next, mlir::Value before);
  mlir::Value selectOrZero(mlir::Value time, mlir::Value value);
  // RecurrenceCaches.cpp: states that steps write rows into.
  bool isCache(unsigned state);
  mlir::Value findAny(mlir::Value resets);
  mlir::Value
  reduceBools(mlir::Value bools, bool initial,
              llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                             mlir::Value, mlir::Value)>
                  join);
  void keepRows(mlir::Value time, mlir::tensor::InsertSliceOp write);
  llvm::SmallBitVector separateLoops(mlir::Value time, mlir::ValueRange states,
                                     mlir::ValueRange yielded,
                                     mlir::ValueRange carried);
  // RecurrenceEnd.cpp: steps that no sequence takes.
  std::optional<unsigned> findEndingState();
  mlir::Value findAllEnded(mlir::Value ended);
  llvm::SmallVector<mlir::Value>
  makeTakenStep(mlir::Value time, mlir::ValueRange carried,
                llvm::function_ref<mlir::Value(unsigned)> takeStep);

  RecurrenceOp op;
  mlir::RewriterBase &rewriter;
  mlir::Location loc;
  int64_t timeAxis;
  bool isNaive;
  mlir::Value count, end;
  llvm::SmallVector<mlir::Value> initials;
  /// States that a step writes as the next one begins with them.
  llvm::SmallBitVector resetsAhead;
};

} // namespace gatefold

#endif // PASSES_TILE_RECURRENCESTEPS_H
