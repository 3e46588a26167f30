// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileLinearBuild.cpp - gf.pack and gf.linear for a product ----------===//
//
// Packs the weights, makes the products, one for each index of the batch, and
// brings the result into the shape that was asked for.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/schedule/CostModel.h"
#include "passes/schedule/StepPanels.h"
#include "passes/tile/Slices.h"
#include "passes/tile/TileLinearBuilder.h"

using namespace mlir;
using namespace gatefold;

/// The panels of one matrix.
Value LinearBuilder::pack(Value source) {
  auto type = cast<RankedTensorType>(source.getType());
  AffineExpr columns = rewriter.getAffineSymbolExpr(0);
  OpFoldResult panels = affine::makeComposedFoldedAffineApply(
      rewriter, loc, columns.ceilDiv(width),
      {tensor::getMixedSize(rewriter, loc, source, along)});
  Value empty = tensor::EmptyOp::create(
      rewriter, loc,
      {panels, tensor::getMixedSize(rewriter, loc, source, 1 - along),
       rewriter.getIndexAttr(width)},
      type.getElementType());
  return PackOp::create(rewriter, loc, empty.getType(), source,
                        rewriter.getI64IntegerAttr(along), empty)
      .getResult();
}

/// Packs the matrices of all batches, once: [batches, columns, k] with columns
/// filled up to whole panels, as one matrix.
Value LinearBuilder::packAll() {
  if (c.batch.empty())
    return pack(matrix.tensor);
  auto type = cast<RankedTensorType>(matrix.tensor.getType());
  unsigned batchRank = c.batch.size();
  int64_t columns = type.getDimSize(batchRank);
  if (int64_t missing = llvm::alignTo(columns, width) - columns) {
    SmallVector<OpFoldResult> low(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> high = low;
    high[batchRank] = rewriter.getIndexAttr(missing);
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
    SmallVector<int64_t> shape(type.getShape());
    shape[batchRank] += missing;
    matrix.tensor = tensor::PadOp::create(
        rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
        matrix.tensor, low, high, zero);
  }
  ReassociationIndices rows =
      llvm::to_vector<2>(llvm::seq<int64_t>(0, batchRank + 1));
  return pack(tensor::CollapseShapeOp::create(
      rewriter, loc, matrix.tensor,
      SmallVector<ReassociationIndices>{rows, {batchRank + 1}}));
}

Value LinearBuilder::makeProduct(Value rowsOfOne, Value panels, Value output) {
  auto product = LinearOp::create(rewriter, loc, output.getType(), rowsOfOne,
                                  panels, /*initial=*/Value(), output);
  if (c.isOfStep) {
    product->setAttr(stepProductName, rewriter.getUnitAttr());
    // So that its panels stay as wide.
    if (Attribute given = c.op->getAttr(tileName))
      product->setAttr(tileName, given);
  }
  return product.getResult();
}

/// The panels of one index of the batch, of those of all.
Value LinearBuilder::sliceOfAll(ValueRange indices) {
  auto type = cast<RankedTensorType>(allPanels.getType());
  int64_t batches = c.count(c.batch);
  int64_t each = batches == 0 ? 0 : type.getDimSize(0) / batches;
  AffineExpr index = rewriter.getAffineConstantExpr(0);
  for (auto [place, loop] : llvm::enumerate(c.batch))
    index = index * c.ranges[loop] + rewriter.getAffineDimExpr(place);
  SmallVector<OpFoldResult> offsets(3, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(3, rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, allPanels);
  offsets[0] = affine::makeComposedFoldedAffineApply(
      rewriter, loc, index * each, getAsOpFoldResult(indices));
  sizes[0] = rewriter.getIndexAttr(each);
  return tensor::ExtractSliceOp::create(rewriter, loc, allPanels, offsets,
                                        sizes, strides);
}

/// One product for each index of the batch, put into `output`.
Value LinearBuilder::makeProducts(Value output) {
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  SmallVector<Value> lower(c.batch.size(), zero), steps(c.batch.size(), one);
  SmallVector<Value> upper;
  for (unsigned loop : c.batch)
    upper.push_back(
        getValueOrCreateConstantIndexOp(rewriter, loc, sizeOf(loop)));
  auto body = [&](OpBuilder &inner, Location, ValueRange indices,
                  ValueRange carried) -> scf::ValueVector {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(inner.getInsertionBlock(),
                               inner.getInsertionPoint());
    SmallVector<FixedIndex> inX, inMatrix, inResult;
    for (auto [place, loop] : llvm::enumerate(c.batch)) {
      inX.emplace_back(x.dimOf(loop), indices[place]);
      inMatrix.emplace_back(matrix.dimOf(loop), indices[place]);
      inResult.emplace_back(place, indices[place]);
    }
    Value panels =
        allPanels ? sliceOfAll(indices)
                  : pack(takeSlice(rewriter, loc, matrix.tensor, inMatrix));
    Value product = makeProduct(takeSlice(rewriter, loc, x.tensor, inX), panels,
                                takeSlice(rewriter, loc, carried[0], inResult));
    return {putSlice(rewriter, loc, product, carried[0], inResult)};
  };
  return scf::buildLoopNest(rewriter, loc, lower, upper, steps, output, body)
      .results[0];
}

/// The product [batch.., rows.., columns] as the result that was asked for.
Value LinearBuilder::restore(Value product) {
  SmallVector<unsigned> asked = loopsOf(c.resultMap);
  SmallVector<unsigned> made = c.batch;
  llvm::append_range(made, c.rows);
  llvm::append_range(made, c.columns);
  auto withoutUnits = [&](ArrayRef<unsigned> loops) {
    SmallVector<unsigned> kept;
    llvm::copy_if(loops, std::back_inserter(kept), [&](unsigned loop) {
      return !isUnit(loop) || llvm::is_contained(c.batch, loop);
    });
    return kept;
  };
  bool isInOrder = withoutUnits(asked) == withoutUnits(made);
  ArrayRef<unsigned> order = isInOrder ? asked : made;

  // Each dimension of the product begins with one of the loops that it stands
  // for; a loop of size 1 belongs to the dimension before it.
  const unsigned *firstColumn = llvm::find_if(
      c.columns, [&](unsigned column) { return !isUnit(column); });
  if (firstColumn == c.columns.end())
    firstColumn = c.columns.begin();
  auto beginsDimension = [&](unsigned loop) {
    return loop == *firstColumn || llvm::is_contained(c.batch, loop) ||
           (llvm::is_contained(c.rows, loop) && !isUnit(loop));
  };
  int64_t rank = cast<RankedTensorType>(product.getType()).getRank();
  if (rank != static_cast<int64_t>(order.size())) {
    SmallVector<ReassociationIndices> groups(1);
    SmallVector<OpFoldResult> sizes;
    SmallVector<int64_t> shape;
    bool hasBegun = false;
    for (auto [place, loop] : llvm::enumerate(order)) {
      if (beginsDimension(loop)) {
        if (hasBegun)
          groups.emplace_back();
        hasBegun = true;
      }
      groups.back().push_back(place);
      sizes.push_back(sizeOf(loop));
      shape.push_back(c.ranges[loop]);
    }
    auto type = RankedTensorType::get(shape, getElementTypeOrSelf(product));
    product = tensor::ExpandShapeOp::create(rewriter, loc, type, product,
                                            groups, sizes);
  }
  if (isInOrder)
    return product;
  SmallVector<unsigned> permutation;
  for (unsigned loop : order)
    permutation.push_back(llvm::find(asked, loop) - asked.begin());
  return makeTransposition(
      rewriter, loc, product,
      AffineMap::getPermutationMap(permutation, rewriter.getContext()));
}

Value LinearBuilder::build() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(c.op);
  makeRows();
  {
    // Where the weights are, so that no loop around the product repeats it.
    OpBuilder::InsertionGuard weightsGuard(rewriter);
    rewriter.setInsertionPointAfterValue(c.weights);
    makeMatrix();
    if (c.batch.empty() ||
        (c.isPrepared &&
         cast<RankedTensorType>(matrix.tensor.getType()).hasStaticShape()))
      allPanels = packAll();
  }
  SmallVector<OpFoldResult> sizes;
  for (unsigned loop : c.batch)
    sizes.push_back(sizeOf(loop));
  for (unsigned loop : c.rows)
    if (!isUnit(loop))
      sizes.push_back(sizeOf(loop));
  sizes.push_back(productOf(c.columns));
  Value output = tensor::EmptyOp::create(
      rewriter, loc, sizes, getElementTypeOrSelf(c.op->getResult(0).getType()));
  return restore(c.batch.empty() ? makeProduct(x.tensor, allPanels, output)
                                 : makeProducts(output));
}

Value gatefold::buildLinear(IRRewriter &rewriter, Contraction contraction,
                            int64_t width) {
  return LinearBuilder(rewriter, std::move(contraction), width).build();
}
