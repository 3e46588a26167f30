// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BlockUniformity.cpp - Values alike in a thread block ---------------===//

#include "passes/emit/BlockUniformity.h"
#include "llvm/ADT/GenericUniformityImpl.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace gatefold;
using namespace llvm;

static InstructionUniformity getUniformity(const IntrinsicInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::nvvm_read_ptx_sreg_tid_x:
  case Intrinsic::nvvm_read_ptx_sreg_tid_y:
  case Intrinsic::nvvm_read_ptx_sreg_tid_z:
  case Intrinsic::nvvm_read_ptx_sreg_laneid:
  case Intrinsic::nvvm_read_ptx_sreg_warpid:
    return InstructionUniformity::NeverUniform;
  case Intrinsic::nvvm_barrier_cta_red_or_aligned_all:
  case Intrinsic::nvvm_barrier_cta_red_and_aligned_all:
  case Intrinsic::nvvm_barrier_cta_red_popc_aligned_all:
    return InstructionUniformity::AlwaysUniform;
  default:
    // What exchanges values or reads memory may give each thread another one.
    return call.isConvergent() || !call.doesNotAccessMemory()
               ? InstructionUniformity::NeverUniform
               : InstructionUniformity::Default;
  }
}

namespace {
/// Where values that differ come from.
class Sources : public TargetTransformInfoImplCRTPBase<Sources> {
public:
  Sources(const DataLayout &layout, BlockUniformity &block)
      : TargetTransformInfoImplCRTPBase(layout), block(block) {}
  bool hasBranchDivergence(const Function *) const override { return true; }
  InstructionUniformity
  getInstructionUniformity(const Value *value) const override {
    if (auto *call = dyn_cast<IntrinsicInst>(value))
      return getUniformity(*call);
    if (auto *call = dyn_cast<CallBase>(value)) {
      Function *callee = call->getCalledFunction();
      return callee && !callee->isDeclaration() &&
                     block.isResultUniform(*callee)
                 ? InstructionUniformity::Default
                 : InstructionUniformity::NeverUniform;
    }
    auto *instruction = dyn_cast<Instruction>(value);
    return instruction &&
                   (instruction->isAtomic() || isa<AllocaInst>(instruction))
               ? InstructionUniformity::NeverUniform
               : InstructionUniformity::Default;
  }

private:
  BlockUniformity &block;
};
} // namespace

UniformityInfo BlockUniformity::analyze(Function &function) {
  TargetTransformInfo sources(
      std::make_unique<Sources>(function.getParent()->getDataLayout(), *this));
  UniformityInfo result(analyses.getResult<DominatorTreeAnalysis>(function),
                        analyses.getResult<CycleAnalysis>(function), &sources);
  result.compute();
  return result;
}

bool BlockUniformity::isResultUniform(Function &function) {
  if (auto found = results.find(&function); found != results.end())
    return found->second;
  results[&function] = false; // Of one that calls itself nothing is known.
  UniformityInfo uniformity = analyze(function);
  return results[&function] = all_of(function, [&](BasicBlock &block) {
           auto *end = dyn_cast<ReturnInst>(block.getTerminator());
           return !end || !end->getReturnValue() ||
                  uniformity.isUniform(end->getReturnValue());
         });
}
