// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Emit.h - From the llvm dialect to code -------------------*- C++ -*-===//
//
// One object file serves everything: the library links it, the JIT loads it, so
// that both compute the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_EMIT_H
#define PASSES_EMIT_EMIT_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/emit/EmitKernels.h"
#include "runtime/Description.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace gatefold {

/// A program as it was compiled for one kind of GPU.
struct EmitVariant {
  std::string target;
  /// What the `nvvm` phase left: how its kernels are launched.
  mlir::ModuleOp kernels;
  /// What the `cpu` phase left, of which the functions of sizes are used.
  mlir::ModuleOp host;
  DeviceImage image;
};

struct EmitOptions {
  /// `native`, or an LLVM processor name such as `x86-64-v3`.
  std::string target = "native";
  /// Symbols of the library begin with NAME_; a C identifier.
  std::string name;
  /// Weights to embed, by parameter name, contiguous; empty: none.
  std::vector<std::pair<std::string, llvm::ArrayRef<char>>> embeddedWeights;
  /// Code for GPUs that the object holds beside that for the CPU.
  std::vector<EmitVariant> variants;
};

/// The forms that code can be had in.
enum class CodeForm { LlvmIr, Assembly, Object };

/// Turns a module that the `cpu` phase left into code. The object defines the
/// description, under the symbol NAME_gatefold_description, and
/// the exported functions NAME_create, NAME_run, ... (runtime/Runtime.h),
/// which call the runtime's; those for GPUs where it has code for one.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitCode(mlir::ModuleOp module, const EmitOptions &options, CodeForm form);

/// Links an object with the runtime into a shared library at `path` (temporary
/// name, renamed). Finds a linker: cc, clang, or lld of LLVM 22.
llvm::Error linkLibrary(const llvm::MemoryBuffer &object,
                        const EmitOptions &options, llvm::StringRef path);

/// The text of NAME.h. `description` is that of the loaded object or library.
std::string emitHeader(const gatefold_description &description,
                       llvm::StringRef name);

/// An object loaded into this process, with the runtime of this process.
class LoadedModel {
public:
  virtual ~LoadedModel() = default;
  virtual const gatefold_description &description() const = 0;
};
llvm::Expected<std::unique_ptr<LoadedModel>>
loadObject(std::unique_ptr<llvm::MemoryBuffer> object,
           const EmitOptions &options);

} // namespace gatefold

#endif // PASSES_EMIT_EMIT_H
