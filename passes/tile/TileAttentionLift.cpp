// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionLift.cpp - Operations for a block of queries ----------===//
//
// What an operation of the region becomes for all queries of a block at once: a
// structured one gets one more loop, outermost; a scalar becomes a tensor of
// one element per query.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/tile/TileAttention.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// What an operation begins from, for each query.
Value AttentionTiling::liftBeginning(Value output, bool isRead) {
  auto make = [&](tensor::EmptyOp empty) {
    SmallVector<Value> sizes;
    for (Value size : empty.getDynamicSizes())
      sizes.push_back(tileOf(size).value);
    return makeBuffer(tileSizes(empty, false, sizes),
                      tileSizes(empty, true, sizes),
                      empty.getType().getElementType());
  };
  if (auto empty = output.getDefiningOp<tensor::EmptyOp>())
    return make(empty);
  if (auto fill = output.getDefiningOp<linalg::FillOp>();
      fill && !body.isPerQuery(output))
    if (auto empty = fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>()) {
      Value buffer = make(empty);
      if (!isRead)
        return buffer;
      return linalg::FillOp::create(rewriter, loc, tileOf(fill.value()).value,
                                    buffer)
          .getResult(0);
    }
  Tile tile = tileOf(output);
  if (mayOverwrite(output, tile) || !tile.isPerQuery)
    return wholeTile(output);
  Value from = wholeTile(output);
  Value buffer = makeBuffer(tileSizes(output, false), tileSizes(output, true),
                            getElementTypeOrSelf(output));
  return linalg::CopyOp::create(rewriter, loc, from, buffer).getResult(0);
}

LogicalResult AttentionTiling::liftGeneric(GenericOp generic) {
  Block *old = generic.getBody();
  bool isParallel = generic.getNumParallelLoops() == generic.getNumLoops();
  auto lifted = [&](AffineMap map) {
    return map.shiftDims(1).insertResult(rewriter.getAffineDimExpr(0), 0);
  };

  // Arguments of the new body are inputs, then those that only the new body
  // has, then outputs.
  SmallVector<TileInput> inputs;
  SmallVector<Value> replaced, divided;
  SmallVector<Tile> dividedTiles;
  std::optional<unsigned> overwritten;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    Tile tile = tileOf(input->get());
    AffineMap map = generic.getMatchingIndexingMap(input);
    Value argument = generic.getMatchingBlockArgument(input);
    if (tile.denominator) {
      divided.push_back(argument);
      dividedTiles.push_back(tile);
    }
    if (!overwritten && isParallel && generic.getNumResults() == 1 &&
        map.isIdentity() && mayOverwrite(input->get(), tile) &&
        getElementTypeOrSelf(generic.getResult(0)) ==
            getElementTypeOrSelf(input->get()) &&
        !destinations.contains(generic.getResult(0)) &&
        !generic.payloadUsesValueFromOperand(generic.getDpsInitOperand(0)) &&
        generic.getMatchingIndexingMap(generic.getDpsInitOperand(0))
            .isIdentity()) {
      overwritten = inputs.size();
    }
    inputs.push_back(
        {tile.value, tile.isPerQuery ? lifted(map) : map.shiftDims(1)});
    replaced.push_back(argument);
  }
  // Denominators: that of all is left to who uses the result, if they can be
  // brought to one.
  AffineMap perQuery = AffineMap::get(generic.getNumLoops() + 1, 0,
                                      rewriter.getAffineDimExpr(0));
  bool keepsDenominator = !divided.empty() && isParallel &&
                          generic.getNumResults() == 1 &&
                          isHomogeneous(old, divided);
  Value denominator =
      keepsDenominator ? dividedTiles.front().denominator : Value();
  SmallVector<std::pair<Value, unsigned>> factors;
  for (auto [argument, tile] : llvm::zip(divided, dividedTiles)) {
    if (tile.denominator == denominator)
      continue;
    Value factor = invert(tile.denominator);
    if (denominator)
      factor = makeGeneric(
          {{denominator, mapOf({0}, 1)}, {tile.denominator, mapOf({0}, 1)}},
          {{makeColumn(getElementTypeOrSelf(factor)), mapOf({0}, 1)}},
          /*reducesKeys=*/false,
          [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
            return {arith::DivFOp::create(builder, loc, values[0], values[1])
                        .getResult()};
          })[0];
    factors.emplace_back(argument, inputs.size());
    inputs.push_back({factor, perQuery});
  }
  // Scalars of each query that the body takes from around it.
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(generic.getRegion(), captured);
  SmallVector<std::pair<Value, unsigned>> scalars;
  llvm::DenseMap<Value, Value> whole;
  for (Value value : captured)
    if (body.isPerQuery(value) && tensorType(value))
      whole[value] = wholeTile(value);
    else if (body.isPerQuery(value) && !tensorType(value)) {
      scalars.emplace_back(value, inputs.size());
      inputs.push_back({tileOf(value).value, perQuery});
    }

  SmallVector<TileInput> outputs;
  SmallVector<AffineMap> maps;
  for (OpOperand &output : generic.getDpsInitsMutable()) {
    AffineMap map = lifted(generic.getMatchingIndexingMap(&output));
    bool isRead = generic.payloadUsesValueFromOperand(&output);
    OpResult result = generic.getTiedOpResult(&output);
    Value value;
    if (overwritten)
      value = inputs[*overwritten].value;
    else if (!isRead && destinations.contains(result))
      value = destinations.lookup(result);
    else
      value = liftBeginning(output.get(), isRead);
    outputs.push_back({value, map});
  }
  SmallVector<Value> inputValues, outputValues;
  SmallVector<Type> types;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    if (overwritten == number)
      continue;
    inputValues.push_back(input.value);
    maps.push_back(input.map);
  }
  for (const TileInput &output : outputs) {
    outputValues.push_back(output.value);
    types.push_back(output.value.getType());
    maps.push_back(output.map);
  }
  SmallVector<utils::IteratorType> iterators = {utils::IteratorType::parallel};
  llvm::append_range(iterators, generic.getIteratorTypesArray());
  auto copy = GenericOp::create(
      rewriter, loc, types, inputValues, outputValues, maps, iterators,
      [&](OpBuilder &builder, Location, ValueRange given) {
        SmallVector<Value> arguments(given.begin(), given.end());
        if (overwritten)
          arguments.insert(arguments.begin() + *overwritten, given.back());
        IRMapping mapping;
        for (auto [from, to] : llvm::zip(replaced, arguments))
          mapping.map(from, to);
        ValueRange outs = given.take_back(outputs.size());
        for (auto [from, to] : llvm::zip(generic.getRegionOutputArgs(), outs))
          mapping.map(Value(from), to);
        for (auto [from, number] : scalars)
          mapping.map(from, arguments[number]);
        for (auto [from, number] : factors)
          mapping.map(from,
                      arith::MulFOp::create(builder, loc, mapping.lookup(from),
                                            arguments[number]));
        for (Value value : captured)
          if (!body.isPerQuery(value) && tiles.contains(value))
            mapping.map(value, tiles.lookup(value).value);
        for (Operation &inner : *old)
          builder.clone(inner, mapping);
      });
  // Indices of loops, and elements of what is one for each query.
  auto extractQuery = [&](tensor::ExtractOp extract, Value original) {
    if (!body.isPerQuery(original))
      return;
    rewriter.setInsertionPoint(extract);
    SmallVector<Value> place = {linalg::IndexOp::create(rewriter, loc, 0)};
    llvm::append_range(place, extract.getIndices());
    rewriter.replaceOpWithNewOp<tensor::ExtractOp>(
        extract, whole.lookup(original), place);
  };
  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<linalg::IndexOp> loopIndices;
  SmallVector<tensor::ExtractOp> copies, originals;
  copy->walk([&](linalg::IndexOp index) { loopIndices.push_back(index); });
  copy->walk([&](tensor::ExtractOp extract) { copies.push_back(extract); });
  generic->walk(
      [&](tensor::ExtractOp extract) { originals.push_back(extract); });
  for (linalg::IndexOp index : loopIndices) {
    unsigned loop = index.getDim();
    index.setDim(loop + 1);
    if (!cutsKeys || !body.isKeyLoop(generic, loop))
      continue;
    rewriter.setInsertionPointAfter(index);
    auto sum = arith::AddIOp::create(rewriter, loc, index, block.first);
    rewriter.replaceAllUsesExcept(index, sum, sum);
  }
  for (auto [extract, original] : llvm::zip(copies, originals))
    extractQuery(extract, original.getTensor());
  for (auto [from, to] : llvm::zip(generic->getResults(), copy->getResults()))
    tiles[from] = {to, true, !destinations.contains(from), denominator};
  return success();
}

/// A product of what is one for each query with what is the same for all stays
/// a product.
LogicalResult AttentionTiling::liftContract(linalg::ContractOp contract) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : contract.getDpsInputOperands()) {
    bool isPerQuery = body.isPerQuery(input->get());
    AffineMap map = contract.getMatchingIndexingMap(input).shiftDims(1);
    if (isPerQuery)
      map = map.insertResult(rewriter.getAffineDimExpr(0), 0);
    inputs.push_back(isPerQuery ? wholeTile(input->get())
                                : tileOf(input->get()).value);
    maps.push_back(map);
  }
  OpOperand *output = contract.getDpsInitOperand(0);
  maps.push_back(
      contract.getMatchingIndexingMap(output).shiftDims(1).insertResult(
          rewriter.getAffineDimExpr(0), 0));
  Value begin = liftBeginning(output->get(), /*isRead=*/true);
  auto copy = linalg::ContractOp::create(
      rewriter, loc, TypeRange(begin.getType()), inputs, ValueRange(begin),
      rewriter.getAffineMapArrayAttr(maps));
  tiles[contract->getResult(0)] = {copy->getResult(0), true, true, {}};
  return success();
}
