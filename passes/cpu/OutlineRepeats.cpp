// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OutlineRepeats.cpp - One function for what is done again -----------===//
//
// Moves stretches of an entry that repeat, such as equal layers, to functions.
//
// All that follows takes time with the code, and more than that with the length
// of one function. A stretch is entered once in a run: a call takes no time
// beside it.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/cpu/Passes.h"
#include "passes/cpu/Repeats.h"
#include "llvm/Support/Allocator.h"

namespace gatefold {
#define GEN_PASS_DEF_OUTLINEREPEATS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// Parts of parts: each round sees what the one before made.
static constexpr unsigned maximumRounds = 4;

/// Operations of a call beside what it passes: it may end the run.
static constexpr int64_t callSize = 4;

/// What costs less to compute in the function than to pass: a buffer is many
/// numbers, a view of one few more than it.
static bool isMadeInside(Operation *op) {
  if (op->getNumRegions() > 0 || op->getNumResults() != 1)
    return false;
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<TeamRankOp, TeamSizeOp>(op) ||
         (isa<ViewLikeOpInterface>(op) && isMemoryEffectFree(op) &&
          isa<MemRefType>(op->getResult(0).getType()));
}

/// Whether two operations are the same but for the values they use.
static bool agree(Operation *one, Operation *other) {
  return llvm::equal(one->getOperandTypes(), other->getOperandTypes()) &&
         OperationEquivalence::isEquivalentTo(
             one, other, OperationEquivalence::ignoreValueEquivalence, nullptr,
             OperationEquivalence::IgnoreLocations);
}

/// Numbers that a call passes for a value.
static int64_t getWords(Type type) {
  auto buffer = dyn_cast<MemRefType>(type);
  return buffer ? 2 + 2 * buffer.getNumDynamicDims() : 1;
}

namespace {
/// A function that does what each occurrence of a repeat does.
class Generalization {
public:
  explicit Generalization(const Repeat &repeat);

  void replaceByCalls();

  func::FuncOp function;
  /// What all calls pass, in numbers.
  int64_t words = 0;

private:
  using Values = ArrayRef<Value>;

  /// In the function, what the occurrences have as these values.
  Value get(Values values);
  Value makeInside(Values values);

  const Repeat &repeat;
  OpBuilder builder;
  llvm::BumpPtrAllocator allocator;
  llvm::DenseMap<Values, Value> made;
  /// For each argument what each occurrence passes.
  SmallVector<Values> arguments;
};
} // namespace

Generalization::Generalization(const Repeat &repeat)
    : repeat(repeat),
      builder(repeat.occurrences.front().front()->getContext()) {
  ArrayRef<Operation *> stretch = repeat.occurrences.front();
  Location loc = stretch.front()->getLoc();
  function = func::FuncOp::create(loc, "gatefold_repeat",
                                  builder.getFunctionType({}, {}));
  function.setPrivate();
  // Inlined again, nothing would be won.
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  // Of each place where a value is used, the values of all occurrences.
  SmallVector<SmallVector<Value>> places;
  for (const Stretch &occurrence : repeat.occurrences) {
    size_t place = 0;
    forEachOuterUse(occurrence, [&](OpOperand &operand) {
      if (place == places.size())
        places.emplace_back();
      places[place++].push_back(operand.get());
    });
  }
  // What they become stands in front of what uses it.
  SmallVector<Value> inside;
  for (const SmallVector<Value> &values : places)
    inside.push_back(get(values));
  Stretch clones;
  for (Operation *item : stretch)
    clones.push_back(builder.clone(*item));
  // Values from around are not mapped by a clone.
  size_t place = 0;
  forEachOuterUse(clones,
                  [&](OpOperand &operand) { operand.set(inside[place++]); });
  func::ReturnOp::create(builder, loc);
  function.setFunctionType(
      builder.getFunctionType(function.getBody().getArgumentTypes(), {}));
}

Value Generalization::get(Values values) {
  if (Value known = made.lookup(values))
    return known;
  Value result = makeInside(values);
  Values kept = values.copy(allocator);
  if (!result) {
    result = function.getBody().addArgument(values.front().getType(),
                                            values.front().getLoc());
    arguments.push_back(kept);
    words += getWords(result.getType()) * values.size();
  }
  return made[kept] = result;
}

Value Generalization::makeInside(Values values) {
  Operation *model = values.front().getDefiningOp();
  if (!model || !isMadeInside(model))
    return {};
  for (Value value : values.drop_front()) {
    Operation *op = value.getDefiningOp();
    if (!op || !agree(model, op))
      return {};
  }
  IRMapping mapping;
  SmallVector<Value> operands;
  for (unsigned i = 0; i < model->getNumOperands(); ++i) {
    SmallVector<Value> each = llvm::map_to_vector(values, [&](Value value) {
      return value.getDefiningOp()->getOperand(i);
    });
    operands.push_back(get(each));
  }
  Operation *clone = builder.clone(*model);
  clone->setOperands(operands);
  return clone->getResult(0);
}

void Generalization::replaceByCalls() {
  for (auto [i, occurrence] : llvm::enumerate(repeat.occurrences)) {
    OpBuilder outside(occurrence.back());
    SmallVector<Value> passed = llvm::map_to_vector(
        arguments, [index = i](Values values) { return values[index]; });
    func::CallOp::create(outside, occurrence.front()->getLoc(), function,
                         passed);
  }
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Views and sizes that nothing uses any more.
static void eraseDead(ModuleOp module) {
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

namespace {
struct OutlineRepeats : gatefold::impl::OutlineRepeatsBase<OutlineRepeats> {
  bool runRound(SymbolTable &symbols);

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (unsigned round = 0; round < maximumRounds; ++round)
      if (!runRound(symbols))
        break;
  }
};
} // namespace

bool OutlineRepeats::runRound(SymbolTable &symbols) {
  // Operations that calls stand for, and those around such.
  llvm::DenseSet<Operation *> replaced, changed;
  auto isTaken = [&](const Stretch &stretch) {
    if (llvm::any_of(stretch, [&](Operation *op) {
          return replaced.contains(op) || changed.contains(op);
        }))
      return true;
    for (Operation *op = stretch.front(); op; op = op->getParentOp())
      if (replaced.contains(op))
        return true;
    return false;
  };
  for (Repeat &repeat : findRepeats(getOperation())) {
    llvm::erase_if(repeat.occurrences, isTaken);
    if (repeat.occurrences.size() < 2)
      continue;
    Generalization generalization(repeat);
    if (repeat.saved() <=
        generalization.words + callSize * int64_t(repeat.occurrences.size())) {
      generalization.function.erase();
      continue;
    }
    symbols.insert(generalization.function);
    generalization.replaceByCalls();
    ++functionsMade;
    for (const Stretch &stretch : repeat.occurrences) {
      ++stretchesOutlined;
      replaced.insert(stretch.begin(), stretch.end());
      for (Operation *op = stretch.front()->getParentOp(); op;
           op = op->getParentOp())
        changed.insert(op);
    }
  }
  for (Operation *op : replaced)
    op->erase();
  eraseDead(getOperation());
  return !replaced.empty();
}
