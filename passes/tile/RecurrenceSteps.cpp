// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceSteps.cpp - The steps of a recurrence --------------------===//
//
// What every loop over the steps of a gf.recurrence needs.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/RecurrenceSteps.h"
#include "passes/PassCommon.h"
#include "passes/fuse/StepConditions.h"
#include "passes/tile/ResultSizes.h"
#include "passes/tile/Slices.h"

using namespace mlir;
using namespace gatefold;

Value RecurrenceSteps::constant(int64_t value) {
  return arith::ConstantIndexOp::create(rewriter, loc, value);
}

Value RecurrenceSteps::isValid(OpBuilder &builder, Value time, Value length) {
  Value end =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), length);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, time,
                               end);
}

/// What is written where the old value of a state is read: its own place, or a
/// new one, and the old value is one more input.
Value RecurrenceSteps::makeDestination(Value state,
                                       SmallVectorImpl<Value> &inputs,
                                       SmallVectorImpl<AffineMap> &maps,
                                       bool inPlace) {
  if (isNaive || inPlace)
    return state;
  inputs.push_back(state);
  maps.push_back(maps.back());
  auto type = cast<RankedTensorType>(state.getType());
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, state),
      type.getElementType());
  return castTo(rewriter, loc, empty, type);
}

/// `time < length ? next : before`.
Value RecurrenceSteps::select(Value time, Value next, Value before) {
  auto type = cast<RankedTensorType>(before.getType());
  int64_t rank = type.getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps = {leadingMap(rank, op.getLengths()), identity,
                                 identity};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  SmallVector<Value> inputs = {op.getLengths(), next};
  Value destination = makeDestination(before, inputs, maps);
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(type), inputs, ValueRange(destination),
             maps, iterators,
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value valid = isValid(builder, time, values[0]);
               Value kept = arith::SelectOp::create(builder, loc, valid,
                                                    values[1], values[2]);
               linalg::YieldOp::create(builder, loc, kept);
             })
      .getResult(0);
}

Value gatefold::viewedTensor(Value value) {
  while (isa_and_nonnull<tensor::CastOp, tensor::ExtractSliceOp,
                         tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// `value` where step `time` is before the end of its sequence, else 0.
Value RecurrenceSteps::selectOrZero(Value time, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Value zero = arith::ConstantOp::create(
      rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, value),
      type.getElementType());
  if (isNaive) {
    Value zeros =
        linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
    return select(time, castTo(rewriter, loc, value, zeros.getType()), zeros);
  }
  int64_t rank = type.getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps = {leadingMap(rank, op.getLengths()), identity,
                                 identity};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(empty.getType()),
             ValueRange{op.getLengths(), value}, ValueRange(empty), maps,
             iterators,
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value valid = isValid(builder, time, values[0]);
               Value kept = arith::SelectOp::create(builder, loc, valid,
                                                    values[1], zero);
               linalg::YieldOp::create(builder, loc, kept);
             })
      .getResult(0);
}

SmallVector<Value>
RecurrenceSteps::makeTakenStep(Value time, ValueRange carried,
                               function_ref<Value(unsigned)> takeStep) {
  unsigned outputCount = op.getNumOutputs();
  SmallVector<Value> states =
      resetStates(time, carried.drop_front(outputCount));

  SmallVector<Value> arguments;
  for (unsigned i = 0, e = op.getSequences().size(); i < e; ++i)
    arguments.push_back(takeStep(i));
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

  llvm::SmallBitVector stays = separateLoops(time, states, values, carried);
  SmallVector<Value> next;
  for (unsigned i = 0; i < outputCount; ++i) {
    Value value = values[i];
    if (op.getLengths())
      value = selectOrZero(time, value);
    next.push_back(
        putSlice(rewriter, loc, value, carried[i], {{timeAxis, time}}));
  }
  // States are overwritten after every use of them in the step.
  Border behind;
  if (resetsAhead.any())
    behind = getBorderBehind(time);
  for (unsigned i = 0, e = states.size(); i < e; ++i) {
    Value value = values[outputCount + i], before = states[i];
    if (stays[i]) {
      next.push_back(value);
      continue;
    }
    value = castTo(rewriter, loc, value, before.getType());
    Value place = isNaive ? before : carried[outputCount + i];
    if (op.getLengths() && value != before)
      value = select(time, value, before);
    if (resetsAhead[i])
      value = resetState(behind, value, op.getResetStates()[i],
                         /*inPlace=*/false);
    // A naive select is in its place already.
    if (value != place && !(isNaive && op.getLengths()))
      value = bufferization::MaterializeInDestinationOp::create(
                  rewriter, loc, place.getType(), value, place)
                  .getResult();
    next.push_back(value);
  }
  return next;
}

/// The greatest length, as the number of a step: 0 to `count`.
Value RecurrenceSteps::findGreatestLength() {
  Value lengths = op.getLengths();
  auto type = cast<RankedTensorType>(lengths.getType());
  Value zero = arith::ConstantOp::create(
      rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
  Value start = tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>(),
                                        type.getElementType());
  start = linalg::FillOp::create(rewriter, loc, zero, start).getResult(0);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  Value greatest = linalg::ReduceOp::create(
                       rewriter, loc, lengths, start, dims,
                       [](OpBuilder &builder, Location loc, ValueRange values) {
                         Value larger = arith::MaxSIOp::create(
                             builder, loc, values[0], values[1]);
                         linalg::YieldOp::create(builder, loc, larger);
                       })
                       .getResult(0);
  greatest = tensor::ExtractOp::create(rewriter, loc, greatest, ValueRange());
  greatest = arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                        greatest);
  return arith::MinSIOp::create(rewriter, loc, count, greatest);
}

SmallVector<Value> RecurrenceSteps::finish(ValueRange carried) {
  SmallVector<Value> results(carried);
  unsigned outputCount = op.getNumOutputs();
  if (end == count || outputCount == 0)
    return results;
  Value left = arith::SubIOp::create(rewriter, loc, count, end);
  for (Value &whole : MutableArrayRef(results).take_front(outputCount)) {
    auto type = cast<RankedTensorType>(whole.getType());
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, whole);
    SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    offsets[timeAxis] = end;
    sizes[timeAxis] = left;
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
    Value rest = tensor::ExtractSliceOp::create(rewriter, loc, whole, offsets,
                                                sizes, strides);
    rest = linalg::FillOp::create(rewriter, loc, zero, rest).getResult(0);
    whole = tensor::InsertSliceOp::create(rewriter, loc, rest, whole, offsets,
                                          sizes, strides);
  }
  return results;
}

LogicalResult RecurrenceSteps::begin() {
  rewriter.setInsertionPoint(op);
  resetsAhead.resize(op.getInitials().size());
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
  count = op.getSteps()
              ? op.getSteps()
              : getSize(rewriter, loc, op.getSequences().front(), timeAxis);
  end = op.getLengths() && !isNaive ? findGreatestLength() : count;

  for (unsigned i = 0, e = op.getNumOutputs(); i < e; ++i) {
    auto type = cast<RankedTensorType>(op.getResult(i).getType());
    Value empty = tensor::EmptyOp::create(rewriter, loc, (*shapes)[i],
                                          type.getElementType());
    initials.push_back(castTo(rewriter, loc, empty, type));
  }
  // A state of the recurrence around this one, in whose place the loop would
  // work, is written there at the end of its own step alone.
  for (Value initial : op.getInitials()) {
    auto argument = dyn_cast<BlockArgument>(viewedTensor(initial));
    bool isOuterState =
        argument && isa<RecurrenceOp>(argument.getOwner()->getParentOp());
    initials.push_back(isOuterState
                           ? bufferization::AllocTensorOp::create(
                                 rewriter, loc,
                                 cast<RankedTensorType>(initial.getType()),
                                 /*dynamicSizes=*/ValueRange(),
                                 /*copy=*/initial)
                                 .getResult()
                           : initial);
  }
  return success();
}
