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

int64_t gatefold::getOuterSize(AttentionOp op, int64_t axis) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  return axis <= int64_t(op.getLeadRank()) ? type.getDimSize(axis)
                                           : ShapedType::kDynamic;
}

bool RowOperand::hasAxis(int64_t axis) const {
  return llvm::any_of(axes, [&](const DimensionAxes &own) {
    return llvm::is_contained(own, axis);
  });
}

bool RowOperand::canAdd(AttentionOp op) const {
  return canSeparate(cast<RankedTensorType>(tensor.getType()), axes,
                     [&](int64_t axis) { return getOuterSize(op, axis); });
}

BlockArgument RowOperand::addTo(RewriterBase &rewriter, AttentionOp op) const {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<int64_t> wanted;
  for (int64_t axis = 0; axis < int64_t(leadRank) + isQuery(); ++axis)
    wanted.push_back(axis);
  unsigned seen = 0;
  for (const DimensionAxes &own : axes)
    for (int64_t axis : own)
      if (axis > int64_t(leadRank)) {
        wanted.push_back(axis);
        ++seen;
      }
  Value operand =
      arrangeAxes(rewriter, op.getLoc(), tensor, axes, wanted, leadRank,
                  [&](int64_t axis) { return getOuterSize(op, axis); });
  auto type = cast<RankedTensorType>(operand.getType());
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
