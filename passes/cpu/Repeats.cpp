// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Repeats.cpp - Sequences of operations that occur again -------------===//
//
// Each operation with effects becomes a number, the same for equal ones; what
// numbers repeat, a suffix tree tells in a time that is linear in their count.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/Repeats.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/gpu/Kernels.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SuffixTree.h"
#include <unordered_map>

using namespace mlir;
using namespace gatefold;

/// Where source locations differ, code does not.
static constexpr auto equivalence = OperationEquivalence::IgnoreLocations;

static bool isInside(Value value, Operation *item) {
  return item->isAncestor(value.getParentBlock()->getParentOp());
}

void gatefold::forEachOuterUse(ArrayRef<Operation *> stretch,
                               llvm::function_ref<void(OpOperand &)> visit) {
  for (Operation *item : stretch)
    item->walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (!isInside(operand.get(), item))
          visit(operand);
    });
}

//===----------------------------------------------------------------------===//
// Equality
//===----------------------------------------------------------------------===//

/// The value of a constant that has to be the same in equal operations: a size
/// or a bound, from which kernels are chosen. A float may be an argument.
static Attribute getDecisiveConstant(Value value) {
  Attribute constant;
  if (!isa<FloatType>(value.getType()))
    matchPattern(value, m_Constant(&constant));
  return constant;
}

static size_t hashItem(Operation *item) {
  llvm::hash_code hash = llvm::hash_value(0);
  item->walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash = llvm::hash_combine(
        hash,
        OperationEquivalence::computeHash(
            op,
            [&](Value value) {
              return llvm::hash_combine(value.getType().getAsOpaquePointer(),
                                        getDecisiveConstant(value));
            },
            OperationEquivalence::ignoreHashValue, equivalence));
  });
  return hash;
}

static bool areEqual(Operation *one, Operation *other) {
  llvm::DenseMap<Value, Value> counterparts;
  return OperationEquivalence::isEquivalentTo(
      one, other,
      [&](Value left, Value right) {
        if (isInside(left, one))
          return success(counterparts.lookup(left) == right);
        return success(!isInside(right, other) &&
                       left.getType() == right.getType() &&
                       getDecisiveConstant(left) == getDecisiveConstant(right));
      },
      [&](Value left, Value right) { counterparts[left] = right; },
      equivalence);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
/// All stretches of a module as one row of numbers.
class Row {
public:
  explicit Row(ModuleOp module) {
    // Code on vectors becomes that of threads function by function.
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration() && !function->hasAttr(vectorsName))
        append(function.getBody());
  }

  void append(Region &region);
  SmallVector<Repeat> findRepeats() const;

private:
  unsigned getNumber(Operation *item);
  std::optional<Repeat> makeRepeat(unsigned length,
                                   ArrayRef<unsigned> starts) const;

  /// Null where a block ends.
  SmallVector<Operation *> items;
  std::vector<unsigned> numbers;
  /// Operations of the items in front of each place.
  SmallVector<int64_t> sizes = {0};
  unsigned lastNumber = 0;
  std::unordered_multimap<size_t, std::pair<Operation *, unsigned>> known;
};
} // namespace

unsigned Row::getNumber(Operation *item) {
  // What it gives, others take: it stays where it is.
  if (item->getNumResults() > 0)
    return ++lastNumber;
  size_t hash = hashItem(item);
  auto [first, last] = known.equal_range(hash);
  for (const auto &[_, entry] : llvm::make_range(first, last))
    if (areEqual(entry.first, item))
      return entry.second;
  known.emplace(hash, std::pair(item, ++lastNumber));
  return lastNumber;
}

void Row::append(Region &region) {
  SmallVector<Region *> nested;
  for (Block &block : region) {
    for (Operation &op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(&op))
        continue;
      int64_t size = 0;
      op.walk([&](Operation *) { ++size; });
      items.push_back(&op);
      numbers.push_back(getNumber(&op));
      sizes.push_back(sizes.back() + size);
      // Within a loop a call would be made in each iteration.
      if (isa<scf::IfOp>(op))
        for (Region &inner : op.getRegions())
          nested.push_back(&inner);
    }
    items.push_back(nullptr);
    numbers.push_back(++lastNumber);
    sizes.push_back(sizes.back());
  }
  for (Region *inner : nested)
    append(*inner);
}

std::optional<Repeat> Row::makeRepeat(unsigned length,
                                      ArrayRef<unsigned> starts) const {
  SmallVector<unsigned> sorted(starts);
  llvm::sort(sorted);
  Repeat repeat;
  unsigned end = 0;
  for (unsigned start : sorted) {
    if (start < end)
      continue;
    end = start + length;
    repeat.occurrences.emplace_back(ArrayRef(items).slice(start, length));
  }
  if (repeat.occurrences.size() < 2)
    return std::nullopt;
  repeat.place = sorted.front();
  repeat.size = sizes[sorted.front() + length] - sizes[sorted.front()];
  return repeat;
}

SmallVector<Repeat> Row::findRepeats() const {
  SmallVector<Repeat> repeats;
  auto add = [&](unsigned length, ArrayRef<unsigned> starts) {
    if (std::optional<Repeat> repeat = makeRepeat(length, starts))
      repeats.push_back(std::move(*repeat));
  };
  llvm::SuffixTree tree(numbers, /*OutlinerLeafDescendants=*/true);
  for (const llvm::SuffixTree::RepeatedSubstring &each : tree)
    add(each.Length, each.StartIndices);
  // The tree tells of two numbers and more.
  llvm::MapVector<unsigned, SmallVector<unsigned>> single;
  for (auto [place, number] : llvm::enumerate(numbers))
    single[number].push_back(place);
  for (const auto &[_, places] : single)
    add(1, places);
  // Where as much is saved, the longer one has fewer calls.
  llvm::sort(repeats, [](const Repeat &a, const Repeat &b) {
    return std::tuple(-a.saved(), -a.size, a.place) <
           std::tuple(-b.saved(), -b.size, b.place);
  });
  return repeats;
}

SmallVector<Repeat> gatefold::findRepeats(ModuleOp module) {
  return Row(module).findRepeats();
}
