// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsJoin.cpp - Products with one right operand ---------===//
//
// Two maps of an attention multiply the same values, and often the same keys.
// One product behind the other would load the operand twice, or, once the loads
// are found to be the same, keep all of it in registers from the first product
// to the second: those of 16 x 128 numbers of f32 in two parts are half of all
// that there are. Side by side the products are walked together, and a part of
// the operand is in registers for as long as it is multiplied.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/gpu/VectorsToThreads.h"

using namespace mlir;
using namespace gatefold;

/// Whether they are in all but what is summed and multiplied from the left.
static bool areAlike(vector::ContractionOp a, vector::ContractionOp b) {
  return a.getRhs() == b.getRhs() && a->getBlock() == b->getBlock() &&
         a.getIndexingMaps() == b.getIndexingMaps() &&
         a.getLhsType() == b.getLhsType() &&
         a.getResultType() == b.getResultType();
}

/// Whether something from `first` on to `last` writes memory.
static bool writesBetween(Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (mightHaveEffect<MemoryEffects::Write>(op))
      return true;
  return false;
}

/// Places `next` behind `first`, or the other way round where nobody needs
/// `first` before.
static bool placeSideBySide(vector::ContractionOp first,
                            vector::ContractionOp next) {
  if (writesBetween(first, next))
    return false;
  Block *block = first->getBlock();
  bool isNeeded = llvm::any_of(first->getUsers(), [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    return ancestor && ancestor != next && ancestor->isBeforeInBlock(next);
  });
  if (llvm::is_contained(next->getOperands(), first.getResult()))
    return false;
  if (!isNeeded) {
    first->moveBefore(next);
    return true;
  }
  bool isKnown = llvm::all_of(next->getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    return !source || source->getBlock() != block ||
           source->isBeforeInBlock(first);
  });
  if (isKnown)
    next->moveAfter(first);
  return isKnown;
}

void gatefold::joinProducts(func::FuncOp function) {
  SmallVector<vector::ContractionOp> products;
  function.walk([&](vector::ContractionOp op) { products.push_back(op); });
  Builder builder(function.getContext());
  for (auto [i, first] : llvm::enumerate(products)) {
    if (first->hasAttr(joinedName))
      continue;
    for (vector::ContractionOp next : ArrayRef(products).drop_front(i + 1)) {
      if (!areAlike(first, next) || !placeSideBySide(first, next))
        continue;
      first->setAttr(joinedName, builder.getBoolAttr(true));
      next->setAttr(joinedName, builder.getBoolAttr(false));
      break;
    }
  }
}
