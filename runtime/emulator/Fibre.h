// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Fibre.h - Many stacks, one thread ------------------------*- C++ -*-===//
//
// A fibre is a stack that can be left in the middle of a function and entered
// there again. x86-64 and AArch64 switch in some 20 instructions; others with
// `swapcontext`, which costs a call of the system.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_FIBRE_H
#define RUNTIME_EMULATOR_FIBRE_H

#include "runtime/emulator/Arena.h"
#include <vector>

#if !defined(__x86_64__) && !defined(__aarch64__)
#define GATEFOLD_FIBRE_UCONTEXT 1
#include <ucontext.h>
#endif

namespace gatefold::emulator {

/// Where a stack was left.
struct Fibre {
#ifdef GATEFOLD_FIBRE_UCONTEXT
  ucontext_t context;
#else
  void *stackPointer = nullptr;
#endif
};

/// Leaves the stack that runs, to be entered again by `from`, and enters `to`.
void switchFibre(Fibre &from, Fibre &to);

/// The stacks of a launch. Each begins at a multiple of its size, so that a
/// function which runs on one finds whose it is from the address of its frame.
class Stacks {
public:
  /// Enough for the emulator's own functions; a kernel's local memory is
  /// elsewhere.
  static constexpr uint64_t bytes = 256 << 10;
  /// What a function of a kernel must leave to those of the emulator.
  static constexpr uint64_t reserved = 96 << 10;

  /// `count` stacks, each with a page below it that cannot be touched.
  static llvm::Expected<Stacks> create(unsigned count);

  /// Makes `fibre` start with `entry` on an empty stack, which belongs to
  /// `owner`. `entry` must not return.
  void start(unsigned index, Fibre &fibre, void (*entry)(), void *owner);

  /// The `owner` of the stack that runs.
  static void *owner() {
    uint64_t frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    return *reinterpret_cast<void **>((frame & ~(bytes - 1)) + bytes -
                                      ownerOffset);
  }
  /// How much of the stack that runs is left.
  static uint64_t left() {
    return reinterpret_cast<uint64_t>(__builtin_frame_address(0)) & (bytes - 1);
  }

private:
  static constexpr uint64_t ownerOffset = 16;
  Pages pages;
};

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_FIBRE_H
