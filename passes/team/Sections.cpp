// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Sections.cpp - Two independent parts of a block --------------------===//
//
// What an operation touches is what stands in it: structured operations, loads
// and stores. Anything else that has effects ends the search.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Sections.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/team/Group.h"

using namespace mlir;
using namespace gatefold;

/// The loops of the two directions stand close to each other.
static constexpr unsigned mostItems = 40;

namespace {
/// The roots that operations read and write.
struct Touched {
  llvm::SmallPtrSet<Value, 8> read, written;

  bool dependsOn(const Touched &other) const {
    auto meets = [](const auto &left, const auto &right) {
      return llvm::any_of(left, [&](Value root) {
        return !right.empty() && right.contains(root);
      });
    };
    return meets(read, other.written) || meets(written, other.written) ||
           meets(written, other.read);
  }
  void add(const Touched &other) {
    read.insert(other.read.begin(), other.read.end());
    written.insert(other.written.begin(), other.written.end());
  }
};
} // namespace

/// False where something is touched that is not known.
static bool findTouched(Operation *item, Extents &extents, Touched &touched) {
  return !item->walk<WalkOrder::PreOrder>([&](Operation *op) {
                auto note = [&](Value root, bool isWrite) {
                  (isWrite ? touched.written : touched.read).insert(root);
                  return root != nullptr;
                };
                if (isStructured(op)) {
                  for (const Access &access : getAccesses(op, nullptr, extents))
                    if (!note(access.root, access.isWrite))
                      return WalkResult::interrupt();
                  return WalkResult::skip();
                }
                bool isKnown = isNeutral(op) || isa<scf::ForOp, scf::IfOp>(op);
                if (auto load = dyn_cast<memref::LoadOp>(op))
                  isKnown = note(getRoot(load.getMemRef()), false);
                else if (auto store = dyn_cast<memref::StoreOp>(op))
                  isKnown = note(getRoot(store.getMemRef()), true);
                return isKnown ? WalkResult::advance()
                               : WalkResult::interrupt();
              })
              .wasInterrupted();
}

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
  Operation *loops[2] = {first, nullptr};
  for (Operation *op = first;
       op && sections.parts[0].size() + sections.parts[1].size() < mostItems;
       op = op->getNextNode()) {
    Touched mine;
    if (op->hasTrait<OpTrait::IsTerminator>() ||
        !findTouched(op, extents, mine))
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
