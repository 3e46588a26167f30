// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportShape.cpp - Nodes that move elements by their shapes ---------===//

#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace gatefold::text;
using llvm::LogicalResult;
using llvm::success;
using mlir::ReassociationIndices;
namespace arith = mlir::arith;
namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;

namespace {
/// Neighbouring dimensions of two shapes that hold the same elements.
struct Group {
  ReassociationIndices from, to;
};
} // namespace

/// The finest groups whose products agree in the normal form; one group of all
/// where that does not show.
static llvm::SmallVector<Group> findGroups(llvm::ArrayRef<Size> from,
                                           llvm::ArrayRef<Size> to) {
  auto findAll = [&]() -> std::optional<llvm::SmallVector<Group>> {
    llvm::SmallVector<Group> groups;
    size_t i = 0, j = 0;
    while (i < from.size() && j < to.size()) {
      Group group{{int64_t(i)}, {int64_t(j)}};
      Size left = from[i++], right = to[j++];
      while (left != right) {
        std::optional<Size> product;
        if (i < from.size() && Size::divideExactly(right, left)) {
          group.from.push_back(i);
          product = Size::multiply(left, from[i++]);
          left = product.value_or(left);
        } else if (j < to.size() && Size::divideExactly(left, right)) {
          group.to.push_back(j);
          product = Size::multiply(right, to[j++]);
          right = product.value_or(right);
        }
        if (!product)
          return std::nullopt;
      }
      groups.push_back(std::move(group));
    }
    // What is left over are dimensions of size 1.
    for (; i < from.size(); ++i) {
      if (!from[i].isConstant(1) || groups.empty())
        return std::nullopt;
      groups.back().from.push_back(i);
    }
    for (; j < to.size(); ++j) {
      if (!to[j].isConstant(1) || groups.empty())
        return std::nullopt;
      groups.back().to.push_back(j);
    }
    return groups;
  };
  if (std::optional<llvm::SmallVector<Group>> groups = findAll())
    return *groups;
  Group all;
  llvm::append_range(all.from, llvm::seq<int64_t>(from.size()));
  llvm::append_range(all.to, llvm::seq<int64_t>(to.size()));
  return {all};
}

mlir::Value Importer::reshape(mlir::Value value, llvm::ArrayRef<Size> from,
                              llvm::ArrayRef<Size> to) {
  if (from == to)
    return value;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::OpFoldResult> sizes;
  for (const Size &size : to) {
    shape.push_back(staticSize(size));
    sizes.push_back(foldedSize(size));
  }
  mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
  auto type = mlir::RankedTensorType::get(shape, element);

  // To and from rank 0 there is nothing to group.
  if (to.empty())
    return tensor::CollapseShapeOp::create(
        b, type, value, llvm::ArrayRef<ReassociationIndices>());
  if (from.empty())
    return tensor::ExpandShapeOp::create(
        b, type, value, llvm::ArrayRef<ReassociationIndices>(), sizes);

  llvm::SmallVector<Group> groups = findGroups(from, to);
  llvm::SmallVector<ReassociationIndices> collapsed, expanded;
  for (const Group &group : groups) {
    collapsed.push_back(group.from);
    expanded.push_back(group.to);
  }
  if (groups.size() != from.size())
    value = tensor::CollapseShapeOp::create(b, value, collapsed);
  // A group is open where one of its dimensions is.
  llvm::SmallVector<int64_t> middleShape;
  for (const Group &group : groups) {
    int64_t size = 1;
    for (int64_t axis : group.to) {
      bool open = mlir::ShapedType::isDynamic(size) ||
                  mlir::ShapedType::isDynamic(shape[axis]);
      size = open ? mlir::ShapedType::kDynamic : size * shape[axis];
    }
    middleShape.push_back(size);
  }
  value = cast(value, mlir::RankedTensorType::get(middleShape, element));
  if (groups.size() != to.size())
    value = tensor::ExpandShapeOp::create(b, type, value, expanded, sizes);
  return value;
}

LogicalResult Importer::visit(const ReshapeNode &node) {
  llvm::ArrayRef<Size> from = node.operands[0].type().shape;
  llvm::ArrayRef<Size> to = node.results[0].shape;
  // The axis T stays where it is, in front.
  for (llvm::ArrayRef<Size> shape : {from, to})
    for (auto [axis, size] : llvm::enumerate(shape))
      if (axis != 0 && isQueryAxis(size))
        return refuseQueries(node, "a reshape that moves");
  define(node, reshape(get(node.operands[0]), keptShape(from), keptShape(to)));
  return success();
}

LogicalResult Importer::visit(const PermuteNode &node) {
  const TensorType &type = node.results[0];
  llvm::ArrayRef<Size> from = node.operands[0].type().shape;
  llvm::SmallVector<int64_t> permutation;
  for (unsigned axis : keptAxes(type.shape)) {
    std::optional<unsigned> dimension = axisOf(from, node.permutation[axis]);
    if (!dimension)
      return refuseQueries(node, "a transposition of");
    permutation.push_back(*dimension);
  }
  mlir::Value source = get(node.operands[0]);
  if (!llvm::is_sorted(permutation))
    source = linalg::TransposeOp::create(b, source, empty(type), permutation)
                 ->getResult(0);
  define(node, source);
  return success();
}

LogicalResult Importer::visit(const SliceNode &node) {
  const TensorType &type = node.results[0];
  llvm::ArrayRef<Size> from = node.operands[0].type().shape;
  llvm::SmallVector<mlir::OpFoldResult> starts, strides;
  for (auto [axis, size] : llvm::enumerate(from)) {
    bool whole = node.starts[axis].isConstant(0) && node.steps[axis] == 1 &&
                 type.shape[axis] == size;
    if (isQueryAxis(size)) {
      if (!whole)
        return refuseQueries(node, "a slice of");
      continue;
    }
    starts.push_back(foldedSize(node.starts[axis]));
    strides.push_back(b.getIndexAttr(node.steps[axis]));
  }
  define(node,
         tensor::ExtractSliceOp::create(b, typeOf(type), get(node.operands[0]),
                                        starts, foldedShape(type), strides));
  return success();
}

LogicalResult Importer::visit(const ConcatNode &node) {
  const TensorType &type = node.results[0];
  std::optional<unsigned> axis = axisOf(type.shape, node.axis);
  if (!axis)
    return refuseQueries(node, "a concatenation of");
  Values inputs;
  for (Value operand : node.operands) {
    // Their dimensions beside the axis agree, but for T, which may be 1 in
    // some.
    TensorType part = type;
    part.shape[node.axis] = operand.type().shape[node.axis];
    if (resolve(part.shape[node.axis]).isConstant(0))
      continue;
    inputs.push_back(broadcast(operand, part));
  }
  define(node, inputs.size() == 1 ? inputs.front()
                                  : mlir::Value(tensor::ConcatOp::create(
                                        b, typeOf(type), *axis, inputs)));
  return success();
}

mlir::Value Importer::padZero(mlir::Value source, unsigned dimension,
                              mlir::OpFoldResult left, mlir::OpFoldResult right,
                              mlir::RankedTensorType type) {
  llvm::SmallVector<mlir::OpFoldResult> low(type.getRank(), b.getIndexAttr(0));
  llvm::SmallVector<mlir::OpFoldResult> high = low;
  low[dimension] = left;
  high[dimension] = right;
  mlir::Value zero = number(type.getElementType(), 0);
  // Nothing to pad: upstream would insert it behind the end.
  auto sourceType = llvm::cast<mlir::RankedTensorType>(source.getType());
  if (sourceType.getDimSize(dimension) == 0) {
    llvm::SmallVector<mlir::OpFoldResult> sizes =
        tensor::getMixedSizes(b, b.getLoc(), source);
    sizes[dimension] = b.createOrFold<arith::AddIOp>(
        mlir::getValueOrCreateConstantIndexOp(b, b.getLoc(), left),
        mlir::getValueOrCreateConstantIndexOp(b, b.getLoc(), right));
    mlir::Value made = tensor::EmptyOp::create(b, sizes, type.getElementType());
    return cast(linalg::FillOp::create(b, zero, made).getResult(0), type);
  }
  return tensor::PadOp::create(b, type, source, low, high, zero);
}
