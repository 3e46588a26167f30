// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KeepAcrossCalls.cpp - What lives across calls in memory ------------===//
//
// A function that takes all registers leaves none for what its callers need
// behind the call, nor for its own arguments, so the assembler spills both for
// each thread. But they are the same in all threads of a block: one thread
// writes them to shared memory, and each reads them where they are used.
//
//     barrier               nobody reads the last call's arguments any more
//     thread 0 writes       arguments, and what the caller made before the call
//     barrier
//     call
//
// What a caller made in a block without such a call is written at the end of
// that block, between barriers of its own. A value has one place and one
// definition, so a place holds what its value was last; nothing is merged.
//
// A kernel's own parameters are constant memory. But what the assembler makes
// of them in front of a loop it keeps through the calls in it, so parameters
// that something is computed of behind a call are values, too. What special
// registers hold, as a thread's number, is read again behind a call.
//
// What there is no room for stays what it was, and may be spilled.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/KeepAcrossCalls.h"
#include "passes/emit/BlockUniformity.h"
#include "passes/emit/KernelEdits.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace gatefold;
using namespace llvm;

namespace {
/// What is written in front of one instruction.
struct Writes {
  SmallVector<WordValue> values;
  /// Whether some of it may be read before all threads meet at a call.
  bool isReadAtOnce = false;
  /// Whether a loop comes to it again.
  bool isRepeated = false;
};

class Keeper {
public:
  Keeper(Module &module, FunctionAnalysisManager &analyses, int64_t most)
      : module(module), analyses(analyses), blockUniformity(analyses),
        mostWords(most / SharedWords::bytes) {}
  bool run();

private:
  void findGreedy();
  void writeAll();
  unsigned getLevel(Function *function);
  void keepArguments(Function &function);
  void keepValues(Function &function);
  void remakeOfRegisters(Function &function);
  bool isGreedyCall(const Instruction &instruction) const {
    auto *call = dyn_cast<CallInst>(&instruction);
    return call && greedy.contains(call->getCalledFunction());
  }
  template <typename Range> auto findGreedyCall(Range &&instructions) const {
    return find_if(instructions, [&](const Instruction &instruction) {
      return isGreedyCall(instruction);
    });
  }
  bool hasGreedyCall(BasicBlock &block) const {
    return findGreedyCall(block) != block.end();
  }
  bool hasGreedyCall(const Loop &loop) const {
    return any_of(loop.blocks(),
                  [&](BasicBlock *block) { return hasGreedyCall(*block); });
  }
  Instruction *findPlace(const Use &use, LoopInfo &loops) const;
  void readAtUses(ArrayRef<Use *> uses, LoopInfo &loops,
                  function_ref<Instruction *(Instruction *place)> readBefore);
  SmallVector<Use *> findUsesBehindCalls(Value &value,
                                         BasicBlock::iterator known,
                                         bool &isReachedWithout) const;

  Module &module;
  FunctionAnalysisManager &analyses;
  BlockUniformity blockUniformity;
  int64_t mostWords;
  /// Greedy functions, and those that call them, but no kernel.
  SetVector<Function *> greedy;
  DenseMap<Function *, unsigned> levels;
  /// Arguments by level: those of functions that do not call one another are
  /// in the same places.
  SmallVector<std::unique_ptr<SharedWords>> arguments;
  /// Values of each caller.
  SmallVector<std::unique_ptr<SharedWords>> values;
  /// Those whose arguments are in memory now.
  SmallVector<Function *> withoutParameters;
  /// What stands in front of calls and at the ends of blocks.
  MapVector<Instruction *, Writes> writes;
};
} // namespace

void Keeper::findGreedy() {
  for (Function &function : module)
    if (function.hasFnAttribute(greedyName) && !function.isDeclaration())
      greedy.insert(&function);
  for (unsigned i = 0; i < greedy.size(); ++i)
    for (User *user : greedy[i]->users())
      if (auto *call = dyn_cast<CallInst>(user))
        if (Function *caller = call->getFunction();
            caller->getCallingConv() != CallingConv::PTX_Kernel)
          greedy.insert(caller);
}

/// How deep calls of greedy functions in it go.
unsigned Keeper::getLevel(Function *function) {
  if (auto found = levels.find(function); found != levels.end())
    return found->second;
  levels[function] = 0; // No function calls itself.
  unsigned level = 0;
  for (Instruction &instruction : instructions(function))
    if (isGreedyCall(instruction))
      level = std::max(
          level, getLevel(cast<CallInst>(instruction).getCalledFunction()) + 1);
  return levels[function] = level;
}

/// In front of the innermost loop, in which time goes; further out a register
/// would hold it for long.
Instruction *Keeper::findPlace(const Use &use, LoopInfo &loops) const {
  auto *user = cast<Instruction>(use.getUser());
  if (auto *merge = dyn_cast<PHINode>(user))
    return merge->getIncomingBlock(use)->getTerminator();
  Loop *loop = loops.getLoopFor(user->getParent());
  if (!loop || !loop->isInnermost() || hasGreedyCall(*loop))
    return user;
  if (auto *source = dyn_cast<Instruction>(use.get());
      source && loop->contains(source))
    return user;
  BasicBlock *before = loop->getLoopPreheader();
  return before ? before->getTerminator() : user;
}

void Keeper::readAtUses(
    ArrayRef<Use *> uses, LoopInfo &loops,
    function_ref<Instruction *(Instruction *place)> readBefore) {
  // The reads of each block, in order.
  DenseMap<BasicBlock *, SmallVector<Instruction *>> known;
  auto read = [&](Instruction *place) -> Value * {
    SmallVector<Instruction *> &reads = known[place->getParent()];
    for (Instruction *earlier : reads)
      if (earlier->comesBefore(place) &&
          findGreedyCall(
              make_range(earlier->getIterator(), place->getIterator())) ==
              place->getIterator())
        return earlier;
    reads.push_back(readBefore(place));
    return reads.back();
  };
  // A merge has one value for each block that it comes from, however many
  // edges.
  for (Use *use : uses)
    use->set(read(findPlace(*use, loops)));
}

void Keeper::keepArguments(Function &function) {
  bool isSimple = all_of(function.users(), [&](User *user) {
    auto *call = dyn_cast<CallInst>(user);
    return call && call->getCalledFunction() == &function;
  });
  unsigned level = getLevel(&function);
  while (arguments.size() <= level)
    arguments.push_back(std::make_unique<SharedWords>(
        module, "gatefold_arguments_" + std::to_string(arguments.size())));
  SharedWords &words = *arguments[level];
  int64_t more =
      std::max<int64_t>(0, static_cast<int64_t>(function.arg_size()) -
                               static_cast<int64_t>(words.size()));
  if (!isSimple || more > mostWords ||
      !all_of(function.args(), [](Argument &argument) {
        return SharedWords::fits(argument.getType());
      }))
    return;
  mostWords -= more;
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  for (auto [index, argument] : enumerate(function.args())) {
    SmallVector<Use *> uses(make_pointer_range(argument.uses()));
    WordValue kept = {&argument, words.getPlace(index)};
    readAtUses(uses, loops,
               [&](Instruction *place) { return readBefore(place, kept); });
  }
  withoutParameters.push_back(&function);
}

/// Uses that a path from where the value is known comes to through a greedy
/// call. Sets `isReachedWithout` if one of them has a path without, too.
SmallVector<Use *> Keeper::findUsesBehindCalls(Value &value,
                                               BasicBlock::iterator known,
                                               bool &isReachedWithout) const {
  constexpr unsigned without = 1, behindCall = 2;
  BasicBlock *home = known->getParent();
  auto behind = [&](BasicBlock::iterator first, BasicBlock::iterator end) {
    return findGreedyCall(make_range(first, end)) != end;
  };
  // How paths come to the begin of a block, and to its end.
  DenseMap<BasicBlock *, unsigned> begins, ends;
  SmallVector<BasicBlock *> work = {home};
  while (!work.empty()) {
    BasicBlock *block = work.pop_back_val();
    unsigned end = begins.lookup(block);
    if (block == home)
      end = behind(known, block->end()) ? behindCall : without;
    else if (hasGreedyCall(*block))
      end = behindCall;
    if (ends.lookup(block) == end)
      continue;
    ends[block] = end;
    for (BasicBlock *next : successors(block)) {
      if (next == home || (begins.lookup(next) | end) == begins.lookup(next))
        continue;
      begins[next] |= end;
      work.push_back(next);
    }
  }
  SmallVector<Use *> uses;
  for (Use &use : value.uses()) {
    auto *user = cast<Instruction>(use.getUser());
    unsigned ways;
    if (auto *merge = dyn_cast<PHINode>(user)) {
      ways = ends.lookup(merge->getIncomingBlock(use));
    } else {
      BasicBlock *block = user->getParent();
      auto first = block == home ? known : block->begin();
      ways = behind(first, user->getIterator()) ? behindCall
             : block == home                    ? without
                                                : begins.lookup(block);
    }
    if ((ways & behindCall) == 0)
      continue;
    uses.push_back(&use);
    isReachedWithout |= (ways & without) != 0;
  }
  return uses;
}

/// Behind calls, and all reads where they are used: LLVM would take one that
/// stays for the others.
void Keeper::remakeOfRegisters(Function &function) {
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  SmallVector<Instruction *> made;
  for (Instruction &instruction : instructions(function))
    if (isOfRegisters(instruction))
      made.push_back(&instruction);
  // What is made of others before them, so that they are asked for their last
  // uses.
  for (Instruction *value : reverse(made)) {
    auto remake = [&](Instruction *place) {
      return remakeBefore(place, *value);
    };
    bool isReachedWithout = false;
    readAtUses(findUsesBehindCalls(*value, std::next(value->getIterator()),
                                   isReachedWithout),
               loops, remake);
    if (value->use_empty())
      value->eraseFromParent();
    else if (isa<CallInst>(value)) {
      value->replaceAllUsesWith(remake(value));
      value->eraseFromParent();
    }
  }
}

void Keeper::keepValues(Function &function) {
  UniformityInfo uniformity = blockUniformity.analyze(function);
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  values.push_back(std::make_unique<SharedWords>(
      module, (function.getName() + "_kept").str()));
  SharedWords &words = *values.back();
  // Values, and where they are known.
  SmallVector<std::pair<Value *, BasicBlock::iterator>> candidates;
  for (Instruction &instruction : instructions(function))
    if (SharedWords::fits(instruction.getType()) && !instruction.use_empty() &&
        !isOfRegisters(instruction) && !uniformity.isDivergent(&instruction))
      candidates.push_back(
          {&instruction, std::next(instruction.getIterator())});
  // Last, where room is left.
  if (function.getCallingConv() == CallingConv::PTX_Kernel)
    for (Argument &argument : function.args())
      if (SharedWords::fits(argument.getType()))
        candidates.push_back(
            {&argument, function.getEntryBlock().getFirstInsertionPt()});
  for (auto [value, known] : candidates) {
    // Not all threads need come to what another loop repeats.
    BasicBlock *block = known->getParent();
    bool isShared = true;
    for (Loop *loop = loops.getLoopFor(block); loop;
         loop = loop->getParentLoop())
      isShared &= hasGreedyCall(*loop);
    bool isReachedWithout = false;
    SmallVector<Use *> uses =
        findUsesBehindCalls(*value, known, isReachedWithout);
    // What is passed on is read where it is written.
    if (isa<Argument>(value))
      erase_if(uses, [&](Use *use) {
        return isGreedyCall(*cast<Instruction>(use->getUser()));
      });
    if (!isShared || uses.empty() || mostWords == 0 ||
        any_of(uses, [&](Use *use) { return uniformity.isDivergentUse(*use); }))
      continue;
    --mostWords;
    WordValue kept = {value, words.getPlace(words.size())};
    readAtUses(uses, loops,
               [&](Instruction *place) { return readBefore(place, kept); });
    auto call = findGreedyCall(make_range(known, block->end()));
    Writes &group =
        writes[call == block->end() ? block->getTerminator() : &*call];
    group.values.push_back(kept);
    group.isReadAtOnce |= isReachedWithout;
    group.isRepeated |= loops.getLoopFor(block) != nullptr;
  }
}

void Keeper::writeAll() {
  for (Function *function : withoutParameters) {
    SharedWords &words = *arguments[getLevel(function)];
    for (User *user : function->users()) {
      auto *call = cast<CallInst>(user);
      for (auto [index, operand] : enumerate(call->args()))
        writes[call].values.push_back({operand, words.getPlace(index)});
    }
  }
  for (auto &[place, group] : writes) {
    if (group.values.empty())
      continue;
    bool isCall = isGreedyCall(*place);
    IRBuilder<> builder(place);
    if (isCall ? !followsBarrier(*place) : group.isRepeated)
      createBarrier(builder);
    writeBefore(place, group.values);
    builder.SetInsertPoint(place);
    if (isCall || group.isReadAtOnce)
      createBarrier(builder);
  }
  for (Function *function : withoutParameters) {
    dropFirstBarrier(*function);
    dropParameters(*function);
  }
  for (std::unique_ptr<SharedWords> &words :
       concat<std::unique_ptr<SharedWords>>(arguments, values))
    words->finish();
}

bool Keeper::run() {
  findGreedy();
  if (greedy.empty())
    return false;
  for (Function *function : greedy)
    keepArguments(*function);
  SmallVector<Function *> callers;
  for (Function &function : module)
    if (any_of(function,
               [&](BasicBlock &block) { return hasGreedyCall(block); }))
      callers.push_back(&function);
  // The other way around nothing would be known to be alike in all threads.
  for (Function *caller : callers)
    keepValues(*caller);
  for (Function *caller : callers)
    remakeOfRegisters(*caller);
  writeAll();
  return true;
}

PreservedAnalyses KeepAcrossCallsPass::run(Module &module,
                                           ModuleAnalysisManager &analyses) {
  auto &functions =
      analyses.getResult<FunctionAnalysisManagerModuleProxy>(module)
          .getManager();
  return Keeper(module, functions, mostBytes).run() ? PreservedAnalyses::none()
                                                    : PreservedAnalyses::all();
}
