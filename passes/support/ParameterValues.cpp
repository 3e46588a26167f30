// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParameterValues.cpp - What depends on parameters alone -------------===//
//
// Follows a value back to parameters, or to something that they do not give.
//
//===----------------------------------------------------------------------===//

#include "passes/support/ParameterValues.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

bool gatefold::dependsOnParametersOnly(Value value) {
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !isMemoryEffectFree(op))
      return false;
    if (!seen.insert(op).second)
      continue;
    llvm::append_range(pending, op->getOperands());
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::append_range(pending, captured);
  }
  return true;
}
