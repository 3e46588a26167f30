// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OutlineLoops.cpp - One function for equal loops --------------------===//
//
// Moves loops that a module holds several times into functions.
//
// The code is the same, called from more places; it is entered once for all
// iterations, and what it does is products and passes over data, beside which
// a call takes no time.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "passes/cpu/Outline.h"
#include "passes/cpu/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace gatefold {
#define GEN_PASS_DEF_OUTLINELOOPS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// Calls, products and packings: what makes up most of the code of a loop.
static bool isWork(Operation *op) {
  return isa<func::CallOp, LinearOp, PackOp>(op);
}

/// Fewer of them are as short as the call of the loop's function.
static constexpr int64_t leastWork = 3;

/// What belongs to the entry: a rank's part and barriers become its arguments,
/// an assertion its result.
static bool belongsToEntry(Operation *op) {
  return isa<scf::ForallOp, TeamRankOp, TeamSizeOp, TeamBarrierOp,
             cf::AssertOp>(op);
}

/// Operations of a loop, or 0 if it has to stay.
static int64_t getSize(scf::ForOp loop) {
  if (loop.getNumResults() > 0)
    return 0;
  int64_t size = 0, work = 0;
  WalkResult result = loop->walk([&](Operation *op) {
    if (belongsToEntry(op))
      return WalkResult::interrupt();
    ++size;
    work += isWork(op);
    return WalkResult::advance();
  });
  return result.wasInterrupted() || work < leastWork ? 0 : size;
}

namespace {
struct OutlineLoops : gatefold::impl::OutlineLoopsBase<OutlineLoops> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    struct Candidate {
      int64_t size;
      size_t number;
      OutlinedOperation outlined;
      /// Loops around it.
      SmallVector<Operation *> outer;
    };
    SmallVector<Candidate> candidates;
    module.walk([&](scf::ForOp loop) {
      int64_t size = getSize(loop);
      if (size == 0)
        return;
      SmallVector<Operation *> outer;
      for (auto parent = loop->getParentOfType<scf::ForOp>(); parent;
           parent = parent->getParentOfType<scf::ForOp>())
        outer.push_back(parent);
      candidates.push_back(
          {size, candidates.size(), {loop, "gatefold_loop"}, outer});
    });
    llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
      return std::pair(-a.size, a.number) < std::pair(-b.size, b.number);
    });
    // Larger ones first, so that what lies in one that goes goes with it.
    SymbolTable symbols(module);
    llvm::DenseSet<Operation *> gone;
    SmallVector<bool> isDone(candidates.size(), false);
    auto isGone = [&](const Candidate &candidate) {
      return llvm::any_of(candidate.outer,
                          [&](Operation *op) { return gone.contains(op); });
    };
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (isDone[i] || isGone(candidates[i]))
        continue;
      SmallVector<size_t> equal = {i};
      for (size_t j = i + 1; j < candidates.size(); ++j)
        if (candidates[j].size == candidates[i].size && !isDone[j] &&
            !isGone(candidates[j]) &&
            candidates[i].outlined.isEqual(candidates[j].outlined))
          equal.push_back(j);
      if (equal.size() < 2)
        continue;
      func::FuncOp function = candidates[i].outlined.function;
      symbols.insert(function);
      candidates[i].outlined.function = {};
      ++functionsMade;
      for (size_t j : equal) {
        gone.insert(candidates[j].outlined.op);
        isDone[j] = true;
        candidates[j].outlined.replaceByCall(function);
        ++loopsOutlined;
      }
    }
    for (Candidate &candidate : candidates)
      if (func::FuncOp function = candidate.outlined.function)
        function.erase();
  }
};
} // namespace
