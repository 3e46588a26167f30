// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductsFirst.cpp - Products of a step before other work -----------===//
//
// A product takes the views and sizes along that only it needs so early.
//
//===----------------------------------------------------------------------===//

#include "passes/team/ProductsFirst.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "passes/team/Group.h"
#include "passes/team/Touched.h"

using namespace mlir;
using namespace gatefold;

static void moveFirst(LinearOp product) {
  Touched touched;
  if (!findTouched(product, touched))
    return;
  // The product and what it takes along, last to first.
  SmallVector<Operation *> moved = {product};
  Operation *place = nullptr;
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<LinearOp>(op))
      break;
    if (isa<cf::AssertOp>(op))
      return;
    bool isNeeded = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return llvm::is_contained(moved,
                                op->getBlock()->findAncestorOpInBlock(*user));
    });
    if (isNeutral(op)) {
      if (isNeeded)
        moved.push_back(op);
      continue;
    }
    Touched before;
    if (isNeeded || !findTouched(op, before) || touched.dependsOn(before))
      return;
    place = op;
  }
  if (!place)
    return;
  for (Operation *op : llvm::reverse(moved))
    if (place->isBeforeInBlock(op))
      op->moveBefore(place);
}

void gatefold::moveProductsFirst(Block &block) {
  for (LinearOp product : llvm::make_early_inc_range(block.getOps<LinearOp>()))
    moveFirst(product);
}
