// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeResolver.cpp - A size in terms of other values -----------------===//
//
// Follows sizes to their origin and clones their computation.
//
//===----------------------------------------------------------------------===//

#include "passes/support/SizeResolver.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/support/CheckedSizes.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;

/// Bounds the recursion.
static constexpr unsigned deepest = 2000;

void SizeResolver::check(Operation *copy) {
  if (!checked || !isa<arith::MulIOp, arith::AddIOp>(copy) ||
      !copy->getResult(0).getType().isIndex())
    return;
  auto operand = [&](unsigned i) -> Value {
    return arith::IndexCastOp::create(
        builder, copy->getLoc(), builder.getI64Type(), copy->getOperand(i));
  };
  if (isa<arith::MulIOp>(copy))
    checked->multiply(operand(0), operand(1));
  else
    checked->add(operand(0), operand(1));
}

Value SizeResolver::mixed(OpFoldResult size, Location loc) {
  if (auto attribute = dyn_cast<Attribute>(size))
    return arith::ConstantIndexOp::create(
        builder, loc, cast<IntegerAttr>(attribute).getInt());
  return index(cast<Value>(size));
}

Value SizeResolver::size(Value shaped, int64_t dim) {
  auto type = dyn_cast<ShapedType>(shaped.getType());
  bool isRanked = type && type.hasRank();
  // A dim operation of a dimension that is not there is valid, and undefined.
  if (isRanked && (dim < 0 || dim >= type.getRank()))
    return {};
  if (isRanked && !type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(builder, shaped.getLoc(),
                                          type.getDimSize(dim));
  auto key = std::make_pair(shaped, dim);
  if (Value known = sizes.lookup(key))
    return known;
  if (depth == deepest)
    return {};
  ++depth;
  Value result = resolveSize(shaped, dim);
  --depth;
  if (result)
    sizes[key] = result;
  else if (!culprit)
    culprit = shaped;
  return result;
}

Value SizeResolver::index(Value value) {
  if (Value known = indices.lookup(value))
    return known;
  if (depth == deepest)
    return {};
  ++depth;
  Value result = resolveIndex(value);
  --depth;
  if (result)
    indices[value] = result;
  else if (!culprit)
    culprit = value;
  return result;
}

/// Number of the dynamic dimension `dim` among the dynamic ones.
static unsigned dynamicIndex(Value shaped, int64_t dim) {
  return cast<ShapedType>(shaped.getType()).getDynamicDimIndex(dim);
}

/// The size of dimension `dim` of a slice, counted without dropped dimensions.
template <typename SliceOp>
static OpFoldResult sliceSize(SliceOp op, int64_t dim) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  for (auto [position, size] : llvm::enumerate(sizes)) {
    if (dropped.test(position))
      continue;
    if (dim-- == 0)
      return size;
  }
  llvm_unreachable("a slice has as many sizes as its type, dropped ones aside");
}

Value SizeResolver::resolveSize(Value shaped, int64_t dim) {
  if (Value leaf = sizeLeaf(shaped, dim))
    return leaf;
  Location loc = shaped.getLoc();
  if (auto argument = dyn_cast<BlockArgument>(shaped)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      if (OpOperand *init = loop.getTiedLoopInit(argument))
        return size(init->get(), dim);
    return {};
  }
  auto result = cast<OpResult>(shaped);
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();

  // A collapsed dimension is the product of those that it comes from.
  auto product = [&](Value source, const ReassociationIndices &group) -> Value {
    Value total;
    for (int64_t sourceDim : group) {
      Value factor = size(source, sourceDim);
      if (!factor)
        return {};
      if (total) {
        auto multiply = arith::MulIOp::create(builder, loc, total, factor);
        check(multiply);
        total = multiply;
      } else {
        total = factor;
      }
    }
    return total;
  };

  return TypeSwitch<Operation *, Value>(op)
      .Case<scf::ForOp>(
          [&](auto loop) { return size(loop.getInitArgs()[number], dim); })
      .Case<scf::IfOp>([&](auto choice) -> Value {
        Value first = size(choice.thenYield().getOperand(number), dim);
        Value second = size(choice.elseYield().getOperand(number), dim);
        if (!first || !second || first == second)
          return first ? second : first;
        // Sizes of two arguments, say, which a run has found to be one.
        return bounds ? arith::MaxSIOp::create(builder, loc, first, second)
                            .getResult()
                      : Value();
      })
      .Case<tensor::EmptyOp, memref::AllocOp>([&](auto source) {
        return boundIndex(source->getOperand(dynamicIndex(shaped, dim)));
      })
      .Case<tensor::GenerateOp>([&](auto source) {
        return index(source.getDynamicExtents()[dynamicIndex(shaped, dim)]);
      })
      .Case<bufferization::AllocTensorOp>([&](auto source) {
        return source.getCopy()
                   ? size(source.getCopy(), dim)
                   : index(source.getDynamicSizes()[dynamicIndex(shaped, dim)]);
      })
      .Case<tensor::ExtractSliceOp, memref::SubViewOp>(
          [&](auto slice) { return mixed(sliceSize(slice, dim), loc); })
      .Case<tensor::ExpandShapeOp, memref::ExpandShapeOp>([&](auto view) {
        return mixed(view.getMixedOutputShape()[dim], loc);
      })
      .Case<tensor::CollapseShapeOp, memref::CollapseShapeOp>([&](auto view) {
        return product(view.getSrc(), view.getReassociationIndices()[dim]);
      })
      .Case<memref::ReinterpretCastOp>(
          [&](auto view) { return mixed(view.getMixedSizes()[dim], loc); })
      .Case<memref::ViewOp>([&](auto view) {
        return index(view.getSizes()[dynamicIndex(shaped, dim)]);
      })
      .Case<tensor::CastOp, memref::CastOp, bufferization::ToTensorOp,
            bufferization::ToBufferOp>(
          [&](auto cast) { return size(cast->getOperand(0), dim); })
      .Case<memref::TransposeOp>([&](auto view) {
        return size(view.getIn(), view.getPermutation().getDimPosition(dim));
      })
      .Case<bufferization::MaterializeInDestinationOp>(
          [&](auto copy) { return size(copy.getSource(), dim); })
      .Case<RowScoresOp>([&](auto row) { return size(row.getKeys(), 0); })
      .Case<RowSoftmaxOp, RowNeighboursOp, RowTopKOp>(
          [&](auto row) { return size(row.getScores(), 0); })
      .Case<RowValuesOp>([&](auto row) { return size(row.getValues(), 1); })
      .Case<RowVisibleOp>([&](auto row) -> Value {
        auto attention = row->template getParentOfType<AttentionOp>();
        return size(attention.getKeyArguments().front(), 0);
      })
      .Case<DestinationStyleOpInterface>([&](auto destination) {
        return size(destination.getTiedOpOperand(result)->get(), dim);
      })
      .Default([&](Operation *) -> Value {
        // Elementwise on tensors (arith.select may have a scalar first).
        if (OpTrait::hasElementwiseMappableTraits(op)) {
          for (Value operand : op->getOperands())
            if (operand.getType() == shaped.getType() ||
                isa<RankedTensorType>(operand.getType()))
              return size(operand, dim);
          return {};
        }
        if (!isa<ReifyRankedShapedTypeOpInterface>(op))
          return {};
        // Reified where the operation stands; the copy is made from that and
        // what stands there is dead afterwards.
        OpBuilder local(op);
        ReifiedRankedShapedTypeDims shapes;
        if (failed(reifyResultShapes(local, op, shapes)))
          return {};
        return mixed(shapes[number][dim], loc);
      });
}

/// Whether an index is seen to be 0 or more. `levels`: how far it is followed.
static bool isNonNegative(Value value, unsigned levels = 8) {
  llvm::APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.isNonNegative();
  if (levels == 0)
    return false;
  auto isSeen = [&](Value operand) {
    return isNonNegative(operand, levels - 1);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && value == loop.getInductionVar() &&
           isSeen(loop.getLowerBound());
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::MaxSIOp>(op))
    return llvm::any_of(op->getOperands(), isSeen);
  // What sizes are computed with stays far from overflow.
  if (isa<arith::MinSIOp, arith::AddIOp, arith::MulIOp, arith::DivSIOp,
          arith::DivUIOp>(op))
    return llvm::all_of(op->getOperands(), isSeen);
  return isa<tensor::DimOp, memref::DimOp>(op);
}

/// The value of an index that is a size, or a bound of it, through operations
/// that grow with it.
Value SizeResolver::boundIndex(Value value) {
  Value exact = index(value);
  Operation *op = value.getDefiningOp();
  if (exact || !bounds || !op || depth == deepest)
    return exact;
  if (auto known = indexBounds.find(value); known != indexBounds.end())
    return known->second;
  ++depth;
  IRMapping mapping;
  Value bound;
  if (isa<arith::MinSIOp, arith::MinUIOp>(op)) {
    // Both bound it; one may be far larger than the other.
    Value left = boundIndex(op->getOperand(0));
    Value right = boundIndex(op->getOperand(1));
    mapping.map(op->getOperand(0), left);
    mapping.map(op->getOperand(1), right);
    bound = left && right ? builder.clone(*op, mapping)->getResult(0)
            : left        ? left
                          : right;
  } else if (isa<arith::SubIOp>(op) && isNonNegative(op->getOperand(1))) {
    bound = boundIndex(op->getOperand(0));
  } else if (isa<arith::AddIOp, arith::MulIOp, arith::MaxSIOp, arith::MaxUIOp,
                 arith::DivUIOp, arith::DivSIOp, arith::CeilDivUIOp,
                 arith::CeilDivSIOp>(op)) {
    bool divides =
        !isa<arith::AddIOp, arith::MulIOp, arith::MaxSIOp, arith::MaxUIOp>(op);
    Value left = boundIndex(op->getOperand(0));
    Value right = op->getOperand(1);
    right = !divides || matchPattern(right, m_Constant()) ? boundIndex(right)
                                                          : Value();
    if (left && right) {
      mapping.map(op->getOperand(0), left);
      mapping.map(op->getOperand(1), right);
      Operation *copy = builder.clone(*op, mapping);
      check(copy);
      bound = copy->getResult(0);
    }
  }
  --depth;
  return indexBounds[value] = bound;
}

/// Whether `op` divides by what is never 0: a maximum with a positive number,
/// or an open size in whose place such a number stands where it is 0.
static bool isSafeDivision(Operation *op) {
  auto division = dyn_cast<arith::DivSIOp>(op);
  Operation *divisor = division ? division.getRhs().getDefiningOp() : nullptr;
  llvm::APInt least;
  auto isPositive = [&](Value value) {
    return matchPattern(value, m_ConstantInt(&least)) &&
           least.isStrictlyPositive();
  };
  if (auto maximum = dyn_cast_or_null<arith::MaxSIOp>(divisor))
    return isPositive(maximum.getRhs());
  auto choice = dyn_cast_or_null<arith::SelectOp>(divisor);
  auto comparison =
      choice ? choice.getCondition().getDefiningOp<arith::CmpIOp>() : nullptr;
  return comparison && comparison.getPredicate() == arith::CmpIPredicate::eq &&
         comparison.getLhs() == choice.getFalseValue() &&
         matchPattern(comparison.getRhs(), m_Zero()) &&
         isPositive(choice.getTrueValue());
}

Value SizeResolver::resolveIndex(Value value) {
  if (Value leaf = indexLeaf(value))
    return leaf;
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<tensor::DimOp, memref::DimOp>(op)) {
    llvm::APInt dim;
    if (!matchPattern(op->getOperand(1), m_ConstantInt(&dim)))
      return {};
    return size(op->getOperand(0), dim.getSExtValue());
  }
  // A copy is made only of what computes with numbers and nothing else.
  if (op->getNumRegions() || !(isPure(op) || isSafeDivision(op)) ||
      op->getNumResults() != 1)
    return {};
  if (llvm::any_of(op->getOperandTypes(),
                   [](Type type) { return !type.isIntOrIndexOrFloat(); }))
    return {};
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value copy = index(operand);
    if (!copy)
      return {};
    mapping.map(operand, copy);
  }
  Operation *copy = builder.clone(*op, mapping);
  check(copy);
  return copy->getResult(0);
}
