// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Shadow.h - Who touched a byte last -----------------------*- C++ -*-===//
//
// Two accesses to a byte race if one of them writes, neither happened before
// the other, and they are not both atomic with scopes that hold both threads.
// For each byte this keeps the last write, the reads since then that no later
// read covers, and the atomic accesses: all that a later access can race with.
// Four bytes that are always touched together share what is kept.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_SHADOW_H
#define RUNTIME_EMULATOR_SHADOW_H

#include "runtime/emulator/Arena.h"
#include "runtime/emulator/Clocks.h"
#include <deque>
#include <optional>

namespace gatefold::emulator {

/// An access by a thread, now.
struct Touch {
  const Moment &moment;
  /// Of the grid: block * warps of a block + warp of the block.
  uint32_t warp, lane;
  uint32_t site;
  bool reads, writes, atomic;
  Scope scope;
};

/// The earlier of two accesses that race.
struct Rival {
  uint32_t warp, lane, site;
  bool writes, atomic;
};

class Shadow {
public:
  explicit Shadow(uint32_t warpsPerBlock) : warpsPerBlock(warpsPerBlock) {}

  /// Notes an access to `bytes` bytes from `address` and gives the first
  /// earlier one that races with it.
  std::optional<Rival> touch(Arena &arena, uint64_t address, uint64_t bytes,
                             const Touch &touch);
  /// Forgets records; the cells that name them must be cleared, too.
  void clear() { records.clear(); }

private:
  /// Accesses by lanes of a warp at one time.
  struct Entry {
    uint32_t warp, time, lanes, site;
    bool writes, blockOnly;
  };
  /// What does not fit into a cell.
  struct Record {
    /// The cells of each byte; then the cell itself is not in use.
    bool split = false;
    Cell bytes[cellBytes] = {};
    llvm::SmallVector<Entry, 4> reads, atomics;
  };
  /// Beyond this many the oldest entry is dropped, and races with it are not
  /// seen.
  static constexpr size_t mostEntries = 256;

  bool happenedBefore(const Touch &touch, uint32_t warp, uint32_t time,
                      uint32_t lanes) const;
  std::optional<Rival> touch(Cell &cell, const Touch &touch);
  std::optional<Rival> touchAtomic(Cell &cell, const Touch &touch);
  std::optional<Rival> conflict(const Touch &touch,
                                llvm::ArrayRef<Entry> entries,
                                bool atomics) const;
  std::optional<Rival> lastWrite(const Cell &cell, const Touch &touch) const;
  std::optional<Rival> lastReads(const Cell &cell, const Touch &touch) const;
  void noteRead(Cell &cell, const Touch &touch);
  void note(llvm::SmallVectorImpl<Entry> &entries, const Touch &touch,
            const Entry &entry);
  Record &recordOf(Cell &cell);
  Record &split(Cell &cell);

  uint32_t warpsPerBlock;
  std::deque<Record> records;
};

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_SHADOW_H
