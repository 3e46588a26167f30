// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowOperations.cpp - Row operations to linalg -----------------------===//
//
// Each row operation of one query, on a row as long as the keys.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/RowOperations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/Slices.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// Computes an element from the values of the inputs at it and its index.
using ElementFunction =
    llvm::function_ref<Value(OpBuilder &, Value key, ValueRange values)>;

class RowLowering {
public:
  RowLowering(Operation *op, const RowContext &context, RewriterBase &rewriter)
      : context(context), rewriter(rewriter), loc(op->getLoc()) {}

  Value map(Type element, ValueRange inputs, ElementFunction body);
  Value reduce(Value row, Value initial,
               llvm::function_ref<Value(OpBuilder &, Value, Value)> combine);
  Value product(Value vector, Value matrix, bool alongRows);

  Value lower(RowScoresOp op);
  SmallVector<Value> lower(RowSoftmaxOp op);
  Value makeLogSumExp(RowSoftmaxOp op, Value greatest, Value sum);
  Value lower(RowNeighboursOp op);
  Value lower(RowTopKOp op);
  Value lower(RowValuesOp op);
  Value lower(RowVisibleOp op);

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value number(Type type, double value) {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getFloatAttr(type, value));
  }
  Value number(Type type, const APFloat &value) {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getFloatAttr(type, value));
  }

  const RowContext &context;
  RewriterBase &rewriter;
  Location loc;
};
} // namespace

/// A row with an element computed for each key.
Value RowLowering::map(Type element, ValueRange inputs, ElementFunction body) {
  Value empty = tensor::EmptyOp::create(
      rewriter, loc,
      ArrayRef<OpFoldResult>{getAsOpFoldResult(context.keyCount)}, element);
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              rewriter.getMultiDimIdentityMap(1));
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(empty.getType()), inputs,
             ValueRange(empty), maps,
             ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value key = linalg::IndexOp::create(builder, loc, 0);
               Value result = body(builder, key, values.drop_back());
               linalg::YieldOp::create(builder, loc, result);
             })
      .getResult(0);
}

/// All elements of a row into one value.
Value RowLowering::reduce(
    Value row, Value initial,
    llvm::function_ref<Value(OpBuilder &, Value, Value)> combine) {
  Value empty = tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>{},
                                        initial.getType());
  Value start =
      linalg::FillOp::create(rewriter, loc, initial, empty).getResult(0);
  SmallVector<AffineMap> maps = {
      rewriter.getMultiDimIdentityMap(1),
      AffineMap::get(/*dimCount=*/1, /*symbolCount=*/0, rewriter.getContext())};
  Value total =
      linalg::GenericOp::create(
          rewriter, loc, TypeRange(start.getType()), ValueRange(row),
          ValueRange(start), maps,
          ArrayRef<utils::IteratorType>{utils::IteratorType::reduction},
          [&](OpBuilder &builder, Location, ValueRange values) {
            linalg::YieldOp::create(builder, loc,
                                    combine(builder, values[1], values[0]));
          })
          .getResult(0);
  return tensor::ExtractOp::create(rewriter, loc, total, ValueRange());
}

/// Product of a vector and a matrix, along the matrix's rows or its columns.
Value RowLowering::product(Value vector, Value matrix, bool alongRows) {
  AffineExpr out = rewriter.getAffineDimExpr(0);
  AffineExpr sum = rewriter.getAffineDimExpr(1);
  auto makeMap = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(2, 0, results, rewriter.getContext());
  };
  SmallVector<AffineMap> maps = {
      makeMap({sum}), alongRows ? makeMap({out, sum}) : makeMap({sum, out}),
      makeMap({out})};
  auto type = cast<RankedTensorType>(matrix.getType());
  Type element = type.getElementType();
  OpFoldResult size =
      tensor::getMixedSize(rewriter, loc, matrix, alongRows ? 0 : 1);
  Value empty = tensor::EmptyOp::create(rewriter, loc,
                                        ArrayRef<OpFoldResult>{size}, element);
  Value zeros =
      linalg::FillOp::create(rewriter, loc, number(element, 0.0), empty)
          .getResult(0);
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(zeros.getType()),
             ValueRange{vector, matrix}, ValueRange(zeros), maps,
             ArrayRef<utils::IteratorType>{utils::IteratorType::parallel,
                                           utils::IteratorType::reduction},
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value term =
                   arith::MulFOp::create(builder, loc, values[0], values[1]);
               Value total =
                   arith::AddFOp::create(builder, loc, values[2], term);
               linalg::YieldOp::create(builder, loc, total);
             })
      .getResult(0);
}

Value RowLowering::lower(RowScoresOp op) {
  return product(op.getQuery(), op.getKeys(), /*alongRows=*/true);
}

Value RowLowering::lower(RowValuesOp op) {
  Value weights = op.getWeights(), values = op.getValues();
  // What lies behind the reach of every query is not read.
  if (!context.reachesAll) {
    Value count = arith::SubIOp::create(rewriter, loc, context.reachEnd,
                                        context.reachFirst);
    auto cut = [&](Value tensor) -> Value {
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(rewriter, loc, tensor);
      SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
      SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
      offsets[0] = context.reachFirst;
      sizes[0] = count;
      return tensor::ExtractSliceOp::create(rewriter, loc, tensor, offsets,
                                            sizes, strides);
    };
    weights = cut(weights);
    values = cut(values);
  }
  return product(weights, values, /*alongRows=*/false);
}

/// log(sum of exp(scores) and exp(sink)), of the sum of exp(scores - greatest).
/// The sum of none is 0, whose logarithm is -inf.
Value RowLowering::makeLogSumExp(RowSoftmaxOp op, Value greatest, Value sum) {
  Type element = op.getType().getElementType();
  Value base = greatest;
  Value isEmpty = arith::CmpFOp::create(
      rewriter, loc, arith::CmpFPredicate::OEQ, sum, number(element, 0.0));
  auto power = [&](Value exponent) -> Value {
    Value difference = arith::SubFOp::create(rewriter, loc, exponent, base);
    return math::ExpOp::create(rewriter, loc, difference);
  };
  if (Value sink = op.getSink()) {
    base = arith::MaximumFOp::create(rewriter, loc, greatest, sink);
    sum = arith::MulFOp::create(rewriter, loc, sum, power(greatest));
    sum = arith::AddFOp::create(rewriter, loc, sum, power(sink));
  }
  Value logarithm = math::LogOp::create(rewriter, loc, sum);
  logarithm = arith::AddFOp::create(rewriter, loc, base, logarithm);
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  Value none = number(element, APFloat::getInf(semantics, /*Negative=*/true));
  Value result =
      arith::SelectOp::create(rewriter, loc, isEmpty, none, logarithm);
  return tensor::FromElementsOp::create(
      rewriter, loc, cast<RankedTensorType>(op.getLogSumExp().getType()),
      result);
}

SmallVector<Value> RowLowering::lower(RowSoftmaxOp op) {
  Type element = op.getType().getElementType();
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  Value hidden = number(element, APFloat::getInf(semantics, /*Negative=*/true));
  Value zero = number(element, 0.0);

  // Scores with bias, -inf where the key does not take part.
  SmallVector<Value> inputs = {op.getScores(), context.visible};
  if (op.getWhere())
    inputs.push_back(op.getWhere());
  Value scores = map(
      element, inputs, [&](OpBuilder &builder, Value key, ValueRange values) {
        Value score = values[0], seen = values[1];
        if (op.getWhere())
          seen = arith::AndIOp::create(builder, loc, seen, values[2]);
        if (context.bias)
          score = arith::AddFOp::create(builder, loc, score,
                                        context.bias(builder, key, element));
        return arith::SelectOp::create(builder, loc, seen, score, hidden)
            .getResult();
      });
  Value greatest =
      reduce(scores, hidden, [&](OpBuilder &builder, Value left, Value right) {
        return arith::MaximumFOp::create(builder, loc, left, right).getResult();
      });
  auto isHidden = [&](OpBuilder &builder, Value score) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, score,
                                 hidden);
  };
  Value powers =
      map(element, scores, [&](OpBuilder &builder, Value, ValueRange values) {
        Value difference =
            arith::SubFOp::create(builder, loc, values[0], greatest);
        Value power = math::ExpOp::create(builder, loc, difference);
        return arith::SelectOp::create(
                   builder, loc, isHidden(builder, values[0]), zero, power)
            .getResult();
      });
  Value total =
      reduce(powers, zero, [&](OpBuilder &builder, Value left, Value right) {
        return arith::AddFOp::create(builder, loc, left, right).getResult();
      });
  SmallVector<Value> results(1);
  if (op.getLogSumExp())
    results.push_back(makeLogSumExp(op, greatest, total));
  if (Value sink = op.getSink()) {
    Value difference = arith::SubFOp::create(rewriter, loc, sink, greatest);
    Value power = math::ExpOp::create(rewriter, loc, difference);
    total = arith::AddFOp::create(rewriter, loc, total, power);
  }
  // A row without a key has only hidden scores, and is 0.
  results[0] =
      map(element, {scores, powers},
          [&](OpBuilder &builder, Value, ValueRange values) {
            Value share = arith::DivFOp::create(builder, loc, values[1], total);
            return arith::SelectOp::create(
                       builder, loc, isHidden(builder, values[0]), zero, share)
                .getResult();
          });
  return results;
}

Value RowLowering::lower(RowNeighboursOp op) {
  Type element = op.getType().getElementType();
  Value zero = number(element, 0.0), one = index(1);
  Value radius = index((op.getWidthAttr().getInt() - 1) / 2);
  bool onlyVisible = op.getScope() == NeighbourScope::Visible;
  Value count = context.keyCount, noKey = index(0);
  SmallVector<Value> inputs = {op.getScores(), context.visible};
  return map(
      element, inputs, [&](OpBuilder &builder, Value key, ValueRange values) {
        Value score = values[0];
        Value first = arith::SubIOp::create(builder, loc, key, radius);
        first = arith::MaxSIOp::create(builder, loc, first, noKey);
        Value end = arith::AddIOp::create(builder, loc, key, radius);
        end = arith::AddIOp::create(builder, loc, end, one);
        end = arith::MinSIOp::create(builder, loc, end, count);
        // The key itself adds s - s, which is not 0 for an infinite score.
        auto loop = scf::ForOp::create(
            builder, loc, first, end, one, ValueRange(zero),
            [&](OpBuilder &inner, Location, Value other, ValueRange carried) {
              Value neighbour = tensor::ExtractOp::create(
                  inner, loc, op.getScores(), ValueRange(other));
              Value counts = arith::CmpIOp::create(
                  inner, loc, arith::CmpIPredicate::ne, other, key);
              if (onlyVisible) {
                Value seen = tensor::ExtractOp::create(
                    inner, loc, context.visible, ValueRange(other));
                counts = arith::AndIOp::create(inner, loc, counts, seen);
              }
              Value difference =
                  arith::SubFOp::create(inner, loc, score, neighbour);
              Value term =
                  arith::SelectOp::create(inner, loc, counts, difference, zero);
              Value sum = arith::AddFOp::create(inner, loc, carried[0], term);
              scf::YieldOp::create(inner, loc, sum);
            });
        Value sum = loop.getResult(0);
        if (onlyVisible)
          sum = arith::SelectOp::create(builder, loc, values[1], sum, zero);
        return sum;
      });
}

Value RowLowering::lower(RowTopKOp op) {
  Value one = index(1), none = index(0);
  Value visibleCount = [&] {
    Value counts =
        map(rewriter.getI64Type(), context.visible,
            [&](OpBuilder &builder, Value, ValueRange values) {
              return arith::ExtUIOp::create(builder, loc, builder.getI64Type(),
                                            values[0])
                  .getResult();
            });
    Value zero =
        arith::ConstantIntOp::create(rewriter, loc, rewriter.getI64Type(), 0);
    Value sum =
        reduce(counts, zero, [&](OpBuilder &builder, Value left, Value right) {
          return arith::AddIOp::create(builder, loc, left, right).getResult();
        });
    return sum;
  }();
  Value kept;
  if (IntegerAttr count = op.getCountAttr()) {
    kept = index(count.getInt());
  } else {
    Type f64 = rewriter.getF64Type();
    Value fraction = number(f64, op.getFractionAttr().getValueAsDouble());
    Value share = arith::SIToFPOp::create(rewriter, loc, f64, visibleCount);
    share = arith::MulFOp::create(rewriter, loc, fraction, share);
    Value whole =
        arith::FPToSIOp::create(rewriter, loc, rewriter.getI64Type(), share);
    kept = arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                      whole);
    kept = arith::MaxSIOp::create(rewriter, loc, kept, one);
  }
  // The rank of a key: how many visible ones come before it.
  SmallVector<Value> inputs = {op.getScores(), context.visible};
  Value count = context.keyCount;
  return map(
      rewriter.getI1Type(), inputs,
      [&](OpBuilder &builder, Value key, ValueRange values) {
        Value score = values[0];
        auto loop = scf::ForOp::create(
            builder, loc, none, count, one, ValueRange(none),
            [&](OpBuilder &inner, Location, Value other, ValueRange carried) {
              Value otherScore = tensor::ExtractOp::create(
                  inner, loc, op.getScores(), ValueRange(other));
              Value seen = tensor::ExtractOp::create(
                  inner, loc, context.visible, ValueRange(other));
              Value greater = arith::CmpFOp::create(
                  inner, loc, arith::CmpFPredicate::OGT, otherScore, score);
              Value equal = arith::CmpFOp::create(
                  inner, loc, arith::CmpFPredicate::OEQ, otherScore, score);
              Value earlier = arith::CmpIOp::create(
                  inner, loc, arith::CmpIPredicate::slt, other, key);
              Value tied = arith::AndIOp::create(inner, loc, equal, earlier);
              Value before = arith::OrIOp::create(inner, loc, greater, tied);
              before = arith::AndIOp::create(inner, loc, before, seen);
              Value step = arith::IndexCastUIOp::create(
                  inner, loc, inner.getIndexType(), before);
              Value rank = arith::AddIOp::create(inner, loc, carried[0], step);
              scf::YieldOp::create(inner, loc, rank);
            });
        Value keep = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::slt, loop.getResult(0), kept);
        return arith::AndIOp::create(builder, loc, keep, values[1]).getResult();
      });
}

Value RowLowering::lower(RowVisibleOp op) {
  if (!op.getAnyQuery())
    return context.visible;
  return map(
      rewriter.getI1Type(), {}, [&](OpBuilder &builder, Value key, ValueRange) {
        Value behind = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sge, key, context.reachFirst);
        Value before = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::slt, key, context.reachEnd);
        return arith::AndIOp::create(builder, loc, behind, before).getResult();
      });
}

LogicalResult gatefold::lowerRowOperation(Operation *op,
                                          const RowContext &context,
                                          RewriterBase &rewriter) {
  if (!isa<RowScoresOp, RowSoftmaxOp, RowNeighboursOp, RowTopKOp, RowValuesOp,
           RowVisibleOp>(op))
    return success();
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                           SmallVector<Value>(op->getResults()))) {
    auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
    if (type && type.getWidth() < 32)
      return op->emitError("not compiled yet: a row of ") << type;
  }
  rewriter.setInsertionPoint(op);
  RowLowering lowering(op, context, rewriter);
  using Results = SmallVector<Value>;
  Results results =
      TypeSwitch<Operation *, Results>(op)
          .Case<RowSoftmaxOp>([&](auto row) { return lowering.lower(row); })
          .Case<RowScoresOp, RowNeighboursOp, RowTopKOp, RowValuesOp,
                RowVisibleOp>(
              [&](auto row) { return Results{lowering.lower(row)}; });
  for (auto [value, result] : llvm::zip_equal(results, op->getResults()))
    value = castTo(rewriter, op->getLoc(), value, result.getType());
  rewriter.replaceOp(op, results);
  return success();
}
