// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OptimizeCode.h - What LLVM does to a module --------------*- C++ -*-===//
//
// The passes between translation and the generation of code.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_OPTIMIZECODE_H
#define PASSES_EMIT_OPTIMIZECODE_H

namespace llvm {
class Module;
class PassBuilder;
class TargetMachine;
} // namespace llvm

namespace gatefold {

/// Makes the targets of this LLVM known to it, once.
void initializeTargets();

/// LLVM's third level, as `builder` was set up to make it.
void runThirdLevel(llvm::Module &module, llvm::PassBuilder &builder);

/// The same for a CPU, without what finds nothing in code like this.
void optimizeCode(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace gatefold

#endif // PASSES_EMIT_OPTIMIZECODE_H
