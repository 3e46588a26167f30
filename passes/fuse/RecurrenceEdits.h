// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceEdits.h - More sequences, more outputs --------*- C++ -*-===//
//
// Makes a recurrence again with what a fusion adds to it. What is not used any
// more is left to canonicalisation.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_RECURRENCEEDITS_H
#define PASSES_FUSE_RECURRENCEEDITS_H

#include "dialect/GatefoldOps.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// Gives the recurrence further sequences, whose steps take the place of
/// `values` of its step.
RecurrenceOp addSequences(mlir::RewriterBase &rewriter, RecurrenceOp op,
                          mlir::ValueRange values, mlir::ValueRange wholes);

/// Gives the recurrence further outputs, `values` of its step.
RecurrenceOp addOutputs(mlir::RewriterBase &rewriter, RecurrenceOp op,
                        mlir::ValueRange values);

/// Drops the outputs that nothing uses.
RecurrenceOp dropUnusedOutputs(mlir::RewriterBase &rewriter, RecurrenceOp op);

} // namespace gatefold

#endif // PASSES_FUSE_RECURRENCEEDITS_H
