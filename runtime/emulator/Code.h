// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Code.h - A program made ready for the CPU ----------------*- C++ -*-===//
//
// What retargeting makes of a module, beside the code itself: tables that the
// code names by number.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_CODE_H
#define RUNTIME_EMULATOR_CODE_H

#include "runtime/emulator/Emulator.h"
#include "llvm/ADT/DenseMap.h"

namespace llvm::orc {
class LLJIT;
}

namespace gatefold::emulator {

/// The address spaces of NVPTX.
enum class Space : uint8_t {
  Generic = 0,
  Global = 1,
  Shared = 3,
  Constant = 4,
  Local = 5,
};

/// An instruction of the module that the emulator hears of when it executes.
struct Site {
  Place place;
  uint64_t bytes = 0, alignment = 1;
  Space space = Space::Generic;
  bool reads = false, writes = false;
  /// An atomic access, as volatile ones are on a GPU.
  bool atomic = false;
  Ordering ordering = Ordering::Relaxed;
  Scope scope = Scope::System;
};

/// A variable of a block.
struct SharedVariable {
  std::string name;
  uint64_t offset = 0, bytes = 0;
};

struct KernelCode {
  Kernel kernel;
  /// Where each parameter stands in a block of arguments.
  std::vector<uint64_t> offsets;
  uint64_t argumentBytes = 0;
  /// Of the function that takes such a block.
  std::string symbol;
  void (*entry)(const void *arguments) = nullptr;
};

struct Code {
  Code();
  ~Code();

  std::vector<Site> sites;
  /// An instruction and the text of one that is not known.
  std::vector<Instruction> instructions;
  std::vector<unsigned> operandCounts;
  std::vector<std::string> unknown;
  std::vector<KernelCode> kernels;
  std::vector<Kernel> kernelList;

  std::vector<SharedVariable> sharedVariables;
  /// What a block's variables take; where its dynamic memory begins, if
  /// anything names it.
  uint64_t staticSharedBytes = 0, dynamicSharedOffset = 0;
  bool usesDynamicShared = false;

  /// What may be called through a pointer, with the number of its type.
  llvm::DenseMap<uint64_t, uint32_t> functions;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_CODE_H
