// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceScan.cpp - A block of steps as a scan --------------------===//
//
// A scan is a linalg.generic whose reduction is time: a state is the result
// that stays at one place, its values at all steps are results along time. So
// the ranks share its elements, vectors hold some of them, and no step waits
// for another rank.
//
// Exactness: each element takes the step's own operations in the step's order,
// so that bits are those of `steps` and depend on no block.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/RecurrenceScan.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/fuse/StepConditions.h"
#include "passes/tile/Slices.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

RecurrenceScan::RecurrenceScan(RecurrenceOp op, const ScanForm &form,
                               RewriterBase &rewriter, Value start, Value size,
                               Value count)
    : op(op), form(form), rewriter(rewriter), loc(op.getLoc()),
      timeAxis(op.getTimeAxisAttr().getInt()), start(start), size(size),
      count(count), steps(op, rewriter, size) {}

void RecurrenceScan::addSequence(unsigned number, Value block) {
  steps.add(op.getStepArguments()[number], block);
}

Value RecurrenceScan::constant(int64_t value) {
  return arith::ConstantIndexOp::create(rewriter, loc, value);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// An empty block of a state's values.
Value RecurrenceScan::makeEmpty(Value state) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, state);
  sizes.insert(sizes.begin() + timeAxis, size);
  return tensor::EmptyOp::create(
      rewriter, loc, sizes,
      cast<RankedTensorType>(state.getType()).getElementType());
}

Value RecurrenceScan::takeBlock(Value whole) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, whole);
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  offsets[timeAxis] = start;
  sizes[timeAxis] = size;
  return tensor::ExtractSliceOp::create(rewriter, loc, whole, offsets, sizes,
                                        strides);
}

void RecurrenceScan::putBlock(Value block, unsigned output) {
  Value &whole = carried[output];
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, whole);
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  offsets[timeAxis] = start;
  sizes[timeAxis] = size;
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[timeAxis] = ShapedType::kDynamic;
  block = castTo(rewriter, loc, block,
                 RankedTensorType::get(shape, type.getElementType()));
  whole = tensor::InsertSliceOp::create(rewriter, loc, block, whole, offsets,
                                        sizes, strides);
}

/// The element of a tensor that has its time behind the leading dimensions.
Value RecurrenceScan::extract(OpBuilder &builder, Value tensor, AffineMap map,
                              Value time) {
  SmallVector<Value> indices;
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    indices.push_back(linalg::IndexOp::create(builder, loc, dim));
  SmallVector<Value> place;
  for (auto [axis, expression] : llvm::enumerate(map.getResults())) {
    if (axis == timeAxis)
      place.push_back(time);
    else if (auto dim = dyn_cast<AffineDimExpr>(expression))
      place.push_back(indices[dim.getPosition()]);
    else
      place.push_back(affine::AffineApplyOp::create(
          builder, loc, AffineMap::get(map.getNumDims(), 0, expression),
          indices));
  }
  return tensor::ExtractOp::create(builder, loc, tensor, place);
}

/// A block in the order of time of one in the order in which a reversed
/// recurrence takes its steps.
Value RecurrenceScan::turn(Value block, Value destination) {
  int64_t rank = cast<RankedTensorType>(block.getType()).getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(destination.getType()), ValueRange(),
             destination, ArrayRef{identity}, iterators,
             [&](OpBuilder &builder, Location, ValueRange) {
               Value one = arith::ConstantIndexOp::create(builder, loc, 1);
               Value last = arith::SubIOp::create(builder, loc, size, one);
               Value here = linalg::IndexOp::create(builder, loc, timeAxis);
               Value time = arith::SubIOp::create(builder, loc, last, here);
               Value element = extract(builder, block, identity, time);
               linalg::YieldOp::create(builder, loc, element);
             })
      .getResult(0);
}

Value RecurrenceScan::isBefore(OpBuilder &builder, Value time, Value length) {
  Value end =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), length);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, time,
                               end);
}

/// 0 behind the end of each sequence.
Value RecurrenceScan::selectOrZero(Value block) {
  if (!op.getLengths())
    return block;
  auto type = cast<RankedTensorType>(block.getType());
  int64_t rank = type.getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value zero = arith::ConstantOp::create(
      rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, block),
      type.getElementType());
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(empty.getType()),
             ValueRange{op.getLengths(), block}, ValueRange(empty),
             ArrayRef{leadingMap(rank, op.getLengths()), identity, identity},
             iterators,
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value here = linalg::IndexOp::create(builder, loc, timeAxis);
               Value time = arith::AddIOp::create(builder, loc, start, here);
               Value kept = arith::SelectOp::create(
                   builder, loc, isBefore(builder, time, values[0]), values[1],
                   zero);
               linalg::YieldOp::create(builder, loc, kept);
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

/// Scans the states of a group, and what of them is wanted at all steps.
void RecurrenceScan::scan(const ScanForm::Group &group) {
  unsigned outputCount = op.getNumOutputs();
  auto stateOf = [&](unsigned state) { return carried[outputCount + state]; };
  Scan scan(group,
            cast<RankedTensorType>(stateOf(group.states.front()).getType())
                .getRank());
  auto addTrack = [&](Value value, std::optional<unsigned> output) {
    auto found = form.findStateValue(value);
    if (found && llvm::is_contained(group.states, found->state))
      scan.tracks.push_back({*found, output});
    return found && llvm::is_contained(group.states, found->state);
  };
  SmallVector<Value> read;
  for (Value value : form.getStatesRead())
    if (addTrack(value, std::nullopt))
      read.push_back(value);
  for (auto [number, value] :
       llvm::enumerate(op.getYield().getValues().take_front(outputCount)))
    addTrack(value, number);

  for (Operation *inner : group.operations)
    addLeaves(scan, inner);
  for (unsigned state : group.states)
    if (Value next = op.getYield().getValues()[outputCount + state];
        !form.isOfState(next))
      addLeaf(scan, next, rewriter.getMultiDimIdentityMap(scan.rank));
  addConditions(scan);

  AffineMap identity = rewriter.getMultiDimIdentityMap(scan.rank + 1);
  SmallVector<utils::IteratorType> iterators(scan.rank + 1,
                                             utils::IteratorType::parallel);
  iterators[timeAxis] = utils::IteratorType::reduction;
  SmallVector<Value> results;
  for (const Track &track : scan.tracks) {
    bool isInPlace = track.output && !op.getReverse();
    results.push_back(isInPlace ? takeBlock(carried[*track.output])
                                : makeEmpty(stateOf(track.value.state)));
    scan.maps.push_back(identity);
  }
  for (unsigned state : group.states) {
    results.push_back(stateOf(state));
    scan.maps.push_back(identity.dropResult(timeAxis));
  }
  // Something has to have as many elements as there are steps.
  bool hasTime = llvm::any_of(
      scan.maps, [&](AffineMap map) { return map.isFunctionOfDim(timeAxis); });
  if (!hasTime) {
    scan.inputs.push_back(tensor::EmptyOp::create(
        rewriter, loc, ArrayRef<OpFoldResult>{size}, rewriter.getI1Type()));
    scan.maps.insert(
        scan.maps.begin() + scan.inputs.size() - 1,
        AffineMap::get(scan.rank + 1, 0, rewriter.getAffineDimExpr(timeAxis)));
  }
  auto made = linalg::GenericOp::create(
      rewriter, loc, TypeRange(ValueRange(results)), scan.inputs, results,
      scan.maps, iterators,
      [&](OpBuilder &builder, Location, ValueRange arguments) {
        makeBody(scan, builder, arguments);
      });
  for (auto [index, track] : llvm::enumerate(scan.tracks)) {
    Value block = made.getResult(index);
    if (track.output && op.getReverse())
      block = turn(block, takeBlock(carried[*track.output]));
    else if (op.getReverse())
      block = turn(block, makeEmpty(stateOf(track.value.state)));
    if (track.output)
      putBlock(block, *track.output);
    else
      steps.add(read[index], block);
  }
  for (auto [index, state] : llvm::enumerate(group.states))
    carried[outputCount + state] = made.getResult(scan.tracks.size() + index);
}

LogicalResult RecurrenceScan::computeAll(ArrayRef<Operation *> operations) {
  for (Operation *inner : operations)
    if (failed(steps.compute(inner)))
      return inner->emitError("not compiled yet: a size that the step alone "
                              "knows, in a recurrence scheduled as a scan");
  return success();
}

FailureOr<SmallVector<Value>> RecurrenceScan::make(ValueRange values) {
  carried.assign(values.begin(), values.end());
  if (failed(computeAll(form.getBefore())))
    return failure();
  for (const ScanForm::Group &group : form.getGroups())
    scan(group);
  if (failed(computeAll(form.getBehind())))
    return failure();
  for (auto [number, value] : llvm::enumerate(
           op.getYield().getValues().take_front(op.getNumOutputs()))) {
    if (form.findStateValue(value))
      continue;
    Value block = steps.get(value);
    if (!block)
      return op.emitError("not compiled yet: a size that the step alone "
                          "knows, in a recurrence scheduled as a scan");
    putBlock(selectOrZero(block), number);
  }
  return carried;
}
