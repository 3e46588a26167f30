// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitKernels.h - From the nvvm dialect to code for GPUs ---*- C++ -*-===//

#ifndef PASSES_EMIT_EMITKERNELS_H
#define PASSES_EMIT_EMITKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace gatefold {

/// The forms that kernels can be had in. The bitcode is what PTX is made from,
/// after all optimisations, with the places in the text; it is what an emulator
/// executes.
enum class KernelForm { LlvmIr, Bitcode, Ptx };

/// Turns the gpu.module of a module that the `nvvm` phase left into code for a
/// GPU such as `sm_80`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitKernels(mlir::ModuleOp module, llvm::StringRef target, KernelForm form);

/// PTX to the machine code of one kind of GPU, a cubin, by NVIDIA's `ptxas`. It
/// is looked for on PATH, then in the folder `bin` of what CUDA_ROOT, CUDA_HOME
/// and CUDA_PATH name.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
assemblePtx(const llvm::MemoryBuffer &ptx, llvm::StringRef target);

/// Where `ptxas` is; the error names where it was looked for.
llvm::Expected<std::string> findPtxas();

} // namespace gatefold

#endif // PASSES_EMIT_EMITKERNELS_H
