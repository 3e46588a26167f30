// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToVectorsLoops.cpp - Loops over vectors of lanes -------------===//
//
// Full vectors in a loop, the lanes that are left behind it under a mask.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/cpu/LinalgToVectors.h"
#include "passes/cpu/Passes.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

namespace {
class VectorNest {
public:
  VectorNest(LinalgOp op, const VectorPlan &plan, int64_t multiple,
             IRRewriter &rewriter)
      : op(op), plan(plan), multiple(multiple), rewriter(rewriter),
        loc(op.getLoc()), body(op, plan), combination(op, plan) {}
  void run();

private:
  using MakeInner =
      function_ref<SmallVector<Value>(OpBuilder &, ValueRange carried)>;
  using MakeVector = function_ref<SmallVector<Value>(
      OpBuilder &, Value first, Value mask, ValueRange carried)>;

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  SmallVector<Value> makeNest(OpBuilder &builder, ArrayRef<unsigned> dims,
                              ValueRange carried, MakeInner makeInner);
  SmallVector<Value> makeStep(OpBuilder &builder, Value from, Value to,
                              int64_t step, ValueRange carried,
                              MakeInner makeInner);
  SmallVector<Value> makeTail(OpBuilder &builder, ValueRange carried,
                              MakeVector makeVector);

  void makeLanes(OpBuilder &builder);
  void makeColumns(OpBuilder &builder, Value first, int64_t count, Value mask,
                   const IRMapping &uniform);
  void makeBlocks(OpBuilder &builder, Value first, Value mask);
  void makeRow(OpBuilder &builder);
  SmallVector<Value> makeRowVectors(OpBuilder &builder);
  SmallVector<Value> getNeutral(OpBuilder &builder);

  LinalgOp op;
  const VectorPlan &plan;
  int64_t multiple;
  IRRewriter &rewriter;
  Location loc;
  VectorBody body;
  LaneCombination combination;
  SmallVector<Value> bounds, indices;
  Value zero, one;
  SmallVector<unsigned> parallel, reductions;
  /// Of the lanes' loop: where full vectors end, and where groups of several.
  Value full, grouped;
  /// The lanes behind the last full vector, if known.
  std::optional<int64_t> left;
};
} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A loop for each of `dims`, carrying values.
SmallVector<Value> VectorNest::makeNest(OpBuilder &builder,
                                        ArrayRef<unsigned> dims,
                                        ValueRange carried,
                                        MakeInner makeInner) {
  if (dims.empty())
    return makeInner(builder, carried);
  auto loop = scf::ForOp::create(
      builder, loc, zero, bounds[dims.front()], one, carried,
      [&](OpBuilder &inner, Location, Value index, ValueRange arguments) {
        indices[dims.front()] = index;
        scf::YieldOp::create(
            inner, loc,
            makeNest(inner, dims.drop_front(), arguments, makeInner));
      });
  return SmallVector<Value>(loop.getResults());
}

/// A loop over the lanes' dimension, whose index goes to `indices`.
SmallVector<Value> VectorNest::makeStep(OpBuilder &builder, Value from,
                                        Value to, int64_t step,
                                        ValueRange carried,
                                        MakeInner makeInner) {
  if (std::optional<int64_t> end = getConstantIntValue(to);
      end && getConstantIntValue(from) == end)
    return SmallVector<Value>(carried);
  auto loop = scf::ForOp::create(
      builder, loc, from, to, constant(step), carried,
      [&](OpBuilder &inner, Location, Value index, ValueRange arguments) {
        indices[plan.dim] = index;
        scf::YieldOp::create(inner, loc, makeInner(inner, arguments));
      });
  return SmallVector<Value>(loop.getResults());
}

/// What is left behind the full vectors, if anything.
SmallVector<Value> VectorNest::makeTail(OpBuilder &builder, ValueRange carried,
                                        MakeVector makeVector) {
  if (left == 0)
    return SmallVector<Value>(carried);
  auto makeMasked = [&](OpBuilder &inner) {
    Value count = arith::SubIOp::create(inner, loc, bounds[plan.dim], full);
    Value mask = vector::CreateMaskOp::create(
        inner, loc, body.vectorOf(inner.getI1Type()), count);
    return makeVector(inner, full, mask, carried);
  };
  if (left)
    return makeMasked(builder);
  Value isLeft = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       full, bounds[plan.dim]);
  auto makeThen = [&](OpBuilder &inner, Location) {
    scf::YieldOp::create(inner, loc, makeMasked(inner));
  };
  if (carried.empty()) {
    scf::IfOp::create(builder, loc, isLeft, makeThen);
    return {};
  }
  auto choice = scf::IfOp::create(builder, loc, isLeft, makeThen,
                                  [&](OpBuilder &inner, Location) {
                                    scf::YieldOp::create(inner, loc, carried);
                                  });
  return SmallVector<Value>(choice.getResults());
}

//===----------------------------------------------------------------------===//
// Lanes of results
//===----------------------------------------------------------------------===//

/// `count` vectors from `first` on: through the reductions, if there are any,
/// with one accumulator for each, so that every element is reduced in order.
void VectorNest::makeColumns(OpBuilder &builder, Value first, int64_t count,
                             Value mask, const IRMapping &uniform) {
  SmallVector<Value> firsts = {first};
  for (int64_t place = 1; place < count; ++place)
    firsts.push_back(arith::AddIOp::create(builder, loc, first,
                                           constant(place * plan.lanes)));
  ArrayRef<OpOperand *> operands = combination.getCarried();
  SmallVector<Value> carried;
  for (Value place : firsts) {
    indices[plan.dim] = place;
    for (OpOperand *operand : operands)
      carried.push_back(body.load(builder, *operand, indices, mask));
  }
  carried = makeNest(
      builder, reductions, carried,
      [&](OpBuilder &inner, ValueRange arguments) {
        IRMapping scalars =
            reductions.empty() ? uniform : body.makeUniform(inner, indices);
        SmallVector<Value> results;
        for (auto [index, place] : llvm::enumerate(firsts)) {
          indices[plan.dim] = place;
          llvm::append_range(results,
                             body.make(inner, indices, mask,
                                       arguments.slice(index * operands.size(),
                                                       operands.size()),
                                       scalars));
        }
        return results;
      });
  auto result = carried.begin();
  for (Value place : firsts) {
    indices[plan.dim] = place;
    for (OpOperand *operand : operands)
      body.store(builder, *operand, *result++, indices, mask);
  }
}

void VectorNest::makeLanes(OpBuilder &builder) {
  if (plan.turnedDim) {
    auto makeOne = [&](OpBuilder &inner, Value first, Value mask, ValueRange) {
      makeBlocks(inner, first, mask);
      return SmallVector<Value>();
    };
    makeStep(builder, zero, full, plan.lanes, {},
             [&](OpBuilder &inner, ValueRange) {
               return makeOne(inner, indices[plan.dim], /*mask=*/{}, {});
             });
    makeTail(builder, {}, makeOne);
    return;
  }
  IRMapping uniform;
  if (reductions.empty())
    uniform = body.makeUniform(builder, indices);
  auto makeGroup = [&](Value from, Value to, int64_t count) {
    makeStep(builder, from, to, count * plan.lanes, {},
             [&](OpBuilder &inner, ValueRange) {
               makeColumns(inner, indices[plan.dim], count, /*mask=*/{},
                           uniform);
               return SmallVector<Value>();
             });
  };
  if (plan.vectorsAtOnce > 1)
    makeGroup(zero, grouped, plan.vectorsAtOnce);
  makeGroup(grouped, full, 1);
  makeTail(builder, {},
           [&](OpBuilder &inner, Value first, Value mask, ValueRange) {
             makeColumns(inner, first, 1, mask, uniform);
             return SmallVector<Value>();
           });
}

/// A vector of lanes for every step of the loop along which operands are
/// turned: blocks of them, then what is left, whose elements are gathered.
void VectorNest::makeBlocks(OpBuilder &builder, Value first, Value mask) {
  unsigned dim = *plan.turnedDim;
  indices[plan.dim] = first;
  Value step = constant(plan.turnedSteps);
  Value rest = arith::RemUIOp::create(builder, loc, bounds[dim], step);
  Value end = arith::SubIOp::create(builder, loc, bounds[dim], rest);
  auto makeOne = [&](OpBuilder &inner, std::optional<int64_t> place) {
    IRMapping uniform = body.makeUniform(inner, indices);
    body.useTurned(place);
    body.make(inner, indices, mask, /*carried=*/{}, uniform);
  };
  scf::ForOp::create(
      builder, loc, zero, end, step, ValueRange(),
      [&](OpBuilder &inner, Location, Value index, ValueRange) {
        indices[dim] = index;
        body.loadTurned(inner, indices, mask ? bounds[plan.dim] : Value());
        for (int64_t place = 0; place < plan.turnedSteps; ++place) {
          indices[dim] =
              arith::AddIOp::create(inner, loc, index, constant(place));
          makeOne(inner, place);
        }
        scf::YieldOp::create(inner, loc);
      });
  scf::ForOp::create(builder, loc, end, bounds[dim], one, ValueRange(),
                     [&](OpBuilder &inner, Location, Value index, ValueRange) {
                       indices[dim] = index;
                       makeOne(inner, std::nullopt);
                       scf::YieldOp::create(inner, loc);
                     });
}

//===----------------------------------------------------------------------===//
// Lanes of a reduction
//===----------------------------------------------------------------------===//

/// What the accumulators of the carried results begin with. A choice begins
/// with what it is before: lanes that find nothing better have that.
SmallVector<Value> VectorNest::getNeutral(OpBuilder &builder) {
  SmallVector<Value> neutral;
  for (OpOperand *operand : combination.getCarried()) {
    unsigned result = operand->getOperandNumber() - op.getNumDpsInputs();
    if (const auto &combiner = plan.combiners[result]) {
      neutral.push_back(arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(body.vectorOf(combiner->neutral.getType()),
                                 cast<Attribute>(combiner->neutral))));
      continue;
    }
    Value before = memref::LoadOp::create(
        builder, loc, operand->get(), body.placeOf(builder, *operand, indices));
    neutral.push_back(vector::BroadcastOp::create(
        builder, loc, body.vectorOf(before.getType()), before));
  }
  return neutral;
}

/// One row: for each carried result the vector of its lanes.
///
/// A loop with one copy of the body hands its accumulators on by one place in
/// each step. So the tuple that it ends with is turned by a number of places
/// that depends on the row's length; the sum (a0 + a2) + (a1 + a3) is the same
/// to the bit for every turn, since sums commute.
SmallVector<Value> VectorNest::makeRowVectors(OpBuilder &builder) {
  IRMapping uniform = body.makeUniform(builder, indices);
  // Accumulator a of result r is at place a * results + r.
  SmallVector<Value> neutral = getNeutral(builder), carried;
  size_t results = neutral.size();
  for (unsigned i = 0; i < laneAccumulators; ++i)
    llvm::append_range(carried, neutral);
  auto makeOne = [&](OpBuilder &inner, Value first, Value mask,
                     ValueRange arguments) {
    indices[plan.dim] = first;
    SmallVector<Value> next(arguments.drop_front(results));
    llvm::append_range(next, body.make(inner, indices, mask,
                                       arguments.take_front(results), uniform));
    return next;
  };
  if (plan.vectorsAtOnce > 1)
    carried = makeStep(
        builder, zero, grouped, plan.vectorsAtOnce * plan.lanes, carried,
        [&](OpBuilder &inner, ValueRange arguments) {
          SmallVector<Value> next(arguments);
          Value first = indices[plan.dim];
          for (int64_t place = 0; place < plan.vectorsAtOnce; ++place) {
            Value begin = first;
            if (place > 0)
              begin = arith::AddIOp::create(inner, loc, first,
                                            constant(place * plan.lanes));
            next = makeOne(inner, begin, /*mask=*/{}, next);
          }
          return next;
        });
  carried = makeStep(builder, grouped, full, plan.lanes, carried,
                     [&](OpBuilder &inner, ValueRange arguments) {
                       return makeOne(inner, indices[plan.dim], /*mask=*/{},
                                      arguments);
                     });
  carried = makeTail(builder, carried, makeOne);
  auto accumulator = [&](unsigned number) {
    return ValueRange(carried).slice(number * results, results);
  };
  SmallVector<Value> even =
      combination.combine(builder, accumulator(0), accumulator(2));
  SmallVector<Value> odd =
      combination.combine(builder, accumulator(1), accumulator(3));
  return combination.combine(builder, even, odd);
}

/// Reduces across lanes into each carried result.
void VectorNest::makeRow(OpBuilder &builder) {
  SmallVector<Value> sums;
  if (reductions.empty())
    sums = makeRowVectors(builder);
  else
    sums = makeNest(builder, reductions, getNeutral(builder),
                    [&](OpBuilder &inner, ValueRange arguments) {
                      return combination.combine(inner, arguments,
                                                 makeRowVectors(inner));
                    });
  SmallVector<Value> before;
  SmallVector<SmallVector<Value>> places;
  for (OpOperand *operand : combination.getCarried()) {
    places.push_back(body.placeOf(builder, *operand, indices));
    before.push_back(
        memref::LoadOp::create(builder, loc, operand->get(), places.back()));
  }
  SmallVector<Value> row = combination.combineLanes(builder, sums);
  row = combination.combine(builder, before, row);
  for (auto [operand, value, place] :
       llvm::zip(combination.getCarried(), row, places))
    memref::StoreOp::create(builder, loc, value, operand->get(), place);
}

//===----------------------------------------------------------------------===//
// The nest
//===----------------------------------------------------------------------===//

void VectorNest::run() {
  rewriter.setInsertionPoint(op);
  zero = constant(0);
  one = constant(1);
  for (Range range : op.createLoopRanges(rewriter, loc))
    bounds.push_back(
        getValueOrCreateConstantIndexOp(rewriter, loc, range.size));
  indices.resize(bounds.size());
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (dim != plan.dim && plan.turnedDim != dim)
      (kind == utils::IteratorType::parallel ? parallel : reductions)
          .push_back(dim);
  indices[plan.dim] = zero;

  int64_t size = op.getStaticLoopRanges()[plan.dim];
  int64_t group = plan.lanes * plan.vectorsAtOnce;
  if (!ShapedType::isDynamic(size)) {
    left = size % plan.lanes;
    full = constant(size - *left);
    grouped = constant(size - size % group);
  } else {
    if (multiple % plan.lanes == 0)
      left = 0;
    auto roundDown = [&](int64_t step) {
      Value rest = arith::RemUIOp::create(rewriter, loc, bounds[plan.dim],
                                          constant(step));
      return arith::SubIOp::create(rewriter, loc, bounds[plan.dim], rest)
          .getResult();
    };
    full = left == 0 ? bounds[plan.dim] : roundDown(plan.lanes);
    grouped = multiple % group == 0 ? full : roundDown(group);
  }
  if (plan.vectorsAtOnce == 1)
    grouped = zero;
  makeNest(rewriter, parallel, {}, [&](OpBuilder &builder, ValueRange) {
    if (plan.isReduction)
      makeRow(builder);
    else
      makeLanes(builder);
    return SmallVector<Value>();
  });
  rewriter.eraseOp(op);
}

void gatefold::makeVectorLoops(LinalgOp op, const VectorPlan &plan,
                               int64_t multiple, IRRewriter &rewriter) {
  VectorNest(op, plan, multiple, rewriter).run();
}
