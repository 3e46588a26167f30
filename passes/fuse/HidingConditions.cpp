// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HidingConditions.cpp - Comparisons that hide keys ------------------===//
//
// Follows a score, and the condition of a softmax, to comparisons of sums of
// indices. Integers are followed as if none overflowed: they are places of
// tensors and numbers that are added to them.
//
// A score is -inf where the condition of a choice with -inf does not hold, and
// stays so in sums and under positive factors. (A score of +inf or NaN with
// -inf added gives NaN; it is taken for hidden, as the clause `bias` of an
// attention takes it.)
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/HidingConditions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

// How deep what computes a scalar is looked at.
static constexpr unsigned mostSteps = 64;
// How many comparisons a condition is followed to.
static constexpr unsigned mostConditions = 16;
// How many scalars are looked at for a softmax. One that is read twice is met
// on two ways, so that their number may double with each step.
static constexpr unsigned mostLooks = 1024;

void IndexSum::add(const IndexSum &other, int64_t factor) {
  query += factor * other.query;
  key += factor * other.key;
  constant += factor * other.constant;
  for (auto [number, times] : other.numbers)
    if ((numbers[number] += factor * times) == 0)
      numbers.erase(number);
}

void IndexSum::drop(Value number) { numbers.erase(number); }

bool gatefold::operator==(const IndexSum &left, const IndexSum &right) {
  IndexSum difference = left;
  difference.add(right, -1);
  return difference.isConstant() && difference.constant == 0;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value HidingConditions::elementOf(Value value) {
  while (Operation *by = value.getDefiningOp()) {
    if (isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(by))
      value = by->getOperand(0);
    else if (auto generic = dyn_cast<GenericOp>(by);
             generic && op.getBody().isAncestor(generic->getParentRegion()) &&
             generic.getNumResults() == 1 &&
             generic.getNumParallelLoops() == generic.getNumLoops())
      return generic.getBody()->getTerminator()->getOperand(0);
    else if (auto elements = dyn_cast<tensor::FromElementsOp>(by);
             elements && elements.getElements().size() == 1)
      return elements.getElements().front();
    else if (auto fill = dyn_cast<linalg::FillOp>(by))
      return fill.getInputs()[0];
    else
      break;
  }
  return {};
}

Value HidingConditions::followArgument(Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  auto generic =
      argument ? dyn_cast_or_null<GenericOp>(argument.getOwner()->getParentOp())
               : nullptr;
  if (!generic || argument.getArgNumber() >= generic.getNumDpsInputs())
    return {};
  return elementOf(generic.getInputs()[argument.getArgNumber()]);
}

//===----------------------------------------------------------------------===//
// Sums of indices
//===----------------------------------------------------------------------===//

std::optional<IndexSum> HidingConditions::sumOfArgument(BlockArgument argument,
                                                        unsigned depth) {
  IndexSum sum;
  if (argument == op.getRowArgument()) {
    sum.query = 1;
    return sum;
  }
  if (argument == op.getPositionArgument()) {
    // What is added to the row is a number of its own.
    sum.query = 1;
    sum.numbers[argument] = 1;
    return sum;
  }
  if (Value element = followArgument(argument))
    return sumOf(element, depth + 1);
  auto generic =
      dyn_cast_or_null<GenericOp>(argument.getOwner()->getParentOp());
  if (!generic || argument.getArgNumber() >= generic.getNumDpsInputs())
    return std::nullopt;
  Value value = generic.getInputs()[argument.getArgNumber()];
  // One number for all, or for each query or key.
  auto type = dyn_cast<RankedTensorType>(value.getType());
  bool isNumber = type && type.getRank() == 0 &&
                  (llvm::is_contained(op.getCaptureArguments(), value) ||
                   llvm::is_contained(op.getQueryArguments(), value));
  bool isOfKey = llvm::is_contained(op.getPairArguments(), value) &&
                 !body.isPerQuery(value);
  if (!isNumber && !isOfKey)
    return std::nullopt;
  sum.numbers[value] = 1;
  return sum;
}

bool HidingConditions::canLook(unsigned depth) {
  return depth <= mostSteps && looks++ < mostLooks;
}

std::optional<IndexSum> HidingConditions::sumOf(Value scalar, unsigned depth) {
  if (!canLook(depth) || !scalar.getType().isIntOrIndex() ||
      scalar.getType().isInteger(1))
    return std::nullopt;
  IndexSum sum;
  APInt constant;
  if (matchPattern(scalar, m_ConstantInt(&constant))) {
    // Far from where sums of such numbers would overflow.
    if (constant.getSignificantBits() > 40)
      return std::nullopt;
    sum.constant = constant.getSExtValue();
    return sum;
  }
  if (auto argument = dyn_cast<BlockArgument>(scalar);
      argument && op.getBody().isAncestor(argument.getParentRegion()))
    return sumOfArgument(argument, depth);
  Operation *by = scalar.getDefiningOp();
  if (auto index = dyn_cast_or_null<linalg::IndexOp>(by)) {
    auto owner = dyn_cast<linalg::LinalgOp>(index->getParentOp());
    sum.key = owner && body.isKeyLoop(owner, index.getDim());
    // The only index of an axis of one element is 0.
    if (!sum.key && owner && owner.getStaticLoopRanges()[index.getDim()] != 1)
      return std::nullopt;
    return sum;
  }
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(by))
    return sumOf(by->getOperand(0), depth + 1);
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(by)) {
    std::optional<IndexSum> left = sumOf(by->getOperand(0), depth + 1),
                            right = sumOf(by->getOperand(1), depth + 1);
    if (!left || !right)
      return std::nullopt;
    left->add(*right, isa<arith::AddIOp>(by) ? 1 : -1);
    return left;
  }
  if (isa_and_nonnull<math::AbsIOp>(by)) {
    if (std::optional<IndexSum> inner = sumOf(by->getOperand(0), depth + 1)) {
      absolute[scalar] = *inner;
      sum.numbers[scalar] = 1;
      return sum;
    }
    return std::nullopt;
  }
  // A number that is known before the attention.
  if (op.getBody().isAncestor(scalar.getParentRegion()))
    return std::nullopt;
  sum.numbers[scalar] = 1;
  return sum;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Whether nothing of what the condition says is left out.
bool HidingConditions::addCondition(IndexSum sum, arith::CmpIOp comparison,
                                    bool holds) {
  if (found.size() >= mostConditions)
    return false;
  for (auto &[number, inner] : absolute) {
    auto *times = sum.numbers.find(number);
    if (times == sum.numbers.end())
      continue;
    // |x| + r <= 0 holds if x + r <= 0 and -x + r <= 0 do.
    if (times->second != 1)
      return false;
    IndexSum rest = sum;
    rest.drop(number);
    bool isWhole = true;
    for (int64_t sign : {1, -1}) {
      IndexSum side = rest;
      side.add(inner, sign);
      isWhole &= addCondition(side, comparison, holds);
    }
    return isWhole;
  }
  found.push_back({sum, /*isEquation=*/false, comparison, holds});
  return true;
}

void HidingConditions::findInComparison(arith::CmpIOp comparison, bool holds) {
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = comparison.getPredicate();
  if (!holds)
    predicate = arith::invertPredicate(predicate);
  std::optional<IndexSum> left = sumOf(comparison.getLhs(), 0),
                          right = sumOf(comparison.getRhs(), 0);
  if (!left || !right)
    return;
  if (predicate == Predicate::eq) {
    left->add(*right, -1);
    found.push_back({*left, /*isEquation=*/true, comparison, holds});
    return;
  }
  // left <= right, or left + 1 <= right.
  if (predicate == Predicate::sge || predicate == Predicate::sgt)
    std::swap(left, right);
  else if (predicate != Predicate::sle && predicate != Predicate::slt)
    return;
  left->add(*right, -1);
  left->constant += predicate == Predicate::slt || predicate == Predicate::sgt;
  unsigned before = found.size();
  if (!addCondition(*left, comparison, holds))
    for (HidingCondition &part : MutableArrayRef(found).drop_front(before))
      part.comparison = nullptr;
}

void HidingConditions::findInCondition(Value scalar, bool holds,
                                       unsigned depth) {
  if (!canLook(depth) || found.size() >= mostConditions)
    return;
  if (Value element = followArgument(scalar))
    return findInCondition(element, holds, depth + 1);
  Operation *by = scalar.getDefiningOp();
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(by))
    return findInComparison(comparison, holds);
  // Both parts hold, or neither does.
  if ((holds && isa_and_nonnull<arith::AndIOp>(by)) ||
      (!holds && isa_and_nonnull<arith::OrIOp>(by))) {
    findInCondition(by->getOperand(0), holds, depth + 1);
    findInCondition(by->getOperand(1), holds, depth + 1);
    return;
  }
  if (isa_and_nonnull<arith::XOrIOp>(by) &&
      matchPattern(by->getOperand(1), m_One()))
    findInCondition(by->getOperand(0), !holds, depth + 1);
}

static bool isMinusInfinity(Value scalar) {
  APFloat number(0.0f);
  return matchPattern(scalar, m_ConstantFloat(&number)) &&
         number.isInfinity() && number.isNegative();
}

static bool isPositive(Value scalar) {
  APFloat number(0.0f);
  return matchPattern(scalar, m_ConstantFloat(&number)) &&
         number.isFiniteNonZero() && !number.isNegative();
}

void HidingConditions::findInScore(Value scalar, unsigned depth) {
  if (!canLook(depth))
    return;
  if (Value element = followArgument(scalar))
    return findInScore(element, depth + 1);
  Operation *by = scalar.getDefiningOp();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(by)) {
    Value chosen = select.getTrueValue(), other = select.getFalseValue();
    bool holds = isMinusInfinity(other);
    if (!holds && !isMinusInfinity(chosen))
      return;
    findInCondition(select.getCondition(), holds, depth + 1);
    findInScore(holds ? chosen : other, depth + 1);
  } else if (isa_and_nonnull<arith::AddFOp>(by)) {
    findInScore(by->getOperand(0), depth + 1);
    findInScore(by->getOperand(1), depth + 1);
  } else if (isa_and_nonnull<arith::SubFOp, arith::ExtFOp, arith::TruncFOp>(
                 by)) {
    findInScore(by->getOperand(0), depth + 1);
  } else if (isa_and_nonnull<arith::MulFOp, arith::DivFOp>(by)) {
    if (isPositive(by->getOperand(1)))
      findInScore(by->getOperand(0), depth + 1);
    else if (isa<arith::MulFOp>(by) && isPositive(by->getOperand(0)))
      findInScore(by->getOperand(1), depth + 1);
  }
}

SmallVector<HidingCondition> HidingConditions::find(RowSoftmaxOp softmax) {
  found.clear();
  looks = 0;
  if (Value scores = elementOf(softmax.getScores()))
    findInScore(scores, 0);
  if (softmax.getWhere())
    if (Value where = elementOf(softmax.getWhere()))
      findInCondition(where, /*holds=*/true, 0);
  return std::move(found);
}
