// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AllSteps.h - A step's operations for all steps at once --*- C++ -*-===//
//
// Computes outside of a recurrence, for all steps at once, what its step
// computes for one: a value [lead.., rest..] becomes [lead.., T, rest..].
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_ALLSTEPS_H
#define PASSES_FUSE_ALLSTEPS_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/support/SizeResolver.h"

namespace gatefold {

/// Computes operations of a step for all steps at once, at the insertion point
/// of a rewriter outside of the recurrence.
class AllSteps {
public:
  AllSteps(RecurrenceOp recurrence, mlir::RewriterBase &rewriter);
  /// The same for `count` of the steps, of which add() tells the sequences.
  AllSteps(RecurrenceOp recurrence, mlir::RewriterBase &rewriter,
           mlir::OpFoldResult count);

  /// Says that `whole` holds `value` of all steps.
  void add(mlir::Value value, mlir::Value whole) { wholes[value] = whole; }
  bool isKnown(mlir::Value value) const { return wholes.count(value); }
  /// All steps of `value`, which is known or the same at each step.
  mlir::Value get(mlir::Value value);

  /// Computes the results of `op`, which canComputeAllSteps.
  mlir::LogicalResult compute(mlir::Operation *op);

  /// The number of steps.
  mlir::OpFoldResult getSteps();

private:
  mlir::RankedTensorType wholeType(mlir::Type type);
  mlir::FailureOr<llvm::SmallVector<mlir::OpFoldResult>>
  wholeSizes(mlir::Value value);
  mlir::Value makeInit(mlir::Value init);
  mlir::Value broadcast(mlir::Value value);
  mlir::OpFoldResult resolve(mlir::OpFoldResult size);

  mlir::LogicalResult computeLinalg(mlir::linalg::LinalgOp op);
  mlir::LogicalResult computeSlice(mlir::tensor::ExtractSliceOp op);
  mlir::LogicalResult computeExpansion(mlir::tensor::ExpandShapeOp op);

  RecurrenceOp recurrence;
  mlir::RewriterBase &rewriter;
  int64_t timeAxis;
  /// Of a part of the steps.
  mlir::OpFoldResult partCount;
  SizeResolver resolver;
  llvm::DenseMap<mlir::Value, mlir::Value> wholes;
};

} // namespace gatefold

#endif // PASSES_FUSE_ALLSTEPS_H
