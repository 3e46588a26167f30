// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionSoftmax.cpp - Softmax and who sees whom, in blocks ----===//
//
// The row operations that ask which keys a query sees.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/tile/TileAttention.h"

using namespace mlir;
using namespace gatefold;

//===----------------------------------------------------------------------===//
// Who sees whom
//===----------------------------------------------------------------------===//

/// Whether queries of a block see different keys of those it looks at by
/// lengths, causal, window and offset.
bool AttentionTiling::hidesByPlace() {
  return reach.first || reach.last || (reach.hasLength && !cutsKeys);
}

bool AttentionTiling::hidesByElement() {
  return op.getMask() || op.getQuerySegments();
}

/// By place, of a query of the block and a key, counted from 0.
Value AttentionTiling::seenByPlace(OpBuilder &builder, Value query, Value key) {
  Value seen;
  auto require = [&](arith::CmpIPredicate predicate, Value left, Value right) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, left, right);
    seen = seen ? arith::AndIOp::create(builder, loc, seen, holds).getResult()
                : holds;
  };
  Value number = arith::AddIOp::create(builder, loc, query, block.start);
  if (reach.first)
    require(arith::CmpIPredicate::sge, key,
            arith::AddIOp::create(builder, loc, reach.first, number));
  if (reach.last)
    require(arith::CmpIPredicate::sle, key,
            arith::AddIOp::create(builder, loc, reach.last, number));
  if (reach.hasLength)
    require(arith::CmpIPredicate::slt, key, reach.end);
  return seen;
}

/// `[rows, columns]` of bools: what each query of the block sees.
Value AttentionTiling::makeVisible() {
  Value buffer = makeScores(rewriter.getI1Type());
  SmallVector<TileInput> inputs;
  auto add = [&](Value tensor) {
    if (tensor)
      inputs.push_back(pairInput(tensor));
  };
  add(op.getMask());
  addSegments(inputs);
  return makeGeneric(
      inputs, {{buffer, mapOf({0, 1})}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        return {seenHere(builder, values.drop_back())};
      })[0];
}

/// In the body of an operation on [rows, columns] of which the first arguments
/// are the mask and the segments, where there are any.
Value AttentionTiling::seenHere(OpBuilder &builder, ValueRange values) {
  Value seen;
  auto require = [&](Value holds) {
    seen = seen ? arith::AndIOp::create(builder, loc, seen, holds).getResult()
                : holds;
  };
  unsigned next = 0;
  if (op.getMask())
    require(values[next++]);
  if (op.getQuerySegments()) {
    require(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                  values[next], values[next + 1]));
    next += 2;
  }
  if (hidesByPlace()) {
    Value query = linalg::IndexOp::create(builder, loc, 0);
    Value key = linalg::IndexOp::create(builder, loc, 1);
    key = arith::AddIOp::create(builder, loc, key, block.first);
    require(seenByPlace(builder, query, key));
  }
  if (!seen)
    seen = arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), 1);
  return seen;
}

void AttentionTiling::lower(RowVisibleOp op) {
  tiles[op.getResult()] = {makeVisible(), true, true, {}};
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

Value gatefold::negativeInfinity(OpBuilder &builder, Location loc,
                                 Type element) {
  auto type = cast<FloatType>(element);
  APFloat value = APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true);
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

/// Scores of which the columns [from, to) of the block's are hidden where the
/// query does not see the key by its place.
Value AttentionTiling::hideEdge(Value scores, Value from, Value to) {
  auto type = cast<RankedTensorType>(scores.getType());
  Value column = minus(from, block.first);
  SmallVector<OpFoldResult> offsets = {rewriter.getIndexAttr(0),
                                       getAsOpFoldResult(column)};
  SmallVector<OpFoldResult> sizes = {block.rows,
                                     getAsOpFoldResult(minus(to, from))};
  SmallVector<OpFoldResult> strides(2, rewriter.getIndexAttr(1));
  Value part = tensor::ExtractSliceOp::create(rewriter, loc, scores, offsets,
                                              sizes, strides);
  Value hidden = negativeInfinity(rewriter, loc, type.getElementType());
  Value result = makeGeneric(
      {}, {{part, mapOf({0, 1})}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value query = linalg::IndexOp::create(builder, loc, 0);
        Value key = linalg::IndexOp::create(builder, loc, 1);
        key = arith::AddIOp::create(builder, loc, key, from);
        Value seen = seenByPlace(builder, query, key);
        return {arith::SelectOp::create(builder, loc, seen, values[0], hidden)
                    .getResult()};
      })[0];
  return tensor::InsertSliceOp::create(rewriter, loc, result, scores, offsets,
                                       sizes, strides);
}

/// Scores with the bias, -inf where a key does not take part; `isOwned` says
/// whether they are in memory of their own.
Value AttentionTiling::hide(RowSoftmaxOp softmax, bool &isOwned) {
  Value row = softmax.getScores();
  Tile scores = tileOf(row);
  Type element = softmax.getType().getElementType();
  isOwned = mayOverwrite(row, scores) && !scores.denominator;
  Value value = scores.value;
  if (!scores.isPerQuery) {
    value = broadcastRow(scores);
    isOwned = true;
  } else if (scores.denominator) {
    value = divide(value, scores.denominator);
    isOwned = true;
  }
  bool everywhere = hidesByElement() || op.getBias() || softmax.getWhere();
  if (!everywhere && !hidesByPlace())
    return value;
  if (!everywhere && isOwned) {
    if (reach.first)
      value = hideEdge(value, block.first, block.wholeFirst);
    if (reach.last || (reach.hasLength && !cutsKeys))
      value = hideEdge(value, block.wholeEnd, block.end);
    return value;
  }

  SmallVector<TileInput> inputs;
  if (op.getMask())
    inputs.push_back(pairInput(op.getMask()));
  addSegments(inputs);
  unsigned elements = inputs.size();
  unsigned where = inputs.size();
  if (softmax.getWhere()) {
    Tile tile = tileOf(softmax.getWhere());
    inputs.push_back(
        {tile.value, tile.isPerQuery ? mapOf({0, 1}) : mapOf({1})});
  }
  unsigned bias = inputs.size();
  if (op.getBias())
    inputs.push_back(pairInput(op.getBias()));
  Value output = value;
  if (!isOwned) {
    inputs.push_back({value, mapOf({0, 1})});
    output = makeScores(element);
    isOwned = true;
  }
  Value hidden = negativeInfinity(rewriter, loc, element);
  bool isApart = output != value;
  return makeGeneric(
      inputs, {{output, mapOf({0, 1})}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value score = isApart ? values[values.size() - 2] : values.back();
        Value seen = seenHere(builder, values.take_front(elements));
        if (softmax.getWhere())
          seen = arith::AndIOp::create(builder, loc, seen, values[where]);
        if (op.getBias()) {
          Value added = values[bias];
          unsigned from = added.getType().getIntOrFloatBitWidth();
          unsigned to = element.getIntOrFloatBitWidth();
          if (from < to)
            added = arith::ExtFOp::create(builder, loc, element, added);
          else if (from > to)
            added = arith::TruncFOp::create(builder, loc, element, added);
          score = arith::AddFOp::create(builder, loc, score, added);
        }
        return {arith::SelectOp::create(builder, loc, seen, score, hidden)
                    .getResult()};
      })[0];
}

/// The largest score of each query.
Value AttentionTiling::findLargest(Value scores) {
  Type element = getElementTypeOrSelf(scores);
  Value hidden = negativeInfinity(rewriter, loc, element);
  return makeGeneric(
      {{scores, mapOf({0, 1})}}, {{makeColumn(element, hidden), mapOf({0})}},
      /*reducesKeys=*/true,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        return {arith::MaximumFOp::create(builder, loc, values[1], values[0])
                    .getResult()};
      })[0];
}

/// What is subtracted from scores of which this is the largest: 0 for a query
/// that sees nothing, as exp(-inf - 0) = 0.
Value AttentionTiling::makeBase(OpBuilder &builder, Value largest) {
  Value zero = number(largest.getType(), 0.0);
  Value hidden = negativeInfinity(rewriter, loc, largest.getType());
  Value isEmpty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        largest, hidden);
  return arith::SelectOp::create(builder, loc, isEmpty, zero, largest);
}

/// In place.
Value AttentionTiling::replaceEmpty(Value largest) {
  return makeGeneric(
      {}, {{largest, mapOf({0}, 1)}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        return {makeBase(builder, values[0])};
      })[0];
}

/// exp(scores - base), over scores that nothing else reads, and `sum` with
/// them.
std::pair<Value, Value> AttentionTiling::makePowers(Value scores, bool isOwned,
                                                    Value base, Value sum) {
  AffineMap all = mapOf({0, 1}), perQuery = mapOf({0});
  SmallVector<TileInput> inputs = {{base, perQuery}};
  Value powers = scores;
  if (!isOwned) {
    inputs.push_back({scores, all});
    powers = makeScores(getElementTypeOrSelf(scores));
  }
  SmallVector<Value> made = makeGeneric(
      inputs, {{powers, all}, {sum, perQuery}}, /*reducesKeys=*/true,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value difference =
            arith::SubFOp::create(builder, loc, values[1], values[0]);
        Value power = math::ExpOp::create(builder, loc, difference);
        Value next = arith::AddFOp::create(builder, loc, values.back(), power);
        return {power, next};
      });
  return {made[0], made[1]};
}

/// The log-sum-exp, if the softmax gives it: log(sum of exp(scores) and
/// exp(sink)), of the sum of exp(scores - base). The sum of none is 0, whose
/// logarithm is -inf.
void AttentionTiling::giveLogSumExp(RowSoftmaxOp softmax, Value base,
                                    Value sum) {
  if (!softmax.getLogSumExp())
    return;
  Type element = softmax.getType().getElementType();
  AffineMap column = mapOf({0}, 1);
  Value sink = softmax.getSink();
  bool isSinkPerQuery = sink && body.isPerQuery(sink);
  SmallVector<TileInput> inputs = {{base, column}, {sum, column}};
  if (isSinkPerQuery)
    inputs.push_back({tileOf(sink).value, column});
  Value output = destinations.lookup(softmax.getLogSumExp());
  bool isOwned = !output;
  if (isOwned)
    output = makeColumn(element);
  Value hidden = negativeInfinity(rewriter, loc, element);
  Value zero = number(element, 0.0);
  Value result = makeGeneric(
      inputs, {{output, column}}, /*reducesKeys=*/false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value greatest = values[0], whole = values[1];
        if (sink) {
          Value given = isSinkPerQuery ? values[2] : tileOf(sink).value;
          greatest = arith::MaximumFOp::create(builder, loc, values[0], given);
          auto power = [&](Value exponent) -> Value {
            return math::ExpOp::create(
                builder, loc,
                arith::SubFOp::create(builder, loc, exponent, greatest));
          };
          whole = arith::AddFOp::create(
              builder, loc,
              arith::MulFOp::create(builder, loc, whole, power(values[0])),
              power(given));
        }
        Value logarithm = arith::AddFOp::create(
            builder, loc, greatest, math::LogOp::create(builder, loc, whole));
        Value isEmpty = arith::CmpFOp::create(
            builder, loc, arith::CmpFPredicate::OEQ, values[1], zero);
        return {
            arith::SelectOp::create(builder, loc, isEmpty, hidden, logarithm)
                .getResult()};
      })[0];
  tiles[softmax.getLogSumExp()] = {result, true, isOwned, {}};
}

/// The sum of none counts as 1: its powers are 0. A large sink is bounded, so
/// that the inverse is a normal number.
Value AttentionTiling::makeDenominator(RowSoftmaxOp softmax, Value base,
                                       Value sum) {
  Type element = softmax.getType().getElementType();
  Value zero = number(element, 0.0), one = number(element, 1.0);
  AffineMap column = mapOf({0}, 1);
  SmallVector<TileInput> inputs;
  Value sink = softmax.getSink();
  if (sink)
    inputs.push_back({base, column});
  if (sink && body.isPerQuery(sink))
    inputs.push_back({tileOf(sink).value, column});
  Value most = number(element, 0x1p+126);
  return makeGeneric(
      inputs, {{sum, column}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value whole = values.back();
        if (sink) {
          Value given = body.isPerQuery(sink) ? values[1] : tileOf(sink).value;
          Value power = math::ExpOp::create(
              builder, loc,
              arith::SubFOp::create(builder, loc, given, values[0]));
          whole = arith::AddFOp::create(builder, loc, whole, power);
          whole = arith::MinimumFOp::create(builder, loc, whole, most);
        }
        // Of a row that sees nothing the sink does not matter, and a quotient
        // of two sinks might not be finite.
        Value isEmpty = arith::CmpFOp::create(
            builder, loc, arith::CmpFPredicate::OEQ, values.back(), zero);
        return {arith::SelectOp::create(builder, loc, isEmpty, one, whole)
                    .getResult()};
      })[0];
}

void AttentionTiling::lower(RowSoftmaxOp softmax) {
  Type element = softmax.getType().getElementType();
  bool isOwned = false;
  Value scores = hide(softmax, isOwned);
  Value base = replaceEmpty(findLargest(scores));
  auto [powers, sum] = makePowers(scores, isOwned, base,
                                  makeColumn(element, number(element, 0.0)));
  giveLogSumExp(softmax, base, sum);
  tiles[softmax.getResult()] = {powers, true, true,
                                makeDenominator(softmax, base, sum)};
}
