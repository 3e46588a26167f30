// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Extension.cpp - Conversions between float types --------------------===//
//
// An extension is exact, so that it may stand before or after whatever only
// moves elements.
//
//===----------------------------------------------------------------------===//

#include "passes/simplify/Extension.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/PassCommon.h"

using namespace mlir;
using namespace gatefold;

Type gatefold::withElement(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

Value gatefold::convertElement(OpBuilder &builder, Location loc, Value value,
                               Type element) {
  auto make = [&](OpBuilder &b, Value from) -> Value {
    unsigned width = from.getType().getIntOrFloatBitWidth();
    if (width < element.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(b, loc, element, from);
    return arith::TruncFOp::create(b, loc, element, from);
  };
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return make(builder, value);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, value);
  Value init =
      tensor::EmptyOp::create(builder, loc, sizes, element, type.getEncoding());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, init.getType(), value, init,
             ArrayRef<AffineMap>{map, map}, iterators,
             [&](OpBuilder &b, Location, ValueRange arguments) {
               linalg::YieldOp::create(b, loc, make(b, arguments[0]));
             })
      .getResult(0);
}

/// Lets one reader read the narrow value itself, if it can.
static void sinkInto(OpBuilder &builder, OpOperand &use, Value narrow) {
  Operation *op = use.getOwner();
  Type wide = getElementTypeOrSelf(use.get().getType());
  Type element = getElementTypeOrSelf(narrow.getType());
  if (isa<tensor::DimOp>(op)) {
    use.set(narrow);
    return;
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (!generic.isDpsInput(&use))
      return;
    BlockArgument argument = generic.getMatchingBlockArgument(&use);
    use.set(narrow);
    argument.setType(element);
    if (argument.use_empty())
      return;
    builder.setInsertionPointToStart(generic.getBody());
    auto extension =
        arith::ExtFOp::create(builder, op->getLoc(), wide, argument);
    argument.replaceAllUsesExcept(extension, extension);
    return;
  }
  if (!isa<tensor::ExtractOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
           tensor::CollapseShapeOp>(op) ||
      use.getOperandNumber() != 0)
    return;
  builder.setInsertionPoint(op);
  Operation *reader = builder.clone(*op);
  reader->setOperand(0, narrow);
  Value read = reader->getResult(0);
  read.setType(withElement(read.getType(), element));
  Value extended = convertElement(builder, op->getLoc(), read, wide);
  op->getResult(0).replaceAllUsesWith(extended);
  op->erase();
  if (isa<RankedTensorType>(read.getType()))
    sinkExtension(builder, extended, read);
}

void gatefold::sinkExtension(OpBuilder &builder, Value extended, Value narrow) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : extended.getUses())
    uses.push_back(&use);
  for (OpOperand *use : uses)
    sinkInto(builder, *use, narrow);
  auto generic = extended.getDefiningOp<linalg::GenericOp>();
  if (!generic || !generic->use_empty())
    return;
  Operation *init = generic.getDpsInits().front().getDefiningOp();
  generic.erase();
  if (init->use_empty())
    init->erase();
}
