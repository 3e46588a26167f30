// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Group.cpp - Operations that share one partition --------------------===//
//
// Which operations need no barrier between them, and their code.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Group.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numeric>

using namespace mlir;
using namespace gatefold;

/// Programs may be long, and groups are looked for at every operation.
static constexpr size_t mostItems = 200;
static constexpr size_t mostExtents = 8;

bool gatefold::isNeutral(Operation *op) {
  return isMemoryEffectFree(op) || isa<memref::AllocOp, cf::AssertOp>(op);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static void gatherExtents(Operation *op, Extents &extents,
                          SmallVectorImpl<AffineExpr> &found) {
  if (found.size() >= mostExtents)
    return;
  if (isStructured(op)) {
    for (const Axis &axis : getAxes(op, extents))
      for (AffineExpr extent : axis.extents)
        if (!llvm::is_contained(found, extent))
          found.push_back(extent);
  } else if (isa<scf::ForOp, scf::IfOp>(op) && op->getNumResults() == 0) {
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        gatherExtents(&inner, extents, found);
  }
}

SmallVector<AffineExpr> gatefold::getGroupExtents(Operation *op,
                                                  Extents &extents) {
  SmallVector<AffineExpr> found;
  gatherExtents(op, extents, found);
  // A product may be cut as what reads its gates is.
  Operation *next = isa<LinearOp>(op) ? op->getNextNode() : nullptr;
  while (next && !isStructured(next) && isNeutral(next))
    next = next->getNextNode();
  if (next && isStructured(next))
    gatherExtents(next, extents, found);
  llvm::erase_if(found, [&](AffineExpr extent) {
    auto constant = dyn_cast<AffineConstantExpr>(extent);
    return constant ? constant.getValue() < 2
                    : !extents.isKnownBefore(op, extent);
  });
  return found;
}

Group::Group(Operation *first, AffineExpr extent, bool isNarrow,
             Extents &extents)
    : extent(extent), isNarrow(isNarrow), extents(extents) {
  gatherItems(first);
  for (Operation *item : items) {
    work.add(Work::of(item, extents));
    item->walk([&](Operation *op) {
      auto axis = axes.find(op);
      if (axis == axes.end())
        return;
      if (axis->second.panels)
        hardUnit = std::lcm(hardUnit, axis->second.unit);
      softUnit = std::max(softUnit, axis->second.unit);
      hasProduct |= isa<LinearOp>(op);
    });
  }
}

void Group::gatherItems(Operation *first) {
  for (Operation *op = first; op && items.size() < mostItems;
       op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return;
    SmallVector<Access> found;
    bool isBetween = isNeutral(op) || isa<memref::LoadOp>(op);
    if (isBetween) {
      // It will stand in front of the group.
      if (auto load = dyn_cast<memref::LoadOp>(op)) {
        Value root = getRoot(load.getMemRef());
        if (writes && (!root || !agreesWithAll({Access{root}})))
          return;
      }
      between.push_back(op);
      continue;
    }
    if (!collect(op, found))
      return;
    for (const Access &access : found) {
      writes |= access.isWrite;
      readsAny |= !access.root;
      accesses[access.root].push_back(access);
    }
    items.push_back(op);
  }
}

/// Whether `found`, which all belong to what is to join the group, agree with
/// each other and with what is in the group.
bool Group::agreesWithAll(ArrayRef<Access> found) const {
  auto constant = dyn_cast<AffineConstantExpr>(extent);
  int64_t known = constant ? constant.getValue() : 0;
  bool findsAny = readsAny, findsWrite = writes;
  for (const Access &access : found) {
    findsAny |= !access.root;
    findsWrite |= access.isWrite;
    if (access.isWrite && !access.dim)
      return false;
    auto agrees = [&](const Access &other) {
      return access.root != other.root || (!access.isWrite && !other.isWrite) ||
             access.agrees(other, access.countsPanels ? 0 : known);
    };
    auto others = accesses.find(access.root);
    if (!llvm::all_of(found, agrees) ||
        (others != accesses.end() && !llvm::all_of(others->second, agrees)))
      return false;
  }
  return !(findsAny && findsWrite);
}

bool Group::collect(Operation *op, SmallVectorImpl<Access> &found) {
  if (isNeutral(op))
    return true;
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    found.push_back({getRoot(load.getMemRef())});
    return agreesWithAll(found);
  }
  if (!isStructured(op))
    return collectRegions(op, found);
  if (isNarrow && isa<LinearOp, PackOp>(op))
    return false;
  size_t before = found.size();
  SmallVector<Axis> candidates = getAxes(op, extents);
  if (auto repeated = getRepeatedAxis(op, extent, extents))
    candidates.push_back(*repeated);
  for (Axis &axis : candidates) {
    if (!axis.hasExtent(extent))
      continue;
    llvm::append_range(found, getAccesses(op, &axis, extents));
    if (!agreesWithAll(found)) {
      found.truncate(before);
      continue;
    }
    axes[op] = std::move(axis);
    return true;
  }
  return false;
}

bool Group::collectRegions(Operation *op, SmallVectorImpl<Access> &found) {
  if (!isa<scf::ForOp, scf::IfOp>(op) || op->getNumResults() != 0)
    return false;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (!inner.hasTrait<OpTrait::IsTerminator>() && !collect(&inner, found))
        return false;
  return true;
}

double Group::getBalance() const {
  auto constant = dyn_cast<AffineConstantExpr>(extent);
  if (!constant && !isNarrow)
    return 0.9;
  int64_t size = constant ? constant.getValue() : typicalSize;
  int64_t parts = llvm::divideCeil(size, hardUnit);
  int64_t ranks = extents.getRates().ranks;
  double balance =
      double(parts) / double(ranks * llvm::divideCeil(parts, ranks));
  // A batch that is no matter of a choice may well be of one.
  return constant ? balance : balance / 2;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Operation *
gatefold::emitForall(OpBuilder &builder, Location loc,
                     llvm::function_ref<void(OpBuilder &, Value, Value)> body) {
  Value ranks = TeamSizeOp::create(builder, loc);
  auto forall = scf::ForallOp::create(
      builder, loc, ArrayRef<OpFoldResult>{OpFoldResult(ranks)}, ValueRange(),
      std::nullopt);
  OpBuilder inside(forall.getTerminator());
  body(inside, ranks, forall.getInductionVar(0));
  return forall;
}

void Group::gather() {
  for (Operation *op : between)
    if (items.front()->isBeforeInBlock(op))
      op->moveBefore(items.front());
}

/// Buffers of loops in the group are made before it, so that all ranks have
/// parts of one instead of each its own.
void Group::hoistBuffers(OpBuilder &builder, IRMapping &mapping) {
  for (Operation *item : items)
    item->walk([&](memref::AllocOp alloc) {
      SmallVector<Value> sizes;
      for (Value size : alloc.getDynamicSizes()) {
        sizes.push_back(
            extents.emit(builder, alloc.getLoc(), extents.index(size)));
        if (!sizes.back())
          return;
      }
      if (!alloc.getSymbolOperands().empty())
        return;
      mapping.map(alloc.getResult(),
                  memref::AllocOp::create(builder, alloc.getLoc(),
                                          alloc.getType(), sizes,
                                          alloc.getAlignmentAttr())
                      .getResult());
    });
}

void Group::cloneItem(OpBuilder &builder, Operation *op, Value low, Value high,
                      IRMapping &mapping) {
  if (auto axis = axes.find(op); axis != axes.end())
    return cloneShare(builder, op, axis->second, low, high, mapping);
  if (isa<memref::AllocOp>(op) && mapping.contains(op->getResult(0)))
    return;
  if (!isa<scf::ForOp, scf::IfOp>(op) || isMemoryEffectFree(op)) {
    builder.clone(*op, mapping);
    return;
  }
  Operation *copy = builder.insert(op->cloneWithoutRegions(mapping));
  for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions())) {
    if (from.empty())
      continue;
    Block *block = new Block();
    to.push_back(block);
    for (BlockArgument argument : from.getArguments())
      mapping.map(argument,
                  block->addArgument(argument.getType(), argument.getLoc()));
    OpBuilder inside = OpBuilder::atBlockBegin(block);
    for (Operation &inner : from.front())
      cloneItem(inside, &inner, low, high, mapping);
  }
}

Operation *Group::emit(OpBuilder &builder) {
  Location loc = items.front()->getLoc();
  IRMapping mapping;
  Value total = extents.emit(builder, loc, extent);
  hoistBuffers(builder, mapping);
  return emitForall(
      builder, loc, [&](OpBuilder &inside, Value ranks, Value rank) {
        auto constant = [&](int64_t value) -> Value {
          return arith::ConstantIndexOp::create(inside, loc, value);
        };
        Value unit = constant(hardUnit);
        if (hardUnit == 1 && softUnit > 1) {
          // Whole register tiles, where that leaves no rank with much less.
          Value many =
              arith::MulIOp::create(inside, loc, ranks, constant(4 * softUnit));
          Value isLarge = arith::CmpIOp::create(
              inside, loc, arith::CmpIPredicate::uge, total, many);
          unit = arith::SelectOp::create(inside, loc, isLarge,
                                         constant(softUnit), unit);
        }
        Value units = arith::CeilDivUIOp::create(inside, loc, total, unit);
        auto boundary = [&](Value number) -> Value {
          Value place = arith::MulIOp::create(inside, loc, units, number);
          place = arith::DivUIOp::create(inside, loc, place, ranks);
          place = arith::MulIOp::create(inside, loc, place, unit);
          return arith::MinUIOp::create(inside, loc, place, total);
        };
        Value low = boundary(rank);
        Value high =
            boundary(arith::AddIOp::create(inside, loc, rank, constant(1)));
        for (Operation *item : items)
          cloneItem(inside, item, low, high, mapping);
      });
}
