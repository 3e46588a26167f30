// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Sections.cpp - Two independent parts of a block --------------------===//
//
// Which operations belong to which loop, and one loop of both.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Sections.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/team/Group.h"
#include "passes/team/Touched.h"

using namespace mlir;
using namespace gatefold;

/// The loops of the two directions stand close to each other.
static constexpr unsigned mostItems = 40;

SmallVector<Operation *> Sections::getItems() const {
  SmallVector<Operation *> items(parts[0]);
  llvm::append_range(items, parts[1]);
  llvm::sort(items, [](Operation *left, Operation *right) {
    return left->isBeforeInBlock(right);
  });
  return items;
}

std::optional<Sections> gatefold::findSections(Operation *first,
                                               Extents &extents) {
  Sections sections;
  Touched touched[2], all;
  auto &loops = sections.loops;
  loops[0] = first;
  for (Operation *op = first;
       op && sections.parts[0].size() + sections.parts[1].size() < mostItems;
       op = op->getNextNode()) {
    Touched mine;
    if (op->hasTrait<OpTrait::IsTerminator>() || !findTouched(op, mine))
      break;
    if (isNeutral(op) || isa<memref::LoadOp>(op)) {
      // It will be done before all others.
      if (mine.dependsOn(all))
        break;
      sections.between.push_back(op);
      continue;
    }
    if (op->getNumResults() != 0)
      break;
    bool needs[2] = {mine.dependsOn(touched[0]), mine.dependsOn(touched[1])};
    if (needs[0] && needs[1])
      break;
    bool isLoop = isa<scf::ForOp>(op);
    // What needs neither prepares the second loop.
    int part = op == first || needs[0] ? 0 : 1;
    if (isLoop && op != first && (part == 0 || loops[1]))
      break;
    if (isLoop)
      loops[part] = op;
    sections.parts[part].push_back(op);
    touched[part].add(mine);
    all.add(mine);
  }
  if (!loops[1])
    return std::nullopt;
  int64_t typical = 16;
  int64_t times[2] = {Work::of(loops[0], extents).estimate(typical),
                      Work::of(loops[1], extents).estimate(typical)};
  if (std::min(times[0], times[1]) * 4 < std::max(times[0], times[1]) * 3)
    return std::nullopt;
  return sections;
}

//===----------------------------------------------------------------------===//
// One loop of two
//===----------------------------------------------------------------------===//

/// Whether two values are computed alike from the same ones.
static bool isSameValue(Value left, Value right, unsigned depth = 8) {
  if (left == right)
    return true;
  Operation *one = left.getDefiningOp(), *other = right.getDefiningOp();
  if (!one || !other || depth == 0 || !isMemoryEffectFree(one) ||
      one->getNumRegions() != 0 || one->getName() != other->getName() ||
      one->getAttrDictionary() != other->getAttrDictionary() ||
      one->getPropertiesAsAttribute() != other->getPropertiesAsAttribute() ||
      cast<OpResult>(left).getResultNumber() !=
          cast<OpResult>(right).getResultNumber() ||
      left.getType() != right.getType() ||
      one->getNumOperands() != other->getNumOperands())
    return false;
  return llvm::all_of(llvm::zip(one->getOperands(), other->getOperands()),
                      [&](auto pair) {
                        auto [first, second] = pair;
                        return isSameValue(first, second, depth - 1);
                      });
}

/// Copies the body of `second` into that of `first`, one operation that writes
/// of each in turn. What a step waits for, it then waits for at the same place
/// of both: like operations are neighbours, so one group shares them, or one
/// rank executes them.
static void interleave(scf::ForOp first, scf::ForOp second) {
  auto isAlone = [](Operation *op) {
    return isNeutral(op) || isa<memref::LoadOp>(op);
  };
  Operation *place = &first.getBody()->front();
  Operation *end = first.getBody()->getTerminator();
  auto passNext = [&] {
    while (place != end && isAlone(place))
      place = place->getNextNode();
    if (place != end)
      place = place->getNextNode();
  };
  IRMapping mapping;
  mapping.map(second.getInductionVar(), first.getInductionVar());
  passNext();
  for (Operation &op : second.getBody()->without_terminator()) {
    OpBuilder(place).clone(op, mapping);
    if (!isAlone(&op))
      passNext();
  }
}

Operation *gatefold::joinLoops(Sections &sections) {
  auto first = cast<scf::ForOp>(sections.loops[0]);
  auto second = cast<scf::ForOp>(sections.loops[1]);
  if (first.getNumResults() != 0 || second.getNumResults() != 0 ||
      !isSameValue(first.getLowerBound(), second.getLowerBound()) ||
      !isSameValue(first.getUpperBound(), second.getUpperBound()) ||
      !isSameValue(first.getStep(), second.getStep()))
    return nullptr;
  for (Operation *op : sections.between)
    if (first->isBeforeInBlock(op))
      op->moveBefore(first);
  Operation *front = nullptr;
  for (Operation *op : sections.parts[1]) {
    if (op == second)
      break;
    op->moveBefore(first);
    if (!front)
      front = op;
  }
  interleave(first, second);
  second->remove();
  return front ? front : first.getOperation();
}
