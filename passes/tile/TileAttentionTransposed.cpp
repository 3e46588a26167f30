// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionTransposed.cpp - Heads read where they stand ----------===//
//
// Splitting heads transposes queries, keys and values: [tokens, heads, width]
// becomes [heads, tokens, width]. The loops read the rows of one head at a
// time, which are rows of what is transposed, too, only further apart. So no
// transposed copy is needed. Neither is one that merges heads behind the
// attention: rows are written where they will stand.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "passes/tile/TileAttention.h"

using namespace mlir;
using namespace gatefold;
using linalg::TransposeOp;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The transposition that alone reads the result, if it leaves what is behind
/// the queries where it is.
static TransposeOp findReader(OpResult result, int64_t leadRank) {
  TransposeOp found;
  for (Operation *user : result.getUsers()) {
    if (auto dim = dyn_cast<tensor::DimOp>(user);
        dim && dim.getConstantIndex() &&
        *dim.getConstantIndex() <
            cast<RankedTensorType>(result.getType()).getRank())
      continue;
    auto transpose = dyn_cast<TransposeOp>(user);
    if (!transpose || found || transpose.getInput() != result)
      return {};
    found = transpose;
  }
  // What a block writes stays together, numbers of queries too.
  int64_t last = cast<RankedTensorType>(result.getType()).getRank() - 1;
  if (found)
    for (int64_t dim = std::min(leadRank + 1, last); dim <= last; ++dim)
      if (found.getPermutation()[dim] != dim)
        return {};
  return found;
}

void AttentionTiling::findTransposed() {
  for (OpResult result : op->getResults())
    transposed.push_back(findReader(result, leadRank));
}

/// The dimension of the result that each of what is made of it is.
SmallVector<int64_t> AttentionTiling::orderOf(unsigned result) {
  if (TransposeOp transpose = transposed[result])
    return llvm::to_vector(transpose.getPermutation());
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
AttentionTiling::findBlockOf(unsigned result, Value made) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, made);
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  for (auto [dim, from] : llvm::enumerate(orderOf(result))) {
    if (from > leadRank)
      continue;
    offsets[dim] = from < leadRank ? OpFoldResult(lead[from]) : block.start;
    sizes[dim] =
        from < leadRank ? OpFoldResult(rewriter.getIndexAttr(1)) : block.rows;
  }
  return {offsets, sizes};
}

void AttentionTiling::replaceResult(unsigned result, Value made) {
  TransposeOp transpose = transposed[result];
  if (!transpose) {
    rewriter.replaceAllUsesWith(op->getResult(result), made);
    return;
  }
  SmallVector<int64_t> places =
      invertPermutationVector(transpose.getPermutation());
  for (Operation *user : llvm::to_vector(op->getResult(result).getUsers())) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    if (!dim)
      continue;
    rewriter.setInsertionPoint(dim);
    rewriter.replaceOpWithNewOp<tensor::DimOp>(dim, made,
                                               places[*dim.getConstantIndex()]);
  }
  rewriter.setInsertionPoint(transpose);
  rewriter.replaceOp(transpose, castTo(rewriter, loc, made,
                                       transpose->getResult(0).getType()));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Whether the dimensions that the slice keeps have the same order in what is
/// transposed.
static bool keepsOrder(tensor::ExtractSliceOp slice, TransposeOp transpose) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  // Which one of several of 1 is dropped does not show.
  if (llvm::is_contained(slice.getType().getShape(), 1))
    return false;
  int64_t last = -1;
  for (auto [dim, from] : llvm::enumerate(transpose.getPermutation())) {
    if (dropped.test(dim))
      continue;
    if (from < last)
      return false;
    last = from;
  }
  return true;
}

void gatefold::readBehindTransposition(TransposeOp transpose,
                                       IRRewriter &rewriter) {
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  // Rows that are no rows there would be gathered again and again.
  if (permutation.empty() ||
      permutation.back() != int64_t(permutation.size()) - 1)
    return;
  Value result = transpose->getResult(0), source = transpose.getInput();
  SmallVector<tensor::ExtractSliceOp> slices;
  for (Operation *user : result.getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (slice && keepsOrder(slice, transpose))
      slices.push_back(slice);
    else if (!isa<tensor::DimOp>(user))
      return;
  }
  SmallVector<int64_t> back = invertPermutationVector(permutation);
  for (tensor::ExtractSliceOp slice : slices) {
    rewriter.setInsertionPoint(slice);
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        slice, slice.getType(), source,
        applyPermutation(slice.getMixedOffsets(), back),
        applyPermutation(slice.getMixedSizes(), back),
        applyPermutation(slice.getMixedStrides(), back));
  }
}
