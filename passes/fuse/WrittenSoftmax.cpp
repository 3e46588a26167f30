// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WrittenSoftmax.cpp - A softmax written out on tensors --------------===//
//
// Finds the four operations in which a softmax is written: the largest score of
// each row, powers, their sum, and the quotients.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/WrittenSoftmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static bool isNumber(Value value, double number) {
  APFloat found(0.0f);
  return matchPattern(value, m_ConstantFloat(&found)) &&
         found.convertToDouble() == number;
}

bool gatefold::isFilled(Value value, double number) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return fill && isNumber(fill.getInputs()[0], number);
}

static const double minusInfinity = -std::numeric_limits<double>::infinity();

/// The axis along which the operation combines its only input, from `initial`;
/// its other axes are those of the result, in order.
template <typename CombineOp>
static std::optional<int64_t> matchReduction(GenericOp op, double initial) {
  if (!op || op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != 1 || !isFilled(op.getOutputs()[0], initial))
    return std::nullopt;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  AffineMap whole = op.getIndexingMapsArray()[0];
  std::optional<unsigned> axis =
      whole.getResultPosition(getAffineDimExpr(reduced[0], op.getContext()));
  if (!whole.isPermutation() || !axis ||
      op.getIndexingMapsArray()[1] != whole.dropResult(*axis))
    return std::nullopt;
  Block *body = op.getBody();
  auto combine = dyn_cast<CombineOp>(body->front());
  if (!combine || body->getOperations().size() != 2 ||
      body->getTerminator()->getOperand(0) != combine.getResult())
    return std::nullopt;
  Value element = body->getArgument(0), result = body->getArgument(1);
  if ((combine.getLhs() != result || combine.getRhs() != element) &&
      (combine.getLhs() != element || combine.getRhs() != result))
    return std::nullopt;
  return *axis;
}

/// Whether the operation combines a whole tensor with what is one number along
/// the axis.
static bool isAlongAxis(GenericOp op, int64_t axis) {
  if (!op || op.getNumDpsInputs() != 2 || op.getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return maps[0].isIdentity() && maps[2].isIdentity() &&
         maps[1] == maps[0].dropResult(axis);
}

/// The value, but `instead` where it is `excepted`: what keeps a row without
/// keys from being NaN.
static bool isExcept(Value found, Value value, double excepted,
                     double instead) {
  auto select = found.getDefiningOp<arith::SelectOp>();
  if (!select || select.getFalseValue() != value ||
      !isNumber(select.getTrueValue(), instead))
    return false;
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  return compare && compare.getPredicate() == arith::CmpFPredicate::OEQ &&
         compare.getLhs() == value && isNumber(compare.getRhs(), excepted);
}

std::optional<WrittenSoftmax> gatefold::matchSoftmax(Value weights) {
  WrittenSoftmax found;
  found.weights = weights.getDefiningOp<GenericOp>();
  if (!found.weights || found.weights.getNumDpsInputs() != 2)
    return std::nullopt;
  found.powers = found.weights.getInputs()[0].getDefiningOp<GenericOp>();
  found.sum = found.weights.getInputs()[1].getDefiningOp<GenericOp>();
  if (!found.powers || found.powers.getNumDpsInputs() != 2)
    return std::nullopt;
  found.largest = found.powers.getInputs()[1].getDefiningOp<GenericOp>();

  std::optional<int64_t> axis = matchReduction<arith::AddFOp>(found.sum, 0.0);
  if (!axis ||
      *axis !=
          matchReduction<arith::MaximumFOp>(found.largest, minusInfinity) ||
      found.sum.getInputs()[0] != found.powers.getResult(0) ||
      found.largest.getInputs()[0] != found.getScores() ||
      !isAlongAxis(found.powers, *axis) || !isAlongAxis(found.weights, *axis))
    return std::nullopt;
  found.axis = *axis;

  Block *powers = found.powers.getBody(), *quotients = found.weights.getBody();
  auto power =
      powers->getTerminator()->getOperand(0).getDefiningOp<math::ExpOp>();
  auto difference =
      power ? power.getOperand().getDefiningOp<arith::SubFOp>() : nullptr;
  auto quotient =
      quotients->getTerminator()->getOperand(0).getDefiningOp<arith::DivFOp>();
  if (!difference || !quotient ||
      difference.getLhs() != powers->getArgument(0) ||
      !isExcept(difference.getRhs(), powers->getArgument(1), minusInfinity,
                0.0) ||
      quotient.getLhs() != quotients->getArgument(0) ||
      !isExcept(quotient.getRhs(), quotients->getArgument(1), 0.0, 1.0))
    return std::nullopt;
  return found;
}
