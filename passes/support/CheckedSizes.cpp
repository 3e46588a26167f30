// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckedSizes.cpp - Size arithmetic that notices overflow -----------===//
//
// By the high half of products and by the signs of sums.
//
//===----------------------------------------------------------------------===//

#include "passes/support/CheckedSizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gatefold;

CheckedSizes::CheckedSizes(OpBuilder &builder, Location loc)
    : builder(builder), loc(loc) {
  reset();
}

void CheckedSizes::reset() {
  overflow = arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 0);
}

void CheckedSizes::note(Value condition) {
  overflow = arith::OrIOp::create(builder, loc, overflow, condition);
}

Value CheckedSizes::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                      value);
}

Value CheckedSizes::add(Value left, Value right) {
  Value sum = arith::AddIOp::create(builder, loc, left, right);
  // Both signs differ from the sign of the sum.
  Value leftDiffers = arith::XOrIOp::create(builder, loc, left, sum);
  Value rightDiffers = arith::XOrIOp::create(builder, loc, right, sum);
  Value both = arith::AndIOp::create(builder, loc, leftDiffers, rightDiffers);
  note(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, both,
                             constant(0)));
  return sum;
}

Value CheckedSizes::multiply(Value left, Value right) {
  auto product = arith::MulSIExtendedOp::create(builder, loc, left, right);
  Value sign =
      arith::ShRSIOp::create(builder, loc, product.getLow(), constant(63));
  note(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, sign,
                             product.getHigh()));
  return product.getLow();
}

void CheckedSizes::requireNonNegative(Value value) {
  note(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, value,
                             constant(0)));
}

Value CheckedSizes::evaluate(AffineExpr expression, ValueRange symbols) {
  if (auto number = dyn_cast<AffineConstantExpr>(expression))
    return constant(number.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Value left = evaluate(binary.getLHS(), symbols);
  Value right = evaluate(binary.getRHS(), symbols);
  if (expression.getKind() == AffineExprKind::Add)
    return add(left, right);
  if (expression.getKind() == AffineExprKind::Mul)
    return multiply(left, right);

  // Division by what is not positive is undefined: divide by 1 instead.
  Value positive = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sgt, right, constant(0));
  note(arith::XOrIOp::create(
      builder, loc, positive,
      arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 1)));
  Value divisor =
      arith::SelectOp::create(builder, loc, positive, right, constant(1));
  Value remainder = arith::RemSIOp::create(builder, loc, left, divisor);
  Value isNegative = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, remainder, constant(0));
  Value modulo = arith::SelectOp::create(
      builder, loc, isNegative,
      arith::AddIOp::create(builder, loc, remainder, divisor), remainder);
  if (expression.getKind() == AffineExprKind::Mod)
    return modulo;
  // floor = (left - modulo) / divisor, exactly.
  Value quotient = arith::DivSIOp::create(
      builder, loc, arith::SubIOp::create(builder, loc, left, modulo), divisor);
  if (expression.getKind() == AffineExprKind::FloorDiv)
    return quotient;
  Value inexact = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        modulo, constant(0));
  Value step =
      arith::ExtUIOp::create(builder, loc, builder.getI64Type(), inexact);
  return arith::AddIOp::create(builder, loc, quotient, step);
}

Value CheckedSizes::orMinusOne(Value value) {
  return arith::SelectOp::create(builder, loc, overflow, constant(-1), value);
}
