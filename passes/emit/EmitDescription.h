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

/// What the description points to; `prepare` may be null.
struct PackedFunctions {
  llvm::Function *run = nullptr, *prepare = nullptr;
};

/// Adds NAME_gatefold_description (runtime/Description.h) to a module that has
/// `gatefold_sizes`, `gatefold_arena_bytes` and, with `prepare`,
/// `gatefold_prepare_arena_bytes`.
llvm::Expected<llvm::GlobalVariable *>
emitDescription(llvm::Module &module, const Interface &interface,
                const EmitOptions &options, const PackedFunctions &functions);

/// The description as JSON, as runtime/README.md defines it.
std::string descriptionAsJson(const Interface &interface,
                              const EmitOptions &options);

} // namespace gatefold

#endif // PASSES_EMIT_EMITDESCRIPTION_H
