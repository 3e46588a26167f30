// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerRecurrence.cpp - Recurrence to a loop over time ---------------===//
//
// The naive lowering of gf.recurrence: one step after the other.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "passes/tile/Passes.h"
#include "passes/support/Entry.h"
#include "passes/tile/ResultSizes.h"
#include "passes/tile/Slices.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERRECURRENCE
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
/// Lowers one recurrence.
class RecurrenceLowering {
public:
  RecurrenceLowering(RecurrenceOp op, IRRewriter &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()),
        timeAxis(op.getTimeAxisAttr().getInt()) {}

  LogicalResult run();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value stepCount();
  void makeStep(Value iteration, ValueRange carried);
  SmallVector<Value> resetStates(Value time, ValueRange states);
  Value select(Value time, Value next, Value before);
  Value isValid(OpBuilder &builder, Value time, Value length);

  RecurrenceOp op;
  IRRewriter &rewriter;
  Location loc;
  int64_t timeAxis;
  Value steps;
};
} // namespace

Value RecurrenceLowering::stepCount() {
  if (op.getSteps())
    return op.getSteps();
  return getSize(rewriter, loc, op.getSequences().front(), timeAxis);
}

/// The map from the indices of a step's tensor to those of `operand`, whose
/// dimensions are its first ones.
static AffineMap prefixMap(OpBuilder &builder, int64_t rank, Value operand) {
  int64_t prefix = cast<RankedTensorType>(operand.getType()).getRank();
  SmallVector<AffineExpr> dims;
  for (int64_t dim = 0; dim < prefix; ++dim)
    dims.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(rank, /*symbolCount=*/0, dims, builder.getContext());
}

Value RecurrenceLowering::isValid(OpBuilder &builder, Value time,
                                  Value length) {
  Value end =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), length);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, time,
                               end);
}

/// `time < length ? next : before`, in the place of `before`.
Value RecurrenceLowering::select(Value time, Value next, Value before) {
  auto type = cast<RankedTensorType>(before.getType());
  int64_t rank = type.getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps = {prefixMap(rewriter, rank, op.getLengths()),
                                 identity, identity};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(type), ValueRange{op.getLengths(), next},
             ValueRange(before), maps, iterators,
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value valid = isValid(builder, time, values[0]);
               Value kept = arith::SelectOp::create(builder, loc, valid,
                                                    values[1], values[2]);
               linalg::YieldOp::create(builder, loc, kept);
             })
      .getResult(0);
}

/// The states before step `time`: reset where a new sequence starts.
SmallVector<Value> RecurrenceLowering::resetStates(Value time,
                                                   ValueRange states) {
  SmallVector<Value> result(states);
  if (!op.getResets())
    return result;
  // In reverse a sequence starts at the step before a border.
  Value border = time, exists;
  if (op.getReverse()) {
    Value next = arith::AddIOp::create(rewriter, loc, time, constant(1));
    Value last = arith::SubIOp::create(rewriter, loc, steps, constant(1));
    exists = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                   next, steps);
    border = arith::MinSIOp::create(rewriter, loc, next, last);
  }
  Value resets = takeSlice(rewriter, loc, op.getResets(), {{timeAxis, border}});
  for (auto [state, fresh] : llvm::zip(result, op.getResetStates())) {
    auto type = cast<RankedTensorType>(state.getType());
    int64_t rank = type.getRank();
    AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
    SmallVector<Value> inputs = {resets, castTo(rewriter, loc, fresh, type)};
    SmallVector<AffineMap> maps = {prefixMap(rewriter, rank, resets), identity};
    if (op.getLengths()) {
      inputs.push_back(op.getLengths());
      maps.push_back(prefixMap(rewriter, rank, op.getLengths()));
    }
    maps.push_back(identity);
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    state =
        linalg::GenericOp::create(
            rewriter, loc, TypeRange(type), inputs, ValueRange(state), maps,
            iterators,
            [&, exists = exists, border = border](OpBuilder &builder, Location,
                                                  ValueRange values) {
              Value starts = values[0];
              if (exists)
                starts = arith::AndIOp::create(builder, loc, starts, exists);
              // A border behind the end of a sequence is padding.
              if (op.getLengths()) {
                Value valid = isValid(builder, border, values[2]);
                starts = arith::AndIOp::create(builder, loc, starts, valid);
              }
              Value kept = arith::SelectOp::create(builder, loc, starts,
                                                   values[1], values.back());
              linalg::YieldOp::create(builder, loc, kept);
            })
            .getResult(0);
  }
  return result;
}

/// What `value` is a view of.
static Value viewedTensor(Value value) {
  while (isa_and_nonnull<tensor::CastOp, tensor::ExtractSliceOp,
                         tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

void RecurrenceLowering::makeStep(Value iteration, ValueRange carried) {
  Value time = iteration;
  if (op.getReverse()) {
    Value last = arith::SubIOp::create(rewriter, loc, steps, constant(1));
    time = arith::SubIOp::create(rewriter, loc, last, iteration);
  }
  unsigned outputCount = op.getNumOutputs();
  SmallVector<Value> states =
      resetStates(time, carried.drop_front(outputCount));

  SmallVector<Value> arguments;
  for (Value sequence : op.getSequences())
    arguments.push_back(takeSlice(rewriter, loc, sequence, {{timeAxis, time}}));
  llvm::append_range(arguments, states);
  for (auto [argument, parameter] :
       llvm::zip(arguments, op.getBody().getArguments()))
    argument = castTo(rewriter, loc, argument, parameter.getType());

  YieldOp yield = op.getYield();
  Block *block = rewriter.getInsertionBlock();
  rewriter.inlineBlockBefore(&op.getBody().front(), block,
                             rewriter.getInsertionPoint(), arguments);
  SmallVector<Value> values(yield.getValues());
  rewriter.eraseOp(yield);

  // What another state was would be overwritten before it is read.
  for (auto [value, before] :
       llvm::zip(MutableArrayRef(values).drop_front(outputCount), states)) {
    Value viewed = viewedTensor(value);
    bool isOther = viewed != viewedTensor(before) &&
                   llvm::any_of(states, [&](Value state) {
                     return viewedTensor(state) == viewed;
                   });
    if (isOther)
      value = bufferization::AllocTensorOp::create(
          rewriter, loc, cast<RankedTensorType>(value.getType()),
          /*dynamicSizes=*/ValueRange(), /*copy=*/value);
  }

  SmallVector<Value> next;
  for (unsigned i = 0; i < outputCount; ++i) {
    Value value = values[i];
    if (op.getLengths()) {
      auto type = cast<RankedTensorType>(value.getType());
      Value zero = arith::ConstantOp::create(
          rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
      Value empty = tensor::EmptyOp::create(
          rewriter, loc, tensor::getMixedSizes(rewriter, loc, value),
          type.getElementType());
      Value zeros =
          linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
      value =
          select(time, castTo(rewriter, loc, value, zeros.getType()), zeros);
    }
    next.push_back(
        putSlice(rewriter, loc, value, carried[i], {{timeAxis, time}}));
  }
  // States are overwritten after every use of them in the step.
  for (unsigned i = 0, e = states.size(); i < e; ++i) {
    Value value = values[outputCount + i], before = states[i];
    value = castTo(rewriter, loc, value, before.getType());
    if (value == before)
      ;
    else if (op.getLengths())
      value = select(time, value, before);
    else
      value = bufferization::MaterializeInDestinationOp::create(
                  rewriter, loc, before.getType(), value, before)
                  .getResult();
    next.push_back(value);
  }
  scf::YieldOp::create(rewriter, loc, next);
}

LogicalResult RecurrenceLowering::run() {
  rewriter.setInsertionPoint(op);
  unsigned sequenceCount = op.getSequences().size();
  auto shapes = getResultSizes(
      rewriter, op, op.getNumOutputs(), op.getYield().getValues(),
      [&](int64_t dim) {
        return dim < timeAxis ? dim : dim == timeAxis ? -1 : dim - 1;
      },
      [&](BlockArgument argument, int64_t dim) {
        unsigned number = argument.getArgNumber();
        if (number >= sequenceCount)
          return getSize(rewriter, loc,
                         op.getInitials()[number - sequenceCount], dim);
        return getSize(rewriter, loc, op.getSequences()[number],
                       dim < timeAxis ? dim : dim + 1);
      });
  if (failed(shapes))
    return failure();
  steps = stepCount();

  SmallVector<Value> initials;
  for (unsigned i = 0, e = op.getNumOutputs(); i < e; ++i) {
    auto type = cast<RankedTensorType>(op.getResult(i).getType());
    Value empty = tensor::EmptyOp::create(rewriter, loc, (*shapes)[i],
                                          type.getElementType());
    initials.push_back(castTo(rewriter, loc, empty, type));
  }
  llvm::append_range(initials, op.getInitials());

  auto loop = scf::ForOp::create(rewriter, loc, constant(0), steps, constant(1),
                                 initials);
  if (initials.empty())
    rewriter.eraseOp(loop.getBody()->getTerminator());
  rewriter.setInsertionPointToEnd(loop.getBody());
  makeStep(loop.getInductionVar(), loop.getRegionIterArgs());
  rewriter.replaceOp(op, loop.getResults());
  return success();
}

namespace {
struct LowerRecurrence : gatefold::impl::LowerRecurrenceBase<LowerRecurrence> {
  void runOnOperation() override {
    SmallVector<RecurrenceOp> recurrences;
    // Inner ones come first.
    getOperation().walk([&](RecurrenceOp op) {
      if (hasAlgorithm(op, naiveAlgorithm))
        recurrences.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (RecurrenceOp op : recurrences) {
      if (failed(RecurrenceLowering(op, rewriter).run()))
        return signalPassFailure();
      ++recurrencesLowered;
    }
  }
};
} // namespace
