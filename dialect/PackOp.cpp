// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PackOp.cpp - A matrix as packed panels -----------------------------===//
//
// Verifier of gf.pack, and what it shares with gf.linear.
//
//===----------------------------------------------------------------------===//

#include "dialect/DestinationOps.h"

using namespace mlir;
using namespace gatefold;

LogicalResult gatefold::verifyDestination(DestinationStyleOpInterface op) {
  bool onTensors = op->getNumResults() == 1;
  for (Value operand : op->getOperands()) {
    auto type = cast<ShapedType>(operand.getType());
    if (onTensors ? !isa<RankedTensorType>(type) : !isa<MemRefType>(type))
      return op->emitOpError(onTensors
                                 ? "has a result and needs tensors, found "
                                 : "has no result and needs buffers, found ")
             << type;
  }
  if (onTensors &&
      op->getResult(0).getType() != op.getDpsInitOperand(0)->get().getType())
    return op->emitOpError("gives ")
           << op->getResult(0).getType() << " into an output of type "
           << op.getDpsInitOperand(0)->get().getType();
  return success();
}

void gatefold::addDestinationEffects(
    DestinationStyleOpInterface op,
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

void PackOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationEffects(*this, effects);
}

Speculation::Speculatability PackOp::getSpeculatability() {
  return getResult() ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

int64_t PackOp::getWidth() {
  return cast<ShapedType>(getOutput().getType()).getDimSize(2);
}

int64_t PackOp::getGates() {
  auto source = cast<ShapedType>(getSource().getType());
  return source.getRank() == 2 ? 1 : source.getDimSize(getAlongAttr().getInt());
}

int64_t PackOp::getColumnDim() {
  int64_t rank = cast<ShapedType>(getSource().getType()).getRank();
  return getAlongAttr().getInt() + rank - 2;
}

int64_t PackOp::getTermDim() {
  int64_t rank = cast<ShapedType>(getSource().getType()).getRank();
  return getAlongAttr().getInt() == 0 ? rank - 1 : 0;
}

LogicalResult PackOp::verify() {
  if (failed(verifyDestination(*this)))
    return failure();
  auto source = cast<ShapedType>(getSource().getType());
  auto output = cast<ShapedType>(getOutput().getType());
  if (source.getRank() != 2 && source.getRank() != 3)
    return emitOpError("needs a matrix, or gates of one size, found ")
           << source;
  if (output.getRank() != 3 || output.isDynamicDim(2) ||
      output.getDimSize(2) == 0)
    return emitOpError("needs panels [panels, k, width] of a known width, "
                       "found ")
           << output;
  int64_t along = getAlongAttr().getInt();
  if (along != 0 && along != 1)
    return emitOpError("packs along dimension 0 or 1, not ") << along;
  if (Type element = source.getElementType();
      !element.isF16() && !element.isBF16() && !element.isF32() &&
      !element.isF64())
    return emitOpError("packs f16, bf16, f32 or f64, not ") << element;
  if (source.getElementType() != output.getElementType())
    return emitOpError("packs elements ")
           << source.getElementType() << " into " << output.getElementType();
  int64_t gates = getGates();
  if (ShapedType::isDynamic(gates) || gates == 0 || getWidth() % gates != 0)
    return emitOpError("packs gates ")
           << source << ", of which a panel of " << getWidth()
           << " lanes has not equally many columns";
  if (!maybeEqual(source.getDimSize(getTermDim()), output.getDimSize(1)))
    return emitOpError("packs ")
           << source << " into panels with another size along k: " << output;
  int64_t columns = source.getDimSize(getColumnDim());
  int64_t panels = output.getDimSize(0), width = getWidth() / gates;
  if (!ShapedType::isDynamic(columns) && !ShapedType::isDynamic(panels) &&
      panels != llvm::divideCeilSigned(columns, width))
    return emitOpError("packs ")
           << columns << " columns into " << panels << " panels of " << width;
  return success();
}
