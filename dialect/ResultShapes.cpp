// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ResultShapes.cpp - Sizes of results in terms of operands -----------===//
//
// ReifyRankedShapedTypeOpInterface of the region operations, so that a
// tensor.dim of a result becomes one of an operand. An open size that only the
// region knows is not given.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gatefold;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// All sizes, each by `reifyDimOfResult`; a null entry is one it cannot give.
template <typename OpTy>
static LogicalResult reifyAll(OpTy op, OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  for (OpResult result : op->getResults()) {
    SmallVector<OpFoldResult> &shape = shapes.emplace_back();
    for (int64_t i = 0, e = tensorType(result).getRank(); i < e; ++i) {
      FailureOr<OpFoldResult> size =
          op.reifyDimOfResult(builder, result.getResultNumber(), i);
      shape.push_back(succeeded(size) ? *size : OpFoldResult());
    }
  }
  return success();
}

LogicalResult
RecurrenceOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  return reifyAll(*this, builder, shapes);
}

FailureOr<OpFoldResult>
RecurrenceOp::reifyDimOfResult(OpBuilder &builder, int resultIndex, int dim) {
  RankedTensorType type = tensorType(getResult(resultIndex));
  if (!type.isDynamicDim(dim))
    return OpFoldResult(builder.getIndexAttr(type.getDimSize(dim)));
  int64_t timeAxis = getTimeAxisAttr().getInt();
  if (static_cast<unsigned>(resultIndex) >= getNumOutputs())
    return tensor::getMixedSize(
        builder, getLoc(), getInitials()[resultIndex - getNumOutputs()], dim);
  if (dim <= timeAxis && !getSequences().empty())
    return tensor::getMixedSize(builder, getLoc(), getSequences().front(), dim);
  if (dim == timeAxis)
    return OpFoldResult(getSteps());
  if (dim < timeAxis && !getInitials().empty())
    return tensor::getMixedSize(builder, getLoc(), getInitials().front(), dim);
  return failure();
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  return reifyAll(*this, builder, shapes);
}

FailureOr<OpFoldResult>
AttentionOp::reifyDimOfResult(OpBuilder &builder, int resultIndex, int dim) {
  RankedTensorType type = tensorType(getResult(resultIndex));
  if (!type.isDynamicDim(dim))
    return OpFoldResult(builder.getIndexAttr(type.getDimSize(dim)));
  int64_t leadRank = getLeadRank();
  if (dim == leadRank) {
    Value query = getQueries().front();
    int64_t rest = tensorType(getQueryArguments().front()).getRank();
    return tensor::getMixedSize(builder, getLoc(), query,
                                tensorType(query).getRank() - 1 - rest);
  }
  if (dim > leadRank)
    return failure();

  // Some operand carries the leading dimension, unless all stretch along it.
  for (unsigned i = 0, e = getBody().getNumArguments() - 2; i < e; ++i)
    if (std::optional<int64_t> axis = getLeadAxis(i, dim))
      return tensor::getMixedSize(builder, getLoc(), getOperand(i), *axis);
  return failure();
}
