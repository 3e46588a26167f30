// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionTailRows.cpp - Which operations work row by row -----------===//
//
// Follows the rows of an attention's results, as leading indices and queries,
// through operations on whole tensors. A view changes where the rows are; an
// operation is part of them if it has one iteration space for each.
//
//===----------------------------------------------------------------------===//

#include "mlir/Transforms/RegionUtils.h"
#include "passes/fuse/AttentionTail.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

int64_t AttentionTail::getSize(const RowTensor &tensor, int64_t axis) const {
  return axis <= int64_t(leadRank) ? getOuterSize(op, axis)
                                   : tensor.row[axis - leadRank - 1];
}

bool AttentionTail::addRows(Operation *next) {
  if (isViewOfAxes(next))
    return addView(next);
  auto generic = dyn_cast<GenericOp>(next);
  return generic && addGeneric(generic);
}

/// A row keeps its dimensions, and their order.
bool AttentionTail::addView(Operation *view) {
  const RowTensor source = rows.lookup(view->getOperand(0));
  std::optional<TensorAxes> axes = followView(
      view, source.axes, [&](int64_t axis) { return getSize(source, axis); });
  if (!axes)
    return false;
  int64_t last = leadRank;
  for (const DimensionAxes &own : *axes) {
    auto isOfRow = [&](int64_t axis) { return axis > int64_t(leadRank); };
    if (llvm::count_if(own, isOfRow) > 1)
      return false;
    for (int64_t axis : llvm::make_filter_range(own, isOfRow)) {
      if (axis < last)
        return false;
      last = axis;
    }
  }
  rows[view->getResult(0)] = {*axes, source.row};
  return true;
}

bool AttentionTail::addGeneric(GenericOp generic) {
  if (!generic.hasPureTensorSemantics() || generic.getNumDpsInits() == 0)
    return false;
  // A rounding to 16 bits is part of the write.
  if (llvm::any_of(generic.getResultTypes(), [](Type type) {
        Type element = getElementTypeOrSelf(type);
        return element.isF16() || element.isBF16();
      }))
    return false;
  std::optional<LoopAxes> loops = findLoops(generic);
  if (!loops || !canRead(generic, *loops) || !canRepeatBody(generic, *loops))
    return false;
  SmallVector<RowTensor> results;
  for (OpOperand &init : generic.getDpsInitsMutable()) {
    std::optional<RowTensor> found = findResult(generic, &init, *loops);
    if (!found)
      return false;
    results.push_back(*found);
  }
  for (auto [result, found] : llvm::zip(generic.getResults(), results))
    rows[result] = found;
  loopsOf[generic] = *loops;
  return true;
}

/// What each loop runs over, if all rows that are read agree.
std::optional<AttentionTail::LoopAxes>
AttentionTail::findLoops(GenericOp generic) const {
  SmallVector<std::optional<DimensionAxes>> found(generic.getNumLoops());
  SmallVector<int64_t> ranges = generic.getStaticLoopRanges();
  for (OpOperand &operand : generic->getOpOperands()) {
    auto row = rows.find(operand.get());
    if (row == rows.end())
      continue;
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return std::nullopt;
    for (auto [expression, axes] :
         llvm::zip(map.getResults(), row->second.axes)) {
      auto loop = dyn_cast<AffineDimExpr>(expression);
      if (!loop)
        continue;
      DimensionAxes own;
      for (int64_t axis : axes)
        own.push_back(std::min(axis, alongRow()));
      std::optional<DimensionAxes> &known = found[loop.getPosition()];
      if (known && *known != own)
        return std::nullopt;
      known = own;
    }
  }
  LoopAxes loops;
  for (auto [range, known] : llvm::zip(ranges, found)) {
    // The others run over the row alone.
    loops.push_back(known        ? *known
                    : range == 1 ? DimensionAxes()
                                 : DimensionAxes{alongRow()});
    // What stands merged has known sizes.
    if (loops.back().size() > 1 &&
        (ShapedType::isDynamic(range) ||
         llvm::any_of(loops.back(), [&](int64_t axis) {
           return axis != alongRow() &&
                  ShapedType::isDynamic(getOuterSize(op, axis));
         })))
      return std::nullopt;
  }
  return loops;
}

/// Whether results have a row for each index, along known axes.
std::optional<RowTensor>
AttentionTail::findResult(GenericOp generic, OpOperand *init,
                          const LoopAxes &loops) const {
  AffineMap map = generic.getMatchingIndexingMap(init);
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return std::nullopt;
  for (auto [loop, axes] : llvm::enumerate(loops)) {
    bool isOuter =
        llvm::any_of(axes, [&](int64_t axis) { return axis != alongRow(); });
    if (isOuter &&
        (!map.isFunctionOfDim(loop) || generic.getIteratorTypesArray()[loop] !=
                                           utils::IteratorType::parallel))
      return std::nullopt;
  }
  RowTensor found;
  for (auto [expression, size] :
       llvm::zip(map.getResults(), tensorType(init->get()).getShape())) {
    DimensionAxes &own = found.axes.emplace_back();
    auto loop = dyn_cast<AffineDimExpr>(expression);
    if (!loop)
      continue;
    int64_t rest = size;
    for (int64_t axis : loops[loop.getPosition()]) {
      if (axis != alongRow() && rest > 0)
        rest /= getOuterSize(op, axis);
      own.push_back(axis == alongRow() ? axis + int64_t(found.row.size())
                                       : axis);
    }
    if (llvm::is_contained(loops[loop.getPosition()], alongRow()))
      found.row.push_back(rest);
  }
  return found;
}

/// Of what is no row; what the region sees is numbered through.
RowOperand AttentionTail::findOperand(GenericOp generic, OpOperand *operand,
                                      const LoopAxes &loops) const {
  RowOperand found = {operand->get(), {}, leadRank};
  int64_t next = alongRow();
  AffineMap map = generic.getMatchingIndexingMap(operand);
  for (auto [expression, size] :
       llvm::zip(map.getResults(), tensorType(found.tensor).getShape())) {
    DimensionAxes &own = found.axes.emplace_back();
    auto loop = dyn_cast<AffineDimExpr>(expression);
    if (!loop || size == 1)
      continue;
    for (int64_t axis : loops[loop.getPosition()])
      own.push_back(axis == alongRow() ? next++ : axis);
  }
  return found;
}

bool AttentionTail::canRead(GenericOp generic, const LoopAxes &loops) const {
  for (OpOperand &operand : generic->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || isRow(operand.get()))
      continue;
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
    for (auto [size, expression] : llvm::zip(type.getShape(), map.getResults()))
      if (size != 1 && !isa<AffineDimExpr>(expression))
        return false;
    Operation *made = operand.get().getDefiningOp();
    bool isBeginning = isa_and_present<tensor::EmptyOp, linalg::FillOp>(made);
    if (generic.isDpsInit(&operand) &&
        (isBeginning || !generic.payloadUsesValueFromOperand(&operand))) {
      // Sizes of the row come from the empty tensor.
      if (auto fill = dyn_cast_or_null<linalg::FillOp>(made))
        made = fill.getOutputs()[0].getDefiningOp();
      for (auto [size, expression] :
           llvm::zip(type.getShape(), map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expression);
        if (loop && !isa_and_present<tensor::EmptyOp>(made) &&
            llvm::is_contained(loops[loop.getPosition()], alongRow()) &&
            ShapedType::isDynamic(size))
          return false;
      }
      continue;
    }
    if (isBeginning || !findOperand(generic, &operand, loops).canAdd(op))
      return false;
  }
  return true;
}

bool AttentionTail::canRepeatBody(GenericOp generic,
                                  const LoopAxes &loops) const {
  // Any element of another row may be read by its place.
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(generic.getRegion(), captured);
  if (llvm::any_of(captured, [&](Value value) { return isRow(value); }))
    return false;
  return llvm::all_of(*generic.getBody(), [&](Operation &inner) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (!index)
      return inner.getNumRegions() == 0;
    // A row knows which query's it is, not of which head.
    ArrayRef<int64_t> axes = loops[index.getDim()];
    return axes.size() <= 1 && llvm::all_of(axes, [&](int64_t axis) {
             return axis >= int64_t(leadRank);
           });
  });
}
