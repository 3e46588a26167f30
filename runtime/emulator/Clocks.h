// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Clocks.h - What happened before what ---------------------*- C++ -*-===//
//
// Each thread counts its own time; what it does between two releases has one
// time. What a thread knows of the others is, for each block that it knows
// anything of, up to which time of each of the block's threads everything
// happened before. Threads that met at a barrier share what they know, so that
// a barrier costs little more than one number for each thread.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_CLOCKS_H
#define RUNTIME_EMULATOR_CLOCKS_H

#include "runtime/emulator/Instruction.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace gatefold::emulator {

/// Times of a block's threads; 0 is before everything.
struct Times : llvm::RefCountedBase<Times> {
  std::vector<uint32_t> of;
  /// None is less, none is greater.
  uint32_t least = 0, most = 0;
};
using TimesRef = llvm::IntrusiveRefCntPtr<const Times>;

/// What is known of blocks, sorted by block. Not changed once it is shared.
struct Knowledge : llvm::RefCountedBase<Knowledge> {
  llvm::SmallVector<std::pair<uint32_t, TimesRef>, 1> blocks;

  const Times *find(uint32_t block) const;
};
using KnowledgeRef = llvm::IntrusiveRefCntPtr<const Knowledge>;

/// A thread in time: what it knows, and its own time.
struct Moment {
  uint32_t block = 0, thread = 0;
  uint32_t time = 1;
  KnowledgeRef known;
};

/// Everything that both know.
KnowledgeRef join(const KnowledgeRef &left, const KnowledgeRef &right);

/// What the threads of one block know together, their own times included;
/// `threads` is how many a block has.
KnowledgeRef meet(llvm::ArrayRef<const Moment *> moments, uint32_t threads);

/// What releases to an atomic variable tell whoever acquires it.
class Message {
public:
  /// Adds what a thread of `block` releases as far as `scope` reaches.
  void add(const KnowledgeRef &known, uint32_t block, Scope scope);
  /// Adds what a thread of `block` may ever get of another message.
  void addFor(uint32_t block, const Message &other);
  /// What a thread of `block` gets by an acquire of this scope.
  KnowledgeRef read(uint32_t block, Scope scope) const;

private:
  KnowledgeRef &ofBlock(uint32_t block);

  /// From releases that reach the device.
  KnowledgeRef wide;
  /// From all releases of a block, which at least the block gets.
  llvm::SmallVector<std::pair<uint32_t, KnowledgeRef>, 1> ofBlocks;
};

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_CLOCKS_H
