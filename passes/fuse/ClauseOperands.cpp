// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ClauseOperands.cpp - Operands of an attention's clauses ------------===//
//
// Numbers that the region has for a query, a key or all of them become tensors
// over the first leading dimensions, as clauses have them.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/ClauseOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value ClauseOperands::operandOf(Value capture) {
  return op->getOperand(cast<BlockArgument>(capture).getArgNumber());
}

/// An operand whose first `operandLead` dimensions align at the right with the
/// leading ones, as a tensor over the first of these that it changes along. The
/// rest, 1s and last its positions if it has any, becomes one dimension; at
/// least one leading dimension stands in front of it, if there are any.
Value ClauseOperands::alignFirst(Value operand, int64_t operandLead,
                                 bool hasPositions) {
  ArrayRef<int64_t> shape = tensorType(operand).getShape();
  int64_t rank = shape.size(), leadRank = op.getLeadRank();
  int64_t kept = operandLead;
  while (kept > 0 && shape[kept - 1] == 1)
    --kept;
  // Axes of 1 behind those that are kept go.
  SmallVector<ReassociationIndices> groups;
  for (int64_t axis = 0; axis < kept; ++axis)
    groups.push_back({axis});
  if (hasPositions)
    groups.emplace_back();
  if (!groups.empty())
    for (int64_t axis = kept; axis < rank; ++axis)
      groups.back().push_back(axis);
  if (rank != int64_t(groups.size()))
    operand = tensor::CollapseShapeOp::create(rewriter, loc, operand, groups);
  // One in front of them stretches.
  int64_t missing = kept > 0       ? leadRank - operandLead
                    : hasPositions ? std::min<int64_t>(leadRank, 1)
                                   : 0;
  if (missing == 0)
    return operand;
  RankedTensorType type = tensorType(operand);
  SmallVector<int64_t> wholeShape(missing, 1);
  llvm::append_range(wholeShape, type.getShape());
  SmallVector<OpFoldResult> sizes(missing, rewriter.getIndexAttr(1));
  llvm::append_range(sizes, tensor::getMixedSizes(rewriter, loc, operand));
  groups.assign(type.getRank(), {});
  for (int64_t axis = 0, e = wholeShape.size(); axis < e; ++axis)
    groups[std::max<int64_t>(axis - missing, 0)].push_back(axis);
  return tensor::ExpandShapeOp::create(
      rewriter, loc, RankedTensorType::get(wholeShape, type.getElementType()),
      operand, groups, sizes);
}

/// Whether the number can be computed before the attention.
bool ClauseOperands::isComputable(const IndexSum &sum) {
  unsigned captures = 0;
  for (auto [number, times] : sum.numbers) {
    if (number == op.getPositionArgument())
      return false;
    if (op.getBody().isAncestor(number.getParentRegion()) &&
        (++captures > 1 ||
         !llvm::is_contained(op.getCaptureArguments(), number)))
      return false;
    if (std::abs(times) > 1)
      return false;
  }
  return true;
}

/// The number as a tensor, of lengths between 0 and the number of keys.
Value ClauseOperands::compute(const IndexSum &sum, bool ofLengths) {
  Type i64 = rewriter.getI64Type();
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getI64IntegerAttr(number));
  };
  // A number that is given may be any. This far beyond all keys, sums with it
  // hide what it hides itself, and do not wrap.
  constexpr int64_t beyond = int64_t(1) << 61;
  Value low = constant(-beyond), high = constant(beyond);
  auto widen = [&](OpBuilder &builder, Value number) -> Value {
    if (number.getType().isIndex())
      return arith::IndexCastOp::create(builder, loc, i64, number);
    if (number.getType() != i64)
      return arith::ExtSIOp::create(builder, loc, i64, number);
    number = arith::MaxSIOp::create(builder, loc, number, low);
    return arith::MinSIOp::create(builder, loc, number, high);
  };
  auto plus = [&](OpBuilder &builder, Value to, Value number, int64_t times) {
    number = widen(builder, number);
    return times > 0
               ? arith::AddIOp::create(builder, loc, to, number).getResult()
               : arith::SubIOp::create(builder, loc, to, number).getResult();
  };
  Value base = constant(sum.constant), tensor;
  int64_t timesTensor = 0;
  for (auto [number, times] : sum.numbers) {
    if (op.getBody().isAncestor(number.getParentRegion())) {
      Value operand = operandOf(number);
      tensor = alignFirst(operand, tensorType(operand).getRank(), false);
      timesTensor = times;
      continue;
    }
    base = plus(rewriter, base, number, times);
  }
  SmallVector<OpFoldResult> sizes;
  if (tensor)
    sizes = tensor::getMixedSizes(rewriter, loc, tensor);
  // Lengths are one for each sequence at least; a 1 stretches.
  if (ofLengths && sizes.empty() && op.getLeadRank() != 0)
    sizes = {rewriter.getIndexAttr(1)};
  Value none = constant(0), most;
  if (ofLengths) {
    Value keys = op.getKeys().front();
    int64_t axis = tensorType(keys).getRank() -
                   tensorType(op.getKeyArguments().front()).getRank();
    most =
        widen(rewriter, rewriter.createOrFold<tensor::DimOp>(loc, keys, axis));
  }
  Value empty = tensor::EmptyOp::create(rewriter, loc, sizes, i64);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  AffineMap whole = rewriter.getMultiDimIdentityMap(sizes.size());
  if (tensor) {
    inputs.push_back(tensor);
    maps.push_back(tensorType(tensor).getRank() == 0
                       ? AffineMap::get(sizes.size(), 0, rewriter.getContext())
                       : whole);
  }
  maps.push_back(whole);
  return GenericOp::create(
             rewriter, loc, TypeRange(empty.getType()), inputs,
             ValueRange(empty), maps,
             SmallVector<utils::IteratorType>(sizes.size(),
                                              utils::IteratorType::parallel),
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value number = base;
               if (tensor)
                 number = plus(builder, number, values[0], timesTensor);
               if (ofLengths) {
                 number = arith::MaxSIOp::create(builder, loc, number, none);
                 number = arith::MinSIOp::create(builder, loc, number, most);
               }
               linalg::YieldOp::create(builder, loc, number);
             })
      .getResult(0);
}

/// A number of each query or key as a tensor.
Value ClauseOperands::ofPositions(Value argument) {
  Value operand = operandOf(argument);
  ArrayRef<int64_t> shape = tensorType(operand).getShape();
  int64_t operandLead = shape.size() - 1;
  // Of keys, [lead.., T, S].
  if (llvm::is_contained(op.getPairArguments(), argument) &&
      shape[--operandLead] != 1)
    return {};
  return alignFirst(operand, operandLead, /*hasPositions=*/true);
}
