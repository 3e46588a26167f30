// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Slices.cpp - One index of some dimensions of a tensor --------------===//
//
// Small builders that the lowerings of phase `tile` share.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/Slices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace gatefold;

bool gatefold::hasAlgorithm(Operation *op, StringRef algorithm) {
  auto chosen = op->getAttrOfType<StringAttr>(algorithmName);
  return chosen && chosen.getValue() == algorithm;
}

Value gatefold::getSize(OpBuilder &builder, Location loc, Value tensor,
                        int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim));
  return tensor::DimOp::create(builder, loc, tensor, dim);
}

Value gatefold::castTo(OpBuilder &builder, Location loc, Value tensor,
                       Type type) {
  if (tensor.getType() == type)
    return tensor;
  return tensor::CastOp::create(builder, loc, type, tensor);
}

namespace {
/// Offsets, sizes and strides of a slice, and its type without fixed
/// dimensions.
struct Slice {
  Slice(OpBuilder &builder, Location loc, Value tensor,
        ArrayRef<FixedIndex> fixed) {
    auto whole = cast<RankedTensorType>(tensor.getType());
    offsets.assign(whole.getRank(), builder.getIndexAttr(0));
    strides.assign(whole.getRank(), builder.getIndexAttr(1));
    sizes = tensor::getMixedSizes(builder, loc, tensor);
    isFixed.resize(whole.getRank());
    for (auto [dim, index] : fixed) {
      offsets[dim] = index;
      sizes[dim] = builder.getIndexAttr(1);
      isFixed[dim] = true;
    }
    SmallVector<int64_t> shape;
    for (int64_t dim = 0; dim < whole.getRank(); ++dim)
      if (!isFixed[dim])
        shape.push_back(whole.getDimSize(dim));
    type = RankedTensorType::get(shape, whole.getElementType());
  }

  /// Whether a dimension of size 1 that stays could be taken for a fixed one:
  /// upstream's patterns and views leave out the first of size 1, or tell by
  /// strides.
  bool isAmbiguous() const {
    bool hasUnit = false, isBehind = false;
    for (unsigned dim = 0; dim < sizes.size(); ++dim) {
      bool isUnit = getConstantIntValue(sizes[dim]) == 1;
      if (isFixed[dim] && isBehind)
        return true;
      hasUnit |= isUnit && !isFixed[dim];
      isBehind |= hasUnit && !isUnit;
    }
    return false;
  }

  /// Each dimension of the slice, with the fixed ones beside it.
  SmallVector<ReassociationIndices> groups() const {
    SmallVector<ReassociationIndices> groups(type.getRank());
    unsigned group = 0;
    bool isTaken = false;
    for (unsigned dim = 0; dim < sizes.size(); ++dim) {
      if (!isFixed[dim] && isTaken)
        ++group;
      isTaken |= !isFixed[dim];
      groups[group].push_back(dim);
    }
    return groups;
  }

  SmallVector<OpFoldResult> offsets, sizes, strides;
  llvm::SmallBitVector isFixed;
  RankedTensorType type;
};
} // namespace

Value gatefold::takeSlice(OpBuilder &builder, Location loc, Value tensor,
                          ArrayRef<FixedIndex> fixed) {
  Slice slice(builder, loc, tensor, fixed);
  // Upstream takes no offset into a dimension of size 0.
  if (llvm::is_contained(slice.type.getShape(), 0)) {
    SmallVector<Value> open;
    for (auto [dim, size] : llvm::enumerate(slice.sizes))
      if (!slice.isFixed[dim] && isa<Value>(size))
        open.push_back(cast<Value>(size));
    return tensor::EmptyOp::create(builder, loc, slice.type, open);
  }
  if (slice.isAmbiguous()) {
    Value part = tensor::ExtractSliceOp::create(
        builder, loc, tensor, slice.offsets, slice.sizes, slice.strides);
    return tensor::CollapseShapeOp::create(builder, loc, slice.type, part,
                                           slice.groups());
  }
  return tensor::ExtractSliceOp::create(builder, loc, slice.type, tensor,
                                        slice.offsets, slice.sizes,
                                        slice.strides);
}

Value gatefold::putSlice(OpBuilder &builder, Location loc, Value value,
                         Value tensor, ArrayRef<FixedIndex> fixed) {
  Slice slice(builder, loc, tensor, fixed);
  value = castTo(builder, loc, value, slice.type);
  if (slice.isAmbiguous())
    value = tensor::ExpandShapeOp::create(
        builder, loc,
        tensor::ExtractSliceOp::inferResultType(
            cast<RankedTensorType>(tensor.getType()), slice.sizes),
        value, slice.groups(), slice.sizes);
  return tensor::InsertSliceOp::create(
      builder, loc, value, tensor, slice.offsets, slice.sizes, slice.strides);
}
