// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceResets.cpp - Steps with which sequences start again ------===//
//
// A state is reset by the step before, which writes it as the next step begins
// with it: so a product reads what is there before its step, and no value is
// made in between. Caches, and all states of naive steps, are reset by the step
// with which a sequence starts.
//
//===----------------------------------------------------------------------===//

#include "passes/PassCommon.h"
#include "passes/fuse/StepConditions.h"
#include "passes/tile/RecurrenceSteps.h"
#include "passes/tile/Slices.h"

using namespace mlir;
using namespace gatefold;

/// The border in front of step `time`, in the order of the steps.
RecurrenceSteps::Border RecurrenceSteps::getBorder(Value time) {
  Border border = {time, {}, {}};
  // In reverse a sequence starts at the step before a border.
  if (op.getReverse()) {
    Value next = arith::AddIOp::create(rewriter, loc, time, constant(1));
    Value last = arith::SubIOp::create(rewriter, loc, count, constant(1));
    border.exists = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::slt, next, count);
    border.index = arith::MinSIOp::create(rewriter, loc, next, last);
  }
  border.resets =
      takeSlice(rewriter, loc, op.getResets(), {{timeAxis, border.index}});
  return border;
}

/// The border behind step `time`, if a step follows.
RecurrenceSteps::Border RecurrenceSteps::getBorderBehind(Value time) {
  Border border = {time, {}, {}};
  if (op.getReverse()) {
    border.exists = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::sgt, time, constant(0));
  } else {
    Value next = arith::AddIOp::create(rewriter, loc, time, constant(1));
    Value last = arith::SubIOp::create(rewriter, loc, count, constant(1));
    border.exists = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::slt, next, count);
    border.index = arith::MinSIOp::create(rewriter, loc, next, last);
  }
  border.resets =
      takeSlice(rewriter, loc, op.getResets(), {{timeAxis, border.index}});
  return border;
}

/// A state as a new sequence has it where one starts at the border.
Value RecurrenceSteps::resetState(const Border &border, Value state,
                                  Value fresh, bool inPlace) {
  auto type = cast<RankedTensorType>(state.getType());
  int64_t rank = type.getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<Value> inputs = {border.resets,
                               castTo(rewriter, loc, fresh, type)};
  SmallVector<AffineMap> maps = {leadingMap(rank, border.resets), identity};
  if (op.getLengths()) {
    inputs.push_back(op.getLengths());
    maps.push_back(leadingMap(rank, op.getLengths()));
  }
  maps.push_back(identity);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  unsigned old = inputs.size();
  Value destination = makeDestination(state, inputs, maps, inPlace);
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(type), inputs, ValueRange(destination),
             maps, iterators,
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value starts = values[0];
               if (border.exists)
                 starts =
                     arith::AndIOp::create(builder, loc, starts, border.exists);
               // A border behind the end of a sequence is padding.
               if (op.getLengths()) {
                 Value valid = isValid(builder, border.index, values[2]);
                 starts = arith::AndIOp::create(builder, loc, starts, valid);
               }
               Value kept = arith::SelectOp::create(builder, loc, starts,
                                                    values[1], values[old]);
               linalg::YieldOp::create(builder, loc, kept);
             })
      .getResult(0);
}

/// Whether the step before writes a state as the next one begins with it. So a
/// product with it reads what has been written before the step, and nothing is
/// in between. A cache is looked at where a sequence starts alone, and what
/// loops write over stays where it is.
bool RecurrenceSteps::isResetAhead(unsigned state) {
  if (isNaive || !op.getResets() || isCache(state))
    return false;
  Value next = op.getYield().getValues()[op.getNumOutputs() + state];
  Operation *by = viewedTensor(next).getDefiningOp();
  return !isa_and_nonnull<scf::ForOp, tensor::InsertSliceOp>(by);
}

/// The states before step `time`: reset where a new sequence starts.
SmallVector<Value> RecurrenceSteps::resetStates(Value time, ValueRange states) {
  SmallVector<Value> result(states);
  if (!op.getResets() || resetsAhead.count() == result.size())
    return result;
  Border border = getBorder(time);
  Value any;
  for (auto [number, state, fresh] :
       llvm::enumerate(result, op.getResetStates())) {
    if (resetsAhead[number])
      continue;
    if (!isCache(number)) {
      state = resetState(border, state, fresh, /*inPlace=*/false);
      continue;
    }
    // A cache is looked at where a sequence starts alone, and in its place.
    if (!any)
      any = findAny(border.resets);
    auto choice = scf::IfOp::create(rewriter, loc, state.getType(), any,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(rewriter, loc, state);
    rewriter.setInsertionPointToStart(choice.thenBlock());
    state = resetState(border, state, fresh, /*inPlace=*/true);
    scf::YieldOp::create(rewriter, loc, state);
    state = choice.getResult(0);
  }
  return result;
}

void RecurrenceSteps::resetInitials() {
  for (unsigned i = 0, e = resetsAhead.size(); i < e; ++i)
    resetsAhead[i] = isResetAhead(i);
  // In reverse there is no border in front of the first step.
  if (resetsAhead.none() || op.getReverse())
    return;
  // There may be no step: then no element says that a sequence starts.
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, op.getResets());
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  sizes[timeAxis] =
      arith::MinSIOp::create(rewriter, loc, count, constant(1)).getResult();
  Value first = tensor::ExtractSliceOp::create(rewriter, loc, op.getResets(),
                                               offsets, sizes, strides);
  sizes.erase(sizes.begin() + timeAxis);
  Value none =
      arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(false));
  Value start =
      tensor::EmptyOp::create(rewriter, loc, sizes, rewriter.getI1Type());
  start = linalg::FillOp::create(rewriter, loc, none, start).getResult(0);
  Value resets = linalg::ReduceOp::create(
                     rewriter, loc, first, start, ArrayRef<int64_t>{timeAxis},
                     [](OpBuilder &builder, Location loc, ValueRange values) {
                       Value either = arith::OrIOp::create(
                           builder, loc, values[0], values[1]);
                       linalg::YieldOp::create(builder, loc, either);
                     })
                     .getResult(0);
  Border border = {constant(0), {}, resets};
  MutableArrayRef<Value> states =
      MutableArrayRef(initials).drop_front(op.getNumOutputs());
  for (auto [number, state, fresh] :
       llvm::enumerate(states, op.getResetStates()))
    if (resetsAhead[number])
      state = resetState(border, state, fresh, /*inPlace=*/false);
}
