// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RowOperands.cpp - Whole tensors as operands of rows ----------------===//
//
// Dimensions of a tensor in the order that an attention expects.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/RowOperands.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gatefold;

bool RowOperand::isOrdered() const {
  int64_t last = unit;
  bool isInner = false;
  for (int64_t place : places) {
    if (place == unit)
      continue;
    bool isOuter = place <= int64_t(leadRank);
    if (isOuter && (isInner || place <= last))
      return false;
    isInner |= !isOuter;
    last = place;
  }
  return true;
}

bool RowOperand::isQuery() const {
  return llvm::is_contained(places, int64_t(leadRank));
}

/// Dimensions, without those of 1, that the region does not see.
unsigned RowOperand::countOuter() const {
  return llvm::count_if(places, [&](int64_t place) {
    return place != unit && place <= int64_t(leadRank);
  });
}

/// Without dimensions of 1, but for those that leading dimensions behind the
/// first one need.
Value RowOperand::arrange(RewriterBase &rewriter, Location loc) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = type.getElementType();
  Value value = tensor;
  SmallVector<int64_t> shape, kept;
  for (auto [size, place] : llvm::zip(type.getShape(), places))
    if (place != unit) {
      shape.push_back(size);
      kept.push_back(place);
    }
  if (kept.size() != places.size())
    value = tensor::createCanonicalRankReducingExtractSliceOp(
        rewriter, loc, value, RankedTensorType::get(shape, element));

  unsigned outer = countOuter();
  if (outer == 0)
    return value;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, value);
  SmallVector<OpFoldResult> allSizes;
  SmallVector<int64_t> allShape;
  SmallVector<ReassociationIndices> groups;
  int64_t end = leadRank + (isQuery() ? 1 : 0);
  auto addUnits = [&](int64_t first, int64_t last) {
    for (int64_t place = first; place < last; ++place) {
      groups.back().push_back(allShape.size());
      allShape.push_back(1);
      allSizes.push_back(rewriter.getIndexAttr(1));
    }
  };
  for (unsigned dim = 0; dim < kept.size(); ++dim) {
    if (dim > 0 && dim < outer)
      addUnits(kept[dim - 1] + 1, kept[dim]);
    else if (dim == outer)
      addUnits(kept[dim - 1] + 1, end);
    groups.push_back({int64_t(allShape.size())});
    allShape.push_back(shape[dim]);
    allSizes.push_back(sizes[dim]);
  }
  if (kept.size() == outer)
    addUnits(kept.back() + 1, end);
  if (allShape.size() == shape.size())
    return value;
  return tensor::ExpandShapeOp::create(rewriter, loc,
                                       RankedTensorType::get(allShape, element),
                                       value, groups, allSizes);
}

BlockArgument RowOperand::addTo(RewriterBase &rewriter, AttentionOp op) const {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Value operand = arrange(rewriter, op.getLoc());
  auto type = cast<RankedTensorType>(operand.getType());
  unsigned seen = llvm::count_if(
      places, [&](int64_t place) { return place > int64_t(leadRank); });
  auto rowType = RankedTensorType::get(type.getShape().take_back(seen),
                                       type.getElementType());
  unsigned number = op.getQueries().size();
  BlockArgument argument;
  rewriter.modifyOpInPlace(op, [&] {
    if (isQuery()) {
      op.getQueriesMutable().append(operand);
    } else {
      number +=
          op.getKeys().size() + op.getPairs().size() + op.getCaptures().size();
      op.getCapturesMutable().append(operand);
    }
    argument = op.getBody().insertArgument(number, rowType, op.getLoc());
  });
  return argument;
}
