// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ClauseOperands.h - Operands of an attention's clauses ----*- C++ -*-===//
//
// Makes what `lengths`, `offset` and `segments` take of an attention's own
// operands and of sums of them.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_CLAUSEOPERANDS_H
#define PASSES_FUSE_CLAUSEOPERANDS_H

#include "mlir/IR/PatternMatch.h"
#include "passes/fuse/HidingConditions.h"

namespace gatefold {

/// Makes operands before the attention, where the rewriter stands.
class ClauseOperands {
public:
  ClauseOperands(AttentionOp op, mlir::RewriterBase &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()) {}

  /// Whether a sum without indices is known before the attention, as one number
  /// for all or for each index of the leading dimensions.
  bool isComputable(const IndexSum &sum);
  /// Such a sum: as a length between 0 and the number of keys, or as an offset.
  mlir::Value compute(const IndexSum &sum, bool ofLengths);
  /// A number of each query or key, which is an argument of the region, for
  /// each index of the first leading dimensions, of one at least if there are
  /// any; null if it is one of a query and a key.
  mlir::Value ofPositions(mlir::Value argument);

private:
  mlir::Value operandOf(mlir::Value argument);
  mlir::Value alignFirst(mlir::Value operand, int64_t operandLead,
                         bool hasPositions);

  AttentionOp op;
  mlir::RewriterBase &rewriter;
  mlir::Location loc;
};

} // namespace gatefold

#endif // PASSES_FUSE_CLAUSEOPERANDS_H
