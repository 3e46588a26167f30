// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckedSizes.h - Size arithmetic that notices overflow ---*- C++ -*-===//
//
// Emits i64 arithmetic on sizes together with a flag that says whether
// anything overflowed.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SUPPORT_CHECKEDSIZES_H
#define PASSES_SUPPORT_CHECKEDSIZES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace gatefold {

/// Arithmetic of i64 values. `getOverflow` is an i1: something did not fit, or
/// was divided by 0 or less.
class CheckedSizes {
public:
  CheckedSizes(mlir::OpBuilder &builder, mlir::Location loc);

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value left, mlir::Value right);
  mlir::Value multiply(mlir::Value left, mlir::Value right);
  /// Marks an overflow where `value` is negative.
  void requireNonNegative(mlir::Value value);

  /// The value of an expression over symbols.
  mlir::Value evaluate(mlir::AffineExpr expression, mlir::ValueRange symbols);

  mlir::Value getOverflow() const { return overflow; }
  /// Forgets earlier overflows.
  void reset();
  /// `value`, or -1 if something overflowed.
  mlir::Value orMinusOne(mlir::Value value);

private:
  void note(mlir::Value condition);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value overflow;
};

} // namespace gatefold

#endif // PASSES_SUPPORT_CHECKEDSIZES_H
