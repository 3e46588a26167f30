// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileLinearOperands.cpp - Operands in the order of gf.linear --------===//
//
// Brings the rows and the weights of a product into the order that gf.linear
// and gf.pack read: as they are where that is it, else by a copy, which each
// row or column then reads many times.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/TileLinearBuilder.h"

using namespace mlir;
using namespace gatefold;

/// The size of a loop, of an operand whose dimension it is.
OpFoldResult LinearBuilder::sizeOf(unsigned loop) {
  if (!ShapedType::isDynamic(c.ranges[loop]))
    return rewriter.getIndexAttr(c.ranges[loop]);
  AffineExpr dim = getAffineDimExpr(loop, rewriter.getContext());
  for (auto [operand, map] :
       {std::pair(c.weights, c.weightsMap), std::pair(c.x, c.xMap),
        std::pair(c.op.getDpsInits()[0], c.resultMap)})
    if (std::optional<unsigned> place = map.getResultPosition(dim))
      return rewriter.createOrFold<tensor::DimOp>(loc, operand, *place);
  llvm_unreachable("a loop of a product is a dimension of an operand");
}

OpFoldResult LinearBuilder::productOf(ArrayRef<unsigned> loops) {
  OpFoldResult product = rewriter.getIndexAttr(1);
  AffineExpr a, b;
  bindSymbols(rewriter.getContext(), a, b);
  for (unsigned loop : loops)
    product = affine::makeComposedFoldedAffineApply(rewriter, loc, a * b,
                                                    {product, sizeOf(loop)});
  return product;
}

/// result[order..] = source[map(loops)]: a copy with the dimensions in another
/// order, or of windows.
Value LinearBuilder::gather(Value source, AffineMap map,
                            ArrayRef<unsigned> order) {
  SmallVector<AffineExpr> replacements(map.getNumDims(),
                                       rewriter.getAffineConstantExpr(0));
  SmallVector<OpFoldResult> sizes;
  for (auto [place, loop] : llvm::enumerate(order)) {
    replacements[loop] = rewriter.getAffineDimExpr(place);
    sizes.push_back(sizeOf(loop));
  }
  AffineMap input =
      map.replaceDimsAndSymbols(replacements, {}, order.size(), 0);
  Value empty = tensor::EmptyOp::create(rewriter, loc, sizes,
                                        getElementTypeOrSelf(source.getType()));
  return linalg::GenericOp::create(
             rewriter, loc, empty.getType(), source, empty,
             ArrayRef<AffineMap>{input,
                                 rewriter.getMultiDimIdentityMap(order.size())},
             SmallVector<utils::IteratorType>(order.size(),
                                              utils::IteratorType::parallel),
             [](OpBuilder &builder, Location bodyLoc, ValueRange arguments) {
               linalg::YieldOp::create(builder, bodyLoc, arguments[0]);
             })
      .getResult(0);
}

/// Puts neighbouring dimensions together.
static Value collapse(OpBuilder &builder, Location loc, Value source,
                      ArrayRef<ReassociationIndices> groups) {
  auto type = cast<RankedTensorType>(source.getType());
  if (static_cast<int64_t>(groups.size()) == type.getRank())
    return source;
  return tensor::CollapseShapeOp::create(builder, loc, source, groups);
}

SmallVector<unsigned> gatefold::loopsOf(AffineMap map) {
  SmallVector<unsigned> loops;
  for (AffineExpr expression : map.getResults())
    loops.push_back(cast<AffineDimExpr>(expression).getPosition());
  return loops;
}

static SmallVector<unsigned> keep(ArrayRef<unsigned> order,
                                  ArrayRef<unsigned> wanted) {
  SmallVector<unsigned> kept;
  llvm::copy_if(order, std::back_inserter(kept), [&](unsigned loop) {
    return llvm::is_contained(wanted, loop);
  });
  return kept;
}

void LinearBuilder::makeRows() {
  SmallVector<unsigned> order;
  bool isInOrder = c.xMap.isProjectedPermutation();
  if (isInOrder) {
    order = loopsOf(c.xMap);
    isInOrder =
        keep(ArrayRef(order).take_back(c.summed.size()), c.summed).size() ==
        c.summed.size();
  }
  if (isInOrder) {
    c.rows = keep(order, c.rows);
    c.summed = keep(order, c.summed);
    x.tensor = c.x;
  } else {
    // Elements that are next to each other in x stay so.
    SmallVector<unsigned> summed;
    for (AffineExpr expression : c.xMap.getResults())
      for (unsigned loop : c.summed)
        if (expression.isFunctionOfDim(loop) &&
            !llvm::is_contained(summed, loop))
          summed.push_back(loop);
    c.summed = summed;
    order = c.batch;
    llvm::append_range(order, c.rows);
    llvm::append_range(order, c.summed);
    x.tensor = gather(c.x, c.xMap, order);
  }
  // A row of size 1 goes into what follows it; so do all summed but the last.
  SmallVector<ReassociationIndices> places(1);
  x.dims.emplace_back();
  for (auto [place, loop] : llvm::enumerate(order)) {
    places.back().push_back(place);
    bool isSummed = llvm::is_contained(c.summed, loop);
    bool isDropped = isUnit(loop) && llvm::is_contained(c.rows, loop);
    if (!isDropped)
      x.dims.back().push_back(loop);
    if (!isDropped && !(isSummed && place + 1 < order.size())) {
      places.emplace_back();
      x.dims.emplace_back();
    }
  }
  places.pop_back();
  x.dims.pop_back();
  x.tensor = collapse(rewriter, loc, x.tensor, places);
}

/// Dimensions that are one in a matrix: each batch alone, columns that are next
/// to each other, summed that are.
static SmallVector<ReassociationIndices> groupMatrix(const Contraction &c,
                                                     ArrayRef<unsigned> order) {
  enum Kind { Batch, Column, Summed };
  SmallVector<ReassociationIndices> groups;
  Kind previous = Batch;
  for (auto [place, loop] : llvm::enumerate(order)) {
    Kind kind = llvm::is_contained(c.summed, loop)    ? Summed
                : llvm::is_contained(c.columns, loop) ? Column
                                                      : Batch;
    if (kind == Batch || kind != previous)
      groups.emplace_back();
    groups.back().push_back(place);
    previous = kind;
  }
  return groups;
}

void LinearBuilder::makeMatrix() {
  SmallVector<unsigned> order = loopsOf(c.weightsMap);
  SmallVector<unsigned> byColumns = c.columns, bySummed = c.summed;
  llvm::append_range(byColumns, c.summed);
  llvm::append_range(bySummed, c.columns);
  SmallVector<unsigned> inner = keep(order, byColumns);
  size_t rank = c.batch.size() + 2;
  matrix.tensor = c.weights;
  along = inner == bySummed ? 1 : 0;
  bool isUsable = (inner == byColumns || inner == bySummed) &&
                  groupMatrix(c, order).size() == rank;
  // Those of all batches are packed as one matrix, and copied only once.
  if (c.isPrepared && !c.batch.empty())
    isUsable &= along == 0 &&
                ArrayRef(order).take_front(c.batch.size()) == ArrayRef(c.batch);
  if (!isUsable) {
    order = c.batch;
    llvm::append_range(order, byColumns);
    matrix.tensor = gather(c.weights, c.weightsMap, order);
    along = 0;
  }
  SmallVector<ReassociationIndices> groups = groupMatrix(c, order);
  for (ArrayRef<int64_t> group : groups) {
    matrix.dims.emplace_back();
    for (int64_t place : group)
      matrix.dims.back().push_back(order[place]);
  }
  matrix.tensor = collapse(rewriter, loc, matrix.tensor, groups);
}
