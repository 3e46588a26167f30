// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KernelPassesTest.cpp - One pass on the LLVM IR of kernels ----------===//
//
// gatefold-kernel-passes-test PASS FILE.ll: the module behind the pass.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/SinkIntoLoops.h"
#include "passes/emit/SinkToUses.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace gatefold;

int main(int count, char **words) {
  if (count != 3) {
    errs() << "usage: gatefold-kernel-passes-test PASS FILE.ll\n";
    return 2;
  }
  FunctionPassManager passes;
  StringRef name = words[1];
  if (name == "sink-into-loops")
    passes.addPass(SinkIntoLoopsPass());
  else if (name == "sink-to-uses")
    passes.addPass(SinkToUsesPass());
  else {
    errs() << "there is no pass " << name << "\n";
    return 2;
  }
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseIRFile(words[2], diagnostic, context);
  if (!module) {
    diagnostic.print(words[0], errs());
    return 1;
  }
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  for (Function &function : *module)
    if (!function.isDeclaration())
      passes.run(function, functions);
  if (verifyModule(*module, &errs()))
    return 1;
  module->print(outs(), nullptr);
  return 0;
}
