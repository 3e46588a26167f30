// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OptimizeCode.cpp - What LLVM does to a module ----------------------===//
//
// The third level of LLVM, without what finds nothing in code like this.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/OptimizeCode.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

/// Passes of that level which take time with the square of an entry's length,
/// or find nothing in kernels that come as loops over vectors, nor in an entry
/// that calls them in a row.
static constexpr llvm::StringLiteral skipped[] = {
    "AdcePass",
    "AggressiveInstCombinePass",
    "AlignmentFromAssumptionsPass",
    "BDCEPass",
    "CallSiteSplittingPass",
    "CalledValuePropagationPass",
    "ConstraintEliminationPass",
    "ControlHeightReductionPass",
    "CorrelatedValuePropagationPass",
    "DivRemPairsPass",
    "Float2IntPass",
    "InjectTLIMappings",
    "JumpThreadingPass",
    "LibCallsShrinkWrapPass",
    "LoopDistributePass",
    "LoopFullUnrollPass",
    "LoopLoadEliminationPass",
    "LoopSinkPass",
    "LoopUnrollPass",
    "LowerConstantIntrinsicsPass",
    "LowerExpectIntrinsicPass",
    "MemCpyOptPass",
    "MergedLoadStoreMotionPass",
    "PostOrderFunctionAttrsPass",
    "ReversePostOrderFunctionAttrsPass",
    "SLPVectorizerPass",
    "SpeculativeExecutionPass",
    "TailCallElimPass",
};

/// Whether a function only hands numbers on: it has no loop, and computes with
/// integers alone.
static bool isGlue(const llvm::Function &function) {
  llvm::SmallVector<
      std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>>
      backEdges;
  llvm::FindFunctionBackedges(function, backEdges);
  return backEdges.empty() &&
         llvm::none_of(llvm::instructions(function),
                       [](const llvm::Instruction &instruction) {
                         llvm::Type *type = instruction.getType();
                         return type->isFPOrFPVectorTy() || type->isVectorTy();
                       });
}

/// Whether a run executes a function once: nothing calls it but such functions,
/// or the runtime. What the library exports is short.
static bool isCalledOnce(const llvm::Function &function) {
  return function.hasLocalLinkage() &&
         llvm::none_of(function.users(), [](const llvm::User *user) {
           auto *call = llvm::dyn_cast<llvm::Instruction>(user);
           return call && !call->getFunction()->hasOptNone();
         });
}

/// Leaves glue that a run executes once as it is. To optimize it takes a good
/// part of the time, which grows faster than its length.
static void leaveGlue(llvm::Module &module) {
  llvm::SmallVector<llvm::Function *> glue;
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && isGlue(function))
      glue.push_back(&function);
  // Callers before what they call.
  for (bool found = true; found;) {
    found = false;
    llvm::erase_if(glue, [&](llvm::Function *function) {
      if (!isCalledOnce(*function))
        return false;
      function->addFnAttr(llvm::Attribute::OptimizeNone);
      function->addFnAttr(llvm::Attribute::NoInline);
      return found = true;
    });
  }
}

void gatefold::initializeTargets() {
  static bool once = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    return true;
  }();
  (void)once;
}

void gatefold::runThirdLevel(llvm::Module &module, llvm::PassBuilder &builder) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

void gatefold::optimizeCode(llvm::Module &module,
                            llvm::TargetMachine &machine) {
  leaveGlue(module);
  llvm::PipelineTuningOptions tuning;
  // Copies of loop bodies take time: loops that gain by them say so themselves.
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = false;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [](llvm::StringRef pass, llvm::Any) {
        return !llvm::is_contained(skipped, pass);
      });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  runThirdLevel(module, builder);
}
