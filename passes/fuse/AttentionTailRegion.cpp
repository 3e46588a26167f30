// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionTailRegion.cpp - What follows an attention, in its region -===//
//
// The operations that follow an attention, on its rows: their loops over
// leading dimensions and queries are the attention's own, and dimensions of 1
// are gone.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/fuse/AttentionTail.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The operand, with heads as the attention has them.
RowOperand AttentionTail::splitHeads(RowOperand operand) const {
  RowOperand split = {operand.tensor, {}, leadRank};
  RankedTensorType type = tensorType(operand.tensor);
  ArrayRef<int64_t> leads = tensorType(AttentionOp(op).getResult(0)).getShape();
  SmallVector<OpFoldResult> sizes,
      all = tensor::getMixedSizes(rewriter, operand.tensor.getLoc(),
                                  operand.tensor);
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (auto [dim, place] : llvm::enumerate(operand.places)) {
    groups.emplace_back();
    bool isOuter = place != RowOperand::unit && place < int64_t(outer.size());
    ArrayRef<int64_t> parts;
    if (isOuter)
      parts = outer[place];
    bool isSplit = parts.size() > 1;
    for (unsigned part = 0; part < (isSplit ? parts.size() : 1); ++part) {
      groups.back().push_back(shape.size());
      shape.push_back(isSplit ? leads[parts[part]] : type.getDimSize(dim));
      sizes.push_back(isSplit ? rewriter.getIndexAttr(shape.back()) : all[dim]);
      split.places.push_back(isOuter ? parts[part]
                             : place == RowOperand::unit
                                 ? place
                                 : place - int64_t(outer.size()) + leadRank +
                                       1);
    }
  }
  if (shape.size() != operand.places.size())
    split.tensor = tensor::ExpandShapeOp::create(
        rewriter, operand.tensor.getLoc(),
        RankedTensorType::get(shape, type.getElementType()), operand.tensor,
        groups, sizes);
  for (auto [size, place] : llvm::zip(shape, split.places))
    if (size == 1)
      place = RowOperand::unit;
  return split;
}

/// What an operation on rows begins from.
Value AttentionTail::repeatInit(Value init, AttentionOp built,
                                IRMapping &mapping) {
  if (Value row = mapping.lookupOrNull(init))
    return row;
  RankedTensorType type = tensorType(init);
  Location loc = init.getLoc();
  auto fill = init.getDefiningOp<linalg::FillOp>();
  Value sized = fill ? fill.getOutputs()[0] : init;
  SmallVector<OpFoldResult> sizes;
  SmallVector<OpFoldResult> known;
  if (auto empty = sized.getDefiningOp<tensor::EmptyOp>())
    known = empty.getMixedSizes();
  for (int64_t dim = outer.size(); dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) != 1)
      sizes.push_back(known.empty()
                          ? rewriter.getIndexAttr(type.getDimSize(dim))
                          : known[dim]);
  Value row =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  if (fill)
    row = linalg::FillOp::create(rewriter, loc, fill.value(), row).getResult(0);
  return row;
}

/// The operation on the attention's row.
void AttentionTail::repeat(GenericOp generic, AttentionOp built,
                           IRMapping &mapping) {
  SmallVector<unsigned> rowLoops = *findRowLoops(generic);
  SmallVector<int64_t> ranges = generic.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds;
  SmallVector<AffineExpr> loops;
  llvm::SmallDenseMap<unsigned, unsigned> numbers;
  for (auto [loop, kind] : llvm::enumerate(generic.getIteratorTypesArray())) {
    bool isGone = llvm::is_contained(rowLoops, loop) || ranges[loop] == 1;
    loops.push_back(isGone ? rewriter.getAffineConstantExpr(0)
                           : rewriter.getAffineDimExpr(kinds.size()));
    if (!isGone) {
      numbers[loop] = kinds.size();
      kinds.push_back(kind);
    }
  }
  // Of an operand, the dimensions that run along the row.
  auto rowMap = [&](OpOperand *operand) {
    SmallVector<AffineExpr> results;
    AffineMap map = generic.getMatchingIndexingMap(operand);
    for (AffineExpr expression : map.getResults())
      if (auto loop = dyn_cast<AffineDimExpr>(expression);
          loop && numbers.contains(loop.getPosition()))
        results.push_back(loops[loop.getPosition()]);
    return AffineMap::get(kinds.size(), 0, results, rewriter.getContext());
  };
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  auto add = [&](OpOperand *operand) {
    Value row = mapping.lookupOrNull(operand->get());
    if (!row && isa<RankedTensorType>(operand->get().getType())) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(built);
      row = splitHeads(findPlaces(generic, operand)).addTo(rewriter, built);
    }
    if (!row)
      row = operand->get();
    maps.push_back(rowMap(operand));
    return row;
  };
  for (OpOperand *input : generic.getDpsInputOperands())
    inputs.push_back(add(input));
  for (OpOperand &init : generic.getDpsInitsMutable()) {
    Operation *made = init.get().getDefiningOp();
    bool isMade = isa_and_present<tensor::EmptyOp, linalg::FillOp>(made) ||
                  !generic.payloadUsesValueFromOperand(&init);
    if (isMade) {
      inits.push_back(repeatInit(init.get(), built, mapping));
      maps.push_back(rowMap(&init));
    } else {
      inits.push_back(add(&init));
    }
    types.push_back(inits.back().getType());
  }
  auto repeated = GenericOp::create(
      rewriter, generic.getLoc(), types, inputs, inits, maps, kinds,
      [&](OpBuilder &builder, Location, ValueRange elements) {
        IRMapping inner;
        inner.map(generic.getBody()->getArguments(), elements);
        for (Operation &operation : *generic.getBody()) {
          auto index = dyn_cast<linalg::IndexOp>(operation);
          if (!index) {
            builder.clone(operation, inner);
            continue;
          }
          unsigned loop = index.getDim();
          Value place;
          if (loop == rowLoops.back())
            place = built.getRowArgument();
          else if (auto number = numbers.find(loop); number != numbers.end())
            place = linalg::IndexOp::create(builder, index.getLoc(),
                                            number->second);
          else
            place = arith::ConstantIndexOp::create(builder, index.getLoc(), 0);
          inner.map(index.getResult(), place);
        }
      });
  mapping.map(generic->getResults(), repeated->getResults());
}

AttentionOp AttentionTail::build(unsigned count) {
  Operation *last = operations[count - 1];
  Value leaving = findLeaving(count).front();
  SmallVector<Type> types;
  SmallVector<unsigned> kept;
  for (auto [number, result] : llvm::enumerate(op.getResults()))
    if (isUsedOutside(result, count)) {
      kept.push_back(number);
      types.push_back(result.getType());
    }
  SmallVector<int64_t> shape(
      tensorType(op.getResult(0)).getShape().take_front(leadRank + 1));
  llvm::append_range(shape, getRest(leaving));
  types.push_back(RankedTensorType::get(shape, getElementTypeOrSelf(leaving)));

  Operation *copy = Operation::create(
      op.getLoc(), op->getName(), types, op->getOperands(),
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      BlockRange(), /*numRegions=*/1);
  rewriter.setInsertionPoint(last);
  rewriter.insert(copy);
  auto built = cast<AttentionOp>(copy);
  IRMapping mapping;
  op.getBody().cloneInto(&built.getBody(), mapping);
  YieldOp yield = built.getYield();
  SmallVector<Value> yielded(yield.getValues());
  for (auto [result, row] : llvm::zip(op.getResults(), yielded))
    mapping.map(result, row);
  for (Operation *inner : ArrayRef(operations).take_front(count)) {
    rewriter.setInsertionPoint(yield);
    if (auto generic = dyn_cast<GenericOp>(inner))
      repeat(generic, built, mapping);
    else
      // Dimensions of 1 are no dimensions of a row.
      mapping.map(inner->getResult(0), mapping.lookup(inner->getOperand(0)));
  }
  SmallVector<Value> values;
  for (unsigned number : kept)
    values.push_back(yielded[number]);
  values.push_back(mapping.lookup(leaving));
  rewriter.modifyOpInPlace(yield,
                           [&] { yield.getValuesMutable().assign(values); });
  return built;
}

/// By the size that an operand of the attention has.
void AttentionTail::replaceSize(tensor::DimOp dim) {
  int64_t number = *dim.getConstantIndex();
  RankedTensorType type = tensorType(dim.getSource());
  rewriter.setInsertionPoint(dim);
  OpFoldResult size = rewriter.getIndexAttr(type.getDimSize(number));
  // Heads that stand together have known sizes.
  bool isOwn = dim.getSource().getDefiningOp() == op.getOperation();
  if (type.isDynamicDim(number))
    size = *op.reifyDimOfResult(rewriter, 0,
                                isOwn ? number : outer[number].front());
  rewriter.replaceOp(
      dim, getValueOrCreateConstantIndexOp(rewriter, dim.getLoc(), size));
}

void AttentionTail::replace(AttentionOp built, unsigned count) {
  SmallVector<Operation *> gone = {op};
  llvm::append_range(gone, ArrayRef(operations).take_front(count));
  Value leaving = findLeaving(count).front();
  unsigned next = 0;
  SmallVector<std::pair<Value, Value>> replaced;
  for (Value result : op.getResults())
    if (isUsedOutside(result, count))
      replaced.emplace_back(result, built.getResult(next++));
  Value made = built.getResult(next);
  if (made.getType() != leaving.getType()) {
    SmallVector<ReassociationIndices> groups = outer;
    for (int64_t dim = leadRank + 1; dim < tensorType(made).getRank(); ++dim)
      groups.push_back({dim});
    rewriter.setInsertionPointAfter(built);
    made = tensor::CollapseShapeOp::create(rewriter, built.getLoc(),
                                           leaving.getType(), made, groups);
  }
  replaced.emplace_back(leaving, made);
  for (Operation *inner : gone)
    for (Value result : inner->getResults())
      for (Operation *user : llvm::to_vector(result.getUsers()))
        if (isOuterSize(result, user))
          replaceSize(cast<tensor::DimOp>(user));
  for (auto [from, to] : replaced)
    rewriter.replaceAllUsesWith(from, to);
  for (Operation *inner : llvm::reverse(gone))
    rewriter.eraseOp(inner);
}
