// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LaunchMemory.cpp - Every access to memory --------------------------===//

#include "runtime/emulator/Launch.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace gatefold::emulator;

/// Free bytes around local variables, so that one's end is not the next one.
static constexpr uint64_t localGapBytes = 16;
static constexpr uint64_t localBytes = 512 << 10;

Arena *Launch::arenaOf(uint64_t address) {
  if (sharedArena.contains(address))
    return &sharedArena;
  if (device.arena().contains(address))
    return &device.arena();
  if (localArena.contains(address))
    return &localArena;
  return nullptr;
}

/// Whether an access through a pointer of this space may be there.
static bool isIn(Space space, bool isShared, bool isGlobal) {
  switch (space) {
  case Space::Shared:
    return isShared;
  case Space::Global:
  case Space::Constant:
    return isGlobal;
  case Space::Local:
    return !isShared && !isGlobal;
  default:
    return true;
  }
}

/// The flags that all of the bytes have, and those that any has.
static std::pair<uint8_t, uint8_t> statesOf(const uint8_t *states,
                                            uint64_t bytes) {
  uint64_t all = ~uint64_t(0), any = 0;
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
    uint64_t eight;
    memcpy(&eight, states, sizeof(eight));
    all &= eight;
    any |= eight;
    states += sizeof(eight);
  }
  for (unsigned half = 32; half >= 8; half /= 2) {
    all &= all >> half;
    any |= any >> half;
  }
  uint8_t allOne = all, anyOne = any;
  for (; bytes; --bytes, ++states) {
    allOne &= *states;
    anyOne |= *states;
  }
  return {allOne, anyOne};
}

static void initialise(uint8_t *states, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i)
    states[i] |= Initialised;
}

/// Checks and notes an access; null if it must not be made, which ends the
/// launch.
void *Launch::touch(Strand &strand, uint64_t address, const Use &use) {
  if (use.bytes == 0)
    return reinterpret_cast<void *>(address);
  if (address & (use.alignment - 1)) {
    report(strand, FindingKind::Misaligned,
           nameOf(strand, address) + " is accessed as " + Twine(use.bytes) +
               " bytes at a multiple of " + Twine(use.alignment) +
               ", and is at one of " +
               Twine(uint64_t(1) << countr_zero(address)),
           "a greater alignment of the memory, or an access that needs less");
    ended = true;
    return nullptr;
  }
  Arena *arena = arenaOf(address);
  bool isShared = arena == &sharedArena, isLocal = arena == &localArena;
  if (!arena || !arena->containsAll(address, use.bytes) ||
      !isIn(use.space, isShared, !isShared && !isLocal)) {
    outOfBounds(strand, address, use);
    return nullptr;
  }
  uint64_t own = isShared ? address - strand.block->sharedBegin
                 : isLocal
                     ? address - localArena.begin() - strand.slot * localBytes
                     : 0;
  if (own >= (isShared ? windowBytes : localBytes)) {
    report(strand, FindingKind::ForeignMemory,
           "thread " + describe(strand) + " accesses " +
               (isShared ? "shared memory of another block"
                         : "local memory of another thread"),
           "only a block sees its shared memory, and a thread its local one");
    ended = true;
    return nullptr;
  }

  uint8_t *states = arena->states(address);
  uint8_t required = Allocated, forbidden = CopyTarget | BarrierObject;
  if (use.reads && !use.copies)
    required |= Initialised;
  if (use.writes)
    forbidden |= CopySource | ReadOnly;
  auto [all, any] = statesOf(states, use.bytes);
  bool isOrdered = true;
  if ((all & required) != required || (any & forbidden)) {
    isOrdered = reportState(strand, address, use);
    if (ended)
      return nullptr;
  }
  if (use.writes) {
    ++changes;
    if (!use.copies)
      initialise(states, use.bytes);
  }
  if (isLocal)
    return reinterpret_cast<void *>(address);
  strand.stepsBefore = strand.steps;
  Statistics &statistics = result.statistics;
  if (use.reads)
    (isShared ? statistics.sharedBytesRead : statistics.globalBytesRead) +=
        use.bytes;
  if (use.writes)
    (isShared ? statistics.sharedBytesWritten
              : statistics.globalBytesWritten) += use.bytes;
  // Constant for the launch: nothing races with reads alone.
  if (isOrdered && !(all & ReadOnly)) {
    Touch touch{strand.moment, strand.gridWarp, strand.lane, strand.site,
                use.reads,     use.writes,      use.atomic,  use.scope};
    Shadow &shadow = isShared ? sharedShadow : globalShadow;
    if (std::optional<Rival> rival =
            shadow.touch(*arena, address, use.bytes, touch)) {
      reportRace(strand, address, use, *rival, isShared);
      if (ended)
        return nullptr;
    }
  }
  return reinterpret_cast<void *>(address);
}

/// Says what the state of the bytes forbids. Returns whether the order of
/// accesses is to be checked, too.
bool Launch::reportState(Strand &strand, uint64_t address, const Use &use) {
  Arena &arena = *arenaOf(address);
  const uint8_t *states = arena.states(address);
  auto firstWith = [&](uint8_t flag, bool set) -> std::optional<uint64_t> {
    for (uint64_t i = 0; i < use.bytes; ++i)
      if (bool(states[i] & flag) == set)
        return address + i;
    return std::nullopt;
  };
  const char *accesses = use.writes ? " writes " : " reads ";
  auto who = [&](uint64_t at) {
    return "thread " + describe(strand) + accesses + nameOf(strand, at);
  };
  if (auto at = firstWith(Allocated, false)) {
    outOfBounds(strand, *at, use);
    return false;
  }
  if (use.writes)
    if (auto at = firstWith(ReadOnly, true)) {
      report(strand, FindingKind::ForeignMemory,
             who(*at) + ", which is read-only", "");
      ended = true;
      return false;
    }
  if (auto at = firstWith(BarrierObject, true)) {
    report(strand, FindingKind::Barrier, who(*at) + ", part of an mbarrier",
           "only mbarrier instructions may access it until `mbarrier.inval`");
    return false;
  }
  if (auto at = firstWith(CopyTarget, true)) {
    report(strand, FindingKind::PendingCopy,
           who(*at) + ", which an asynchronous copy may still write",
           "`cp.async.wait_group` by the thread that copies, then a barrier");
    return false;
  }
  if (use.writes)
    if (auto at = firstWith(CopySource, true)) {
      report(strand, FindingKind::PendingCopy,
             who(*at) + ", which an asynchronous copy may still read",
             "`cp.async.wait_group` by the thread that copies, then a barrier");
      return false;
    }
  if (use.reads && !use.copies)
    if (auto at = firstWith(Initialised, false)) {
      if (countAgain(strand, FindingKind::UninitialisedRead, noSite))
        return true;
      report(strand, FindingKind::UninitialisedRead,
             who(*at) + ", which nobody has written",
             sharedArena.contains(*at)
                 ? "shared memory holds nothing at first; is a barrier missing "
                   "before the read?"
                 : "");
    }
  return true;
}

//===----------------------------------------------------------------------===//
// For instructions
//===----------------------------------------------------------------------===//

void *Launch::access(Thread &thread, uint64_t address, unsigned bytes,
                     unsigned alignment, AccessKind kind) {
  Use use{bytes, std::max(alignment, 1u), kind == AccessKind::Read,
          kind == AccessKind::Write};
  return touch(strandOf(thread), address, use);
}

void *Launch::accessAtomic(Thread &thread, uint64_t address, unsigned bytes,
                           bool reads, bool writes, Ordering ordering,
                           Scope scope) {
  Strand &strand = strandOf(thread);
  // Others may change what is waited for here.
  if (reads && !executesWarp)
    poll(strand, address);
  Use use{bytes, PowerOf2Ceil(bytes), reads, writes, true, scope};
  uint64_t before = changes;
  void *memory = touch(strand, address, use);
  if (!memory)
    return nullptr;
  if (reads && writes && bytes <= sizeof(update.old)) {
    changes = before;
    update.memory = memory;
    update.bytes = bytes;
    memcpy(update.old, memory, bytes);
  }
  order(strand, address, reads, writes, ordering, scope);
  return memory;
}

/// An update that changes nothing is not progress.
void Launch::finishUpdate() {
  if (update.memory && memcmp(update.memory, update.old, update.bytes))
    noteChange();
  update.memory = nullptr;
}

bool Launch::isShared(Thread &thread, uint64_t address) {
  return sharedArena.contains(address);
}

bool Launch::isLocal(Thread &thread, uint64_t address) {
  return localArena.contains(address);
}

//===----------------------------------------------------------------------===//
// For hooks
//===----------------------------------------------------------------------===//

void Launch::accessSite(Strand &strand, uint64_t address, uint32_t number) {
  const Site &site = code.sites[number];
  strand.site = number;
  Use use{site.bytes, site.alignment, site.reads, site.writes};
  use.space = site.space;
  if (!touch(strand, address, use) && ended)
    abandon(strand);
}

void Launch::atomicSite(Strand &strand, uint64_t address, uint32_t number) {
  const Site &site = code.sites[number];
  strand.site = number;
  if (site.reads)
    poll(strand, address);
  Use use{site.bytes,  site.alignment, site.reads,
          site.writes, true,           site.scope};
  use.space = site.space;
  uint64_t before = changes;
  if (!touch(strand, address, use) && ended)
    abandon(strand);
  // An update that changes nothing is not progress; `updated` says so.
  if (site.reads)
    changes = before;
  order(strand, address, site.reads, site.writes, site.ordering, site.scope);
}

void Launch::fill(Strand &strand, uint64_t target, uint8_t value,
                  uint64_t bytes, uint32_t site) {
  strand.site = site;
  Use use{bytes, siteOf(site).alignment, false, true};
  use.space = siteOf(site).space;
  void *memory = touch(strand, target, use);
  if (ended)
    abandon(strand);
  if (bytes)
    memset(memory, value, bytes);
}

void Launch::copy(Strand &strand, uint64_t target, uint64_t source,
                  uint64_t bytes, uint32_t targetSite, uint32_t sourceSite) {
  if (bytes == 0)
    return;
  strand.site = sourceSite;
  Use read{bytes, siteOf(sourceSite).alignment, true, false};
  read.space = siteOf(sourceSite).space;
  read.copies = true;
  void *from = touch(strand, source, read);
  if (ended)
    abandon(strand);
  strand.site = targetSite;
  Use write{bytes, siteOf(targetSite).alignment, false, true};
  write.space = siteOf(targetSite).space;
  write.copies = true;
  void *to = touch(strand, target, write);
  if (ended)
    abandon(strand);
  memmove(to, from, bytes);
  // Bytes that nobody has written may be copied, and stay such.
  const uint8_t *sourceStates = arenaOf(source)->states(source);
  uint8_t *targetStates = arenaOf(target)->states(target);
  for (uint64_t i = 0; i < bytes; ++i) {
    uint64_t at = target <= source ? i : bytes - 1 - i;
    targetStates[at] =
        (targetStates[at] & ~Initialised) | (sourceStates[at] & Initialised);
  }
}

uint64_t Launch::allocateLocal(Strand &strand, uint64_t bytes,
                               uint64_t alignment, uint32_t site) {
  strand.site = site;
  uint64_t begin = localArena.begin() + strand.slot * localBytes;
  uint64_t address = alignTo(begin + strand.localUsed + localGapBytes,
                             std::max<uint64_t>(alignment, 1));
  uint64_t offset = address - begin;
  if (offset > localBytes || bytes > localBytes - offset)
    fail(strand, site, FindingKind::Limit,
         "a thread needs more than " + Twine(localBytes) +
             " bytes of local memory");
  localArena.set(address, bytes, Allocated);
  strand.localUsed = offset + bytes;
  strand.locals.push_back({address, bytes, site});
  return address;
}

void Launch::leaveLocal(Strand &strand, uint64_t mark) {
  if (mark >= strand.localUsed)
    return;
  uint64_t begin = localArena.begin() + strand.slot * localBytes;
  localArena.set(begin + mark, strand.localUsed - mark, 0);
  while (!strand.locals.empty() && strand.locals.back().address >= begin + mark)
    strand.locals.pop_back();
  strand.localUsed = mark;
}

void Launch::initialiseLocal(uint64_t address, uint64_t bytes) {
  initialise(localArena.states(address), bytes);
}
