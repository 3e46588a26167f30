// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StepConditions.h - What can leave a step ----------------*- C++ -*-===//
//
// What of a recurrence's step is the same at each step, and what can be
// computed for all steps at once.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_STEPCONDITIONS_H
#define PASSES_FUSE_STEPCONDITIONS_H

#include "dialect/GatefoldOps.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// Constants, fills and empty tensors: made anew wherever they are needed.
bool isMadeAnew(mlir::Operation *op);

/// Whether a value in or outside of a step (or row) is the same at each: it
/// comes from outside, or is made anew from what does.
bool isSameAtEachStep(mlir::Value value, mlir::Region &step);

/// Makes a value of the step that is made anew before it.
mlir::Value makeAnew(mlir::RewriterBase &rewriter, mlir::Value value,
                     mlir::Region &step);

/// From the `rank` indices of a tensor to those of `operand`, lengths or
/// resets, whose dimensions are its first ones. It may have none, for which
/// upstream's getMajorSubMap gives no map at all.
mlir::AffineMap leadingMap(int64_t rank, mlir::Value operand);

/// Elements of one row of a step's value: behind the leading dimensions. Open
/// sizes count as 64, and no count is above 2^40.
int64_t countElements(mlir::Value value, unsigned leadRank);

/// Whether a value is known for all steps at once.
using IsKnown = llvm::function_ref<bool(mlir::Value)>;

/// Whether `op` of the step can be computed for all steps at once from operands
/// that are known so, of which it needs one, and others that are the same at
/// each step: a product, reduction or elementwise operation, a slice, a
/// reshaping or a concatenation, which leaves the leading dimensions where they
/// are.
bool canComputeAllSteps(RecurrenceOp recurrence, mlir::Operation *op,
                        IsKnown isKnown);

} // namespace gatefold

#endif // PASSES_FUSE_STEPCONDITIONS_H
