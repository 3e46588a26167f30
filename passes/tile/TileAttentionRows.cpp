// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionRows.cpp - Row operations for a block of queries ------===//
//
// Scores and values are products on packed panels; a softmax is a pass that
// hides what is not seen, where something is, one for the maxima, and one for
// the powers and their sums. The division by the sum is left to who uses the
// result.
//
// Exactness: 1/sum is rounded once and the product once more, where the naive
// lowering divides once: 2^-24 of a probability. A row that sees no key has
// powers of 0, which stay 0 with a sum that is taken to be 1.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/tile/TileAttention.h"

using namespace mlir;
using namespace gatefold;
using utils::IteratorType;

//===----------------------------------------------------------------------===//
// Structured operations on [rows, keys]
//===----------------------------------------------------------------------===//

AffineMap AttentionTiling::mapOf(ArrayRef<unsigned> loops, unsigned count) {
  SmallVector<AffineExpr> results;
  for (unsigned loop : loops)
    results.push_back(rewriter.getAffineDimExpr(loop));
  return AffineMap::get(count, 0, results, rewriter.getContext());
}

SmallVector<Value> AttentionTiling::makeGeneric(ArrayRef<TileInput> inputs,
                                                ArrayRef<TileInput> outputs,
                                                bool reducesKeys,
                                                TileBody make) {
  SmallVector<Value> inputValues, outputValues;
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  for (const TileInput &input : inputs) {
    inputValues.push_back(input.value);
    maps.push_back(input.map);
  }
  for (const TileInput &output : outputs) {
    outputValues.push_back(output.value);
    types.push_back(output.value.getType());
    maps.push_back(output.map);
  }
  SmallVector<IteratorType> iterators(outputs.front().map.getNumDims(),
                                      IteratorType::parallel);
  if (reducesKeys)
    iterators.back() = IteratorType::reduction;
  auto generic = linalg::GenericOp::create(
      rewriter, loc, types, inputValues, outputValues, maps, iterators,
      [&](OpBuilder &builder, Location, ValueRange arguments) {
        linalg::YieldOp::create(builder, loc, make(builder, arguments));
      });
  return SmallVector<Value>(generic.getResults());
}

/// The part of a tensor that aligns at the right with `[lead.., T, S]` that
/// belongs to the block.
TileInput AttentionTiling::pairInput(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> offsets(rank, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes(rank, rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> strides(rank, rewriter.getIndexAttr(1));
  SmallVector<unsigned> loops;
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (type.getDimSize(dim) == 1)
      continue;
    int64_t fromRight = rank - 1 - dim;
    if (fromRight > 1) {
      offsets[dim] = lead[leadRank - (fromRight - 1)];
      continue;
    }
    offsets[dim] = fromRight == 0 ? block.first : block.start;
    sizes[dim] = fromRight == 0 ? block.columns : block.rows;
    loops.push_back(fromRight == 0 ? 1 : 0);
    shape.push_back(
        getConstantIntValue(sizes[dim]).value_or(ShapedType::kDynamic));
  }
  Value slice = tensor::ExtractSliceOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
      tensor, offsets, sizes, strides);
  return {slice, mapOf(loops)};
}

Value AttentionTiling::invert(Value denominator) {
  Value &inverse = inverses[denominator];
  if (inverse)
    return inverse;
  Type element = getElementTypeOrSelf(denominator);
  Value one = number(element, 1.0);
  AffineMap column = mapOf({0}, 1);
  inverse = makeGeneric(
      {{denominator, column}}, {{makeColumn(element), column}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        return {
            arith::DivFOp::create(builder, loc, one, values[0]).getResult()};
      })[0];
  return inverse;
}

/// value / denominator of each query, in memory of its own.
Value AttentionTiling::divide(Value value, Value denominator) {
  auto type = cast<RankedTensorType>(value.getType());
  Value inverse = invert(denominator);
  AffineMap all = rewriter.getMultiDimIdentityMap(type.getRank());
  // As long as all keys where it is along them: the most that it can be.
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, value);
  SmallVector<OpFoldResult> most = sizes;
  most[0] = block.mostRows;
  sizes[0] = block.rows;
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      most[dim] = type.getRank() == 2 ? block.mostColumns : block.mostKeys;
  Value buffer = makeBuffer(sizes, most, type.getElementType());
  return makeGeneric(
      {{value, all}, {inverse, mapOf({0}, type.getRank())}}, {{buffer, all}},
      false, [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        return {arith::MulFOp::create(builder, loc, values[0], values[1])
                    .getResult()};
      })[0];
}

/// A row that is the same for all queries, once for each.
Value AttentionTiling::broadcastRow(const Tile &tile) {
  Value buffer = makeScores(getElementTypeOrSelf(tile.value));
  return makeGeneric({{tile.value, mapOf({1})}}, {{buffer, mapOf({0, 1})}},
                     false, [](OpBuilder &, ValueRange values) {
                       return SmallVector<Value>{values[0]};
                     })[0];
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Product of a vector and a matrix, along the matrix's rows or its columns;
/// either may be another one for each query.
/// It is added to `sum`, if there is one.
Value AttentionTiling::makeProduct(Value vector, Value matrix, bool alongRows,
                                   Value sum) {
  auto vectorType = cast<RankedTensorType>(vector.getType());
  auto matrixType = cast<RankedTensorType>(matrix.getType());
  bool hasQueries = vectorType.getRank() == 2 || matrixType.getRank() == 3;
  unsigned base = hasQueries ? 1 : 0, loops = base + 2;
  AffineExpr query = rewriter.getAffineDimExpr(0),
             out = rewriter.getAffineDimExpr(base),
             term = rewriter.getAffineDimExpr(base + 1);
  auto mapFor = [&](ArrayRef<AffineExpr> results, bool isPerQuery) {
    SmallVector<AffineExpr> all(results);
    if (isPerQuery)
      all.insert(all.begin(), query);
    return AffineMap::get(loops, 0, all, rewriter.getContext());
  };
  // A matrix of 16 bits is extended element by element.
  Type element = vectorType.getElementType();
  OpFoldResult size = tensor::getMixedSize(
      rewriter, loc, matrix, matrixType.getRank() - (alongRows ? 2 : 1));
  Value buffer;
  if (sum)
    buffer = sum;
  else if (!hasQueries)
    buffer = tensor::EmptyOp::create(rewriter, loc,
                                     ArrayRef<OpFoldResult>{size}, element);
  else if (alongRows)
    buffer = makeScores(element);
  else
    buffer = makeBuffer({block.rows, size}, {block.mostRows, size}, element);
  if (!sum)
    sum = linalg::FillOp::create(rewriter, loc, number(element, 0.0), buffer)
              .getResult(0);
  SmallVector<AffineExpr> order = {out, term};
  if (!alongRows)
    std::swap(order[0], order[1]);
  return makeGeneric(
      {{vector, mapFor({term}, vectorType.getRank() == 2)},
       {matrix, mapFor(order, matrixType.getRank() == 3)}},
      {{sum, mapFor({out}, hasQueries)}}, /*reducesKeys=*/true,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value factor = values[1];
        if (factor.getType() != element)
          factor = arith::ExtFOp::create(builder, loc, element, factor);
        Value part = arith::MulFOp::create(builder, loc, values[0], factor);
        return {
            arith::AddFOp::create(builder, loc, values[2], part).getResult()};
      })[0];
}

/// The same product, some keys of `matrix` at a time, whose panels stay in the
/// first cache: each is read and packed where it is multiplied. Sums go on
/// where the keys before left them, so that their bits are those of one
/// product.
Value AttentionTiling::multiplyPacked(Value rows, Value sum, Value output,
                                      Value matrix, int64_t along) {
  constexpr int64_t someKeys = 256;
  int64_t width = target.getPanelWidth(getElementTypeOrSelf(matrix));
  int64_t step = std::max<int64_t>(someKeys - someKeys % width, width);
  auto partOf = [&](Value whole, int64_t dim, Value at, Value size) -> Value {
    SmallVector<OpFoldResult> offsets(2, rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, whole);
    offsets[dim] = at;
    sizes[dim] = size;
    return tensor::ExtractSliceOp::create(
        rewriter, loc, whole, offsets, sizes,
        SmallVector<OpFoldResult>(2, rewriter.getIndexAttr(1)));
  };
  Value keys = getSize(rewriter, loc, matrix, 0);
  bool addsUp = along == 1;
  if (addsUp && !sum)
    output = linalg::FillOp::create(rewriter, loc,
                                    number(getElementTypeOrSelf(output), 0.0),
                                    output)
                 .getResult(0);
  auto loop = scf::ForOp::create(rewriter, loc, constant(0), keys,
                                 constant(step), output);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  Value at = loop.getInductionVar(), whole = loop.getRegionIterArg(0);
  Value size = least(minus(keys, at), constant(step));
  Value panels =
      packTile(partOf(matrix, 0, at, size), along, rewriter.getIndexAttr(step));
  Value place = addsUp ? whole : partOf(whole, 1, at, size);
  Value made =
      LinearOp::create(rewriter, loc, place.getType(),
                       addsUp ? partOf(rows, 1, at, size) : rows, panels,
                       /*initial=*/addsUp ? whole : sum, place)
          .getResult();
  if (!addsUp) {
    SmallVector<OpFoldResult> offsets = {rewriter.getIndexAttr(0), at};
    made = tensor::InsertSliceOp::create(
        rewriter, loc, made, whole, offsets,
        tensor::getMixedSizes(rewriter, loc, place),
        SmallVector<OpFoldResult>(2, rewriter.getIndexAttr(1)));
  }
  scf::YieldOp::create(rewriter, loc, made);
  return loop.getResult(0);
}

/// The product of rows with panels, or with those that the block makes of its
/// part of `matrix`, where there is one, if it packs itself.
Value AttentionTiling::multiplyPanels(Value rows, Value panels, Value sum,
                                      Value output, Value matrix,
                                      int64_t along) {
  auto multiply = [&](Value right) -> Value {
    return LinearOp::create(rewriter, loc, output.getType(), rows, right,
                            /*initial=*/sum, output)
        .getResult();
  };
  if (!packsInBlock || !matrix)
    return multiply(panels);
  auto choice = scf::IfOp::create(rewriter, loc, output.getType(), packsInBlock,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(rewriter, loc,
                       multiplyPacked(rows, sum, output, matrix, along));
  rewriter.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(rewriter, loc, multiply(panels));
  return choice.getResult(0);
}

void AttentionTiling::lower(RowScoresOp op) {
  auto [panels, firstPacked] = keyPanels.lookup(op.getKeys());
  if (!panels) {
    Value query = body.isPerQuery(op.getQuery()) ? wholeTile(op.getQuery())
                                                 : tileOf(op.getQuery()).value;
    Value keys = body.isPerQuery(op.getKeys()) ? wholeTile(op.getKeys())
                                               : tileOf(op.getKeys()).value;
    Value product = makeProduct(query, keys, /*alongRows=*/true);
    tiles[op.getResult()] = {product, true, true, {}};
    return;
  }
  Value query = wholeTile(op.getQuery());
  auto type = cast<RankedTensorType>(panels.getType());
  Value width = constant(type.getDimSize(2));
  Value columns = toValue(block.columns);
  Value count = rewriter.createOrFold<arith::DivUIOp>(
      loc, plus(columns, constant(type.getDimSize(2) - 1)), width);
  Value first = rewriter.createOrFold<arith::DivUIOp>(
      loc, minus(block.first, firstPacked), width);
  SmallVector<OpFoldResult> offsets(3, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, panels);
  offsets[0] = getAsOpFoldResult(first);
  sizes[0] = getAsOpFoldResult(count);
  Value part = tensor::ExtractSliceOp::create(
      rewriter, loc, panels, offsets, sizes,
      SmallVector<OpFoldResult>(3, rewriter.getIndexAttr(1)));
  Value output = makeScores(op.getType().getElementType());
  Value keys = packsInBlock && isa<BlockArgument>(op.getKeys())
                   ? tileOf(op.getKeys()).value
                   : Value();
  Value product =
      multiplyPanels(query, part, /*sum=*/{}, output, keys, /*along=*/0);
  tiles[op.getResult()] = {product, true, true, {}};
}

/// `[rows, values]`.
Value AttentionTiling::makeValuesBuffer(RowValuesOp op) {
  RankedTensorType type = op.getType();
  OpFoldResult size =
      type.isDynamicDim(0)
          ? tensor::getMixedSize(rewriter, loc,
                                 tiles.lookup(op.getValues()).value, 1)
          : OpFoldResult(rewriter.getIndexAttr(type.getDimSize(0)));
  return makeBuffer({block.rows, size}, {block.mostRows, size},
                    type.getElementType());
}

/// A tile of weights with 0 in the first columns.
Value AttentionTiling::clearBefore(Value weights, Value column) {
  Value zero = number(getElementTypeOrSelf(weights), 0.0);
  return makeGeneric(
      {}, {{weights, mapOf({0, 1})}}, /*reducesKeys=*/false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value at = linalg::IndexOp::create(builder, loc, 1);
        Value isBefore = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::slt, at, column);
        return {arith::SelectOp::create(builder, loc, isBefore, zero, values[0])
                    .getResult()};
      })[0];
}

/// The product of weights with the values of the block's keys, made in `output`
/// or, if there is one, added to `sum`.
Value AttentionTiling::multiplyValues(RowValuesOp op, Value weights,
                                      Value output, Value sum) {
  // What lies behind the reach of every query is not read.
  auto [panels, firstPacked] = valuePanels.lookup(op.getValues());
  auto [firstValue, isFilled] = panels ? findFirstValue(op.getValues())
                                       : std::pair(reach.reachFirst, false);
  Value first = clamp(firstValue, block.first, block.end);
  Value end = clamp(reach.reachEnd, first, block.end);
  Value length = minus(end, first);
  // Never more than there are: where a run finds the ends, the room for values
  // of which none is reached is known before it by that alone.
  if (narrowsBlocks)
    length = least(keyCount, length);
  OpFoldResult count = getAsOpFoldResult(length);
  bool readsAll = keyBlock == 0 && !limitsKeys();
  OpFoldResult none = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  auto cut = [&](Value tensor, int64_t dim, Value from) -> Value {
    if (readsAll)
      return tensor;
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, tensor);
    SmallVector<OpFoldResult> offsets(sizes.size(), none);
    SmallVector<OpFoldResult> strides(sizes.size(), one);
    offsets[dim] = getAsOpFoldResult(from);
    sizes[dim] = count;
    return tensor::ExtractSliceOp::create(rewriter, loc, tensor, offsets, sizes,
                                          strides);
  };
  Value known = cut(weights, 1, minus(first, block.first));
  if (!panels) {
    bool isPerQuery = body.isPerQuery(op.getValues());
    Value all = isPerQuery ? wholeTile(op.getValues())
                           : tiles.lookup(op.getValues()).value;
    Value values = cut(all, isPerQuery ? 1 : 0, first);
    return makeProduct(known, values, /*alongRows=*/false, sum);
  }
  // Where the values are 0 weights may be no numbers; those of a softmax are 0.
  if (isFilled && !op.getWeights().getDefiningOp<RowSoftmaxOp>())
    known = clearBefore(known, minus(reach.reachFirst, first));
  Value part = cut(panels, 1, minus(first, firstPacked));
  if (sum)
    output = sum;
  if (!output)
    output = makeValuesBuffer(op);
  Value values = packsInBlock && isa<BlockArgument>(op.getValues())
                     ? cut(tiles.lookup(op.getValues()).value, 0, first)
                     : Value();
  return multiplyPanels(known, part, sum, output, values, /*along=*/1);
}

/// The result of the operation, from its sums before the division.
void AttentionTiling::divideValues(RowValuesOp op, Value sum,
                                   Value denominator) {
  Value destination = destinations.lookup(op.getResult());
  SmallVector<TileInput> inputs = {{invert(denominator), mapOf({0})}};
  if (destination)
    inputs.push_back({sum, mapOf({0, 1})});
  Value result = makeGeneric(
      inputs, {{destination ? destination : sum, mapOf({0, 1})}}, false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        return {arith::MulFOp::create(builder, loc, values[1], values[0])
                    .getResult()};
      })[0];
  tiles[op.getResult()] = {result, true, !destination, {}};
}

/// The result of the operation, which are its sums.
void AttentionTiling::giveValues(RowValuesOp op, Value sum) {
  Value destination = destinations.lookup(op.getResult());
  if (destination)
    sum = makeGeneric({{sum, mapOf({0, 1})}}, {{destination, mapOf({0, 1})}},
                      false, [](OpBuilder &, ValueRange values) {
                        return SmallVector<Value>{values[0]};
                      })[0];
  tiles[op.getResult()] = {sum, true, !destination, {}};
}

void AttentionTiling::lower(RowValuesOp op) {
  Tile weights = tileOf(op.getWeights());
  if (!weights.isPerQuery)
    weights = {broadcastRow(weights), true, true, {}};
  bool isDirect = !weights.denominator && valuePanels.contains(op.getValues());
  Value destination = isDirect ? destinations.lookup(op.getResult()) : Value();
  Value result = multiplyValues(op, weights.value, destination, /*sum=*/{});
  if (weights.denominator)
    divideValues(op, result, weights.denominator);
  else
    tiles[op.getResult()] = {
        result, true, !destinations.contains(op.getResult()), {}};
}
