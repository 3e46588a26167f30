// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionTopK.cpp - The largest scores of each query -----------===//
//
// Each score becomes an unsigned number in the order of the scores. The k-th
// largest of a row is then found bit by bit, from the highest: a bit stays
// where at least k numbers are as large. Ties fall to the lowest index, up to a
// last one that is found in the same way. Every step is one pass over the tile,
// of a comparison and a sum, so that k costs nothing and S comes in once.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/TileAttention.h"

using namespace mlir;
using namespace gatefold;

namespace {
// Numbers that no score has: no key is seen, and not a number.
constexpr int64_t hiddenOrder = 0, unorderedOrder = 1;
} // namespace

/// [rows, columns] of numbers in the order of the scores.
Value AttentionTiling::makeOrder(Value scores) {
  Type element = getElementTypeOrSelf(scores);
  unsigned bits = element.getIntOrFloatBitWidth();
  Type integer = rewriter.getIntegerType(bits);
  auto number = [&](OpBuilder &builder, APInt value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(integer, value));
  };
  SmallVector<TileInput> inputs;
  if (op.getMask())
    inputs.push_back(pairInput(op.getMask()));
  addSegments(inputs);
  unsigned elements = inputs.size();
  inputs.push_back({scores, mapOf({0, 1})});
  Value zero = this->number(element, 0.0);
  return makeGeneric(
      inputs, {{makeScores(integer), mapOf({0, 1})}}, /*reducesKeys=*/false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        // Both zeros are one.
        Value score =
            arith::AddFOp::create(builder, loc, values[elements], zero);
        Value raw = arith::BitcastOp::create(builder, loc, integer, score);
        Value sign = arith::ShRSIOp::create(
            builder, loc, raw, number(builder, APInt(bits, bits - 1)));
        sign = arith::OrIOp::create(
            builder, loc, sign,
            number(builder, APInt::getSignedMinValue(bits)));
        Value order = arith::XOrIOp::create(builder, loc, raw, sign);
        Value isUnordered = arith::CmpFOp::create(
            builder, loc, arith::CmpFPredicate::UNO, score, score);
        order = arith::SelectOp::create(
            builder, loc, isUnordered,
            number(builder, APInt(bits, unorderedOrder)), order);
        Value seen = seenHere(builder, values.take_front(elements));
        return {
            arith::SelectOp::create(builder, loc, seen, order,
                                    number(builder, APInt(bits, hiddenOrder)))
                .getResult()};
      })[0];
}

/// How many elements of each row `holds` says yes to.
Value AttentionTiling::countWhere(
    ArrayRef<TileInput> inputs,
    llvm::function_ref<Value(OpBuilder &, ValueRange values)> holds) {
  Type count = rewriter.getI32Type();
  Value none = arith::ConstantIntOp::create(rewriter, loc, count, 0);
  return makeGeneric(
      inputs, {{makeColumn(count, none), mapOf({0})}}, /*reducesKeys=*/true,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value step =
            arith::ExtUIOp::create(builder, loc, count, holds(builder, values));
        return {arith::AddIOp::create(builder, loc, values.back(), step)
                    .getResult()};
      })[0];
}

/// For each row the number, of `bits` bits, that is found from the highest on:
/// a bit stays where `stays` holds of it and the count that goes with it.
Value AttentionTiling::searchBits(
    Type element, Value bits, Value bound,
    llvm::function_ref<Value(Value candidate)> count,
    llvm::function_ref<Value(OpBuilder &, Value count, Value bound)> stays) {
  AffineMap column = mapOf({0}, 1);
  Value zero = arith::ConstantIntOp::create(rewriter, loc, element, 0);
  Value one = arith::ConstantIntOp::create(rewriter, loc, element, 1);
  Value start = makeColumn(element, zero);
  auto loop = scf::ForOp::create(rewriter, loc, constant(0), bits, constant(1),
                                 ValueRange(start));
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(loop.getBody());
  Value place = minus(minus(bits, constant(1)), loop.getInductionVar());
  place = arith::IndexCastOp::create(rewriter, loc, element, place);
  Value bit = arith::ShLIOp::create(rewriter, loc, one, place);
  Value found = loop.getRegionIterArg(0);
  Value candidate = makeGeneric(
      {{found, column}}, {{makeColumn(element), column}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        return {arith::OrIOp::create(builder, loc, values[0], bit).getResult()};
      })[0];
  Value counted = count(candidate);
  Value next = makeGeneric(
      {{candidate, column}, {counted, column}, {bound, column}},
      {{found, column}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value holds = stays(builder, values[1], values[2]);
        return {
            arith::SelectOp::create(builder, loc, holds, values[0], values[3])
                .getResult()};
      })[0];
  scf::YieldOp::create(rewriter, loc, next);
  return loop.getResult(0);
}

/// How many each query keeps.
Value AttentionTiling::makeKeptCount(RowTopKOp topK, Value order) {
  Type count = rewriter.getI32Type(), f64 = rewriter.getF64Type();
  if (IntegerAttr given = topK.getCountAttr())
    return makeColumn(count, arith::ConstantIntOp::create(
                                 rewriter, loc, count,
                                 std::min<int64_t>(given.getInt(), INT32_MAX)));
  Type integer = getElementTypeOrSelf(order);
  Value hidden =
      arith::ConstantIntOp::create(rewriter, loc, integer, hiddenOrder);
  Value visible = countWhere(
      {{order, mapOf({0, 1})}}, [&](OpBuilder &builder, ValueRange values) {
        return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                     values[0], hidden)
            .getResult();
      });
  Value fraction = number(f64, topK.getFractionAttr().getValueAsDouble());
  Value least = arith::ConstantIntOp::create(rewriter, loc, count, 1);
  AffineMap column = mapOf({0}, 1);
  return makeGeneric(
      {{visible, column}}, {{makeColumn(count), column}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value share = arith::SIToFPOp::create(builder, loc, f64, values[0]);
        share = arith::MulFOp::create(builder, loc, fraction, share);
        Value whole = arith::FPToSIOp::create(builder, loc, count, share);
        return {arith::MaxSIOp::create(builder, loc, whole, least).getResult()};
      })[0];
}

void AttentionTiling::lower(RowTopKOp topK) {
  Tile tile = tileOf(topK.getScores());
  Value scores =
      tile.isPerQuery ? wholeTile(topK.getScores()) : broadcastRow(tile);
  Value order = makeOrder(scores);
  Type integer = getElementTypeOrSelf(order), count = rewriter.getI32Type();
  AffineMap all = mapOf({0, 1}), perQuery = mapOf({0}), column = mapOf({0}, 1);
  Value kept = makeKeptCount(topK, order);
  using Predicate = arith::CmpIPredicate;
  auto compare = [&](OpBuilder &builder, Predicate predicate, Value left,
                     Value right) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, left, right);
  };
  // The k-th largest; less than any where there are fewer.
  Value bound = searchBits(
      integer, constant(integer.getIntOrFloatBitWidth()), kept,
      [&](Value candidate) {
        return countWhere({{order, all}, {candidate, perQuery}},
                          [&](OpBuilder &builder, ValueRange values) {
                            return compare(builder, Predicate::uge, values[0],
                                           values[1]);
                          });
      },
      [&](OpBuilder &builder, Value counted, Value given) {
        return compare(builder, Predicate::sge, counted, given);
      });
  Value larger = countWhere({{order, all}, {bound, perQuery}},
                            [&](OpBuilder &builder, ValueRange values) {
                              return compare(builder, Predicate::ugt, values[0],
                                             values[1]);
                            });
  Value left = makeGeneric(
      {{kept, column}, {larger, column}}, {{makeColumn(count), column}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        return {arith::SubIOp::create(builder, loc, values[0], values[1])
                    .getResult()};
      })[0];

  // Of those that equal it, the ones before the column `last`.
  auto isTied = [&](OpBuilder &builder, ValueRange values) -> Value {
    Value index = linalg::IndexOp::create(builder, loc, 1);
    index = arith::IndexCastOp::create(builder, loc, count, index);
    Value isEqual = compare(builder, Predicate::eq, values[0], values[1]);
    Value isBefore = compare(builder, Predicate::slt, index, values[2]);
    return arith::AndIOp::create(builder, loc, isEqual, isBefore);
  };
  Value columns = arith::IndexCastOp::create(
      rewriter, loc, rewriter.getI64Type(), toValue(block.columns));
  Value unused = math::CountLeadingZerosOp::create(rewriter, loc, columns);
  Value bits = minus(constant(64), toIndex(unused));
  Value last = searchBits(
      count, bits, left,
      [&](Value candidate) {
        return countWhere(
            {{order, all}, {bound, perQuery}, {candidate, perQuery}}, isTied);
      },
      [&](OpBuilder &builder, Value counted, Value given) {
        return compare(builder, Predicate::sle, counted, given);
      });

  // What is not a number is kept and takes no other's place.
  Value unordered =
      arith::ConstantIntOp::create(rewriter, loc, integer, unorderedOrder);
  Value hidden =
      arith::ConstantIntOp::create(rewriter, loc, integer, hiddenOrder);
  Value result = makeGeneric(
      {{order, all}, {bound, perQuery}, {last, perQuery}},
      {{makeScores(rewriter.getI1Type()), all}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value keep = compare(builder, Predicate::ugt, values[0], values[1]);
        keep =
            arith::OrIOp::create(builder, loc, keep, isTied(builder, values));
        keep = arith::OrIOp::create(
            builder, loc, keep,
            compare(builder, Predicate::eq, values[0], unordered));
        return {arith::AndIOp::create(
                    builder, loc, keep,
                    compare(builder, Predicate::ne, values[0], hidden))
                    .getResult()};
      })[0];
  tiles[topK.getResult()] = {result, true, true, {}};
}
