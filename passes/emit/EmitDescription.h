// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitDescription.h - The description as a constant --------*- C++ -*-===//
//
// Internal to the emission.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_EMITDESCRIPTION_H
#define PASSES_EMIT_EMITDESCRIPTION_H

#include "passes/emit/Emit.h"
#include "passes/support/Entry.h"
#include "llvm/IR/Module.h"

namespace gatefold {

/// Adds NAME_gatefold_description (runtime/Description.h) to a module that has
/// `gatefold_sizes`, `gatefold_arena_bytes` and `run`.
llvm::Expected<llvm::GlobalVariable *>
emitDescription(llvm::Module &module, const Interface &interface,
                const EmitOptions &options, llvm::Function *run);

/// The description as JSON, as runtime/README.md defines it.
std::string descriptionAsJson(const Interface &interface,
                              const EmitOptions &options);

} // namespace gatefold

#endif // PASSES_EMIT_EMITDESCRIPTION_H
