// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperandScale.cpp - Scales in front of an attention -----------------===//
//
// Looks behind the views of an operand for an operation that scales it, and
// gives the region the factors in place of the product.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/OperandScale.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

std::optional<TensorAxes> OperandScale::axesOf(AttentionOp op,
                                               unsigned number) {
  int64_t leadRank = op.getLeadRank();
  RankedTensorType type = tensorType(op->getOperand(number));
  bool isQuery = number < op.getQueries().size();
  int64_t seen = tensorType(op.getBody().getArgument(number)).getRank();
  if (seen != (isQuery ? 1 : 2))
    return std::nullopt;
  int64_t last = type.getRank() - 1;
  TensorAxes axes;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    // Of keys the dimension in front of the last one is no query's.
    int64_t fromLast = last - int64_t(dim);
    int64_t axis =
        fromLast == 1 && !isQuery ? leadRank + 2 : leadRank + 1 - fromLast;
    axes.push_back(size == 1 ? DimensionAxes() : DimensionAxes{axis});
  }
  return axes;
}

std::optional<OperandScale> OperandScale::find(AttentionOp op,
                                               unsigned number) {
  std::optional<TensorAxes> axes = axesOf(op, number);
  if (!axes)
    return std::nullopt;
  unsigned leadRank = op.getLeadRank();
  ArrayRef<int64_t> shape =
      tensorType(op.getBody().getArgument(number)).getShape();
  auto sizeOf = [&](int64_t axis) {
    return axis <= int64_t(leadRank)       ? getOuterSize(op, axis)
           : axis == int64_t(leadRank) + 1 ? shape.back()
                                           : shape.front();
  };
  Value value = op->getOperand(number);
  SmallVector<Operation *> views;
  while (Operation *made = value.getDefiningOp()) {
    if (!isViewOfAxes(made))
      break;
    axes = lookBehindView(made, *axes, sizeOf);
    if (!axes)
      return std::nullopt;
    views.push_back(made);
    value = made->getOperand(0);
  }
  auto generic = value.getDefiningOp<GenericOp>();
  std::optional<KeyScale> scale;
  if (!generic || !(scale = KeyScale::match(generic)))
    return std::nullopt;
  OperandScale found(op, number, *scale);
  found.views = views;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    RowOperand &factor =
        found.inputs.emplace_back(RowOperand{input->get(), {}, leadRank});
    auto type = dyn_cast<RankedTensorType>(input->get().getType());
    if (!type)
      return std::nullopt;
    AffineMap map = generic.getMatchingIndexingMap(input);
    for (auto [size, expression] :
         llvm::zip(type.getShape(), map.getResults())) {
      DimensionAxes &own = factor.axes.emplace_back();
      if (size == 1)
        continue;
      auto loop = dyn_cast<AffineDimExpr>(expression);
      if (!loop)
        return std::nullopt;
      own = (*axes)[loop.getPosition()];
    }
  }
  return found;
}

bool OperandScale::variesAlong(ArrayRef<int64_t> all) const {
  return llvm::any_of(inputs, [&](const RowOperand &factor) {
    return factor.tensor != scale.getKeys() &&
           llvm::all_of(all,
                        [&](int64_t axis) { return factor.hasAxis(axis); });
  });
}

bool OperandScale::hasOtherReader() const {
  auto isOwn = [&](Value read) {
    return llvm::all_of(read.getUses(), [&](OpOperand &use) {
      return isa<tensor::DimOp>(use.getOwner()) ||
             llvm::is_contained(views, use.getOwner()) ||
             (use.getOwner() == op.getOperation() &&
              use.getOperandNumber() == number);
    });
  };
  return !isOwn(getOperation().getResult(0)) ||
         !llvm::all_of(
             views, [&](Operation *view) { return isOwn(view->getResult(0)); });
}

bool OperandScale::canFold() const {
  return llvm::all_of(inputs, [&](const RowOperand &factor) {
    return factor.tensor == scale.getKeys() || factor.canAdd(op);
  });
}

void OperandScale::fold(IRRewriter &rewriter, SmallVectorImpl<Value> &factors,
                        SmallVectorImpl<AffineMap> &maps) const {
  Value given = scale.getKeys();
  rewriter.replaceAllUsesWith(getOperation().getResult(0), given);
  AffineMap row = rewriter.getMultiDimIdentityMap(1);
  for (const RowOperand &factor : inputs) {
    bool isGiven = factor.tensor == given;
    factors.push_back(isGiven ? Value() : Value(factor.addTo(rewriter, op)));
    maps.push_back(factor.hasAxis(rowAxis())
                       ? row
                       : AffineMap::get(1, 0, rewriter.getContext()));
  }
}
