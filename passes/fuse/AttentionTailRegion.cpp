// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionTailRegion.cpp - What follows an attention, in its region -===//
//
// The operations that follow an attention, on its rows: their loops over
// leading dimensions and queries are the attention's own, and dimensions of 1
// are gone. So are views, which say where rows are.
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

/// What an operation on rows begins from.
Value AttentionTail::repeatInit(GenericOp generic, OpOperand *init,
                                IRMapping &mapping) {
  if (Value row = mapping.lookupOrNull(init->get()))
    return row;
  Location loc = generic.getLoc();
  auto fill = init->get().getDefiningOp<linalg::FillOp>();
  Value sized = fill ? fill.getOutputs()[0] : init->get();
  SmallVector<OpFoldResult> known, sizes;
  if (auto empty = sized.getDefiningOp<tensor::EmptyOp>())
    known = empty.getMixedSizes();
  const RowTensor &result = rows.find(generic.getTiedOpResult(init))->second;
  for (auto [dim, axes] : llvm::enumerate(result.axes))
    for (int64_t axis : axes) {
      if (axis < alongRow())
        continue;
      int64_t size = result.row[axis - alongRow()];
      if (size != 1)
        sizes.push_back(ShapedType::isDynamic(size)
                            ? known[dim]
                            : OpFoldResult(rewriter.getIndexAttr(size)));
    }
  Value row = tensor::EmptyOp::create(rewriter, loc, sizes,
                                      getElementTypeOrSelf(init->get()));
  if (fill)
    row = linalg::FillOp::create(rewriter, loc, fill.value(), row).getResult(0);
  return row;
}

/// The operation on the attention's row.
void AttentionTail::repeat(GenericOp generic, AttentionOp built,
                           IRMapping &mapping) {
  const LoopAxes &loops = loopsOf.find(generic)->second;
  SmallVector<utils::IteratorType> kinds;
  llvm::SmallDenseMap<unsigned, unsigned> numbers;
  for (auto [loop, kind] : llvm::enumerate(generic.getIteratorTypesArray()))
    if (llvm::is_contained(loops[loop], alongRow())) {
      numbers[loop] = kinds.size();
      kinds.push_back(kind);
    }
  // Of an operand, the dimensions that run along the row.
  auto rowMap = [&](OpOperand *operand) {
    SmallVector<AffineExpr> results;
    AffineMap map = generic.getMatchingIndexingMap(operand);
    ArrayRef<int64_t> shape;
    if (auto type = dyn_cast<RankedTensorType>(operand->get().getType()))
      shape = type.getShape();
    for (auto [expression, size] : llvm::zip(map.getResults(), shape))
      if (auto loop = dyn_cast<AffineDimExpr>(expression);
          loop && size != 1 && numbers.contains(loop.getPosition()))
        results.push_back(
            rewriter.getAffineDimExpr(numbers.lookup(loop.getPosition())));
    return AffineMap::get(kinds.size(), 0, results, rewriter.getContext());
  };
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  auto add = [&](OpOperand *operand) {
    Value row = mapping.lookupOrNull(operand->get());
    if (!row && isa<RankedTensorType>(operand->get().getType())) {
      OpBuilder::InsertionGuard guard(rewriter);
      row = findOperand(generic, operand, loops).addTo(rewriter, built);
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
      inits.push_back(repeatInit(generic, &init, mapping));
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
          ArrayRef<int64_t> axes = loops[index.getDim()];
          Value place;
          if (axes.empty())
            place = arith::ConstantIndexOp::create(builder, index.getLoc(), 0);
          else if (axes[0] == leadRank)
            place = built.getRowArgument();
          else
            place = linalg::IndexOp::create(builder, index.getLoc(),
                                            numbers.lookup(index.getDim()));
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
  llvm::append_range(shape, rows.find(leaving)->second.row);
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
      // Its rows are those of what it shows.
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
void AttentionTail::replaceSize(tensor::DimOp dim, int64_t axis) {
  rewriter.setInsertionPoint(dim);
  OpFoldResult size = rewriter.getIndexAttr(getOuterSize(op, axis));
  if (ShapedType::isDynamic(getOuterSize(op, axis)))
    size = *op.reifyDimOfResult(rewriter, 0, axis);
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
  rewriter.setInsertionPointAfter(built);
  made = mergeAxes(
      rewriter, built.getLoc(), made,
      llvm::to_vector(llvm::seq<int64_t>(0, tensorType(made).getRank())),
      rows.find(leaving)->second.axes, tensorType(leaving));
  replaced.emplace_back(leaving, made);
  for (Operation *inner : gone)
    for (Value result : inner->getResults())
      for (Operation *user : llvm::to_vector(result.getUsers()))
        if (std::optional<int64_t> axis = getOuterAxis(result, user))
          replaceSize(cast<tensor::DimOp>(user), *axis);
  for (auto [from, to] : replaced)
    rewriter.replaceAllUsesWith(from, to);
  for (Operation *inner : llvm::reverse(gone))
    rewriter.eraseOp(inner);
}
