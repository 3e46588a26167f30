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
        loc(op.getLoc()), body(op, plan) {}
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

  SmallVector<OpOperand *> getCarried();
  void makeLanes(OpBuilder &builder);
  void makeColumns(OpBuilder &builder, Value first, int64_t count, Value mask,
                   const IRMapping &uniform);
  void makeRow(OpBuilder &builder);
  SmallVector<Value> makeRowVectors(OpBuilder &builder);
  Value combine(OpBuilder &builder, const LaneCombiner &combiner, Value left,
                Value right);
  Value combineLanes(OpBuilder &builder, const LaneCombiner &combiner,
                     Value lanes);

  LinalgOp op;
  const VectorPlan &plan;
  int64_t multiple;
  IRRewriter &rewriter;
  Location loc;
  VectorBody body;
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

SmallVector<OpOperand *> VectorNest::getCarried() {
  SmallVector<OpOperand *> carried;
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable()))
    if (plan.isCarried[index])
      carried.push_back(&init);
  return carried;
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
  SmallVector<OpOperand *> operands = getCarried();
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

//===----------------------------------------------------------------------===//
// Lanes of a reduction
//===----------------------------------------------------------------------===//

/// Combines two partial results, scalars or vectors.
Value VectorNest::combine(OpBuilder &builder, const LaneCombiner &combiner,
                          Value left, Value right) {
  if (isa<math::FmaOp>(combiner.combine))
    return arith::AddFOp::create(builder, loc, left, right);
  IRMapping mapping;
  for (OpOperand &operand : combiner.combine->getOpOperands())
    mapping.map(operand.get(),
                operand.getOperandNumber() == combiner.accumulator ? left
                                                                   : right);
  Operation *copy = builder.clone(*combiner.combine, mapping);
  copy->getResult(0).setType(left.getType());
  return copy->getResult(0);
}

/// Halves a vector until one lane is left.
Value VectorNest::combineLanes(OpBuilder &builder, const LaneCombiner &combiner,
                               Value lanes) {
  for (int64_t width = plan.lanes / 2; width > 0; width /= 2) {
    auto lower = llvm::to_vector(llvm::seq<int64_t>(0, width));
    auto upper = llvm::to_vector(llvm::seq<int64_t>(width, 2 * width));
    Value low = vector::ShuffleOp::create(builder, loc, lanes, lanes, lower);
    Value high = vector::ShuffleOp::create(builder, loc, lanes, lanes, upper);
    lanes = combine(builder, combiner, low, high);
  }
  return vector::ExtractOp::create(builder, loc, lanes, int64_t(0));
}

/// One row: for each carried result the vector of its lanes.
///
/// A loop with one copy of the body hands its accumulators on by one place in
/// each step. So the tuple that it ends with is turned by a number of places
/// that depends on the row's length; the sum (a0 + a2) + (a1 + a3) is the same
/// to the bit for every turn, since sums commute.
SmallVector<Value> VectorNest::makeRowVectors(OpBuilder &builder) {
  IRMapping uniform = body.makeUniform(builder, indices);
  SmallVector<const LaneCombiner *> combiners;
  for (auto &combiner : plan.combiners)
    if (combiner)
      combiners.push_back(&*combiner);
  size_t results = combiners.size();
  // Accumulator a of result r is at place a * results + r.
  SmallVector<Value> carried;
  for (unsigned i = 0; i < laneAccumulators; ++i)
    for (const LaneCombiner *combiner : combiners)
      carried.push_back(arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(body.vectorOf(combiner->neutral.getType()),
                                 cast<Attribute>(combiner->neutral))));
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
  SmallVector<Value> sums;
  for (auto [index, combiner] : llvm::enumerate(combiners)) {
    auto accumulator = [&](unsigned number) {
      return carried[number * results + index];
    };
    Value even = combine(builder, *combiner, accumulator(0), accumulator(2));
    Value odd = combine(builder, *combiner, accumulator(1), accumulator(3));
    sums.push_back(combine(builder, *combiner, even, odd));
  }
  return sums;
}

/// Reduces across lanes into each carried result.
void VectorNest::makeRow(OpBuilder &builder) {
  SmallVector<OpOperand *> operands = getCarried();
  SmallVector<const LaneCombiner *> combiners;
  for (auto &combiner : plan.combiners)
    if (combiner)
      combiners.push_back(&*combiner);
  SmallVector<Value> sums;
  if (reductions.empty()) {
    sums = makeRowVectors(builder);
  } else {
    SmallVector<Value> neutral;
    for (const LaneCombiner *combiner : combiners)
      neutral.push_back(arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(body.vectorOf(combiner->neutral.getType()),
                                 cast<Attribute>(combiner->neutral))));
    sums = makeNest(builder, reductions, neutral,
                    [&](OpBuilder &inner, ValueRange arguments) {
                      SmallVector<Value> rows = makeRowVectors(inner);
                      for (auto [index, row] : llvm::enumerate(rows))
                        row = combine(inner, *combiners[index],
                                      arguments[index], row);
                      return rows;
                    });
  }
  for (auto [operand, combiner, lanes] : llvm::zip(operands, combiners, sums)) {
    SmallVector<Value> place = body.placeOf(builder, *operand, indices);
    Value before = memref::LoadOp::create(builder, loc, operand->get(), place);
    Value row = combineLanes(builder, *combiner, lanes);
    memref::StoreOp::create(builder, loc,
                            combine(builder, *combiner, before, row),
                            operand->get(), place);
  }
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
    if (dim != plan.dim)
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
