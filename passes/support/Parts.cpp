// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Parts.cpp - Functions that are parts of a run ----------------------===//

#include "passes/support/Parts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gatefold;

Parts gatefold::findParts(Operation *scope,
                          function_ref<bool(Operation *, const Parts &)> isOne,
                          Parts known) {
  size_t count;
  do {
    count = known.size();
    for (auto function : scope->getRegion(0).getOps<func::FuncOp>()) {
      WalkResult found = function.walk([&](Operation *op) {
        return isOne(op, known) ? WalkResult::interrupt()
                                : WalkResult::advance();
      });
      if (found.wasInterrupted())
        known.insert(function.getSymNameAttr());
    }
  } while (known.size() > count);
  return known;
}
