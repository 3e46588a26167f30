// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmulatedModel.h - A model whose kernels are emulated -----*- C++ -*-===//
//
// The description of a model whose functions `run` and `prepare` launch its
// kernels on the emulator of runtime/emulator: the runtime checks and binds as
// always, and each launch gets memory of its own, filled from the host's.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TOOLS_GATEFOLD_EMULATEDMODEL_H
#define FRONTEND_TOOLS_GATEFOLD_EMULATEDMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/emit/EmitKernels.h"
#include "runtime/Description.h"
#include "runtime/emulator/Emulator.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace gatefold::tool {

class EmulatedModel {
public:
  /// One at a time in a process, since the functions of a description have no
  /// place for it. `module` is what the phase nvvm left, `code` its kernels as
  /// bitcode, `host` the description of the same program, whose functions of
  /// sizes are called.
  EmulatedModel(mlir::ModuleOp module, std::unique_ptr<llvm::MemoryBuffer> code,
                const gatefold_description &host, unsigned blocks,
                emulator::CopyTime copies);
  ~EmulatedModel();

  const gatefold_description &description() const { return described; }
  /// Whether all blocks can be alive at once; else says how many can.
  bool fits() const;
  /// Whether a launch was at fault; messages were printed.
  bool hasFindings() const { return found; }
  /// Whether that was for want of the emulated GPU's memory.
  bool isTooLarge() const { return tooLarge; }

private:
  struct Tensor {
    const gatefold_tensor *tensor;
    bool isWritten;
    /// It begins at a multiple of the arena's alignment.
    bool isPacked;
  };
  static int32_t run(void *const *arguments, void *arena, int64_t rank,
                     int64_t ranks, gatefold_team *team);
  static int32_t prepare(void *const *arguments, void *arena);
  static int64_t arenaBytes(const int64_t *symbols, int64_t ranks);

  int32_t launch(const KernelLaunch &kernel, unsigned blocks,
                 llvm::ArrayRef<Tensor> tensors, void *const *arguments,
                 int64_t arenaBytes);
  llvm::Expected<int32_t> tryLaunch(const KernelLaunch &kernel, unsigned blocks,
                                    llvm::ArrayRef<Tensor> tensors,
                                    void *const *arguments, int64_t arenaBytes);
  void report(const emulator::Finding &finding);

  static EmulatedModel *current;
  std::unique_ptr<llvm::MemoryBuffer> code;
  const gatefold_description &host;
  gatefold_description described;
  unsigned blocks;
  emulator::CopyTime copies;
  KernelLaunch runLaunched, prepareLaunched;
  int64_t runArena = 0;
  bool found = false, tooLarge = false;
};

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_EMULATEDMODEL_H
