// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Arena.cpp - Memory of a kernel, byte by byte -----------------------===//

#include "runtime/emulator/Arena.h"
#include "llvm/Support/MathExtras.h"
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace gatefold::emulator;

static uint64_t pageBytes() {
  static const uint64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

static void *map(uint64_t hint, uint64_t bytes, int flags) {
  return mmap(reinterpret_cast<void *>(hint), bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

/// Memory below 4 GiB at a multiple of `alignment`, or null.
static void *mapLow(uint64_t bytes, uint64_t alignment) {
#ifdef MAP_FIXED_NOREPLACE
  const uint64_t end = uint64_t(1) << 32;
  const uint64_t step = std::max<uint64_t>(alignment, uint64_t(16) << 20);
  for (uint64_t at = step; at < end && bytes <= end - at; at += step) {
    void *found = map(at, bytes, MAP_FIXED_NOREPLACE);
    // Old systems take the address for a hint.
    if (found == reinterpret_cast<void *>(at))
      return found;
    if (found != MAP_FAILED)
      munmap(found, bytes);
  }
#endif
  return nullptr;
}

Expected<Pages> Pages::reserve(uint64_t bytes, uint64_t alignment, bool low) {
  Pages pages;
  if (bytes == 0)
    return pages;
  bytes = alignTo(bytes, pageBytes());
  uint64_t slack = low || alignment <= pageBytes() ? 0 : alignment;
  void *start = low ? mapLow(bytes, alignment) : map(0, bytes + slack, 0);
  if (!start || start == MAP_FAILED)
    return createStringError("no room for " + Twine(bytes) +
                             " bytes of addresses" +
                             (low ? " below 4 GiB" : ""));
  uint64_t address = reinterpret_cast<uint64_t>(start);
  if (slack) {
    uint64_t aligned = alignTo(address, alignment);
    if (aligned > address)
      munmap(start, aligned - address);
    uint64_t tail = address + bytes + slack - (aligned + bytes);
    if (tail)
      munmap(reinterpret_cast<void *>(aligned + bytes), tail);
    address = aligned;
  }
  pages.start = reinterpret_cast<uint8_t *>(address);
  pages.size = bytes;
  return pages;
}

Pages::~Pages() {
  if (start)
    munmap(start, size);
}

void Pages::clear(uint64_t offset, uint64_t bytes) {
  uint64_t end = std::min(size, alignTo(offset + bytes, pageBytes()));
  offset = alignDown(offset, pageBytes());
  if (offset < end)
    madvise(start + offset, end - offset, MADV_DONTNEED);
}

Expected<Arena> Arena::create(uint64_t bytes, bool shared, bool low) {
  Arena arena;
  bytes = alignTo(bytes, pageBytes());
  Expected<Pages> memory = Pages::reserve(bytes, pageBytes(), low);
  if (!memory)
    return memory.takeError();
  Expected<Pages> states = Pages::reserve(bytes, pageBytes());
  if (!states)
    return states.takeError();
  Expected<Pages> cells = Pages::reserve(
      shared ? bytes / cellBytes * sizeof(Cell) : 0, pageBytes());
  if (!cells)
    return cells.takeError();
  arena.memory = std::move(*memory);
  arena.statePages = std::move(*states);
  arena.cellPages = std::move(*cells);
  arena.base = reinterpret_cast<uint64_t>(arena.memory.data());
  arena.size = bytes;
  arena.stateBytes = arena.statePages.data();
  arena.cells = reinterpret_cast<Cell *>(arena.cellPages.data());
  return arena;
}

void Arena::set(uint64_t address, uint64_t bytes, uint8_t state) {
  memset(states(address), state, bytes);
}

void Arena::forgetAccesses(uint64_t address, uint64_t bytes) {
  uint64_t size = divideCeil(bytes, cellBytes) * sizeof(Cell);
  // Giving pages back costs a call of the system, but reads none.
  if (address == base && bytes == this->size)
    cellPages.clear(0, size);
  else
    memset(cell(address), 0, size);
}
