// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitKernels.h - From the nvvm dialect to code for GPUs ---*- C++ -*-===//

#ifndef PASSES_EMIT_EMITKERNELS_H
#define PASSES_EMIT_EMITKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace gatefold {

/// The forms that kernels can be had in. The bitcode is what PTX is made from,
/// after all optimisations, with the places in the text; it is what an emulator
/// executes.
enum class KernelForm { LlvmIr, Bitcode, Ptx };

/// Turns the gpu.module of a module that the `nvvm` phase left into code for a
/// GPU such as `sm_80`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitKernels(mlir::ModuleOp module, llvm::StringRef target, KernelForm form);

/// How a kernel is launched.
struct KernelLaunch {
  std::string name;
  /// Of a block: so many at most, or just so many.
  int32_t threads = 0;
  bool areThreadsExact = false;
  /// Of dynamic shared memory.
  int64_t sharedBytes = 0;
  /// The words of each tensor's descriptor, then of the arena's, that are its
  /// parameters (passes/gpu/Kernels.h).
  std::vector<std::vector<int64_t>> words;

  bool exists() const { return !words.empty(); }
  /// From a module that the phase `nvvm` left, which may have no such kernel.
  static KernelLaunch read(mlir::ModuleOp module, llvm::StringRef kernel);
};

/// What is made of PTX.
struct MachineCode {
  std::unique_ptr<llvm::MemoryBuffer> code;
  /// What of its functions' registers the assembler keeps in memory, whatever
  /// it is asked, for a message; empty: nothing.
  std::string spills;
};

/// PTX to the machine code of one kind of GPU, a cubin, by NVIDIA's `ptxas`.
/// Where it spills it is asked again, to take registers less freely.
llvm::Expected<MachineCode> assemblePtx(const llvm::MemoryBuffer &ptx,
                                        llvm::StringRef target);

/// PTX and the cubin that is made of it in one image, a fatbin, by NVIDIA's
/// `ptxas` and `fatbinary`.
llvm::Expected<MachineCode> emitFatbin(const llvm::MemoryBuffer &ptx,
                                       llvm::StringRef target);

/// What a driver is to load.
struct DeviceImage {
  /// A fatbin, or PTX where a tool is missing.
  std::unique_ptr<llvm::MemoryBuffer> code;
  /// The tool that is missing, and where it was looked for; empty for a fatbin.
  std::string missing;
  /// As of MachineCode.
  std::string spills;
};
llvm::Expected<DeviceImage>
emitDeviceImage(std::unique_ptr<llvm::MemoryBuffer> ptx,
                llvm::StringRef target);

} // namespace gatefold

#endif // PASSES_EMIT_EMITKERNELS_H
