// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Caches.cpp - States that rows are written into ---------------------===//
//
// Follows a state from where a function gives it back to where it came in:
// through slices that are written into it, and loops around these.
//
//===----------------------------------------------------------------------===//

#include "passes/simplify/Caches.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gatefold;

static bool isHalf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<RankedTensorType>(type) && (element.isF16() || element.isBF16());
}

/// Collects what a state is on its way from `from` to `value`; false if it is
/// made of anything else, or of nothing.
static bool follow(Value value, Value from, llvm::SetVector<Value> &values) {
  if (value == from) {
    values.insert(value);
    return true;
  }
  if (auto write = value.getDefiningOp<tensor::InsertSliceOp>()) {
    values.insert(value);
    return follow(write.getDest(), from, values);
  }
  if (auto cast = value.getDefiningOp<tensor::CastOp>()) {
    values.insert(value);
    return follow(cast.getSource(), from, values);
  }
  auto loop = value.getDefiningOp<scf::ForOp>();
  if (!loop)
    return false;
  auto result = cast<OpResult>(value);
  BlockArgument argument = loop.getTiedLoopRegionIterArg(result);
  values.insert(value);
  return follow(loop.getTiedLoopYieldedValue(argument)->get(), argument,
                values) &&
         follow(loop.getTiedLoopInit(result)->get(), from, values);
}

/// Number of the result that is the state's next value, if there is one.
static std::optional<unsigned> findResult(func::FuncOp function,
                                          unsigned argument) {
  Attribute name = function.getArgAttr(argument, attribute_names::name);
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (name && function.getResultAttr(i, attribute_names::state) &&
        function.getResultAttr(i, attribute_names::name) == name)
      return i;
  return std::nullopt;
}

llvm::SetVector<Value> gatefold::findCaches(func::FuncOp function) {
  llvm::SetVector<Value> caches;
  if (!function.isPublic() || !function.getBody().hasOneBlock())
    return caches;
  Operation *end = function.getBody().front().getTerminator();
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!isHalf(argument.getType()) ||
        !function.getArgAttr(number, attribute_names::state))
      continue;
    std::optional<unsigned> result = findResult(function, number);
    llvm::SetVector<Value> values;
    if (result && end->getOperand(*result) != argument &&
        follow(end->getOperand(*result), argument, values))
      caches.insert(values.begin(), values.end());
  }
  return caches;
}

bool gatefold::isOfCache(OpOperand &use, const llvm::SetVector<Value> &caches) {
  Operation *user = use.getOwner();
  if (isa<tensor::DimOp>(user))
    return true;
  if (auto write = dyn_cast<tensor::InsertSliceOp>(user))
    return write.getDestMutable().getOperandNumber() ==
               use.getOperandNumber() &&
           caches.contains(write.getResult());
  if (isa<tensor::CastOp>(user))
    return caches.contains(user->getResult(0));
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return llvm::is_contained(loop.getInitArgs(), use.get()) &&
           caches.contains(loop.getTiedLoopResult(&use));
  if (isa<scf::YieldOp>(user))
    return user->getParentOp()->getNumResults() > use.getOperandNumber() &&
           caches.contains(
               user->getParentOp()->getResult(use.getOperandNumber()));
  auto function = dyn_cast<func::FuncOp>(user->getParentOp());
  return isa<func::ReturnOp>(user) && function &&
         function.getResultAttr(use.getOperandNumber(), attribute_names::state);
}
