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

/// DLPack's code and bits of an element type.
gatefold_element elementOf(mlir::Type type);

/// What the description points to; `prepare` may be null.
struct PackedFunctions {
  llvm::Function *run = nullptr, *prepare = nullptr;
};

/// Adds NAME_gatefold_description (runtime/Description.h) to a module that has
/// `gatefold_sizes`, `gatefold_arena_bytes` and, with `prepare`,
/// `gatefold_prepare_arena_bytes`. `variants` are those of `emitVariants`.
llvm::Expected<llvm::GlobalVariable *>
emitDescription(llvm::Module &module, const Interface &interface,
                const EmitOptions &options, const PackedFunctions &functions,
                llvm::ArrayRef<llvm::Constant *> variants);

/// The description of a program whose run is a kernel: a constant of the
/// module, whose functions of sizes begin with `prefix`.
llvm::Expected<llvm::Constant *>
emitVariantDescription(llvm::Module &module, const Interface &interface,
                       const EmitOptions &options, llvm::StringRef prefix);

/// Links what a machine does for each GPU of the options into the module, under
/// names that begin with the GPU's, and gives each gatefold_variant.
llvm::Expected<llvm::SmallVector<llvm::Constant *>>
emitVariants(llvm::Module &module, const EmitOptions &options);

/// The description as JSON, as runtime/README.md defines it.
std::string descriptionAsJson(const Interface &interface,
                              const EmitOptions &options);

} // namespace gatefold

#endif // PASSES_EMIT_EMITDESCRIPTION_H
