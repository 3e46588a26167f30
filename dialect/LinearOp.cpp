// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearOp.cpp - Product with packed panels --------------------------===//
//
// Verifier of gf.linear.
//
//===----------------------------------------------------------------------===//

#include "dialect/DestinationOps.h"

using namespace mlir;
using namespace gatefold;

void LinearOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationEffects(*this, effects);
}

Speculation::Speculatability LinearOp::getSpeculatability() {
  return getResult() ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

int64_t LinearOp::getWidth() {
  return cast<ShapedType>(getPanels().getType()).getDimSize(2);
}

bool LinearOp::hasGates() {
  return cast<ShapedType>(getOutput().getType()).getRank() >
         cast<ShapedType>(getX().getType()).getRank();
}

int64_t LinearOp::getGates() {
  auto output = cast<ShapedType>(getOutput().getType());
  return hasGates() ? output.getDimSize(output.getRank() - 2) : 1;
}

LogicalResult LinearOp::verify() {
  if (failed(verifyDestination(*this)))
    return failure();
  auto x = cast<ShapedType>(getX().getType());
  auto panels = cast<ShapedType>(getPanels().getType());
  auto output = cast<ShapedType>(getOutput().getType());
  for (Value operand : getOperands()) {
    Type element = getElementTypeOrSelf(operand.getType());
    if (!element.isF16() && !element.isBF16() && !element.isF32() &&
        !element.isF64())
      return emitOpError("multiplies f16, bf16, f32 or f64, not ") << element;
    if (element.isF64() != output.getElementType().isF64())
      return emitOpError("mixes f64 with ")
             << (element.isF64() ? output.getElementType() : element);
  }
  if (panels.getRank() != 3 || panels.isDynamicDim(2) ||
      panels.getDimSize(2) == 0)
    return emitOpError("needs panels [panels, k, width] of a known width, "
                       "found ")
           << panels;
  int64_t rank = x.getRank();
  if (rank < 1 || (output.getRank() != rank && output.getRank() != rank + 1))
    return emitOpError("needs x [m.., k] and an output [m.., n] or "
                       "[m.., gates, n], found ")
           << x << " and " << output;
  int64_t gates = getGates();
  if (ShapedType::isDynamic(gates) || gates == 0 || getWidth() % gates != 0)
    return emitOpError("gives gates ")
           << output << ", of which a panel of " << getWidth()
           << " lanes has not equally many columns";
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    if (!maybeEqual(x.getDimSize(dim), output.getDimSize(dim)))
      return emitOpError("has rows ") << x << " and gives rows " << output;
  if (!maybeEqual(x.getDimSize(rank - 1), panels.getDimSize(1)))
    return emitOpError("multiplies ")
           << x << " with panels of another size along k: " << panels;
  int64_t columns = output.getShape().back();
  if (!ShapedType::isDynamic(columns) && !panels.isDynamicDim(0) &&
      llvm::divideCeilSigned(columns, getWidth() / gates) >
          panels.getDimSize(0))
    return emitOpError("gives ") << columns << " columns from " << panels;
  if (!getInitial())
    return success();
  auto initial = cast<ShapedType>(getInitial().getType());
  ArrayRef<int64_t> expected = output.getShape();
  // The same for each row.
  int64_t ofOneRow = hasGates() ? 2 : 1;
  if (initial.getRank() == ofOneRow)
    expected = expected.take_back(ofOneRow);
  if (!llvm::equal(initial.getShape(), expected, maybeEqual))
    return emitOpError("begins with ")
           << initial << ", expected " << (hasGates() ? "[gates, n]" : "[n]")
           << " or the shape of " << output;
  return success();
}
