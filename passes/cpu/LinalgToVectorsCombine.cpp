// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToVectorsCombine.cpp - Combining lanes of a reduction --------===//
//
// Partial results become one: of several accumulators, then of the lanes of a
// vector.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/cpu/LinalgToVectors.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

LaneCombination::LaneCombination(LinalgOp op, const VectorPlan &plan)
    : op(op), plan(plan), loc(op.getLoc()) {
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable()))
    if (plan.isCarried[index])
      carried.push_back(&init);
}

/// Whether of two choices the right one holds: it is better, or as good and
/// before the other.
Value LaneCombination::isRightBetter(OpBuilder &builder, ValueRange left,
                                     ValueRange right) {
  const LaneChoice &choice = *plan.choice;
  auto isBetter = [&](Value element, Value best) -> Value {
    Value operands[] = {element, element};
    operands[choice.bestOperand] = best;
    Value larger;
    if (auto floats = dyn_cast<arith::CmpFOp>(choice.compare))
      larger = arith::CmpFOp::create(builder, loc, floats.getPredicate(),
                                     operands[0], operands[1]);
    else
      larger = arith::CmpIOp::create(
          builder, loc, cast<arith::CmpIOp>(choice.compare).getPredicate(),
          operands[0], operands[1]);
    if (!choice.prefersNaN)
      return larger;
    Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                        element, element);
    Value isNumber = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::ORD, best, best);
    Value isFirst = arith::AndIOp::create(builder, loc, isNaN, isNumber);
    return arith::OrIOp::create(builder, loc, larger, isFirst);
  };
  unsigned best = 0, place = 0;
  for (auto [index, operand] : llvm::enumerate(carried)) {
    unsigned result = operand->getOperandNumber() - op.getNumDpsInputs();
    if (result == choice.best)
      best = index;
    if (result == choice.place)
      place = index;
  }
  Value rightIsBetter = isBetter(right[best], left[best]);
  Value leftIsBetter = isBetter(left[best], right[best]);
  Value isBefore = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, right[place], left[place]);
  Value kept = arith::SelectOp::create(builder, loc, leftIsBetter,
                                       rightIsBetter, isBefore);
  return arith::OrIOp::create(builder, loc, rightIsBetter, kept);
}

/// Combines two partial results of all carried ones, scalars or vectors.
SmallVector<Value> LaneCombination::combine(OpBuilder &builder, ValueRange left,
                                            ValueRange right) {
  Value takesRight;
  if (plan.choice)
    takesRight = isRightBetter(builder, left, right);
  SmallVector<Value> results;
  for (auto [operand, first, second] : llvm::zip(carried, left, right)) {
    unsigned result = operand->getOperandNumber() - op.getNumDpsInputs();
    const auto &combiner = plan.combiners[result];
    if (!combiner) {
      results.push_back(
          arith::SelectOp::create(builder, loc, takesRight, second, first));
      continue;
    }
    if (isa<math::FmaOp>(combiner->combine)) {
      results.push_back(arith::AddFOp::create(builder, loc, first, second));
      continue;
    }
    IRMapping mapping;
    for (OpOperand &inner : combiner->combine->getOpOperands())
      mapping.map(inner.get(), inner.getOperandNumber() == combiner->accumulator
                                   ? first
                                   : second);
    Operation *copy = builder.clone(*combiner->combine, mapping);
    copy->getResult(0).setType(first.getType());
    results.push_back(copy->getResult(0));
  }
  return results;
}

/// Halves vectors until one lane is left.
SmallVector<Value> LaneCombination::combineLanes(OpBuilder &builder,
                                                 SmallVector<Value> lanes) {
  for (int64_t width = plan.lanes / 2; width > 0; width /= 2) {
    auto lower = llvm::to_vector(llvm::seq<int64_t>(0, width));
    auto upper = llvm::to_vector(llvm::seq<int64_t>(width, 2 * width));
    SmallVector<Value> low, high;
    for (Value vector : lanes) {
      low.push_back(
          vector::ShuffleOp::create(builder, loc, vector, vector, lower));
      high.push_back(
          vector::ShuffleOp::create(builder, loc, vector, vector, upper));
    }
    lanes = combine(builder, low, high);
  }
  for (Value &lane : lanes)
    lane = vector::ExtractOp::create(builder, loc, lane, int64_t(0));
  return lanes;
}
