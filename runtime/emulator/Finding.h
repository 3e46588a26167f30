// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Finding.h - What is wrong with a kernel ------------------*- C++ -*-===//
//
// A finding is one fault of a kernel: its kind, what happened, and where. The
// same fault at the same places by other threads is counted, not repeated.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_FINDING_H
#define RUNTIME_EMULATOR_FINDING_H

#include <cstdint>
#include <string>
#include <vector>

namespace gatefold::emulator {

enum class FindingKind {
  /// Two accesses to shared, or to global, memory with no order between them.
  SharedRace,
  GlobalRace,
  /// A byte that nobody wrote is read.
  UninitialisedRead,
  /// An asynchronous copy into, or from, these bytes may still be under way.
  PendingCopy,
  Misaligned,
  OutOfBounds,
  /// Memory of another block, thread or launch, or read-only memory is written.
  ForeignMemory,
  /// Nobody can go on, or some loop waits for what nobody will write.
  Deadlock,
  /// Threads of one warp, or block, come to different instructions where all
  /// must come to the same.
  DivergentBarrier,
  /// A lane outside of the mask, a mask that differs, a lane that has ended.
  WarpMask,
  /// A barrier object that is not initialised, is used beyond its count, ...
  Barrier,
  /// A copy that nobody waited for when its thread ended.
  UnfinishedCopy,
  UnknownInstruction,
  /// `trap`, a failed assertion, a division by 0.
  Trap,
  /// More steps, memory or threads than allowed.
  Limit,
};

/// `race on shared memory`: how messages begin.
const char *describe(FindingKind kind);
/// `shared-race`: how programs name it.
const char *nameOf(FindingKind kind);

/// A place in the program's text, innermost first where calls were inlined.
struct Place {
  struct Frame {
    std::string file, function;
    unsigned line = 0, column = 0;
  };
  std::vector<Frame> frames;
  /// `load float`, `mma.sync.m16n8k16`.
  std::string instruction;
};

/// A place and the thread that was there.
struct Event {
  Place place;
  uint32_t block[3] = {}, thread[3] = {};
};

struct Finding {
  FindingKind kind;
  std::string message, hint;
  /// Where it was noticed; then the other access, the other threads.
  std::vector<Event> events;
  uint64_t count = 1;
};

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_FINDING_H
