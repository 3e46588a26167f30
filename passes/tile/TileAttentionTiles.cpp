// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionTiles.cpp - Values for a block of queries -------------===//
//
// The memory of a block, and what a value of the region is in it.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "passes/tile/TileAttention.h"

using namespace mlir;
using namespace gatefold;

static RankedTensorType tensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

static int64_t rankOf(Value value) {
  RankedTensorType type = tensorType(value);
  return type ? type.getRank() : 0;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// A tensor of sizes that are known before a run, and of it the part that the
/// block needs.
Value AttentionTiling::makeBuffer(ArrayRef<OpFoldResult> sizes,
                                  ArrayRef<OpFoldResult> most, Type element) {
  if (sizes == most)
    return tensor::EmptyOp::create(rewriter, loc, most, element);
  // Not an empty tensor, of which a part is but a smaller one: the distance of
  // rows is meant.
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamicSizes;
  dispatchIndexOpFoldResults(most, dynamicSizes, shape);
  Value whole = bufferization::AllocTensorOp::create(
      rewriter, loc, RankedTensorType::get(shape, element), dynamicSizes);
  return tensor::ExtractSliceOp::create(
      rewriter, loc, whole,
      SmallVector<OpFoldResult>(sizes.size(), rewriter.getIndexAttr(0)), sizes,
      SmallVector<OpFoldResult>(sizes.size(), rewriter.getIndexAttr(1)));
}

Value AttentionTiling::makeScores(Type element) {
  return makeBuffer({block.rows, block.columns},
                    {block.mostRows, block.mostColumns}, element);
}

Value AttentionTiling::makeColumn(Type element, Value fill) {
  Value column = makeBuffer({block.rows}, {block.mostRows}, element);
  return fill ? linalg::FillOp::create(rewriter, loc, fill, column).getResult(0)
              : column;
}

/// Sizes of a value for all queries of a block. Those that are open and not
/// along the keys are `dynamicSizes`, or sizes of what is known already.
SmallVector<OpFoldResult> AttentionTiling::tileSizes(Value value, bool most,
                                                     ValueRange dynamicSizes) {
  SmallVector<OpFoldResult> sizes = {most ? block.mostRows : block.rows};
  RankedTensorType type = tensorType(value);
  if (!type)
    return sizes;
  std::optional<int64_t> keyDim = body.getKeyDim(value);
  unsigned next = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value dynamicSize;
    if (type.isDynamicDim(dim) && next < dynamicSizes.size())
      dynamicSize = dynamicSizes[next++];
    if (keyDim == dim && most && type.getRank() == 1)
      sizes.push_back(block.mostColumns);
    else if (keyDim == dim && cutsKeys)
      sizes.push_back(most ? block.mostKeys : block.columns);
    else if (!type.isDynamicDim(dim))
      sizes.push_back(rewriter.getIndexAttr(type.getDimSize(dim)));
    else if (keyDim == dim || !dynamicSize)
      sizes.push_back(getAsOpFoldResult(keyCount));
    else
      sizes.push_back(getAsOpFoldResult(dynamicSize));
  }
  return sizes;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// start, start + 1, ... for the block's queries.
Value AttentionTiling::indices(Value start) {
  Value column = makeColumn(rewriter.getIndexType());
  return makeGeneric(
      {}, {{column, mapOf({0}, 1)}}, /*reducesKeys=*/false,
      [&](OpBuilder &builder, ValueRange) -> SmallVector<Value> {
        Value query = linalg::IndexOp::create(builder, loc, 0);
        return {arith::AddIOp::create(builder, loc, query, start).getResult()};
      })[0];
}

Tile AttentionTiling::argumentTile(BlockArgument argument) {
  Tile tile;
  tile.isPerQuery = true;
  if (argument == op.getRowArgument() || argument == op.getPositionArgument()) {
    Value start = argument == op.getRowArgument()
                      ? block.start
                      : plus(block.start, reach.offset);
    tile.value = indices(start);
    return tile;
  }
  unsigned number = argument.getArgNumber();
  Value operand = op->getOperand(number);
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rest = rankOf(argument), operandLead = type.getRank() - rest - 1;
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, operand);
  for (auto [dim, index] : fixLead(operand, operandLead)) {
    offsets[dim] = index;
    sizes[dim] = rewriter.getIndexAttr(1);
  }
  offsets[operandLead] = block.start;
  sizes[operandLead] = block.rows;
  if (number >= op.getQueries().size()) {
    offsets[operandLead + 1] = block.first;
    sizes[operandLead + 1] = block.columns;
  }
  SmallVector<int64_t> shape;
  for (OpFoldResult size : ArrayRef(sizes).drop_front(operandLead))
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  tile.value = tensor::ExtractSliceOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
      operand, offsets, sizes, strides);
  return tile;
}

Tile AttentionTiling::tileOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  bool isOwn = argument ? argument.getOwner()->getParentOp() == op
                        : value.getDefiningOp()->getParentOp() == op;
  if (!isOwn)
    return {value};
  if (body.isPerQuery(value)) {
    // Tiles of the block are made anew in each block, of which there is one.
    if (argument && !tiles.contains(value))
      tiles[value] = argumentTile(argument);
    return tiles.lookup(value);
  }
  Tile tile = tiles.lookup(value);
  std::optional<int64_t> keyDim = body.getKeyDim(value);
  if (!cutsKeys || !keyDim)
    return tile;
  int64_t rank = rankOf(value);
  SmallVector<OpFoldResult> offsets(rank, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, tile.value);
  offsets[*keyDim] = block.first;
  sizes[*keyDim] = block.columns;
  tile.value = tensor::ExtractSliceOp::create(
      rewriter, loc, tile.value, offsets, sizes,
      SmallVector<OpFoldResult>(rank, rewriter.getIndexAttr(1)));
  return tile;
}

bool AttentionTiling::mayOverwrite(Value value, const Tile &tile) {
  return tile.isPerQuery && tile.isOwned && value.hasOneUse();
}

Value AttentionTiling::wholeTile(Value value) {
  Tile tile = tileOf(value);
  if (!tile.isPerQuery) {
    RankedTensorType type = tensorType(value);
    int64_t rank = rankOf(value);
    SmallVector<OpFoldResult> sizes = {block.rows}, most = {block.mostRows};
    if (type)
      llvm::append_range(sizes,
                         tensor::getMixedSizes(rewriter, loc, tile.value));
    most.append(sizes.begin() + 1, sizes.end());
    if (std::optional<int64_t> keyDim = body.getKeyDim(value); keyDim && type)
      most[*keyDim + 1] = rank == 1 ? block.mostColumns : block.mostKeys;
    Value buffer =
        makeBuffer(sizes, most, type ? type.getElementType() : value.getType());
    AffineMap all = rewriter.getMultiDimIdentityMap(rank + 1);
    return makeGeneric({{tile.value, all.dropResult(0)}}, {{buffer, all}},
                       /*reducesKeys=*/false,
                       [](OpBuilder &, ValueRange values) {
                         return SmallVector<Value>{values[0]};
                       })[0];
  }
  if (!tile.denominator)
    return tile.value;
  return divide(tile.value, tile.denominator);
}
