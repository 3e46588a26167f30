// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Single.cpp - What one rank does alone ------------------------------===//
//
// Small operations, and what cannot be cut, one after another between two
// barriers.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Group.h"

using namespace mlir;
using namespace gatefold;

Operation *
gatefold::makeSingle(Operation *first,
                     llvm::function_ref<bool(Operation *)> isWorthSharing,
                     Extents &extents) {
  SmallVector<Operation *> items, between;
  llvm::SmallPtrSet<Value, 8> written;
  bool writesAny = false;
  auto noteWrites = [&](Operation *item) {
    item->walk([&](Operation *op) {
      if (isStructured(op)) {
        for (const Access &access : getAccesses(op, nullptr, extents)) {
          if (access.isWrite)
            written.insert(access.root);
          writesAny |= access.isWrite && !access.root;
        }
      } else if (op->getNumRegions() == 0 && !isNeutral(op) &&
                 !isa<memref::LoadOp>(op)) {
        auto store = dyn_cast<memref::StoreOp>(op);
        Value root = store ? getRoot(store.getMemRef()) : Value();
        written.insert(root);
        writesAny |= !root;
      }
    });
  };
  for (Operation *op = first; op; op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      break;
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      Value root = getRoot(load.getMemRef());
      if (writesAny || !root || written.contains(root))
        break;
      between.push_back(op);
      continue;
    }
    if (isNeutral(op)) {
      between.push_back(op);
      continue;
    }
    if (op != first && (op->getNumResults() != 0 || isWorthSharing(op)))
      break;
    items.push_back(op);
    noteWrites(op);
  }
  for (Operation *op : between)
    if (first->isBeforeInBlock(op))
      op->moveBefore(first);
  Location loc = first->getLoc();
  OpBuilder builder(first);
  // Memory of what one rank does alone need not be there for each.
  for (Operation *item : items)
    item->walk([&](memref::AllocOp alloc) {
      SmallVector<Value> sizes;
      for (Value size : alloc.getDynamicSizes()) {
        sizes.push_back(
            extents.emit(builder, alloc.getLoc(), extents.index(size)));
        if (!sizes.back())
          return;
      }
      alloc->moveBefore(first);
      alloc.getDynamicSizesMutable().assign(sizes);
    });
  builder.setInsertionPoint(first);
  return emitForall(builder, loc, [&](OpBuilder &inside, Value, Value rank) {
    Value zero = arith::ConstantIndexOp::create(inside, loc, 0);
    Value isFirst = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq,
                                          rank, zero);
    auto only = scf::IfOp::create(inside, loc, isFirst);
    for (Operation *item : items)
      item->moveBefore(only.thenBlock()->getTerminator());
  });
}
