// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SinkIntoLoops.cpp - Numbers of rare paths are made there -----------===//
//
// The loop of a product copies what comes next to shared memory: 16 bytes at a
// time where all lies at multiples of them, else element by element, with
// conditions of its own. LLVM computes what each of these ways needs once, in
// front of the loop, which is worth more than a hundred numbers. All of them
// would live in registers beside the sums, which takes them all:
//
//     a = p + 8 * i                 loop:
//     loop:                           products
//       products                      if rare:
//       if rare:              ->        a = p + 8 * i
//         use a                         use a
//
// A number is made again in each block that uses it, if that has no product,
// and if what it is made of is alive in the loop anyway or takes no more
// registers.
//
// Not in attentions: there it is by chance. Of four that spilled it helped
// three, and two others spilled by it, though fewer numbers are alive in their
// loops, too.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/SinkIntoLoops.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace gatefold;
using namespace llvm;

/// Whether an instruction is part of a product on tensor cores.
static bool isOfProduct(const Instruction &instruction) {
  auto *call = dyn_cast<CallBase>(&instruction);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee && (callee->getName().starts_with("llvm.nvvm.mma.") ||
                    callee->getName().starts_with("llvm.nvvm.ldmatrix."));
}

/// Registers of 32 bits.
static unsigned registersOf(const Value &value) {
  Type *type = value.getType();
  if (type->isPointerTy())
    return 2;
  return type->isIntegerTy(1) ? 0 : divideCeil(type->getScalarSizeInBits(), 32);
}

/// Whether it is no dearer to make a value than to keep it.
static bool isCheap(const Instruction &instruction) {
  switch (instruction.getOpcode()) {
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem:
    return false;
  default:
    break;
  }
  if (!instruction.getType()->isIntOrPtrTy())
    return false;
  if (isa<BinaryOperator, CastInst, GetElementPtrInst, CmpInst, SelectInst>(
          instruction))
    return true;
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  if (!intrinsic)
    return false;
  switch (intrinsic->getIntrinsicID()) {
  case Intrinsic::abs:
  case Intrinsic::smax:
  case Intrinsic::smin:
  case Intrinsic::umax:
  case Intrinsic::umin:
    return true;
  default:
    return false;
  }
}

namespace {
class Sinking {
public:
  Sinking(Function &function, LoopInfo &loops) : loops(loops) {
    for (Instruction &instruction : instructions(function)) {
      if (!isOfProduct(instruction))
        continue;
      hot.insert(instruction.getParent());
      // What an outer loop needs elsewhere lives through the inner one, too.
      for (Loop *loop = loops.getLoopFor(instruction.getParent()); loop;
           loop = loop->getParentLoop())
        productLoops.insert(loop);
    }
    // Users before what they use.
    for (BasicBlock *block : post_order(&function))
      for (Instruction &instruction : reverse(*block))
        if (isCheap(instruction))
          candidates.push_back(&instruction);
  }

  bool run() {
    bool changed = false;
    if (productLoops.empty())
      return false;
    for (Instruction *instruction : candidates)
      changed |= sink(*instruction);
    return changed;
  }

private:
  /// The innermost loop around a block that holds a product.
  Loop *productLoopOf(const BasicBlock *block) const {
    Loop *loop = loops.getLoopFor(block);
    while (loop && !productLoops.contains(loop))
      loop = loop->getParentLoop();
    return loop;
  }

  /// Whether something in a loop needs a value that is made outside of it.
  bool livesIn(const Value &value, const Loop &loop,
               const Instruction *except) const {
    return any_of(value.users(), [&](const User *user) {
      auto *instruction = dyn_cast<Instruction>(user);
      return instruction && instruction != except && loop.contains(instruction);
    });
  }

  bool sink(Instruction &instruction) {
    if (instruction.use_empty())
      return false;
    SmallDenseSet<Loop *, 4> entered;
    for (Use &use : instruction.uses()) {
      auto *user = cast<Instruction>(use.getUser());
      BasicBlock *block = user->getParent();
      if (isa<PHINode>(user))
        block = cast<PHINode>(user)->getIncomingBlock(use);
      if (hot.contains(block))
        return false;
      Loop *loop = productLoopOf(block);
      if (loop && !loop->contains(&instruction))
        entered.insert(loop);
    }
    if (entered.empty())
      return false;
    unsigned needed = 0;
    for (Value *operand : instruction.operands()) {
      if (!isa<Instruction, Argument>(operand))
        continue;
      bool isAlive = all_of(entered, [&](Loop *loop) {
        return livesIn(*operand, *loop, &instruction);
      });
      if (!isAlive)
        needed += registersOf(*operand);
    }
    if (needed > registersOf(instruction))
      return false;
    // A copy in each block that uses it, in front of the first use.
    DenseMap<BasicBlock *, Instruction *> firstUses;
    auto placeOf = [](Use &use) {
      auto *user = cast<Instruction>(use.getUser());
      auto *phi = dyn_cast<PHINode>(user);
      return phi ? phi->getIncomingBlock(use)->getTerminator() : user;
    };
    SmallVector<Use *> uses;
    for (Use &use : instruction.uses()) {
      Instruction *place = placeOf(use);
      if (place->getParent() == instruction.getParent())
        continue;
      uses.push_back(&use);
      Instruction *&first = firstUses[place->getParent()];
      if (!first || place->comesBefore(first))
        first = place;
    }
    DenseMap<BasicBlock *, Instruction *> copies;
    for (Use *use : uses) {
      BasicBlock *block = placeOf(*use)->getParent();
      Instruction *&copy = copies[block];
      if (!copy) {
        copy = instruction.clone();
        copy->setName(instruction.getName());
        copy->insertBefore(firstUses[block]->getIterator());
      }
      use->set(copy);
    }
    if (instruction.use_empty())
      instruction.eraseFromParent();
    return true;
  }

  LoopInfo &loops;
  SmallPtrSet<Loop *, 8> productLoops;
  SmallPtrSet<BasicBlock *, 16> hot;
  SmallVector<Instruction *> candidates;
};
} // namespace

PreservedAnalyses SinkIntoLoopsPass::run(Function &function,
                                         FunctionAnalysisManager &analyses) {
  if (!function.hasFnAttribute(productOnlyName))
    return PreservedAnalyses::all();
  Sinking sinking(function, analyses.getResult<LoopAnalysis>(function));
  if (!sinking.run())
    return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}
