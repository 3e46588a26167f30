// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AllSteps.cpp - A step's operations for all steps at once -----------===//
//
// Gives each operation one dimension more, time, behind the leading ones.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/AllSteps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/fuse/StepConditions.h"

using namespace mlir;
using namespace gatefold;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Puts `element` in at `position`.
template <typename T>
static SmallVector<T> withInserted(ArrayRef<T> list, int64_t position,
                                   T element) {
  SmallVector<T> result(list);
  result.insert(result.begin() + position, element);
  return result;
}

AllSteps::AllSteps(RecurrenceOp recurrence, RewriterBase &rewriter)
    : AllSteps(recurrence, rewriter, /*count=*/OpFoldResult()) {
  for (auto [argument, sequence] :
       llvm::zip(recurrence.getStepArguments(), recurrence.getSequences()))
    add(argument, sequence);
}

AllSteps::AllSteps(RecurrenceOp recurrence, RewriterBase &rewriter,
                   OpFoldResult count)
    : recurrence(recurrence), rewriter(rewriter),
      timeAxis(recurrence.getTimeAxisAttr().getInt()), partCount(count),
      resolver(
          rewriter,
          [this](Value shaped, int64_t dim) -> Value {
            RecurrenceOp op = this->recurrence;
            auto makeDim = [&](Value tensor, int64_t axis) {
              return tensor::DimOp::create(this->rewriter, op.getLoc(), tensor,
                                           axis);
            };
            if (!op.getBody().isAncestor(shaped.getParentRegion()))
              return makeDim(shaped, dim);
            auto argument = dyn_cast<BlockArgument>(shaped);
            if (!argument || argument.getOwner() != &op.getBody().front())
              return {};
            unsigned number = argument.getArgNumber();
            unsigned sequences = op.getSequences().size();
            if (number >= sequences)
              return makeDim(op.getInitials()[number - sequences], dim);
            return makeDim(op.getSequences()[number],
                           dim < timeAxis ? dim : dim + 1);
          },
          [this](Value index) -> Value {
            bool isInside =
                this->recurrence.getBody().isAncestor(index.getParentRegion());
            return isInside ? Value() : index;
          }) {}

OpFoldResult AllSteps::getSteps() {
  if (partCount)
    return partCount;
  if (Value steps = recurrence.getSteps())
    return getAsOpFoldResult(steps);
  return tensor::getMixedSize(rewriter, recurrence.getLoc(),
                              recurrence.getSequences().front(), timeAxis);
}

RankedTensorType AllSteps::wholeType(Type type) {
  auto inner = cast<RankedTensorType>(type);
  int64_t steps = ShapedType::kDynamic;
  if (partCount)
    steps = getConstantIntValue(partCount).value_or(steps);
  else if (!recurrence.getSequences().empty())
    steps = tensorType(recurrence.getSequences().front()).getDimSize(timeAxis);
  else if (std::optional<int64_t> constant =
               getConstantIntValue(recurrence.getSteps()))
    steps = *constant;
  return RankedTensorType::get(withInserted(inner.getShape(), timeAxis, steps),
                               inner.getElementType());
}

FailureOr<SmallVector<OpFoldResult>> AllSteps::wholeSizes(Value value) {
  SmallVector<OpFoldResult> sizes;
  RankedTensorType type = tensorType(value);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim)) {
      sizes.push_back(rewriter.getIndexAttr(type.getDimSize(dim)));
      continue;
    }
    Value size = resolver.size(value, dim);
    if (!size)
      return failure();
    sizes.push_back(size);
  }
  return withInserted<OpFoldResult>(sizes, timeAxis, getSteps());
}

OpFoldResult AllSteps::resolve(OpFoldResult size) {
  auto value = dyn_cast<Value>(size);
  return value ? OpFoldResult(resolver.index(value)) : size;
}

/// What an operation begins from: the contents of an empty tensor are not
/// read, and a fill is one of all steps.
Value AllSteps::makeInit(Value init) {
  if (isKnown(init))
    return wholes.lookup(init);
  Operation *op = init.getDefiningOp();
  auto fill = dyn_cast_or_null<linalg::FillOp>(op);
  if (!fill && !isa_and_nonnull<tensor::EmptyOp>(op))
    return broadcast(init);
  auto sizes = wholeSizes(init);
  if (failed(sizes))
    return {};
  RankedTensorType type = wholeType(init.getType());
  Value empty = tensor::EmptyOp::create(rewriter, init.getLoc(), *sizes,
                                        type.getElementType());
  if (empty.getType() != type)
    empty = tensor::CastOp::create(rewriter, init.getLoc(), type, empty);
  if (!fill)
    return empty;
  Value filler = makeAnew(rewriter, fill.value(), recurrence.getBody());
  return linalg::FillOp::create(rewriter, init.getLoc(), filler, empty)
      .getResult(0);
}

/// The same value at each step.
Value AllSteps::broadcast(Value value) {
  auto sizes = wholeSizes(value);
  if (failed(sizes))
    return {};
  Location loc = value.getLoc();
  RankedTensorType type = wholeType(value.getType());
  Value source = makeAnew(rewriter, value, recurrence.getBody());
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, *sizes, type.getElementType());
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  Value whole =
      linalg::GenericOp::create(
          rewriter, loc, TypeRange(empty.getType()), source, empty,
          ArrayRef{identity.dropResult(timeAxis), identity}, iterators,
          [](OpBuilder &builder, Location loc, ValueRange values) {
            linalg::YieldOp::create(builder, loc, values[0]);
          })
          .getResult(0);
  if (whole.getType() != type)
    whole = tensor::CastOp::create(rewriter, loc, type, whole);
  return whole;
}

Value AllSteps::get(Value value) {
  if (isKnown(value))
    return wholes.lookup(value);
  return isa<RankedTensorType>(value.getType()) ? broadcast(value) : value;
}

LogicalResult AllSteps::computeLinalg(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap first = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  unsigned time = timeAxis == 0 ? 0 : first.getDimPosition(timeAxis - 1) + 1;
  // The iterations of time stand behind those of the leading dimensions.
  for (AffineMap &map : maps)
    map = map.shiftDims(1, time);

  SmallVector<Value> inputs, inits;
  AffineExpr timeDim = rewriter.getAffineDimExpr(time);
  auto addTime = [&](OpOperand &operand) {
    AffineMap &map = maps[operand.getOperandNumber()];
    map = map.insertResult(timeDim, timeAxis);
  };
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (isKnown(input->get()))
      addTime(*input);
    inputs.push_back(isKnown(input->get()) ? wholes.lookup(input->get())
                                           : makeAnew(rewriter, input->get(),
                                                      recurrence.getBody()));
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    addTime(init);
    Value whole = makeInit(init.get());
    if (!whole)
      return failure();
    inits.push_back(whole);
  }
  SmallVector<utils::IteratorType> iterators =
      withInserted<utils::IteratorType>(op.getIteratorTypesArray(), time,
                                        utils::IteratorType::parallel);

  Operation *whole;
  if (auto contract = dyn_cast<linalg::ContractOp>(op.getOperation())) {
    auto created = linalg::ContractOp::create(
        rewriter, op.getLoc(), TypeRange(ValueRange(inits)), inputs, inits,
        rewriter.getAffineMapArrayAttr(maps));
    created.setCastAttr(contract.getCastAttr());
    whole = created;
  } else {
    auto generic = linalg::GenericOp::create(rewriter, op.getLoc(),
                                             TypeRange(ValueRange(inits)),
                                             inputs, inits, maps, iterators);
    rewriter.cloneRegionBefore(op->getRegion(0), generic.getRegion(),
                               generic.getRegion().begin());
    generic.walk([&](linalg::IndexOp index) {
      if (index.getDim() >= time)
        index.setDim(index.getDim() + 1);
    });
    whole = generic;
  }
  for (auto [inner, result] : llvm::zip(op->getResults(), whole->getResults()))
    add(inner, result);
  return success();
}

LogicalResult AllSteps::computeSlice(tensor::ExtractSliceOp op) {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (OpFoldResult value : op.getMixedOffsets())
    offsets.push_back(resolve(value));
  for (OpFoldResult value : op.getMixedSizes())
    sizes.push_back(resolve(value));
  for (OpFoldResult value : op.getMixedStrides())
    strides.push_back(resolve(value));
  for (auto *list : {&offsets, &sizes, &strides})
    if (llvm::is_contained(*list, OpFoldResult(Value())))
      return failure();
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  add(op.getResult(),
      tensor::ExtractSliceOp::create(
          rewriter, op.getLoc(), wholeType(op.getType()),
          wholes.lookup(op.getSource()),
          withInserted<OpFoldResult>(offsets, timeAxis, zero),
          withInserted<OpFoldResult>(sizes, timeAxis, getSteps()),
          withInserted<OpFoldResult>(strides, timeAxis, one)));
  return success();
}

/// Groups of dimensions with time as one of its own. Where there is none but
/// time, the others are of size 1 and belong to it.
static SmallVector<ReassociationIndices>
withTime(ArrayRef<ReassociationIndices> groups, int64_t timeAxis,
         int64_t rank) {
  SmallVector<ReassociationIndices> result(groups);
  if (groups.empty()) {
    result.emplace_back(llvm::to_vector(llvm::seq<int64_t>(0, rank + 1)));
    return result;
  }
  for (ReassociationIndices &group :
       MutableArrayRef(result).drop_front(timeAxis))
    for (int64_t &dim : group)
      ++dim;
  result.insert(result.begin() + timeAxis, ReassociationIndices{timeAxis});
  return result;
}

LogicalResult AllSteps::computeExpansion(tensor::ExpandShapeOp op) {
  SmallVector<OpFoldResult> shape;
  for (OpFoldResult size : op.getMixedOutputShape()) {
    shape.push_back(resolve(size));
    if (!shape.back())
      return failure();
  }
  add(op.getResult(),
      tensor::ExpandShapeOp::create(
          rewriter, op.getLoc(), wholeType(op.getType()),
          wholes.lookup(op.getSrc()),
          withTime(op.getReassociationIndices(), timeAxis,
                   op.getType().getRank()),
          withInserted<OpFoldResult>(shape, timeAxis, getSteps())));
  return success();
}

LogicalResult AllSteps::compute(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return computeLinalg(linalgOp);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return computeSlice(slice);
  if (auto expansion = dyn_cast<tensor::ExpandShapeOp>(op))
    return computeExpansion(expansion);

  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(get(operand));
    if (!operands.back())
      return failure();
  }
  Location loc = op->getLoc();
  RankedTensorType type = wholeType(op->getResult(0).getType());
  Value whole;
  if (auto view = dyn_cast<tensor::CollapseShapeOp>(op)) {
    whole = tensor::CollapseShapeOp::create(
        rewriter, loc, type, operands[0],
        withTime(view.getReassociationIndices(), timeAxis,
                 view.getSrcType().getRank()));
  } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    whole =
        tensor::ConcatOp::create(rewriter, loc, concat.getDim() + 1, operands);
    if (whole.getType() != type)
      whole = tensor::CastOp::create(rewriter, loc, type, whole);
  } else if (isa<tensor::CastOp>(op)) {
    whole = tensor::CastOp::create(rewriter, loc, type, operands[0]);
  } else {
    whole = rewriter
                .create(loc, op->getName().getIdentifier(), operands, type,
                        op->getAttrs())
                ->getResult(0);
  }
  add(op->getResult(0), whole);
  return success();
}
