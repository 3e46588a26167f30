// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceScanBody.cpp - What a scan reads and computes ------------===//
//
// The operands of a scan, and its body: the step's operations on numbers.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/fuse/StepConditions.h"
#include "passes/tile/RecurrenceScan.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// What a scan reads
//===----------------------------------------------------------------------===//

AffineMap RecurrenceScan::withTime(AffineMap map, bool hasTime) {
  map = map.shiftDims(1, timeAxis);
  return hasTime
             ? map.insertResult(rewriter.getAffineDimExpr(timeAxis), timeAxis)
             : map;
}

/// The one number that a tensor holds, as far as that is plain to see.
static Value findNumber(Value tensor, OpBuilder &builder, Location loc) {
  DenseElementsAttr elements;
  if (matchPattern(tensor, m_Constant(&elements)) && elements.isSplat())
    return arith::ConstantOp::create(builder, loc,
                                     elements.getSplatValue<TypedAttr>());
  return {};
}

void RecurrenceScan::addLeaf(Scan &scan, Value value, AffineMap map) {
  bool isSame = isSameAtEachStep(value, op.getBody());
  auto addInput = [&](Value input, AffineMap inputMap) {
    scan.inputs.push_back(input);
    scan.maps.push_back(inputMap);
    return scan.inputs.size() - 1;
  };
  DenseElementsAttr elements;
  bool isNumber =
      matchPattern(value, m_Constant(&elements)) && elements.isSplat();
  // In reverse the body finds the element itself.
  if (isNumber || scan.places.contains({value, map}) ||
      (!isSame && op.getReverse()))
    return;
  Value input =
      isSame ? makeAnew(rewriter, value, op.getBody()) : steps.get(value);
  bool isTensor = isa<RankedTensorType>(value.getType());
  scan.places[{value, map}] =
      addInput(input, isTensor ? withTime(map, !isSame)
                               : AffineMap::get(scan.rank + 1, 0,
                                                rewriter.getContext()));
}

/// The operands of an operation in the scan that depend on no state.
void RecurrenceScan::addLeaves(Scan &scan, Operation *inner) {
  auto linalgOp = dyn_cast<LinalgOp>(inner);
  for (OpOperand &operand : inner->getOpOperands()) {
    if (form.isOfState(operand.get()))
      continue;
    if (!linalgOp)
      addLeaf(scan, operand.get(), rewriter.getMultiDimIdentityMap(scan.rank));
    else if (linalgOp.payloadUsesValueFromOperand(&operand))
      addLeaf(scan, operand.get(), linalgOp.getMatchingIndexingMap(&operand));
  }
}

/// Lengths, resets, and the states that these bring back.
void RecurrenceScan::addConditions(Scan &scan) {
  unsigned rank = scan.rank + 1;
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  auto addInput = [&](Value input, AffineMap map) {
    scan.inputs.push_back(input);
    scan.maps.push_back(map);
    return scan.inputs.size() - 1;
  };
  if (op.getLengths())
    scan.lengths = addInput(op.getLengths(), leadingMap(rank, op.getLengths()));
  if (!op.getResets())
    return;
  if (!op.getReverse())
    scan.resets = addInput(takeBlock(op.getResets()),
                           identity.getMajorSubMap(timeAxis + 1));
  for (unsigned state : scan.group.states)
    scan.resetStates.push_back(
        addInput(op.getResetStates()[state], identity.dropResult(timeAxis)));
}

//===----------------------------------------------------------------------===//
// The body of a scan
//===----------------------------------------------------------------------===//

/// A value of the step as a number.
Value RecurrenceScan::read(Scan &scan, OpBuilder &builder, Value value,
                           AffineMap map) {
  if (form.isOfState(value))
    return scan.numbers.lookup(value);
  if (Value number = findNumber(value, builder, loc))
    return number;
  auto place = scan.places.find({value, map});
  if (place != scan.places.end())
    return scan.arguments[place->second];
  return extract(builder, steps.get(value), withTime(map, /*hasTime=*/true),
                 scan.inBlock);
}

/// An operation of the step on numbers.
void RecurrenceScan::makeInner(Scan &scan, OpBuilder &builder,
                               Operation *inner) {
  AffineMap identity = builder.getMultiDimIdentityMap(scan.rank);
  auto linalgOp = dyn_cast<LinalgOp>(inner);
  if (!linalgOp) {
    SmallVector<Value> operands;
    for (Value operand : inner->getOperands())
      operands.push_back(read(scan, builder, operand, identity));
    scan.numbers[inner->getResult(0)] =
        isa<tensor::CastOp>(inner)
            ? operands[0]
            : builder
                  .create(inner->getLoc(), inner->getName().getIdentifier(),
                          operands,
                          getElementTypeOrSelf(inner->getResult(0).getType()),
                          inner->getAttrs())
                  ->getResult(0);
    return;
  }
  IRMapping mapping;
  for (OpOperand &operand : inner->getOpOperands())
    if (linalgOp.payloadUsesValueFromOperand(&operand))
      mapping.map(linalgOp.getMatchingBlockArgument(&operand),
                  read(scan, builder, operand.get(),
                       linalgOp.getMatchingIndexingMap(&operand)));
  for (Operation &number : linalgOp.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(number)) {
      unsigned dim = index.getDim();
      mapping.map(
          index.getResult(),
          linalg::IndexOp::create(builder, loc, dim < timeAxis ? dim : dim + 1)
              .getResult());
      continue;
    }
    for (Value operand : number.getOperands())
      if (operand.getParentBlock() != linalgOp.getBlock() &&
          !mapping.contains(operand))
        mapping.map(operand, makeAnew(rewriter, operand, op.getBody()));
    builder.clone(number, mapping);
  }
  for (auto [result, yielded] :
       llvm::zip(inner->getResults(),
                 linalgOp.getBlock()->getTerminator()->getOperands()))
    scan.numbers[result] = mapping.lookupOrDefault(yielded);
}

void RecurrenceScan::makeBody(Scan &scan, OpBuilder &builder,
                              ValueRange arguments) {
  llvm::append_range(scan.arguments, arguments.take_front(scan.inputs.size()));
  ValueRange results = arguments.drop_front(scan.inputs.size());
  ValueRange states = results.drop_front(scan.tracks.size());
  Value here = linalg::IndexOp::create(builder, loc, timeAxis);
  if (op.getReverse()) {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value last = arith::SubIOp::create(builder, loc, size, one);
    here = arith::SubIOp::create(builder, loc, last, here);
  }
  scan.inBlock = here;
  scan.time = arith::AddIOp::create(builder, loc, start, here);
  auto isValid = [&](Value time) {
    return isBefore(builder, time, scan.arguments[*scan.lengths]);
  };

  // In reverse a sequence starts at the step before a border.
  Value starts, border = scan.time;
  if (scan.resets) {
    starts = scan.arguments[*scan.resets];
  } else if (op.getResets()) {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value last = arith::SubIOp::create(builder, loc, count, one);
    Value next = arith::AddIOp::create(builder, loc, scan.time, one);
    Value exists = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, next, count);
    border = arith::MinSIOp::create(builder, loc, next, last);
    AffineMap map = builder.getMultiDimIdentityMap(scan.rank + 1)
                        .getMajorSubMap(timeAxis + 1);
    starts = arith::AndIOp::create(
        builder, loc, extract(builder, op.getResets(), map, border), exists);
  }
  // A border behind the end of a sequence is padding.
  if (starts && scan.lengths)
    starts = arith::AndIOp::create(builder, loc, starts, isValid(border));

  auto stateArguments = op.getStateArguments();
  for (auto [index, state] : llvm::enumerate(scan.group.states)) {
    Value before = states[index];
    if (starts)
      before = arith::SelectOp::create(builder, loc, starts,
                                       scan.arguments[scan.resetStates[index]],
                                       before);
    scan.numbers[stateArguments[state]] = before;
  }
  for (Operation *inner : scan.group.operations)
    makeInner(scan, builder, inner);

  Value valid = scan.lengths ? isValid(scan.time) : Value();
  AffineMap identity = builder.getMultiDimIdentityMap(scan.rank);
  llvm::DenseMap<unsigned, Value> nexts;
  SmallVector<Value> lasts, yielded;
  for (unsigned state : scan.group.states) {
    Value next =
        read(scan, builder,
             op.getYield().getValues()[op.getNumOutputs() + state], identity);
    nexts[state] = next;
    Value before = scan.numbers[stateArguments[state]], condition = valid;
    // A sum alone would be one whose terms may be added in any order.
    Operation *last = next.getDefiningOp();
    if (!condition && last && llvm::is_contained(last->getOperands(), before))
      condition = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        scan.time, count);
    if (condition)
      next = arith::SelectOp::create(builder, loc, condition, next, before);
    lasts.push_back(next);
  }
  for (const Track &track : scan.tracks) {
    Value value = track.value.isNext
                      ? nexts[track.value.state]
                      : scan.numbers[stateArguments[track.value.state]];
    if (valid && track.output) {
      Value zero = arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(value.getType()));
      value = arith::SelectOp::create(builder, loc, valid, value, zero);
    }
    yielded.push_back(value);
  }
  llvm::append_range(yielded, lasts);
  linalg::YieldOp::create(builder, loc, yielded);
}
