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
class TargetMachine;
} // namespace llvm

namespace gatefold {

void optimizeCode(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace gatefold

#endif // PASSES_EMIT_OPTIMIZECODE_H
