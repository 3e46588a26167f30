// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ClauseOperands.cpp - Operands of an attention's clauses ------------===//
//
// Numbers that the region has for a query, a key or all of them become tensors
// over the first leading dimension, as clauses have them.
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

/// Whether a capture changes along the first leading dimension.
bool ClauseOperands::hasFirst(Value capture) {
  return op.getLeadRank() > 0 &&
         op.getLeadAxis(cast<BlockArgument>(capture).getArgNumber(), 0);
}

/// Whether a capture changes along no other.
bool ClauseOperands::isOfSequences(Value capture) {
  ArrayRef<int64_t> shape = tensorType(operandOf(capture)).getShape();
  return llvm::all_of(shape.drop_front(hasFirst(capture)),
                      [](int64_t size) { return size == 1; });
}

/// Such a capture as one number for each index of the first leading dimension,
/// or for all.
Value ClauseOperands::ofSequences(Value capture) {
  Value operand = operandOf(capture);
  int64_t rank = tensorType(operand).getRank();
  SmallVector<ReassociationIndices> groups;
  if (hasFirst(capture))
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  if (rank == int64_t(groups.size()))
    return operand;
  return tensor::CollapseShapeOp::create(rewriter, loc, operand, groups);
}

/// Whether the number can be computed before the attention.
bool ClauseOperands::isComputable(const IndexSum &sum) {
  unsigned captures = 0;
  for (auto [number, times] : sum.numbers) {
    if (number == op.getPositionArgument())
      return false;
    if (op.getBody().isAncestor(number.getParentRegion()) &&
        (++captures > 1 ||
         !llvm::is_contained(op.getCaptureArguments(), number) ||
         !isOfSequences(number)))
      return false;
    if (std::abs(times) > 1)
      return false;
  }
  return true;
}

/// The size of the first leading dimension.
OpFoldResult ClauseOperands::findFirstSize() {
  unsigned operands = op.getBody().getNumArguments() - 2;
  for (unsigned operand = 0; operand < operands; ++operand)
    if (std::optional<int64_t> axis = op.getLeadAxis(operand, 0))
      return tensor::getMixedSize(rewriter, loc, op->getOperand(operand),
                                  *axis);
  return rewriter.getIndexAttr(1);
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
      tensor = ofSequences(number);
      timesTensor = times;
      continue;
    }
    base = plus(rewriter, base, number, times);
  }
  SmallVector<OpFoldResult> sizes;
  if (ofLengths && op.getLeadRank() != 0)
    sizes = {findFirstSize()};
  else if (tensor)
    sizes = tensor::getMixedSizes(rewriter, loc, tensor);
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

/// A number of each query or key as a tensor: for each index of the first
/// leading dimension, if there are any; null if it changes along others.
Value ClauseOperands::ofPositions(Value argument) {
  Value operand = operandOf(argument);
  ArrayRef<int64_t> shape = tensorType(operand).getShape();
  int64_t rank = shape.size();
  bool isFirst = hasFirst(argument);
  int64_t last = rank - 1;
  for (int64_t axis = isFirst ? 1 : 0; axis < last; ++axis)
    if (shape[axis] != 1)
      return {};
  // Axes of 1 go.
  SmallVector<ReassociationIndices> groups;
  if (isFirst) {
    groups.push_back({0});
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(1, rank)));
  } else {
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  }
  if (rank != int64_t(groups.size()))
    operand = tensor::CollapseShapeOp::create(rewriter, loc, operand, groups);
  if (isFirst || op.getLeadRank() == 0)
    return operand;
  SmallVector<OpFoldResult> sizes = {
      findFirstSize(), tensor::getMixedSize(rewriter, loc, operand, 0)};
  Value empty = tensor::EmptyOp::create(rewriter, loc, sizes,
                                        tensorType(operand).getElementType());
  return linalg::BroadcastOp::create(rewriter, loc, operand, empty,
                                     ArrayRef<int64_t>{0})
      ->getResult(0);
}
