// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Outline.cpp - Operations as functions ------------------------------===//
//
// Moves an operation into a function, an equal one into the same.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/Outline.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gatefold;

/// Where source locations differ, code does not.
static constexpr auto equivalence = OperationEquivalence::IgnoreLocations;

static size_t hashBody(func::FuncOp function) {
  llvm::hash_code hash = hash_value(Type(function.getFunctionType()));
  function.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  op, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::ignoreHashValue, equivalence));
  });
  return hash;
}

static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

OutlinedOperation::OutlinedOperation(Operation *op, StringRef name) : op(op) {
  SetVector<Value> used;
  used.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  SmallVector<Value> constants;
  for (Value value : used) {
    if (isConstant(value))
      constants.push_back(value);
    else
      arguments.insert(value);
  }
  Location loc = op->getLoc();
  OpBuilder builder(op->getContext());
  SmallVector<Type> types(ValueRange(arguments.getArrayRef()).getTypes());
  function =
      func::FuncOp::create(loc, name, builder.getFunctionType(types, {}));
  function.setPrivate();
  // Inlined again, nothing would be won.
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  mapping.map(arguments.getArrayRef(), block->getArguments());
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  builder.clone(*op, mapping);
  func::ReturnOp::create(builder, loc);
  hash = hashBody(function);
}

bool OutlinedOperation::isEqual(const OutlinedOperation &other) const {
  func::FuncOp mine = function, theirs = other.function;
  return hash == other.hash &&
         mine.getFunctionType() == theirs.getFunctionType() &&
         OperationEquivalence::isRegionEquivalentTo(
             &mine.getBody(), &theirs.getBody(), equivalence);
}

void OutlinedOperation::replaceByCall(func::FuncOp callee) {
  OpBuilder builder(op);
  func::CallOp::create(builder, op->getLoc(), callee, arguments.getArrayRef());
  op->erase();
}
