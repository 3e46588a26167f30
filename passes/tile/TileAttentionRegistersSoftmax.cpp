// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionRegistersSoftmax.cpp - Softmax in registers -----------===//
//
// A running softmax over blocks of keys, as in TileAttentionOnline, and which
// keys a query sees. Only blocks in which queries differ, or that hold columns
// which are no keys, look at places.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/TileAttentionRegisters.h"

using namespace mlir;
using namespace gatefold;

//===----------------------------------------------------------------------===//
// Who sees whom
//===----------------------------------------------------------------------===//

bool AttentionRegisters::mayHaveEdges() {
  std::optional<int64_t> keys = getConstantIntValue(keyCount);
  return hidesByPlace() || reach.hasLength || !keys || *keys % keyBlock != 0;
}

/// Whether some query does not see some column of the block of keys.
Value AttentionRegisters::isEdge() {
  Value behind =
      arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sgt,
                            plus(keyStart, constant(keyBlock)), block.wholeEnd);
  if (!reach.first)
    return behind;
  Value before = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                       keyStart, block.wholeFirst);
  return arith::OrIOp::create(rewriter, loc, behind, before);
}

/// By place, of the block's queries and the columns of the block of keys. Both
/// are counted from 0 in 32 bits, which what they are compared with is brought
/// to.
Value AttentionRegisters::seenByPlace() {
  constexpr int64_t beyond = 1 << 30;
  Type i32 = rewriter.getI32Type();
  Value rows = countRows(i32), columns = countColumns(keyBlock, i32);
  auto toNumber = [&](Value place) {
    place = clamp(place, constant(-beyond), constant(beyond));
    return arith::IndexCastOp::create(rewriter, loc, i32, place).getResult();
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
    int64_t height = cast<VectorType>(bound.getType()).getDimSize(0);
    return arith::CmpIOp::create(rewriter, loc, predicate,
                                 stretch(columns, height, keyBlock),
                                 stretch(bound, height, keyBlock));
  };
  auto ofQuery = [&](Value distance) -> Value {
    Value place = toNumber(minus(plus(distance, block.start), keyStart));
    return arith::AddIOp::create(rewriter, loc, rows,
                                 splat(place, queryBlock, 1));
  };
  Value end = splat(toNumber(minus(reach.end, keyStart)), 1, keyBlock);
  Value seen =
      stretch(compare(arith::CmpIPredicate::slt, end), queryBlock, keyBlock);
  auto require = [&](Value holds) {
    seen = arith::AndIOp::create(rewriter, loc, seen, holds);
  };
  if (reach.first)
    require(compare(arith::CmpIPredicate::sge, ofQuery(reach.first)));
  if (reach.last)
    require(compare(arith::CmpIPredicate::sle, ofQuery(reach.last)));
  return seen;
}

/// By the mask and the segments; null where there are none.
Value AttentionRegisters::seenByElement() {
  Value seen;
  if (op.getMask())
    seen = stretch(readPair(op.getMask()), queryBlock, keyBlock);
  if (op.getQuerySegments()) {
    Value same =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                              stretch(readSegments(op.getQuerySegments(), true),
                                      queryBlock, keyBlock),
                              stretch(readSegments(op.getKeySegments(), false),
                                      queryBlock, keyBlock));
    seen = seen ? arith::AndIOp::create(rewriter, loc, seen, same).getResult()
                : same;
  }
  return seen;
}

Value AttentionRegisters::makeVisible() {
  Value seen = seenByPlace();
  if (Value more = seenByElement())
    seen = arith::AndIOp::create(rewriter, loc, seen, more);
  return seen;
}

/// Scores with the bias, -inf where a key does not take part.
Value AttentionRegisters::hide(RowSoftmaxOp softmax, Value scores) {
  Value value = stretch(vectorOf(scores), queryBlock, keyBlock);
  Type element = softmax.getType().getElementType();
  Value hidden =
      splat(negativeInfinity(rewriter, loc, element), queryBlock, keyBlock);
  if (op.getBias()) {
    Value bias = readPair(op.getBias());
    Type given = getElementTypeOrSelf(bias);
    bias = stretch(bias, queryBlock, keyBlock);
    Type type = vectorType(queryBlock, keyBlock, element);
    if (given.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
      bias = arith::ExtFOp::create(rewriter, loc, type, bias);
    else if (given != element)
      bias = arith::TruncFOp::create(rewriter, loc, type, bias);
    value = arith::AddFOp::create(rewriter, loc, value, bias);
  }
  Value seen = seenByElement();
  if (softmax.getWhere()) {
    Value where = stretch(vectorOf(softmax.getWhere()), queryBlock, keyBlock);
    seen = seen ? arith::AndIOp::create(rewriter, loc, seen, where).getResult()
                : where;
  }
  if (seen)
    value = arith::SelectOp::create(rewriter, loc, seen, value, hidden);
  if (!mayHaveEdges())
    return value;
  auto choice = scf::IfOp::create(rewriter, loc, value.getType(), isEdge(),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(choice.thenBlock());
  Value shown =
      arith::SelectOp::create(rewriter, loc, seenByPlace(), value, hidden);
  scf::YieldOp::create(rewriter, loc, shown);
  rewriter.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(rewriter, loc, value);
  return choice.getResult(0);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// What is subtracted from scores of which these are the largest: 0 for a query
/// that sees nothing, as exp(-inf - 0) = 0.
Value AttentionRegisters::baseOf(Value largest) {
  Type element = getElementTypeOrSelf(largest);
  Value hidden = splat(negativeInfinity(rewriter, loc, element), queryBlock, 1);
  Value isEmpty = arith::CmpFOp::create(
      rewriter, loc, arith::CmpFPredicate::OEQ, largest, hidden);
  return arith::SelectOp::create(rewriter, loc, isEmpty,
                                 splat(number(element, 0.0), queryBlock, 1),
                                 largest);
}

std::pair<Value, Value> AttentionRegisters::scoresOf(RowSoftmaxOp softmax) {
  Value scores = softmax.getScores();
  auto scaled = scores.getDefiningOp<linalg::GenericOp>();
  Operation *by = scaled && !op.getBias() ? matchScale(scaled) : nullptr;
  if (!by || !body.isPerQuery(scaled.getInputs()[0]))
    return {scores, Value()};
  APFloat number(0.0f);
  if (!matchPattern(by->getOperand(1), m_ConstantFloat(&number)))
    matchPattern(by->getOperand(0), m_ConstantFloat(&number));
  std::optional<APFloat> factor = number;
  if (isa<arith::DivFOp>(by))
    factor = getInverse(number);
  if (!factor || factor->isNegative())
    return {scores, Value()};
  return {
      scaled.getInputs()[0],
      arith::ConstantOp::create(
          rewriter, loc,
          rewriter.getFloatAttr(softmax.getType().getElementType(), *factor))};
}

/// A vector times a number, if there is one.
Value AttentionRegisters::scale(Value value, Value factor) {
  if (!factor)
    return value;
  auto type = cast<VectorType>(value.getType());
  return arith::MulFOp::create(
      rewriter, loc, value,
      splat(factor, type.getDimSize(0), type.getDimSize(1)));
}

/// A softmax takes in a block of keys. Gives what its sum was multiplied by.
Value AttentionRegisters::passKeys(RowSoftmaxOp softmax,
                                   RunningSoftmax &known) {
  Type element = softmax.getType().getElementType();
  auto [row, factorOfScores] = scoresOf(softmax);
  Value scores = hide(softmax, row);
  Value lowest = negativeInfinity(rewriter, loc, element);
  Value here = reduce(vector::CombiningKind::MAXIMUMF, scores, lowest);
  Value largest = arith::MaximumFOp::create(rewriter, loc, known.largest, here);
  Value base = scale(baseOf(largest), factorOfScores);
  Value factor = math::ExpOp::create(
      rewriter, loc,
      arith::SubFOp::create(rewriter, loc, scale(known.largest, factorOfScores),
                            base));
  Value powers = math::ExpOp::create(
      rewriter, loc,
      arith::SubFOp::create(rewriter, loc, scale(scores, factorOfScores),
                            stretch(base, queryBlock, keyBlock)));
  Value sum = reduce(vector::CombiningKind::ADD, powers, number(element, 0.0));
  sum = arith::AddFOp::create(
      rewriter, loc, arith::MulFOp::create(rewriter, loc, known.sum, factor),
      sum);
  known = {largest, sum};
  setVector(softmax.getResult(), powers);
  return factor;
}

/// The log-sum-exp, if the softmax gives it. The sum of none is 0, whose
/// logarithm is -inf.
void AttentionRegisters::giveLogSumExp(RowSoftmaxOp softmax,
                                       const RunningSoftmax &known) {
  if (!softmax.getLogSumExp())
    return;
  Type element = softmax.getType().getElementType();
  Value base = scale(baseOf(known.largest), scoresOf(softmax).second);
  Value greatest = base, whole = known.sum;
  if (Value sink = softmax.getSink()) {
    Value given = stretch(vectorOf(sink), queryBlock, 1);
    greatest = arith::MaximumFOp::create(rewriter, loc, base, given);
    auto power = [&](Value exponent) -> Value {
      return math::ExpOp::create(
          rewriter, loc,
          arith::SubFOp::create(rewriter, loc, exponent, greatest));
    };
    whole = arith::AddFOp::create(
        rewriter, loc, arith::MulFOp::create(rewriter, loc, whole, power(base)),
        power(given));
  }
  Value logarithm = arith::AddFOp::create(
      rewriter, loc, greatest, math::LogOp::create(rewriter, loc, whole));
  Value isEmpty =
      arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OEQ, known.sum,
                            splat(number(element, 0.0), queryBlock, 1));
  Value hidden = splat(negativeInfinity(rewriter, loc, element), queryBlock, 1);
  setVector(softmax.getLogSumExp(),
            arith::SelectOp::create(rewriter, loc, isEmpty, hidden, logarithm));
}

/// 1 / sum of each query. The sum of none counts as 1: its powers are 0. A
/// large sink is bounded, so that the inverse is a normal number.
Value AttentionRegisters::invert(RowSoftmaxOp softmax,
                                 const RunningSoftmax &known) {
  Type element = softmax.getType().getElementType();
  Value one = splat(number(element, 1.0), queryBlock, 1), whole = known.sum;
  if (Value sink = softmax.getSink()) {
    Value given = stretch(vectorOf(sink), queryBlock, 1);
    Value power = math::ExpOp::create(
        rewriter, loc,
        arith::SubFOp::create(
            rewriter, loc, given,
            scale(baseOf(known.largest), scoresOf(softmax).second)));
    whole = arith::AddFOp::create(rewriter, loc, whole, power);
    whole = arith::MinimumFOp::create(
        rewriter, loc, whole, splat(number(element, 0x1p+126), queryBlock, 1));
  }
  Value isEmpty =
      arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OEQ, whole,
                            splat(number(element, 0.0), queryBlock, 1));
  whole = arith::SelectOp::create(rewriter, loc, isEmpty, one, whole);
  return arith::DivFOp::create(rewriter, loc, one, whole);
}
