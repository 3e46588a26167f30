// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceScan.h - A block of steps as a scan -----------*- C++ -*-===//
//
// Computes a block of steps of a recurrence that is linear in its states: what
// does not depend on them for all steps at once, then the states, one element
// on its own through all steps, then what depends on them.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_RECURRENCESCAN_H
#define PASSES_TILE_RECURRENCESCAN_H

#include "mlir/IR/PatternMatch.h"
#include "passes/fuse/AllSteps.h"
#include "passes/tile/RecurrenceScanForm.h"

namespace gatefold {

/// One block of steps. The region of the recurrence is left as it is.
class RecurrenceScan {
public:
  /// Of the `count` steps in all, those from `start` on are `size`.
  RecurrenceScan(RecurrenceOp op, const ScanForm &form,
                 mlir::RewriterBase &rewriter, mlir::Value start,
                 mlir::Value size, mlir::Value count);

  /// Takes the block of a sequence.
  void addSequence(unsigned number, mlir::Value block);
  /// Makes the block at the insertion point. Takes and gives the outputs of all
  /// steps and the states.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  make(mlir::ValueRange carried);

private:
  /// A result along the steps: a value of a state, as it is or for an output,
  /// which is 0 behind the end of a sequence.
  struct Track {
    ScanForm::StateValue value;
    std::optional<unsigned> output;
  };
  /// What a scan reads: a value of the step, and how the state's indices give
  /// its element.
  using Leaf = std::pair<mlir::Value, mlir::AffineMap>;
  /// A scan that is being built.
  struct Scan {
    Scan(const ScanForm::Group &group, unsigned rank)
        : group(group), rank(rank) {}

    const ScanForm::Group &group;
    /// Of the states.
    unsigned rank;
    llvm::SmallVector<Track> tracks;
    llvm::SmallVector<mlir::Value> inputs;
    llvm::SmallVector<mlir::AffineMap> maps;
    /// Of each leaf that is an input: which one.
    llvm::DenseMap<Leaf, unsigned> places;
    std::optional<unsigned> lengths, resets;
    llvm::SmallVector<unsigned> resetStates;

    /// In the body: its arguments, and the values of the step as numbers.
    llvm::SmallVector<mlir::Value> arguments;
    llvm::DenseMap<mlir::Value, mlir::Value> numbers;
    /// The step of the recurrence, and its place in the block.
    mlir::Value time, inBlock;
  };

  mlir::LogicalResult computeAll(llvm::ArrayRef<mlir::Operation *> operations);
  void scan(const ScanForm::Group &group);
  void addLeaf(Scan &scan, mlir::Value value, mlir::AffineMap map);
  void addLeaves(Scan &scan, mlir::Operation *inner);
  void addConditions(Scan &scan);
  void makeBody(Scan &scan, mlir::OpBuilder &builder,
                mlir::ValueRange arguments);
  void makeInner(Scan &scan, mlir::OpBuilder &builder, mlir::Operation *inner);
  mlir::Value read(Scan &scan, mlir::OpBuilder &builder, mlir::Value value,
                   mlir::AffineMap map);
  mlir::Value extract(mlir::OpBuilder &builder, mlir::Value tensor,
                      mlir::AffineMap map, mlir::Value time);
  mlir::Value isBefore(mlir::OpBuilder &builder, mlir::Value time,
                       mlir::Value length);
  mlir::Value makeEmpty(mlir::Value state);
  mlir::Value takeBlock(mlir::Value whole);
  void putBlock(mlir::Value block, unsigned output);
  mlir::Value turn(mlir::Value block, mlir::Value destination);
  mlir::Value selectOrZero(mlir::Value block);
  mlir::Value constant(int64_t value);
  /// The map of a tensor of the step with time, or of one without, in the
  /// iterations of a scan.
  mlir::AffineMap withTime(mlir::AffineMap map, bool hasTime);

  RecurrenceOp op;
  const ScanForm &form;
  mlir::RewriterBase &rewriter;
  mlir::Location loc;
  unsigned timeAxis;
  mlir::Value start, size, count;
  AllSteps steps;
  llvm::SmallVector<mlir::Value> carried;
};

} // namespace gatefold

#endif // PASSES_TILE_RECURRENCESCAN_H
