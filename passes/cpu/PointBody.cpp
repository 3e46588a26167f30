// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PointBody.cpp - The body of an operation at one point --------------===//

#include "passes/cpu/PointBody.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

PointBody::PointBody(LinalgOp op)
    : op(op), loc(op.getLoc()), maps(op.getIndexingMapsArray()) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = maps[init.getOperandNumber()];
    carried.push_back(!reductions.empty() &&
                      llvm::none_of(reductions, [&](unsigned dim) {
                        return map.isFunctionOfDim(dim);
                      }));
    if (carried.back())
      outputs.push_back(&init);
  }
}

SmallVector<Value> PointBody::placeOf(OpBuilder &builder, OpOperand &operand,
                                      ValueRange indices) {
  AffineMap map = maps[operand.getOperandNumber()];
  SmallVector<Value> place;
  for (AffineExpr expression : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expression)) {
      place.push_back(indices[dim.getPosition()]);
      continue;
    }
    AffineMap single =
        AffineMap::get(map.getNumDims(), map.getNumSymbols(), expression);
    place.push_back(affine::AffineApplyOp::create(builder, loc, single, indices)
                        .getResult());
  }
  return place;
}

Value PointBody::load(OpBuilder &builder, OpOperand &operand,
                      ValueRange indices) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  return memref::LoadOp::create(builder, loc, operand.get(),
                                placeOf(builder, operand, indices));
}

SmallVector<Value> PointBody::loadInputs(OpBuilder &builder, ValueRange indices,
                                         bool areSame) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  SmallVector<Value> inputs;
  for (OpOperand *input : op.getDpsInputOperands()) {
    bool isSame = llvm::none_of(reductions, [&](unsigned dim) {
      return maps[input->getOperandNumber()].isFunctionOfDim(dim);
    });
    bool isUsed = !op.getMatchingBlockArgument(input).use_empty();
    inputs.push_back(
        isUsed && isSame == areSame ? load(builder, *input, indices) : Value());
  }
  return inputs;
}

SmallVector<Value> PointBody::make(OpBuilder &builder, ValueRange indices,
                                   ValueRange values, ValueRange inputs) {
  Block *block = op.getBlock();
  IRMapping mapping;
  for (auto [number, input] : llvm::enumerate(op.getDpsInputOperands())) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty())
      mapping.map(argument, inputs.empty() ? load(builder, *input, indices)
                                           : inputs[number]);
  }
  auto nextValue = values.begin();
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    BlockArgument argument = op.getMatchingBlockArgument(&init);
    if (carried[index])
      mapping.map(argument, *nextValue++);
    else if (!argument.use_empty())
      mapping.map(argument, load(builder, init, indices));
  }
  for (Operation &inner : block->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    builder.clone(inner, mapping);
  }
  SmallVector<Value> results;
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    Value value =
        mapping.lookupOrDefault(block->getTerminator()->getOperand(index));
    if (carried[index])
      results.push_back(value);
    else
      memref::StoreOp::create(builder, loc, value, init.get(),
                              placeOf(builder, init, indices));
  }
  return results;
}
