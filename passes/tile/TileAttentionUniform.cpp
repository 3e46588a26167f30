// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionUniform.cpp - What is the same for all queries --------===//
//
// Keys and values are packed, and what the region computes from keys and
// captures alone is computed, before the loops over queries: once for each
// index of the leading dimensions that it belongs to, not of others. So query
// heads that share keys share what is made of them, and the loops over queries
// hold nothing but their own work.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/support/SizeResolver.h"
#include "passes/tile/TileAttention.h"
#include "passes/tile/TileAttentionRegisters.h"

using namespace mlir;
using namespace gatefold;

static int64_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

Value AttentionTiling::narrowOperand(BlockArgument argument) {
  bool isMultiplied = !body.isPerQuery(argument) &&
                      llvm::all_of(argument.getUses(), [](OpOperand &use) {
                        return isa<RowScoresOp, RowValuesOp>(use.getOwner()) &&
                               use.getOperandNumber() == 1;
                      });
  return isMultiplied ? getExtended(op->getOperand(argument.getArgNumber()))
                      : Value();
}

Type AttentionTiling::elementOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Value narrow = argument ? narrowOperand(argument) : Value();
  return getElementTypeOrSelf(narrow ? narrow : value);
}

/// What the blocks of queries read of it.
void AttentionTiling::collectKept() {
  auto add = [&](Value value, KeptValue::Form form) {
    if (llvm::none_of(kept, [&](const KeptValue &other) {
          return other.value == value && other.form == form;
        }))
      kept.push_back({value, form, {}});
  };
  for (Operation &inner : op.getBody().front()) {
    auto scores = dyn_cast<RowScoresOp>(inner);
    auto values = dyn_cast<RowValuesOp>(inner);
    SetVector<Value> used;
    used.insert(inner.operand_begin(), inner.operand_end());
    getUsedValuesDefinedAbove(inner.getRegions(), used);
    bool isInBlock = inner.getNumResults() == 0 ||
                     body.isPerQuery(inner.getResult(0)) ||
                     !isa<RankedTensorType>(inner.getResult(0).getType());
    for (Value value : used) {
      Operation *made = value.getDefiningOp();
      bool isOwn = value.getParentBlock() == &op.getBody().front();
      if (!isOwn || body.isPerQuery(value) || !isInBlock)
        continue;
      bool isMultiplied = (scores && value == scores.getKeys()) ||
                          (values && value == values.getValues());
      if (isMultiplied && packs)
        add(value, scores ? KeptValue::Form::Keys : KeptValue::Form::Values);
      else if (made && isa<RankedTensorType>(value.getType()) &&
               !isa<tensor::EmptyOp, linalg::FillOp, arith::ConstantOp,
                    tensor::CastOp>(made))
        add(value, KeptValue::Form::Whole);
    }
  }
}

/// Sizes of a value, before the loops; none where only the region knows.
SmallVector<OpFoldResult> AttentionTiling::sizesOf(Value value) {
  auto isOutside = [&](Value other) {
    return !op->isAncestor(other.getParentBlock()->getParentOp());
  };
  SizeResolver resolver(
      rewriter,
      [&](Value shaped, int64_t dim) -> Value {
        auto argument = dyn_cast<BlockArgument>(shaped);
        if (argument && argument.getOwner()->getParentOp() == op) {
          Value operand = op->getOperand(argument.getArgNumber());
          return getSize(rewriter, loc, operand,
                         rankOf(operand) - rankOf(argument) + dim);
        }
        return isOutside(shaped) ? getSize(rewriter, loc, shaped, dim)
                                 : Value();
      },
      [&](Value index) { return isOutside(index) ? index : Value(); });
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<int64_t> keyDim = body.getKeyDim(value);
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim)) {
      sizes.push_back(rewriter.getIndexAttr(type.getDimSize(dim)));
      continue;
    }
    Value size = keyDim == dim ? keyCount : resolver.size(value, dim);
    if (!size)
      return {};
    sizes.push_back(getAsOpFoldResult(size));
  }
  return sizes;
}

/// Sizes of what is kept, without leading dimensions.
SmallVector<OpFoldResult> AttentionTiling::panelSizes(const KeptValue &value) {
  SmallVector<OpFoldResult> sizes = sizesOf(value.value);
  if (value.form == KeptValue::Form::Whole || sizes.empty())
    return sizes;
  int64_t width = target.getPanelWidth(elementOf(value.value));
  int64_t along = value.form == KeptValue::Form::Keys ? 0 : 1;
  Value panels = rewriter.createOrFold<arith::DivUIOp>(
      loc, plus(toValue(sizes[along]), constant(width - 1)), constant(width));
  return {getAsOpFoldResult(panels), sizes[1 - along],
          rewriter.getIndexAttr(width)};
}

/// The part of a kept tensor that belongs to the leading indices.
Value AttentionTiling::placeOf(Value storage, uint64_t mask,
                               SmallVector<OpFoldResult> &offsets,
                               SmallVector<OpFoldResult> &sizes) {
  SmallVector<OpFoldResult> leadOffsets, leadSizes;
  for (int64_t dim = 0; dim < leadRank; ++dim)
    if (mask >> dim & 1) {
      leadOffsets.push_back(lead[dim]);
      leadSizes.push_back(rewriter.getIndexAttr(1));
    }
  SmallVector<int64_t> shape;
  for (OpFoldResult size : sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  offsets.insert(offsets.begin(), leadOffsets.begin(), leadOffsets.end());
  sizes.insert(sizes.begin(), leadSizes.begin(), leadSizes.end());
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      rewriter, loc,
      RankedTensorType::get(shape, getElementTypeOrSelf(storage)), storage,
      offsets, sizes, strides);
}

/// The key at which the panels begin: what no query reaches is not packed,
/// unless all scores are looked at.
Value AttentionTiling::firstPacked(const KeptValue &value) {
  uint64_t known = body.getLead(value.value);
  bool isKnown = (body.getReachLead() & ~known) == 0;
  if (!isKnown || (!cutsKeys && value.form == KeptValue::Form::Keys))
    return constant(0);
  return value.form == KeptValue::Form::Keys
             ? alignKey(reach.reachFirst)
             : findFirstValue(value.value).first;
}

std::pair<Value, bool> AttentionTiling::findFirstValue(Value values) {
  int64_t step = target.getFirstValueStep();
  bool isKnown = (body.getReachLead() & ~body.getLead(values)) == 0;
  if (step == 1 || !reach.first || !isKnown)
    return {reach.reachFirst, false};
  return {alignDown(reach.reachFirst, step), true};
}

/// The first steps of all panels become 0.
static Value fillSteps(OpBuilder &builder, Location loc, Value panels,
                       OpFoldResult steps) {
  SmallVector<OpFoldResult> at(3, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(3, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, panels);
  sizes[1] = steps;
  Value part =
      tensor::ExtractSliceOp::create(builder, loc, panels, at, sizes, strides);
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(getElementTypeOrSelf(panels)));
  Value filled = linalg::FillOp::create(builder, loc, zero, part).getResult(0);
  return tensor::InsertSliceOp::create(builder, loc, filled, panels, at, sizes,
                                       strides);
}

/// Packs into the first panels, or the first steps of all panels, of `output`.
Value AttentionTiling::pack(const KeptValue &value, Value output) {
  Value matrix = tiles.lookup(value.value).value;
  int64_t along = value.form == KeptValue::Form::Keys ? 0 : 1;
  auto type = cast<RankedTensorType>(output.getType());
  SmallVector<OpFoldResult> from(2, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> size = tensor::getMixedSizes(rewriter, loc, matrix);
  SmallVector<OpFoldResult> at(3, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, output);
  SmallVector<OpFoldResult> strides(3, rewriter.getIndexAttr(1));
  Value first = firstPacked(value);
  bool isCut = reach.reachEnd && (cutsKeys || along == 1);
  if (isCut) {
    Value keys = least(keyCount, minus(reach.reachEnd, first));
    if (packsInBlock && isa<BlockArgument>(value.value))
      keys = arith::SelectOp::create(rewriter, loc, packsInBlock, constant(0),
                                     keys);
    from[0] = getAsOpFoldResult(first);
    size[0] = getAsOpFoldResult(keys);
    int64_t width = type.getDimSize(2);
    Value count =
        along == 1 ? keys
                   : rewriter.createOrFold<arith::DivUIOp>(
                         loc, plus(keys, constant(width - 1)), constant(width));
    sizes[along] = getAsOpFoldResult(count);
  }
  if (along == 1 && isCut && findFirstValue(value.value).second) {
    // Sums begin before what is read.
    OpFoldResult before = getAsOpFoldResult(minus(reach.reachFirst, first));
    Value keys = least(keyCount, minus(reach.reachEnd, reach.reachFirst));
    from[0] = getAsOpFoldResult(reach.reachFirst);
    size[0] = sizes[1] = getAsOpFoldResult(keys);
    at[1] = before;
    output = fillSteps(rewriter, loc, output, before);
  }
  Value source = tensor::ExtractSliceOp::create(
      rewriter, loc, matrix, from, size, ArrayRef(strides).drop_back());
  Value part = isCut ? tensor::ExtractSliceOp::create(rewriter, loc, output, at,
                                                      sizes, strides)
                           .getResult()
                     : output;
  Value packed = PackOp::create(rewriter, loc, part.getType(), source,
                                rewriter.getI64IntegerAttr(along), part)
                     .getResult();
  if (!isCut)
    return packed;
  return tensor::InsertSliceOp::create(rewriter, loc, packed, output, at, sizes,
                                       strides);
}

/// Panels of some keys or values, `most` or fewer.
Value AttentionTiling::packTile(Value matrix, int64_t along,
                                OpFoldResult most) {
  Type element = getElementTypeOrSelf(matrix);
  int64_t width = target.getPanelWidth(element);
  auto panelsOf = [&](OpFoldResult size) -> OpFoldResult {
    return getAsOpFoldResult(rewriter.createOrFold<arith::DivUIOp>(
        loc, plus(toValue(size), constant(width - 1)), constant(width)));
  };
  SmallVector<OpFoldResult> of = tensor::getMixedSizes(rewriter, loc, matrix);
  SmallVector<OpFoldResult> sizes = {panelsOf(of[along]), of[1 - along],
                                     rewriter.getIndexAttr(width)};
  // As many as there can be. Not an empty tensor, which might become one with
  // that of the panels before.
  SmallVector<OpFoldResult> room = sizes;
  room[along == 0 ? 0 : 1] = along == 0 ? panelsOf(most) : most;
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamicSizes;
  dispatchIndexOpFoldResults(room, dynamicSizes, shape);
  Value whole = bufferization::AllocTensorOp::create(
      rewriter, loc, RankedTensorType::get(shape, element), dynamicSizes);
  Value output = tensor::ExtractSliceOp::create(
      rewriter, loc, whole,
      SmallVector<OpFoldResult>(3, rewriter.getIndexAttr(0)), sizes,
      SmallVector<OpFoldResult>(3, rewriter.getIndexAttr(1)));
  return PackOp::create(rewriter, loc, output.getType(), matrix,
                        rewriter.getI64IntegerAttr(along), output)
      .getResult();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// A row operation that is the same for all queries, or a size; else null.
Value AttentionTiling::lowerUniform(Operation *inner) {
  if (auto scores = dyn_cast<RowScoresOp>(inner))
    return makeProduct(tiles.lookup(scores.getQuery()).value,
                       tiles.lookup(scores.getKeys()).value,
                       /*alongRows=*/true);
  if (auto dim = dyn_cast<tensor::DimOp>(inner)) {
    Value source = dim.getSource();
    std::optional<int64_t> number = dim.getConstantIndex();
    if (number && body.getKeyDim(source) == *number)
      return keyCount;
    if (auto argument = dyn_cast<BlockArgument>(source);
        number && argument && argument.getOwner()->getParentOp() == op) {
      Value operand = op->getOperand(argument.getArgNumber());
      return getSize(rewriter, loc, operand,
                     rankOf(operand) - rankOf(argument) + *number);
    }
  }
  auto visible = dyn_cast<RowVisibleOp>(inner);
  if (!visible)
    return {};
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>{getAsOpFoldResult(keyCount)},
      rewriter.getI1Type());
  return makeGeneric(
      {}, {{empty, mapOf({0}, 1)}}, /*reducesKeys=*/false,
      [&](OpBuilder &builder, ValueRange) -> SmallVector<Value> {
        Value key = linalg::IndexOp::create(builder, loc, 0);
        Value behind = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sge, key, reach.reachFirst);
        Value before = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::slt, key, reach.reachEnd);
        return {arith::AndIOp::create(builder, loc, behind, before)};
      })[0];
}

void AttentionTiling::cloneUniform(Operation *inner) {
  if (Value value = lowerUniform(inner)) {
    tiles[inner->getResult(0)].value =
        castTo(rewriter, loc, value, inner->getResult(0).getType());
    return;
  }
  IRMapping mapping;
  for (auto &[value, tile] : tiles)
    mapping.map(value, tile.value);
  Operation *copy = rewriter.clone(*inner, mapping);
  for (auto [result, value] :
       llvm::zip(inner->getResults(), copy->getResults()))
    tiles[result].value = value;
}

/// Arguments and operations that the leading indices of `known` suffice for;
/// in a block, what is kept is taken from where it is.
void AttentionTiling::makeUniform(uint64_t known, bool isInBlock) {
  auto isWanted = [&](Value value) {
    uint64_t mask = body.getLead(value);
    // What belongs to no leading dimension is made outside of all loops.
    return !body.isPerQuery(value) && (mask & ~known) == 0 &&
           (mask != 0 || known == 0);
  };
  unsigned pairs = op.getQueries().size() + op.getKeys().size();
  for (BlockArgument argument : op.getBody().getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!isWanted(argument) || argument.use_empty())
      continue;
    Value operand = op->getOperand(number);
    if (Value narrow = narrowOperand(argument))
      operand = narrow;
    bool isPair = number >= pairs && number < pairs + op.getPairs().size();
    int64_t operandLead = rankOf(operand) - rankOf(argument) - (isPair ? 1 : 0);
    SmallVector<FixedIndex> fixed = fixLead(operand, operandLead);
    if (isPair)
      fixed.emplace_back(operandLead, constant(0));
    Type type = argument.getType();
    if (auto shaped = dyn_cast<RankedTensorType>(type))
      type = shaped.clone(getElementTypeOrSelf(operand));
    tiles[argument].value =
        castTo(rewriter, loc, takeSlice(rewriter, loc, operand, fixed), type);
  }
  for (KeptValue &value : kept) {
    if (!isInBlock || !value.storage)
      continue;
    SmallVector<OpFoldResult> sizes = panelSizes(value);
    SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
    Value place =
        placeOf(value.storage, body.getLead(value.value), offsets, sizes);
    if (value.form == KeptValue::Form::Whole)
      tiles[value.value].value =
          castTo(rewriter, loc, place, value.value.getType());
    else
      (value.form == KeptValue::Form::Keys
           ? keyPanels
           : valuePanels)[value.value] = {place, firstPacked(value)};
  }
  for (Operation &inner : op.getBody().front()) {
    if (inner.getNumResults() == 0 || !isWanted(inner.getResult(0)))
      continue;
    bool isKept = llvm::any_of(kept, [&](const KeptValue &value) {
      return value.storage && value.form == KeptValue::Form::Whole &&
             llvm::is_contained(inner.getResults(), value.value);
    });
    if (!isInBlock || !isKept)
      cloneUniform(&inner);
  }
}

/// Computes what is kept for the leading dimensions of `mask`, in loops over
/// these.
void AttentionTiling::makeKept(uint64_t mask) {
  SmallVector<KeptValue *> here;
  for (KeptValue &value : kept)
    if (body.getLead(value.value) == mask)
      here.push_back(&value);
  // What is made in the loops does not exist behind them.
  auto outside = tiles;
  SmallVector<Value> carried;
  for (KeptValue *value : here) {
    SmallVector<OpFoldResult> sizes = panelSizes(*value);
    for (int64_t dim = leadRank - 1; dim >= 0; --dim)
      if (mask >> dim & 1)
        sizes.insert(sizes.begin(), getAsOpFoldResult(leadCounts[dim]));
    carried.push_back(
        tensor::EmptyOp::create(rewriter, loc, sizes, elementOf(value->value)));
  }
  unsigned depth = 0;
  for (int64_t dim = 0; dim < leadRank; ++dim)
    if (mask >> dim & 1) {
      lead[dim] = enterLoop(leadCounts[dim], constant(1), carried);
      ++depth;
    }
  findReach(mask);
  makeUniform(mask, /*isInBlock=*/false);
  for (auto [value, storage] : llvm::zip(here, carried)) {
    SmallVector<OpFoldResult> sizes = panelSizes(*value);
    SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
    Value place = placeOf(storage, mask, offsets, sizes);
    Value made = value->form == KeptValue::Form::Whole
                     ? tiles.lookup(value->value).value
                     : pack(*value, place);
    storage = tensor::InsertSliceOp::create(
        rewriter, loc, made, storage, offsets, sizes,
        SmallVector<OpFoldResult>(sizes.size(), rewriter.getIndexAttr(1)));
  }
  leaveLoops(depth, carried);
  if (mask != 0)
    tiles = outside;
  lead.assign(leadRank, Value());
  for (auto [value, storage] : llvm::zip(here, carried))
    value->storage = storage;
}

LogicalResult AttentionTiling::keepUniform() {
  collectKept();
  SmallVector<uint64_t> masks = {0};
  for (const KeptValue &value : kept) {
    if (sizesOf(value.value).empty() && rankOf(value.value) != 0)
      return emitError(value.value.getLoc(),
                       "not compiled yet: the same for all queries, but of a "
                       "size that only the region knows");
    uint64_t mask = body.getLead(value.value);
    if (!llvm::is_contained(masks, mask))
      masks.push_back(mask);
  }
  for (uint64_t mask : masks)
    makeKept(mask);
  return success();
}
