// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Shares.cpp - Operations cut along a parallel dimension -------------===//
//
// A share is the same operation on views: each element is computed from the
// same terms in the same order, so its bits do not depend on the shares.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Shares.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

/// Elements of a few cache lines.
static constexpr int64_t elementUnit = 64;

bool gatefold::isStructured(Operation *op) {
  if (isa<LinearOp, PackOp>(op))
    return op->getNumResults() == 0;
  auto structured = dyn_cast<LinalgOp>(op);
  if (!structured || !structured.hasPureBufferSemantics())
    return false;
  // The region may read other buffers, as a gather does.
  return !structured->getRegion(0)
              .walk([](Operation *inner) {
                return isMemoryEffectFree(inner) || isa<memref::LoadOp>(inner)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

Value gatefold::getRoot(Value view) {
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>())
    view = op.getViewSource();
  if (view.getDefiningOp<memref::AllocOp>())
    return view;
  auto argument = dyn_cast<BlockArgument>(view);
  bool isEntrys =
      argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return isEntrys ? view : Value();
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// Where `loop` alone gives an index of an operand, if it occurs at all.
/// Failure where it occurs in another way.
static FailureOr<std::optional<int64_t>> findLoop(AffineMap map,
                                                  unsigned loop) {
  std::optional<int64_t> found;
  for (auto [place, result] : llvm::enumerate(map.getResults())) {
    if (!result.isFunctionOfDim(loop))
      continue;
    if (found || !isa<AffineDimExpr>(result))
      return failure();
    found = place;
  }
  return found;
}

static std::optional<Axis> getLoopAxis(LinalgOp op, unsigned loop,
                                       Extents &extents) {
  if (op.getIteratorTypesArray()[loop] != utils::IteratorType::parallel)
    return std::nullopt;
  Axis axis;
  axis.loop = loop;
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<std::optional<int64_t>> dim =
        findLoop(op.getMatchingIndexingMap(&operand), loop);
    bool isMemory = isa<MemRefType>(operand.get().getType());
    if (failed(dim) || (*dim && !isMemory) || (op.isDpsInit(&operand) && !*dim))
      return std::nullopt;
    axis.dims.push_back(*dim);
    if (!*dim)
      continue;
    axis.addExtent(extents.size(operand.get(), **dim));
    int64_t rank = cast<MemRefType>(operand.get().getType()).getRank();
    if (**dim == rank - 1)
      axis.unit = elementUnit;
  }
  return axis;
}

/// Rows, then columns. Of gates all are computed together.
static SmallVector<Axis> getLinearAxes(LinearOp op, Extents &extents) {
  int64_t rank = cast<MemRefType>(op.getOutput().getType()).getRank();
  int64_t rows = cast<MemRefType>(op.getX().getType()).getRank() - 1;
  bool hasInitial = static_cast<bool>(op.getInitial());
  int64_t initialRank =
      hasInitial ? cast<MemRefType>(op.getInitial().getType()).getRank() : 0;
  SmallVector<Axis> axes;
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool isColumns = dim == rank - 1;
    if (dim >= rows && !isColumns)
      continue;
    Axis axis;
    axis.addExtent(extents.size(op.getOutput(), dim));
    if (!isColumns)
      axis.addExtent(extents.size(op.getX(), dim));
    // Several leading dimensions are rows together.
    axis.unit = isColumns   ? op.getWidth() / op.getGates()
                : rows == 1 ? extents.getRates().tileRows
                            : 1;
    axis.dims.push_back(isColumns ? std::optional<int64_t>() : dim);
    axis.dims.push_back(isColumns ? std::optional<int64_t>(0) : std::nullopt);
    if (isColumns)
      axis.panels = 1;
    if (hasInitial)
      axis.dims.push_back(isColumns             ? initialRank - 1
                          : initialRank == rank ? std::optional<int64_t>(dim)
                                                : std::nullopt);
    axis.dims.push_back(dim);
    axes.push_back(axis);
  }
  return axes;
}

/// More copies of an operation than gates are not worth it.
static constexpr int64_t mostRepeats = 8;

std::optional<Axis> gatefold::getRepeatedAxis(Operation *op, AffineExpr extent,
                                              Extents &extents) {
  auto linear = dyn_cast<LinearOp>(op);
  auto part = dyn_cast<AffineConstantExpr>(extent);
  if (!linear || linear.hasGates() || !part || part.getValue() <= 0)
    return std::nullopt;
  Axis axis = getLinearAxes(linear, extents).back();
  auto whole = dyn_cast<AffineConstantExpr>(axis.extents.front());
  if (!whole || whole.getValue() % part.getValue() != 0 ||
      part.getValue() % axis.unit != 0)
    return std::nullopt;
  axis.repeats = whole.getValue() / part.getValue();
  axis.extents = {extent};
  if (axis.repeats < 2 || axis.repeats > mostRepeats)
    return std::nullopt;
  return axis;
}

static Axis getPackAxis(PackOp op, Extents &extents) {
  Axis axis;
  axis.addExtent(extents.size(op.getSource(), op.getColumnDim()));
  axis.unit = op.getWidth() / op.getGates();
  axis.dims = {op.getColumnDim(), 0};
  axis.panels = 1;
  return axis;
}

SmallVector<Axis> gatefold::getAxes(Operation *op, Extents &extents) {
  if (auto linear = dyn_cast<LinearOp>(op))
    return getLinearAxes(linear, extents);
  if (auto pack = dyn_cast<PackOp>(op))
    return {getPackAxis(pack, extents)};
  SmallVector<Axis> axes;
  auto structured = dyn_cast<LinalgOp>(op);
  if (!structured || structured.getNumDpsInits() == 0)
    return axes;
  for (unsigned loop = 0; loop < structured.getNumLoops(); ++loop)
    if (auto axis = getLoopAxis(structured, loop, extents))
      axes.push_back(*axis);
  return axes;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Of dimensions that are one in another shape, the one that stands for it:
/// all others have one index.
static std::optional<int64_t> findOnly(ArrayRef<int64_t> dims,
                                       MemRefType type) {
  std::optional<int64_t> found;
  for (int64_t dim : dims) {
    if (dims.size() > 1 && type.getDimSize(dim) == 1)
      continue;
    if (found)
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// Follows a dimension of a view to its root; false where it is not a plain
/// range there.
static bool followToRoot(Value &view, int64_t &dim, int64_t &offset) {
  while (Operation *op = view.getDefiningOp()) {
    if (auto cast = dyn_cast<memref::CastOp>(op)) {
      view = cast.getSource();
    } else if (auto subview = dyn_cast<memref::SubViewOp>(op)) {
      llvm::SmallBitVector dropped = subview.getDroppedDims();
      int64_t source = 0;
      for (int64_t left = dim;; ++source)
        if (!dropped[source] && left-- == 0)
          break;
      auto start = getConstantIntValue(subview.getMixedOffsets()[source]);
      auto step = getConstantIntValue(subview.getMixedStrides()[source]);
      if (!start || step != 1)
        return false;
      offset += *start;
      dim = source;
      view = subview.getSource();
    } else if (auto expand = dyn_cast<memref::ExpandShapeOp>(op)) {
      auto groups = expand.getReassociationIndices();
      int64_t group = llvm::find_if(groups,
                                    [&](const ReassociationIndices &dims) {
                                      return dims.back() >= dim;
                                    }) -
                      groups.begin();
      if (findOnly(groups[group], expand.getResultType()) != dim)
        return false;
      dim = group;
      view = expand.getSrc();
    } else if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
      auto only = findOnly(collapse.getReassociationIndices()[dim],
                           collapse.getSrcType());
      if (!only)
        return false;
      dim = *only;
      view = collapse.getSrc();
    } else {
      return !isa<ViewLikeOpInterface>(op);
    }
  }
  return true;
}

static Access getAccess(Value view, std::optional<int64_t> dim, bool isWrite,
                        bool countsPanels) {
  Access access{getRoot(view), isWrite, std::nullopt, 0, countsPanels};
  int64_t offset = 0;
  if (dim && followToRoot(view, *dim, offset)) {
    access.dim = dim;
    access.offset = offset;
  }
  return access;
}

SmallVector<Access> gatefold::getAccesses(Operation *op, const Axis *axis,
                                          Extents &extents) {
  SmallVector<Access> accesses;
  auto destination = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    unsigned number = operand.getOperandNumber();
    bool countsPanels = axis && axis->panels == number;
    Access access =
        getAccess(operand.get(), axis ? axis->dims[number] : std::nullopt,
                  destination.isDpsInit(&operand), countsPanels);
    int64_t stride = 0;
    if (axis && axis->repeats > 1)
      stride = cast<AffineConstantExpr>(axis->extents.front()).getValue() /
               (countsPanels ? axis->unit : 1);
    for (int64_t i = 0; i < (access.dim ? axis->repeats : 1); ++i) {
      accesses.push_back(access);
      access.offset += stride;
    }
  }
  // What the region reads besides, as a gather does.
  for (Region &region : op->getRegions())
    region.walk([&](memref::LoadOp load) {
      accesses.push_back(
          getAccess(load.getMemRef(), std::nullopt, false, false));
    });
  return accesses;
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

/// The part of a view from `low` on, `size` long, along one dimension.
static Value cut(OpBuilder &builder, Location loc, Value view, int64_t dim,
                 Value low, Value size) {
  int64_t rank = cast<MemRefType>(view.getType()).getRank();
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(rank, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(builder, loc, view);
  offsets[dim] = low;
  sizes[dim] = size;
  return memref::SubViewOp::create(builder, loc, view, offsets, sizes, strides);
}

/// The part from `low` on, `size` long.
static void clonePart(OpBuilder &builder, Operation *op, const Axis &axis,
                      Value low, Value size, IRMapping &mapping) {
  Location loc = op->getLoc();
  Value lowPanel, panels;
  if (axis.panels) {
    Value width = arith::ConstantIndexOp::create(builder, loc, axis.unit);
    lowPanel = arith::DivUIOp::create(builder, loc, low, width);
    panels = arith::CeilDivUIOp::create(builder, loc, size, width);
  }
  SmallVector<Value> operands;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    Value value = mapping.lookupOrDefault(operand);
    if (axis.dims[number]) {
      bool countsPanels = axis.panels == number;
      value = cut(builder, loc, value, *axis.dims[number],
                  countsPanels ? lowPanel : low, countsPanels ? panels : size);
    }
    operands.push_back(value);
  }
  Operation *share = builder.clone(*op, mapping);
  share->setOperands(operands);
  if (!axis.loop)
    return;
  SmallVector<linalg::IndexOp> indices;
  share->walk([&](linalg::IndexOp index) {
    if (index.getDim() == *axis.loop)
      indices.push_back(index);
  });
  for (linalg::IndexOp index : indices) {
    OpBuilder inside(index->getContext());
    inside.setInsertionPointAfter(index);
    Value sum = arith::AddIOp::create(inside, loc, index, low);
    index.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  }
}

void gatefold::cloneShare(OpBuilder &builder, Operation *op, const Axis &axis,
                          Value low, Value high, IRMapping &mapping) {
  Location loc = op->getLoc();
  Value size = arith::SubIOp::create(builder, loc, high, low);
  clonePart(builder, op, axis, low, size, mapping);
  for (int64_t i = 1; i < axis.repeats; ++i) {
    int64_t extent = cast<AffineConstantExpr>(axis.extents.front()).getValue();
    Value offset = arith::ConstantIndexOp::create(builder, loc, i * extent);
    Value next = arith::AddIOp::create(builder, loc, low, offset);
    clonePart(builder, op, axis, next, size, mapping);
  }
}
