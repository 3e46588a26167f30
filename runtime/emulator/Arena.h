// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Arena.h - Memory of a kernel, byte by byte ---------------*- C++ -*-===//
//
// A range of addresses with what is known of each of its bytes (`State`) and,
// where threads share it, who read and wrote it last (`Cell`, one for four
// bytes). Address space is reserved; memory is used where it is touched.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_ARENA_H
#define RUNTIME_EMULATOR_ARENA_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>

namespace gatefold::emulator {

/// Flags of a byte.
enum State : uint8_t {
  Allocated = 1,
  Initialised = 2,
  /// An asynchronous copy into it, or from it, may be under way.
  CopyTarget = 4,
  CopySource = 8,
  /// Part of an mbarrier.
  BarrierObject = 16,
  ReadOnly = 32,
};

/// Accesses to four bytes, as far as later ones may race with them; see
/// Shadow.h. All zeros: none.
struct Cell {
  uint32_t writer, writeClock, writeSite;
  uint32_t readWarp, readClock, readLanes, readSite;
  /// One more than the number of a `Record`.
  uint32_t record;
};
static_assert(sizeof(Cell) == 32);
inline constexpr unsigned cellBytes = 4;

/// Pages that are reserved, readable, writable and zero.
class Pages {
public:
  Pages() = default;
  Pages(Pages &&other) { *this = std::move(other); }
  Pages &operator=(Pages &&other) {
    std::swap(start, other.start);
    std::swap(size, other.size);
    return *this;
  }
  ~Pages();

  /// `low`: below 4 GiB.
  static llvm::Expected<Pages> reserve(uint64_t bytes, uint64_t alignment,
                                       bool low = false);
  /// Makes the bytes of whole pages in this range zero and gives their memory
  /// back.
  void clear(uint64_t offset, uint64_t bytes);
  uint8_t *data() const { return start; }
  uint64_t bytes() const { return size; }

private:
  uint8_t *start = nullptr;
  uint64_t size = 0;
};

class Arena {
public:
  Arena() = default;
  /// `shared`: with cells. `low`: below 4 GiB, where inline assembly looks for
  /// shared memory when it holds its address in 32 bits.
  static llvm::Expected<Arena> create(uint64_t bytes, bool shared, bool low);

  bool contains(uint64_t address) const { return address - base < size; }
  /// Whether `bytes` bytes from `address`, which is contained, are.
  bool containsAll(uint64_t address, uint64_t bytes) const {
    return bytes <= size - (address - base);
  }
  uint64_t begin() const { return base; }
  uint64_t bytes() const { return size; }
  uint8_t *states(uint64_t address) const {
    return stateBytes + (address - base);
  }
  Cell *cell(uint64_t address) const {
    return cells + (address - base) / cellBytes;
  }
  /// Sets the state of bytes.
  void set(uint64_t address, uint64_t bytes, uint8_t state);
  void forgetAccesses(uint64_t address, uint64_t bytes);

private:
  uint64_t base = 0, size = 0;
  uint8_t *stateBytes = nullptr;
  Cell *cells = nullptr;
  Pages memory, statePages, cellPages;
};

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_ARENA_H
