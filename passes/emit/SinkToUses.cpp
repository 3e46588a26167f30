// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SinkToUses.cpp - Values are made where they are used ---------------===//
//
// Code on vectors becomes an operation on all elements of a thread, then the
// next on all. Where an element goes through several operations, as a score
// that is hidden, between them one value of each element is alive, or two and
// what they are chosen by. The assembler keeps much of that order, and spills.
//
//     a0 = f(x0)          a0 = f(x0)
//     a1 = f(x1)          b0 = g(a0, y0)
//     b0 = g(a0, y0)      use b0
//     b1 = g(a1, y1)      a1 = f(x1)
//     use b0              b1 = g(a1, y1)
//     use b1              use b1
//
// What is read from memory is read as early as before, so that all reads are
// under way at once.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/SinkToUses.h"
#include "passes/emit/KeepAcrossCalls.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

using namespace gatefold;
using namespace llvm;

static bool canSink(const Instruction &instruction) {
  if (instruction.isTerminator() || isa<PHINode, AllocaInst>(instruction) ||
      instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects())
    return false;
  auto *call = dyn_cast<CallBase>(&instruction);
  return !call || !call->isConvergent();
}

/// The instructions of a block in their new order.
static SmallVector<Instruction *> order(BasicBlock &block) {
  SmallVector<Instruction *> result;
  DenseSet<Instruction *> placed;
  // An instruction behind those of its operands that are not placed yet.
  auto place = [&](Instruction &last) {
    SmallVector<std::pair<Instruction *, unsigned>> open = {{&last, 0}};
    while (!open.empty()) {
      auto &[instruction, next] = open.back();
      bool isDone = placed.contains(instruction);
      if (isDone || next == instruction->getNumOperands()) {
        if (!isDone) {
          placed.insert(instruction);
          result.push_back(instruction);
        }
        open.pop_back();
        continue;
      }
      auto *operand = dyn_cast<Instruction>(instruction->getOperand(next++));
      if (operand && operand->getParent() == &block &&
          !isa<PHINode>(instruction) && !placed.contains(operand))
        open.push_back({operand, 0});
    }
  };
  for (Instruction &instruction : block)
    if (!canSink(instruction) && !instruction.isTerminator())
      place(instruction);
  for (Instruction &instruction : block)
    place(instruction);
  return result;
}

PreservedAnalyses SinkToUsesPass::run(Function &function,
                                      FunctionAnalysisManager &) {
  if (!function.hasFnAttribute(greedyName))
    return PreservedAnalyses::all();
  for (BasicBlock &block : function)
    for (Instruction *instruction : order(block))
      instruction->moveBefore(block, block.end());
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}
