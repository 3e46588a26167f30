// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KeyColumns.cpp - Columns of keys as an operand ---------------------===//
//
// A slice that has all keys is taken of the whole tensor instead, as a view.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/KeyColumns.h"
#include "dialect/GatefoldDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/simplify/Extension.h"
#include "passes/tile/TileAttentionRegisters.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// Where a size comes from: an index, the dimension of a tensor, or what the
/// entry calls it.
struct SizeOrigin {
  Value value;
  int64_t dim = 0;
  AffineExpr name;

  bool operator==(const SizeOrigin &other) const {
    return value == other.value && dim == other.dim && name == other.name;
  }
};
} // namespace

/// Of a dimension of an entry's argument: sizes of the same name are equal.
static SizeOrigin originOfArgument(Value tensor, int64_t dim) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : nullptr;
  auto shape = function && argument.getOwner()->isEntryBlock()
                   ? function.getArgAttrOfType<AffineMapAttr>(
                         argument.getArgNumber(), attribute_names::shape)
                   : AffineMapAttr();
  if (shape && dim < int64_t(shape.getValue().getNumResults()))
    return {Value(), 0, shape.getValue().getResult(dim)};
  return {tensor, dim, {}};
}

static SizeOrigin originOf(Value tensor, int64_t dim);

static SizeOrigin originOf(Value index) {
  auto of = index.getDefiningOp<tensor::DimOp>();
  if (!of || !of.getConstantIndex())
    return {index, 0, {}};
  return originOf(of.getSource(), *of.getConstantIndex());
}

/// Through transpositions, axes that are put apart, and results of elementwise
/// operations.
static SizeOrigin originOf(Value tensor, int64_t dim) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
      dim = transpose.getPermutation()[dim];
      tensor = transpose.getInput();
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
               expand && expand.getResultType().isDynamicDim(dim)) {
      return originOf(cast<Value>(expand.getMixedOutputShape()[dim]));
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      tensor = generic.getTiedOpOperand(cast<OpResult>(tensor))->get();
    } else if (auto empty = dyn_cast<tensor::EmptyOp>(op);
               empty && empty.getType().isDynamicDim(dim)) {
      return originOf(empty.getDynamicSize(dim));
    } else {
      break;
    }
  }
  return originOfArgument(tensor, dim);
}

/// Whether the slice has all keys of an operand, and the same part of each.
static bool hasAllKeys(AttentionOp op, tensor::ExtractSliceOp slice,
                       Value operand) {
  RankedTensorType type = slice.getSourceType();
  if (slice.getType().getRank() != type.getRank() ||
      getConstantIntValue(slice.getMixedOffsets()[0]) != 0 ||
      getConstantIntValue(slice.getMixedStrides()[0]) != 1 ||
      llvm::any_of(slice->getOperands().drop_front(), [&](Value place) {
        return op.getBody().isAncestor(place.getParentRegion());
      }))
    return false;
  OpFoldResult size = slice.getMixedSizes()[0];
  if (std::optional<int64_t> fixed = getConstantIntValue(size))
    return *fixed == type.getDimSize(0);
  int64_t lead =
      cast<RankedTensorType>(operand.getType()).getRank() - type.getRank();
  return originOf(cast<Value>(size)) == originOf(operand, lead);
}

bool gatefold::takeKeyColumns(AttentionOp op, tensor::ExtractSliceOp slice,
                              RewriterBase &rewriter) {
  auto source = dyn_cast<BlockArgument>(slice.getSource());
  if (!source || !llvm::is_contained(op.getKeyArguments(), source))
    return false;
  Value operand = op->getOperand(source.getArgNumber());
  if (!hasAllKeys(op, slice, operand))
    return false;
  rewriter.setInsertionPoint(op);
  Location loc = slice.getLoc();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, operand);
  int64_t lead = sizes.size() - slice.getSourceType().getRank();
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  for (int64_t dim = 1; dim < slice.getSourceType().getRank(); ++dim) {
    offsets[lead + dim] = slice.getMixedOffsets()[dim];
    sizes[lead + dim] = slice.getMixedSizes()[dim];
    strides[lead + dim] = slice.getMixedStrides()[dim];
  }
  // Of 16 bits, so that these are what an extension in front is made of.
  Value narrow = getExtended(operand);
  Value columns = tensor::ExtractSliceOp::create(
      rewriter, loc, narrow ? narrow : operand, offsets, sizes, strides);
  if (narrow)
    columns = convertElement(rewriter, loc, columns,
                             getElementTypeOrSelf(operand.getType()));
  unsigned number = op.getQueries().size() + op.getKeys().size();
  rewriter.modifyOpInPlace(op, [&] {
    op.getKeysMutable().append(columns);
    op.getBody().insertArgument(number, slice.getType(), loc);
  });
  rewriter.replaceOp(slice, op.getBody().getArgument(number));
  return true;
}
