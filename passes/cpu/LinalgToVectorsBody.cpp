// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToVectorsBody.cpp - The body for a vector of lanes -----------===//
//
// Values that all lanes share stay scalars until they meet one that varies.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cpu/LinalgToVectors.h"
#include "passes/cpu/Passes.h"
#include "passes/cpu/Turn.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

VectorBody::VectorBody(LinalgOp op, const VectorPlan &plan)
    : op(op), plan(plan), loc(op.getLoc()), maps(op.getIndexingMapsArray()) {}

bool VectorBody::isVarying(Operation &inner) const {
  return llvm::any_of(inner.getResults(), [&](Value result) {
    return plan.varying.contains(result);
  });
}

Value VectorBody::broadcast(OpBuilder &builder, Value scalar) {
  return vector::BroadcastOp::create(builder, loc, vectorOf(scalar.getType()),
                                     scalar);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<Value> VectorBody::placeOf(OpBuilder &builder, OpOperand &operand,
                                       ArrayRef<Value> indices) {
  AffineMap map = maps[operand.getOperandNumber()];
  SmallVector<Value> place;
  for (AffineExpr expression : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expression))
      place.push_back(indices[dim.getPosition()]);
    else
      place.push_back(affine::AffineApplyOp::create(
          builder, loc, AffineMap::get(map.getNumDims(), 0, expression),
          indices));
  }
  return place;
}

Type gatefold::memoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isF16() || element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element;
}

/// A buffer as one of its memory types. In the llvm dialect both are the same
/// descriptor.
static Value memoryOf(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Type element = memoryType(type.getElementType());
  if (element == type.getElementType())
    return buffer;
  auto memory = MemRefType::get(type.getShape(), element, type.getLayout(),
                                type.getMemorySpace());
  return UnrealizedConversionCastOp::create(builder, loc, memory, buffer)
      .getResult(0);
}

static Value zeros(OpBuilder &builder, Location loc, VectorType type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

static Value fromMemory(OpBuilder &builder, Location loc, Value value,
                        Type element) {
  auto type = cast<VectorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  if (element.isInteger(1))
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                 zeros(builder, loc, type));
  return arith::BitcastOp::create(builder, loc, type.clone(element), value);
}

static Value toMemory(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<VectorType>(value.getType());
  Type memory = memoryType(type.getElementType());
  if (memory == type.getElementType())
    return value;
  if (type.getElementType().isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type.clone(memory), value);
  return arith::BitcastOp::create(builder, loc, type.clone(memory), value);
}

Value VectorBody::loadAdjacent(OpBuilder &builder, Value buffer,
                               ValueRange place, Value mask) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value memory = memoryOf(builder, loc, buffer);
  VectorType type =
      vectorOf(cast<MemRefType>(memory.getType()).getElementType());
  Value value =
      mask ? vector::MaskedLoadOp::create(builder, loc, type, memory, place,
                                          mask, zeros(builder, loc, type))
                 .getResult()
           : vector::LoadOp::create(builder, loc, type, memory, place)
                 .getResult();
  return fromMemory(builder, loc, value, element);
}

/// Elements at places of which some are vectors, some scalars.
Value VectorBody::gather(OpBuilder &builder, Value buffer, ValueRange place,
                         Value mask) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value memory = memoryOf(builder, loc, buffer);
  Type stored = cast<MemRefType>(memory.getType()).getElementType();
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memory);
  Value offset = metadata.getOffset(), lanes;
  for (auto [index, stride] : llvm::zip(place, metadata.getStrides())) {
    bool varies = isa<VectorType>(index.getType());
    Value &sum = varies ? lanes : offset;
    Value scale = varies ? broadcast(builder, stride) : stride;
    Value term = arith::MulIOp::create(builder, loc, index, scale);
    sum =
        sum ? arith::AddIOp::create(builder, loc, sum, term).getResult() : term;
  }
  // The whole of memory in a row; nothing looks at its size.
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto layout =
      StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1});
  Value row = memref::ReinterpretCastOp::create(
      builder, loc, MemRefType::get({ShapedType::kDynamic}, stored, layout),
      metadata.getBaseBuffer(), offset, ArrayRef<OpFoldResult>{one},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  if (!mask)
    mask = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(vectorOf(builder.getI1Type()), true));
  VectorType type = vectorOf(stored);
  Value value = vector::GatherOp::create(builder, loc, type, row, zero, lanes,
                                         mask, zeros(builder, loc, type));
  return fromMemory(builder, loc, value, element);
}

Value VectorBody::load(OpBuilder &builder, OpOperand &operand,
                       ArrayRef<Value> indices, Value mask) {
  if (plan.accesses[operand.getOperandNumber()] == LaneAccess::Adjacent)
    return loadAdjacent(builder, operand.get(),
                        placeOf(builder, operand, indices), mask);
  if (turnedStep &&
      plan.accesses[operand.getOperandNumber()] == LaneAccess::Turned)
    return turned[operand.getOperandNumber()][*turnedStep];
  // Places are linear in the lane: steps from one to the next are equal.
  SmallVector<Value> next(indices);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  next[plan.dim] = arith::AddIOp::create(builder, loc, indices[plan.dim], one);
  SmallVector<Value> place = placeOf(builder, operand, indices);
  SmallVector<Value> following = placeOf(builder, operand, next);
  Value count =
      vector::StepOp::create(builder, loc, vectorOf(builder.getIndexType()));
  AffineMap map = maps[operand.getOperandNumber()];
  for (auto [index, expression] : llvm::enumerate(map.getResults())) {
    if (!expression.isFunctionOfDim(plan.dim))
      continue;
    Value step =
        arith::SubIOp::create(builder, loc, following[index], place[index]);
    Value steps =
        arith::MulIOp::create(builder, loc, count, broadcast(builder, step));
    place[index] = arith::AddIOp::create(
        builder, loc, broadcast(builder, place[index]), steps);
  }
  return gather(builder, operand.get(), place, mask);
}

void VectorBody::loadTurned(OpBuilder &builder, ArrayRef<Value> indices,
                            Value end) {
  turned.assign(op->getNumOperands(), {});
  Value last;
  if (end) {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    last = arith::SubIOp::create(builder, loc, end, one);
  }
  for (OpOperand &operand : op->getOpOperands()) {
    if (plan.accesses[operand.getOperandNumber()] != LaneAccess::Turned)
      continue;
    Value memory = memoryOf(builder, loc, operand.get());
    Type stored = cast<MemRefType>(memory.getType()).getElementType();
    Type element = cast<MemRefType>(operand.get().getType()).getElementType();
    auto pieceType = VectorType::get({plan.turnedSteps}, stored);
    SmallVector<Value> places(indices);
    auto loadPiece = [&](int64_t lane) -> Value {
      Value offset = arith::ConstantIndexOp::create(builder, loc, lane);
      Value row =
          arith::AddIOp::create(builder, loc, indices[plan.dim], offset);
      // What stands in for rows that are not there is masked later.
      if (last)
        row = arith::MinSIOp::create(builder, loc, row, last);
      places[plan.dim] = row;
      return vector::LoadOp::create(builder, loc, pieceType, memory,
                                    placeOf(builder, operand, places));
    };
    SmallVector<Value> &values = turned[operand.getOperandNumber()];
    for (Value value :
         turnRows(builder, loc, plan.lanes, plan.turnedSteps, loadPiece))
      values.push_back(fromMemory(builder, loc, value, element));
  }
}

void VectorBody::store(OpBuilder &builder, OpOperand &operand, Value value,
                       ArrayRef<Value> indices, Value mask) {
  Value memory = memoryOf(builder, loc, operand.get());
  value = toMemory(builder, loc, value);
  SmallVector<Value> place = placeOf(builder, operand, indices);
  if (mask)
    vector::MaskedStoreOp::create(builder, loc, memory, place, mask, value);
  else
    vector::StoreOp::create(builder, loc, value, memory, place);
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

IRMapping VectorBody::makeUniform(OpBuilder &builder, ArrayRef<Value> indices) {
  IRMapping scalars;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (argument.use_empty() || plan.varying.contains(argument))
      continue;
    Value value = input->get();
    if (isa<MemRefType>(value.getType()))
      value = memref::LoadOp::create(builder, loc, value,
                                     placeOf(builder, *input, indices));
    scalars.map(argument, value);
  }
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      if (index.getDim() != plan.dim)
        scalars.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    // Where there is no lane, what may fail must not run.
    if (isVarying(inner) || inner.getNumRegions() != 0 ||
        !isMemoryEffectFree(&inner) || !isSpeculatable(&inner))
      continue;
    bool isKnown = llvm::all_of(inner.getOperands(), [&](Value value) {
      return value.getParentBlock() != op.getBlock() || scalars.contains(value);
    });
    if (isKnown)
      builder.clone(inner, scalars);
  }
  return scalars;
}

Value VectorBody::asVector(OpBuilder &builder, Value value,
                           const Lanes &lanes) {
  if (plan.varying.contains(value))
    return lanes.vectors.lookup(value);
  return broadcast(builder, lanes.scalars.lookupOrDefault(value));
}

/// A load in the body whose place depends on the lane.
Value VectorBody::makeLoad(OpBuilder &builder, memref::LoadOp load,
                           const Lanes &lanes) {
  SmallVector<int64_t> strides;
  int64_t offset;
  SmallVector<Value> place;
  unsigned varying = 0;
  for (Value index : load.getIndices()) {
    bool varies = plan.varying.contains(index);
    varying += varies;
    place.push_back(varies ? lanes.vectors.lookup(index)
                           : lanes.scalars.lookupOrDefault(index));
  }
  Value addend;
  if (varying == 1 && isLanePlace(load.getIndices().back(), plan, addend) &&
      succeeded(load.getMemRefType().getStridesAndOffset(strides, offset)) &&
      strides.back() == 1) {
    place.back() = lanes.indices[plan.dim];
    if (addend)
      place.back() = arith::AddIOp::create(
          builder, loc, place.back(), lanes.scalars.lookupOrDefault(addend));
    return loadAdjacent(builder, load.getMemRef(), place, lanes.mask);
  }
  return gather(builder, load.getMemRef(), place, lanes.mask);
}

/// A loop of the body, for all lanes at once.
void VectorBody::makeLoop(OpBuilder &builder, scf::ForOp loop, Lanes &lanes) {
  auto value = [&](Value inner, Value decides) {
    return plan.varying.contains(decides)
               ? asVector(builder, inner, lanes)
               : lanes.scalars.lookupOrDefault(inner);
  };
  auto map = [&](Value inner, Value made) {
    (plan.varying.contains(inner) ? lanes.vectors : lanes.scalars)
        .map(inner, made);
  };
  SmallVector<Value> inits;
  for (auto [argument, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    inits.push_back(value(init, argument));
  auto made = scf::ForOp::create(
      builder, loc, lanes.scalars.lookupOrDefault(loop.getLowerBound()),
      lanes.scalars.lookupOrDefault(loop.getUpperBound()),
      lanes.scalars.lookupOrDefault(loop.getStep()), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  lanes.scalars.map(loop.getInductionVar(), made.getInductionVar());
  for (auto [argument, carried] :
       llvm::zip(loop.getRegionIterArgs(), made.getRegionIterArgs()))
    map(argument, carried);
  makeAll(builder, *loop.getBody(), lanes);
  SmallVector<Value> next;
  for (auto [argument, yielded] :
       llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
    next.push_back(value(yielded, argument));
  if (!next.empty())
    scf::YieldOp::create(builder, loc, next);
  for (auto [result, last] : llvm::zip(loop.getResults(), made.getResults()))
    map(result, last);
}

/// The operations of a block that are not yet made.
void VectorBody::makeAll(OpBuilder &builder, Block &block, Lanes &lanes) {
  for (Operation &inner : block.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      Value place = lanes.indices[index.getDim()];
      if (!isVarying(inner)) {
        lanes.scalars.map(index.getResult(), place);
        continue;
      }
      Value count = vector::StepOp::create(builder, loc,
                                           vectorOf(builder.getIndexType()));
      Value first = broadcast(builder, place);
      lanes.vectors.map(index.getResult(),
                        arith::AddIOp::create(builder, loc, first, count));
    } else if (!isVarying(inner)) {
      bool isMade = llvm::all_of(inner.getResults(), [&](Value result) {
        return lanes.scalars.contains(result);
      });
      // Within a loop it is made for each step.
      if (!isMade || &block != op.getBlock())
        builder.clone(inner, lanes.scalars);
    } else if (auto load = dyn_cast<memref::LoadOp>(inner)) {
      lanes.vectors.map(load.getResult(), makeLoad(builder, load, lanes));
    } else if (auto loop = dyn_cast<scf::ForOp>(inner)) {
      makeLoop(builder, loop, lanes);
    } else {
      IRMapping operands;
      for (Value operand : inner.getOperands())
        operands.map(operand, asVector(builder, operand, lanes));
      // LLVM makes two loops of it, each of which reads what it needs.
      if (auto choice = dyn_cast<arith::SelectOp>(inner);
          choice && plan.isCheap &&
          !plan.varying.contains(choice.getCondition()))
        operands.map(choice.getCondition(),
                     lanes.scalars.lookupOrDefault(choice.getCondition()));
      Operation *copy = builder.clone(inner, operands);
      for (auto [result, made] :
           llvm::zip(inner.getResults(), copy->getResults())) {
        made.setType(vectorOf(result.getType()));
        lanes.vectors.map(result, made);
      }
    }
  }
}

SmallVector<Value> VectorBody::make(OpBuilder &builder, ArrayRef<Value> indices,
                                    Value mask, ValueRange carried,
                                    const IRMapping &uniform) {
  Lanes lanes = {uniform, {}, indices, mask};
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty() && plan.varying.contains(argument))
      lanes.vectors.map(argument, load(builder, *input, indices, mask));
  }
  auto nextCarried = carried.begin();
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    BlockArgument argument = op.getMatchingBlockArgument(&init);
    if (plan.isCarried[index])
      lanes.vectors.map(argument, *nextCarried++);
    else if (!argument.use_empty())
      lanes.vectors.map(argument, load(builder, init, indices, mask));
  }
  makeAll(builder, *op.getBlock(), lanes);
  SmallVector<Value> results;
  nextCarried = carried.begin();
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    Value value =
        asVector(builder, op.getMatchingYieldValue(&init)->get(), lanes);
    if (!plan.isCarried[index]) {
      // LLVM makes a choice between something new and what is there already
      // a masked store, many times slower than a choice and a store (and no
      // later load is served from it); it does not look through this.
      if (value.getDefiningOp<arith::SelectOp>())
        value = LLVM::FreezeOp::create(builder, loc, value);
      store(builder, init, value, indices, mask);
      continue;
    }
    // Lanes behind the end of a row leave the accumulator as it is.
    Value before = *nextCarried++;
    if (mask && plan.isReduction)
      value = arith::SelectOp::create(builder, loc, mask, value, before);
    results.push_back(value);
  }
  return results;
}
