// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StepConditions.cpp - What can leave a step -------------------------===//
//
// What is the same at each step, and what can be computed for all of them.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/StepConditions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;

//===----------------------------------------------------------------------===//
// What is the same at each step
//===----------------------------------------------------------------------===//

bool gatefold::isMadeAnew(Operation *op) {
  return isa<tensor::EmptyOp, linalg::FillOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

bool gatefold::isSameAtEachStep(Value value, Region &step) {
  if (!step.isAncestor(value.getParentRegion()))
    return true;
  Operation *op = value.getDefiningOp();
  return op && isMadeAnew(op) && llvm::all_of(op->getOperands(), [&](Value v) {
           return isSameAtEachStep(v, step);
         });
}

Value gatefold::makeAnew(RewriterBase &rewriter, Value value, Region &step) {
  if (!step.isAncestor(value.getParentRegion()))
    return value;
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, makeAnew(rewriter, operand, step));
  return rewriter.clone(*op, mapping)
      ->getResult(cast<OpResult>(value).getResultNumber());
}

//===----------------------------------------------------------------------===//
// What can be computed for all steps at once
//===----------------------------------------------------------------------===//

namespace {
/// The conditions of canComputeAllSteps, operation by operation.
class Conditions {
public:
  Conditions(RecurrenceOp recurrence, IsKnown isKnown)
      : step(recurrence.getBody()),
        leadRank(recurrence.getTimeAxisAttr().getInt()), isKnown(isKnown) {}

  bool hold(Operation *op);

private:
  bool isUsable(Value value) {
    return isKnown(value) || isSameAtEachStep(value, step);
  }
  bool isSize(Value value);
  bool areSizes(ArrayRef<OpFoldResult> values) {
    return llvm::all_of(values, [&](OpFoldResult value) {
      return isa<Attribute>(value) || isSize(cast<Value>(value));
    });
  }
  bool keepsLead(ArrayRef<ReassociationIndices> groups);
  bool holdForLinalg(linalg::LinalgOp op);
  bool holdForSlice(tensor::ExtractSliceOp op);

  Region &step;
  unsigned leadRank;
  IsKnown isKnown;
};
} // namespace

/// Whether an index is computed from sizes and what comes from outside alone.
bool Conditions::isSize(Value value) {
  if (!step.isAncestor(value.getParentRegion()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() || !isPure(op))
    return false;
  return isa<tensor::DimOp>(op) ||
         llvm::all_of(op->getOperands(), [&](Value v) {
           return v.getType().isIntOrIndex() && isSize(v);
         });
}

bool Conditions::keepsLead(ArrayRef<ReassociationIndices> groups) {
  for (unsigned i = 0; i < leadRank; ++i)
    if (groups.size() <= i || groups[i].size() != 1)
      return false;
  return true;
}

bool Conditions::holdForLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return false;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<AffineExpr> lead;
  auto beginsWithLead = [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (map.getNumResults() < leadRank)
      return false;
    ArrayRef<AffineExpr> first = map.getResults().take_front(leadRank);
    if (lead.empty())
      lead.append(first.begin(), first.end());
    return ArrayRef(lead) == first;
  };
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!isUsable(init.get()) || !beginsWithLead(init))
      return false;
  // Each leading dimension is one that the iterations of a row have alone.
  for (auto [i, expression] : llvm::enumerate(lead)) {
    auto dim = dyn_cast<AffineDimExpr>(expression);
    if (!dim || iterators[dim.getPosition()] != utils::IteratorType::parallel ||
        llvm::is_contained(ArrayRef(lead).take_front(i), expression))
      return false;
  }
  for (OpOperand *input : op.getDpsInputOperands())
    if (!isUsable(input->get()) ||
        (isKnown(input->get()) && !beginsWithLead(*input)))
      return false;
  // What the iterations read beside the operands comes from outside.
  return !op->walk([&](Operation *inner) {
              for (Value operand : inner->getOperands())
                if (inner != op.getOperation() &&
                    step.isAncestor(operand.getParentRegion()) &&
                    !op->isAncestor(operand.getParentRegion()->getParentOp()))
                  return WalkResult::interrupt();
              return WalkResult::advance();
            }).wasInterrupted();
}

bool Conditions::holdForSlice(tensor::ExtractSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (unsigned i = 0; i < leadRank; ++i) {
    int64_t size = op.getSourceType().getDimSize(i);
    if (dropped.test(i) || op.getStaticOffsets()[i] != 0 ||
        op.getStaticStrides()[i] != 1 || op.getStaticSizes()[i] != size)
      return false;
  }
  return areSizes(op.getMixedOffsets()) && areSizes(op.getMixedSizes()) &&
         areSizes(op.getMixedStrides());
}

bool Conditions::hold(Operation *op) {
  if (op->getNumResults() == 0 || isMadeAnew(op) || !isMemoryEffectFree(op) ||
      !isSpeculatable(op))
    return false;
  for (Type type : op->getResultTypes())
    if (!isa<RankedTensorType>(type) ||
        cast<RankedTensorType>(type).getRank() < leadRank)
      return false;
  if (llvm::none_of(op->getOperands(), isKnown))
    return false;
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](linalg::LinalgOp linalgOp) { return holdForLinalg(linalgOp); })
      .Case([&](tensor::ExtractSliceOp slice) { return holdForSlice(slice); })
      .Case([&](tensor::ExpandShapeOp view) {
        return keepsLead(view.getReassociationIndices()) &&
               areSizes(view.getMixedOutputShape());
      })
      .Case([&](tensor::CollapseShapeOp view) {
        return keepsLead(view.getReassociationIndices());
      })
      .Case([&](tensor::ConcatOp concat) {
        return concat.getDim() >= leadRank &&
               llvm::all_of(concat.getInputs(),
                            [&](Value value) { return isUsable(value); });
      })
      .Case([&](tensor::CastOp) { return true; })
      .Default([&](Operation *) {
        return OpTrait::hasElementwiseMappableTraits(op) &&
               op->getNumResults() == 1 &&
               llvm::all_of(op->getOperands(),
                            [&](Value value) { return isUsable(value); });
      });
}

bool gatefold::canComputeAllSteps(RecurrenceOp recurrence, Operation *op,
                                  IsKnown isKnown) {
  return Conditions(recurrence, isKnown).hold(op);
}

AffineMap gatefold::leadingMap(int64_t rank, Value operand) {
  MLIRContext *context = operand.getContext();
  SmallVector<AffineExpr> leading;
  for (int64_t dim = 0;
       dim < cast<RankedTensorType>(operand.getType()).getRank(); ++dim)
    leading.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(rank, /*symbolCount=*/0, leading, context);
}

int64_t gatefold::countElements(Value value, unsigned leadRank) {
  constexpr int64_t open = 64, most = int64_t(1) << 40;
  int64_t count = 1;
  for (int64_t size :
       cast<RankedTensorType>(value.getType()).getShape().drop_front(leadRank))
    if (llvm::MulOverflow(count, ShapedType::isDynamic(size) ? open : size,
                          count))
      return most;
  return std::min(count, most);
}
