// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SequenceBlocks.cpp - Sequences computed block by block -------------===//
//
// Restricts operations to a range of their time dimension.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/SequenceBlocks.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "passes/tile/Slices.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;

using TimedValue = std::pair<Value, int64_t>;

/// A fill or an empty tensor: made anew for each block.
static bool isMadeAnew(Value value) {
  return isa_and_nonnull<linalg::FillOp, tensor::EmptyOp>(
      value.getDefiningOp());
}

/// The dimension of the other side of a reshaping that is `dim` of `side`;
/// nothing if it is merged with others, or split.
static std::optional<int64_t>
findInReshape(ArrayRef<ReassociationIndices> groups, int64_t dim,
              bool isCollapsed) {
  for (auto [index, group] : llvm::enumerate(groups)) {
    bool isHere = isCollapsed ? static_cast<int64_t>(index) == dim
                              : llvm::is_contained(group, dim);
    if (!isHere)
      continue;
    if (group.size() != 1)
      return std::nullopt;
    return isCollapsed ? group[0] : static_cast<int64_t>(index);
  }
  return std::nullopt;
}

/// The iteration of a linalg operation that is time, if it stands alone in
/// `dim` of each result.
static std::optional<unsigned> findTimeLoop(linalg::LinalgOp op, int64_t dim) {
  std::optional<unsigned> loop;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (dim >= map.getNumResults())
      return std::nullopt;
    auto expression = dyn_cast<AffineDimExpr>(map.getResult(dim));
    if (!expression || (loop && *loop != expression.getPosition()))
      return std::nullopt;
    loop = expression.getPosition();
  }
  if (!loop ||
      op.getIteratorTypesArray()[*loop] != utils::IteratorType::parallel)
    return std::nullopt;
  return loop;
}

/// Whether a slice takes all of a dimension: a part of the steps would not
/// begin and end with them.
static bool isWhole(tensor::ExtractSliceOp slice, int64_t dim) {
  if (slice.getStaticOffsets()[dim] != 0 || slice.getStaticStrides()[dim] != 1)
    return false;
  int64_t size = slice.getStaticSizes()[dim];
  if (!ShapedType::isDynamic(size))
    return size == slice.getSourceType().getDimSize(dim);
  auto equal = ValueBoundsConstraintSet::areEqual({slice.getMixedSizes()[dim]},
                                                  {slice.getSource(), dim});
  return succeeded(equal) && *equal;
}

/// Finds which dimension of each operand is time, if dimension `timeDim` of the
/// results is; operands without one are left out. Nothing where a step needs
/// others than itself.
bool SequenceBlocks::mapOperands(Operation *op, int64_t timeDim,
                                 SmallVectorImpl<TimedValue> &operands) {
  auto add = [&](Value value, std::optional<int64_t> dim) {
    if (dim)
      operands.emplace_back(value, *dim);
    return dim.has_value();
  };
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](linalg::LinalgOp linalgOp) {
        if (!linalgOp.hasPureTensorSemantics())
          return false;
        auto loop = findTimeLoop(linalgOp, timeDim);
        if (!loop)
          return false;
        AffineExpr time = rewriter.getAffineDimExpr(*loop);
        for (OpOperand &operand : op->getOpOperands()) {
          AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
          if (!map.isFunctionOfDim(*loop))
            continue;
          auto position = map.getResultPosition(time);
          // Once, and on its own.
          if (!position || map.dropResult(*position).isFunctionOfDim(*loop))
            return false;
          add(operand.get(), *position);
        }
        return true;
      })
      .Case([&](tensor::ExtractSliceOp slice) {
        int64_t sourceDim = 0, left = timeDim;
        llvm::SmallBitVector dropped = slice.getDroppedDims();
        while (dropped.test(sourceDim) || left-- > 0)
          ++sourceDim;
        return isWhole(slice, sourceDim) && add(slice.getSource(), sourceDim);
      })
      .Case([&](tensor::ExpandShapeOp view) {
        return add(view.getSrc(),
                   findInReshape(view.getReassociationIndices(), timeDim,
                                 /*isCollapsed=*/false));
      })
      .Case([&](tensor::CollapseShapeOp view) {
        return add(view.getSrc(),
                   findInReshape(view.getReassociationIndices(), timeDim,
                                 /*isCollapsed=*/true));
      })
      .Case([&](tensor::ConcatOp concat) {
        if (static_cast<int64_t>(concat.getDim()) == timeDim)
          return false;
        for (Value input : concat.getInputs())
          add(input, timeDim);
        return true;
      })
      .Case([&](tensor::CastOp cast) {
        return isa<RankedTensorType>(cast.getSource().getType()) &&
               add(cast.getSource(), timeDim);
      })
      .Default([](Operation *) { return false; });
}

bool SequenceBlocks::addIfPossible(Operation *op) {
  // Nothing else needs it, and all of its users agree what time is.
  int64_t timeDim = -1;
  auto agrees = [&](int64_t dim) {
    bool same = timeDim == -1 || timeDim == dim;
    timeDim = dim;
    return same;
  };
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    // Sizes are known without it.
    if (isa<tensor::DimOp>(user))
      continue;
    if (user == recurrence) {
      if (use.getOperandNumber() >= recurrence.getSequences().size() ||
          !agrees(timeAxis))
        return false;
      continue;
    }
    auto found = computed.find(user);
    if (found == computed.end())
      return false;
    SmallVector<TimedValue> operands;
    mapOperands(user, found->second, operands);
    bool isTimed = false;
    for (auto [value, dim] : operands)
      if (value == use.get()) {
        isTimed = true;
        if (!agrees(dim))
          return false;
      }
    if (!isTimed)
      return false;
  }
  SmallVector<TimedValue> operands;
  if (timeDim == -1 || !isMemoryEffectFree(op) ||
      !mapOperands(op, timeDim, operands))
    return false;
  computed.insert({op, timeDim});
  return true;
}

SequenceBlocks::SequenceBlocks(RecurrenceOp op, RewriterBase &rewriter)
    : recurrence(op), rewriter(rewriter),
      timeAxis(op.getTimeAxisAttr().getInt()) {
  // Backwards, so that the users of an operation come before it.
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    if (before->getNumResults() == 0 || before->use_empty() ||
        isMadeAnew(before->getResult(0)) || !addIfPossible(before))
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(before);
    product |= linalgOp && linalg::isaContractionOpInterface(linalgOp);
  }
}

/// The steps of the block of a value that is there as a whole.
Value SequenceBlocks::takeRange(Value value, int64_t timeDim) {
  Location loc = value.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, value);
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  offsets[timeDim] = range.start;
  sizes[timeDim] = range.size;
  // Upstream takes no offset into a dimension of size 0.
  auto type = cast<RankedTensorType>(value.getType());
  if (llvm::is_contained(type.getShape(), 0))
    return tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  return tensor::ExtractSliceOp::create(rewriter, loc, value, offsets, sizes,
                                        strides);
}

Value SequenceBlocks::getBlock(Value value, int64_t timeDim) {
  if (Value block = blocks.lookup(value))
    return block;
  if (computed.count(value.getDefiningOp()))
    compute(value.getDefiningOp());
  else
    blocks[value] = takeRange(value, timeDim);
  return blocks.lookup(value);
}

/// What an operation begins from: a buffer for the block.
Value SequenceBlocks::makeInit(Value init, int64_t timeDim) {
  if (!isMadeAnew(init))
    return getBlock(init, timeDim);
  Location loc = init.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, init);
  sizes[timeDim] = range.size;
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, sizes,
      cast<RankedTensorType>(init.getType()).getElementType());
  auto fill = init.getDefiningOp<linalg::FillOp>();
  if (!fill)
    return empty;
  return linalg::FillOp::create(rewriter, loc, fill.value(), empty)
      .getResult(0);
}

void SequenceBlocks::computeLinalg(linalg::LinalgOp op) {
  int64_t timeDim = computed.lookup(op);
  unsigned loop = *findTimeLoop(op, timeDim);
  IRMapping mapping;
  SmallVector<TimedValue> operands;
  mapOperands(op, timeDim, operands);
  SmallVector<Value> parts(op->getOperands());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isFunctionOfDim(loop))
      continue;
    int64_t dim = *map.getResultPosition(rewriter.getAffineDimExpr(loop));
    parts[operand.getOperandNumber()] = op.isDpsInit(&operand)
                                            ? makeInit(operand.get(), dim)
                                            : getBlock(operand.get(), dim);
  }
  SmallVector<Type> types;
  for (OpOperand &init : op.getDpsInitsMutable())
    types.push_back(parts[init.getOperandNumber()].getType());
  auto block = cast<linalg::LinalgOp>(
      mlir::clone(rewriter, op.getOperation(), types, parts));
  SmallVector<OpFoldResult> offsets(op.getNumLoops(), rewriter.getIndexAttr(0));
  offsets[loop] = range.start;
  linalg::offsetIndices(rewriter, block, offsets);
  for (auto [whole, part] : llvm::zip(op->getResults(), block->getResults()))
    blocks[whole] = part;
}

void SequenceBlocks::compute(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return computeLinalg(linalgOp);
  int64_t timeDim = computed.lookup(op);
  SmallVector<TimedValue> operands;
  mapOperands(op, timeDim, operands);
  SmallVector<Value> parts;
  for (auto [value, dim] : operands)
    parts.push_back(getBlock(value, dim));

  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[timeDim] = ShapedType::kDynamic;
  if (std::optional<int64_t> size = getConstantIntValue(range.size))
    shape[timeDim] = *size;
  type = RankedTensorType::get(shape, type.getElementType());
  Value block =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](tensor::ExtractSliceOp slice) {
            SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
            sizes[operands[0].second] = range.size;
            return tensor::ExtractSliceOp::create(
                rewriter, loc, type, parts[0], slice.getMixedOffsets(), sizes,
                slice.getMixedStrides());
          })
          .Case([&](tensor::ExpandShapeOp view) {
            SmallVector<OpFoldResult> sizes = view.getMixedOutputShape();
            sizes[timeDim] = range.size;
            return tensor::ExpandShapeOp::create(rewriter, loc, type, parts[0],
                                                 view.getReassociationIndices(),
                                                 sizes);
          })
          .Case([&](tensor::CollapseShapeOp view) {
            return tensor::CollapseShapeOp::create(
                rewriter, loc, type, parts[0], view.getReassociationIndices());
          })
          .Case([&](tensor::ConcatOp concat) {
            return castTo(
                rewriter, loc,
                tensor::ConcatOp::create(rewriter, loc, concat.getDim(), parts),
                type);
          })
          .Default([&](Operation *) {
            return castTo(rewriter, loc, parts[0], type);
          });
  blocks[op->getResult(0)] = block;
}

void SequenceBlocks::eraseWhole() {
  // Users come first, and with them the sizes that are asked for.
  for (auto [op, timeDim] : computed) {
    SmallVector<tensor::DimOp> dims;
    for (Operation *user : op->getUsers())
      if (auto dim = dyn_cast<tensor::DimOp>(user))
        dims.push_back(dim);
    for (tensor::DimOp dim : dims) {
      std::optional<int64_t> index = dim.getConstantIndex();
      if (!index)
        continue;
      rewriter.setInsertionPoint(dim);
      FailureOr<OpFoldResult> size = reifyDimOfResult(
          rewriter, op, cast<OpResult>(dim.getSource()).getResultNumber(),
          *index);
      if (succeeded(size))
        rewriter.replaceOp(dim, getValueOrCreateConstantIndexOp(
                                    rewriter, dim.getLoc(), *size));
    }
    if (op->use_empty())
      rewriter.eraseOp(op);
  }
}
