// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TensorAxes.cpp - Axes of a frame in a tensor's dimensions ----------===//
//
// Axes through transpositions and reshapings. All of these keep elements and
// their values as they are.
//
//===----------------------------------------------------------------------===//

#include "passes/support/TensorAxes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

std::optional<int64_t> gatefold::findWideDim(ArrayRef<int64_t> group,
                                             ArrayRef<int64_t> shape) {
  int64_t found = -1;
  for (int64_t dim : group) {
    if (shape[dim] == 1)
      continue;
    if (found >= 0)
      return std::nullopt;
    found = dim;
  }
  return found;
}

bool gatefold::isViewOfAxes(Operation *op) {
  return isa<linalg::TransposeOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp>(op);
}

/// The axes of each group of dimensions as one.
static TensorAxes joinGroups(const TensorAxes &axes,
                             ArrayRef<ReassociationIndices> groups) {
  TensorAxes joined;
  for (const ReassociationIndices &group : groups) {
    joined.emplace_back();
    for (int64_t dim : group)
      llvm::append_range(joined.back(), axes[dim]);
  }
  return joined;
}

/// Shares the axes of a dimension out to those that it becomes.
static bool splitDimension(ArrayRef<int64_t> axes, ArrayRef<int64_t> sizes,
                           AxisSize sizeOf, TensorAxes &split) {
  // Of two open sizes the product is known alone.
  if (llvm::count_if(axes, [&](int64_t axis) {
        return ShapedType::isDynamic(sizeOf(axis));
      }) > 1)
    return false;
  auto next = axes.begin();
  for (int64_t size : sizes) {
    DimensionAxes &own = split.emplace_back();
    if (ShapedType::isDynamic(size)) {
      if (next == axes.end() || ShapedType::isStatic(sizeOf(*next)))
        return false;
      own.push_back(*next++);
      continue;
    }
    for (int64_t product = 1; product != size; product *= sizeOf(own.back())) {
      if (product > size || next == axes.end() ||
          ShapedType::isDynamic(sizeOf(*next)))
        return false;
      own.push_back(*next++);
    }
  }
  return next == axes.end();
}

static std::optional<TensorAxes>
splitGroups(const TensorAxes &axes, ArrayRef<ReassociationIndices> groups,
            ArrayRef<int64_t> shape, AxisSize sizeOf) {
  TensorAxes split;
  for (auto [own, group] : llvm::zip(axes, groups)) {
    ArrayRef<int64_t> sizes =
        shape.slice(split.size(), llvm::range_size(group));
    if (!splitDimension(own, sizes, sizeOf, split))
      return std::nullopt;
  }
  // Of no dimensions come dimensions of 1.
  split.resize(shape.size());
  return split;
}

std::optional<TensorAxes> gatefold::followView(Operation *view,
                                               const TensorAxes &source,
                                               AxisSize sizeOf) {
  return TypeSwitch<Operation *, std::optional<TensorAxes>>(view)
      .Case([&](linalg::TransposeOp op) {
        return applyPermutation(ArrayRef(source), op.getPermutation());
      })
      .Case([&](tensor::CollapseShapeOp op) {
        return joinGroups(source, op.getReassociationIndices());
      })
      .Case([&](tensor::ExpandShapeOp op) {
        return splitGroups(source, op.getReassociationIndices(),
                           op.getResultType().getShape(), sizeOf);
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<TensorAxes> gatefold::lookBehindView(Operation *view,
                                                   const TensorAxes &result,
                                                   AxisSize sizeOf) {
  return TypeSwitch<Operation *, std::optional<TensorAxes>>(view)
      .Case([&](linalg::TransposeOp op) {
        return applyPermutation(ArrayRef(result),
                                invertPermutationVector(op.getPermutation()));
      })
      .Case([&](tensor::CollapseShapeOp op) {
        return splitGroups(result, op.getReassociationIndices(),
                           op.getSrcType().getShape(), sizeOf);
      })
      .Case([&](tensor::ExpandShapeOp op) {
        return joinGroups(result, op.getReassociationIndices());
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The sizes of merged axes, of which one follows from the whole.
static std::optional<SmallVector<int64_t>>
separateSizes(int64_t whole, ArrayRef<int64_t> axes, AxisSize sizeOf) {
  SmallVector<int64_t> sizes = llvm::map_to_vector(axes, sizeOf);
  if (axes.size() < 2)
    return SmallVector<int64_t>(axes.size(), whole);
  int64_t rest = whole;
  int64_t *open = nullptr;
  for (int64_t &size : sizes) {
    if (ShapedType::isStatic(size) && size > 0 && rest % size == 0)
      rest /= size;
    else if (ShapedType::isStatic(size) || open)
      return std::nullopt;
    else
      open = &size;
  }
  if (ShapedType::isDynamic(whole) || (!open && rest != 1))
    return std::nullopt;
  if (open)
    *open = rest;
  return sizes;
}

bool gatefold::canSeparate(RankedTensorType type, const TensorAxes &axes,
                           AxisSize sizeOf) {
  return llvm::all_of(llvm::zip(type.getShape(), axes), [&](auto dimension) {
    auto [size, own] = dimension;
    return separateSizes(size, own, sizeOf).has_value();
  });
}

/// A dimension for each axis, and those of 1.
static Value separate(RewriterBase &rewriter, Location loc, Value tensor,
                      TensorAxes &axes, AxisSize sizeOf) {
  RankedTensorType type = tensorType(tensor);
  SmallVector<OpFoldResult> whole =
      tensor::getMixedSizes(rewriter, loc, tensor);
  SmallVector<OpFoldResult> sizes;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  TensorAxes apart;
  for (auto [dim, own] : llvm::enumerate(axes)) {
    ReassociationIndices &group = groups.emplace_back();
    auto known = *separateSizes(type.getDimSize(dim), own, sizeOf);
    bool isMerged = own.size() > 1;
    for (unsigned part = 0; part < std::max<size_t>(own.size(), 1); ++part) {
      group.push_back(shape.size());
      shape.push_back(isMerged ? known[part] : type.getDimSize(dim));
      sizes.push_back(isMerged ? rewriter.getIndexAttr(known[part])
                               : whole[dim]);
      apart.push_back(own.empty() ? own : DimensionAxes{own[part]});
    }
  }
  if (apart.size() == axes.size())
    return tensor;
  axes = apart;
  return tensor::ExpandShapeOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
      tensor, groups, sizes);
}

static Value transpose(RewriterBase &rewriter, Location loc, Value tensor,
                       ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return tensor;
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, tensor);
  applyPermutationToVector(sizes, permutation);
  Value empty = tensor::EmptyOp::create(rewriter, loc, sizes,
                                        tensorType(tensor).getElementType());
  return linalg::TransposeOp::create(rewriter, loc, tensor, empty, permutation)
      ->getResult(0);
}

static Value takeUnitsAway(RewriterBase &rewriter, Location loc, Value tensor,
                           const TensorAxes &axes) {
  RankedTensorType type = tensorType(tensor);
  SmallVector<int64_t> shape;
  for (auto [size, own] : llvm::zip(type.getShape(), axes))
    if (!own.empty())
      shape.push_back(size);
  if (int64_t(shape.size()) == type.getRank())
    return tensor;
  return tensor::createCanonicalRankReducingExtractSliceOp(
      rewriter, loc, tensor,
      RankedTensorType::get(shape, type.getElementType()));
}

/// `isUnit`: of each dimension of the result, whether it is one of 1 that the
/// tensor lacks.
static Value addUnits(RewriterBase &rewriter, Location loc, Value tensor,
                      ArrayRef<bool> isUnit) {
  RankedTensorType type = tensorType(tensor);
  if (int64_t(isUnit.size()) == type.getRank())
    return tensor;
  SmallVector<OpFoldResult> from = tensor::getMixedSizes(rewriter, loc, tensor);
  SmallVector<OpFoldResult> sizes;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups(type.getRank());
  int64_t next = 0;
  for (bool unit : isUnit) {
    // Those in front of the first dimension belong to it.
    if (type.getRank() != 0)
      groups[std::max<int64_t>(0, unit ? next - 1 : next)].push_back(
          shape.size());
    shape.push_back(unit ? 1 : type.getDimSize(next));
    sizes.push_back(unit ? rewriter.getIndexAttr(1) : from[next]);
    next += !unit;
  }
  return tensor::ExpandShapeOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
      tensor, groups, sizes);
}

Value gatefold::arrangeAxes(RewriterBase &rewriter, Location loc, Value tensor,
                            TensorAxes axes, ArrayRef<int64_t> wanted,
                            unsigned leads, AxisSize sizeOf) {
  // A transposition may be the one that undoes this.
  while (auto turned = tensor.getDefiningOp<linalg::TransposeOp>()) {
    axes = *lookBehindView(turned, axes, sizeOf);
    tensor = turned.getInput();
  }
  tensor = separate(rewriter, loc, tensor, axes, sizeOf);
  bool isArranged = axes.size() + leads >= wanted.size() &&
                    axes.size() <= wanted.size() &&
                    llvm::all_of_zip(axes, wanted.take_back(axes.size()),
                                     [](ArrayRef<int64_t> own, int64_t axis) {
                                       return own.empty() || own[0] == axis;
                                     });
  if (isArranged)
    return tensor;

  // Axes of one element are put where they belong.
  tensor = takeUnitsAway(rewriter, loc, tensor, axes);
  SmallVector<int64_t> own;
  for (const DimensionAxes &dimension : axes)
    llvm::append_range(own, dimension);
  SmallVector<int64_t> permutation;
  SmallVector<bool> isUnit;
  for (auto [place, axis] : llvm::enumerate(wanted)) {
    auto *found = llvm::find(own, axis);
    bool isThere = found != own.end();
    if (isThere)
      permutation.push_back(found - own.begin());
    if (isThere || place >= leads || !permutation.empty())
      isUnit.push_back(!isThere);
  }
  tensor = transpose(rewriter, loc, tensor, permutation);
  return addUnits(rewriter, loc, tensor, isUnit);
}

Value gatefold::mergeAxes(RewriterBase &rewriter, Location loc, Value tensor,
                          ArrayRef<int64_t> given, const TensorAxes &axes,
                          RankedTensorType type) {
  SmallVector<int64_t> flat;
  for (const DimensionAxes &own : axes)
    llvm::append_range(flat, own);
  TensorAxes separate;
  SmallVector<int64_t> there;
  for (int64_t axis : given) {
    bool isThere = llvm::is_contained(flat, axis);
    separate.push_back(isThere ? DimensionAxes{axis} : DimensionAxes{});
    if (isThere)
      there.push_back(axis);
  }
  if (separate == axes)
    return tensor;
  tensor = takeUnitsAway(rewriter, loc, tensor, separate);
  tensor = transpose(rewriter, loc, tensor,
                     llvm::map_to_vector(flat, [&](int64_t axis) -> int64_t {
                       return llvm::find(there, axis) - there.begin();
                     }));
  SmallVector<ReassociationIndices> groups;
  SmallVector<bool> isUnit;
  int64_t next = 0;
  for (const DimensionAxes &own : axes) {
    isUnit.push_back(own.empty());
    if (own.empty())
      continue;
    ReassociationIndices &group = groups.emplace_back();
    for (unsigned part = 0; part < own.size(); ++part)
      group.push_back(next++);
  }
  if (groups.size() != flat.size()) {
    SmallVector<int64_t> shape;
    for (auto [size, own] : llvm::zip(type.getShape(), axes))
      if (!own.empty())
        shape.push_back(size);
    tensor = tensor::CollapseShapeOp::create(
        rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
        tensor, groups);
  }
  return addUnits(rewriter, loc, tensor, isUnit);
}
