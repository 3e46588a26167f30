// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LaunchCopies.cpp - Asynchronous copies and mbarriers ---------------===//
//
// A copy (`cp.async`) takes place between the instruction that begins it and
// the one that waits for it. All that time nobody may touch what it writes, nor
// change what it reads. Afterwards its bytes are written by the thread that
// waited, at that time; other threads must be ordered behind it.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Launch.h"
#include <cstring>

using namespace llvm;
using namespace gatefold::emulator;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Marks the bytes of a copy that begins (1) or has been waited for (-1).
void Launch::beginCopy(const Copy &copy, int change) {
  auto mark = [&](DenseMap<uint64_t, unsigned> &counts, uint64_t address,
                  unsigned bytes, uint8_t state) {
    // A copy of nothing, which fills with zeros, may have any source.
    if (bytes == 0)
      return;
    uint64_t end = address + bytes;
    for (uint64_t at = address & ~uint64_t(cellBytes - 1); at < end;
         at += cellBytes) {
      unsigned &count = counts[at];
      count += change;
      uint8_t *states = arenaOf(at)->states(at);
      for (unsigned i = 0; i < cellBytes; ++i)
        states[i] = count ? states[i] | state : states[i] & ~state;
      if (!count)
        counts.erase(at);
    }
  };
  mark(copyTargets, copy.target, copy.bytes, CopyTarget);
  mark(copySources, copy.source, copy.sourceBytes, CopySource);
}

void Launch::performCopy(Copy &copy) {
  if (copy.done)
    return;
  copy.done = true;
  auto *target = reinterpret_cast<uint8_t *>(copy.target);
  memmove(target, reinterpret_cast<void *>(copy.source), copy.sourceBytes);
  memset(target + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
}

bool Launch::copyAsync(Thread &thread, uint64_t destination, uint64_t source,
                       unsigned bytes, unsigned sourceBytes) {
  Strand &strand = strandOf(thread);
  if (!sharedArena.contains(destination)) {
    report(strand, FindingKind::OutOfBounds,
           "`cp.async` to " + nameOf(strand, destination) +
               ", expected shared memory",
           "");
    ended = true;
    return false;
  }
  sourceBytes = std::min(sourceBytes, bytes);
  // Its addresses are multiples of the size, whatever is read.
  if (sourceBytes && (source & (bytes - 1))) {
    Use use{bytes, bytes, true, false};
    return touch(strand, source, use);
  }
  Use read{sourceBytes, 1, true, false};
  Use write{bytes, bytes, false, true};
  if (!touch(strand, source, read) || !touch(strand, destination, write))
    return false;
  Copy copy;
  copy.target = destination;
  copy.source = source;
  copy.bytes = bytes;
  copy.sourceBytes = sourceBytes;
  copy.site = strand.site;
  copy.group = strand.copyGroups;
  copy.number = strand.copiesBegun++;
  if (options.copies == CopyTime::Early)
    performCopy(copy);
  beginCopy(copy, 1);
  strand.copies.push_back(copy);
  return true;
}

void Launch::commitCopies(Thread &thread) { ++strandOf(thread).copyGroups; }

/// Waits for the copies with lower numbers.
bool Launch::finishCopies(Strand &strand, uint64_t beforeNumber) {
  uint32_t site = strand.site;
  while (!strand.copies.empty() &&
         strand.copies.front().number < beforeNumber) {
    Copy copy = strand.copies.front();
    strand.copies.pop_front();
    performCopy(copy);
    beginCopy(copy, -1);
    // The accesses are the copy's, made at this moment.
    strand.site = copy.site;
    Use read{copy.sourceBytes, 1, true, false};
    Use write{copy.bytes, copy.bytes, false, true};
    bool made =
        touch(strand, copy.source, read) && touch(strand, copy.target, write);
    strand.site = site;
    if (!made)
      return false;
  }
  return true;
}

bool Launch::waitCopies(Thread &thread, unsigned groups) {
  Strand &strand = strandOf(thread);
  uint64_t before = 0;
  for (const Copy &copy : strand.copies)
    if (copy.group < strand.copyGroups &&
        strand.copyGroups - copy.group > groups)
      before = copy.number + 1;
  return finishCopies(strand, before);
}

bool Launch::waitAllCopies(Thread &thread) {
  Strand &strand = strandOf(thread);
  ++strand.copyGroups;
  return finishCopies(strand, strand.copiesBegun);
}

bool Launch::arriveAfterCopies(Thread &thread, uint64_t address,
                               bool noIncrement) {
  Strand &strand = strandOf(thread);
  MBarrier *barrier = findMBarrier(strand, address);
  if (!barrier)
    return !ended;
  if (!noIncrement)
    ++barrier->pending;
  strand.deferred.push_back({address, strand.copiesBegun, strand.site});
  if (options.copies == CopyTime::Early)
    progressDeferred();
  return !ended;
}

/// Lets copies that an mbarrier waits for take place, and the arrivals with
/// them. Returns whether there were any.
bool Launch::progressDeferred() {
  bool any = false;
  for (Strand &strand : strands) {
    if (strand.deferred.empty())
      continue;
    any = true;
    uint32_t site = strand.site;
    std::vector<DeferredArrival> deferred;
    std::swap(deferred, strand.deferred);
    for (const DeferredArrival &arrival : deferred) {
      strand.site = arrival.site;
      if (!finishCopies(strand, arrival.before))
        return any;
      if (MBarrier *barrier = findMBarrier(strand, arrival.barrier)) {
        arriveMBarrier(strand, *barrier, 1, strand.moment);
        ++strand.moment.time;
      }
    }
    strand.site = site;
  }
  return any;
}

void Launch::reportUnfinished(Strand &strand) {
  uint64_t awaited = 0;
  for (const DeferredArrival &arrival : strand.deferred)
    awaited = std::max(awaited, arrival.before);
  for (const Copy &copy : strand.copies) {
    if (copy.number < awaited)
      continue;
    uint32_t site = strand.site;
    strand.site = copy.site;
    report(strand, FindingKind::UnfinishedCopy,
           "thread " + describe(strand) + " ends, and its copy of " +
               Twine(copy.bytes) + " bytes to " + nameOf(strand, copy.target) +
               " may be under way",
           "`cp.async.wait_group 0`, or `cp.async.wait_all`, before the end");
    strand.site = site;
  }
  // They no longer stand in anybody's way.
  for (Copy &copy : strand.copies)
    if (copy.number >= awaited)
      beginCopy(copy, -1);
  erase_if(strand.copies,
           [&](const Copy &copy) { return copy.number >= awaited; });
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

namespace {
constexpr unsigned barrierBytes = 8;
constexpr uint32_t mostArrivals = (1 << 20) - 1;
} // namespace

bool Launch::mbarrierInit(Thread &thread, uint64_t address, uint32_t count) {
  Strand &strand = strandOf(thread);
  if (strand.block->mbarriers.count(address)) {
    report(strand, FindingKind::Barrier,
           nameOf(strand, address) + " is an mbarrier already",
           "`mbarrier.inval` comes before another `mbarrier.init`");
    return !ended;
  }
  if (count == 0 || count > mostArrivals) {
    report(strand, FindingKind::Barrier,
           "an mbarrier for " + Twine(count) + " arrivals, expected 1 to " +
               Twine(mostArrivals),
           "");
    ended = true;
    return false;
  }
  Use use{barrierBytes, barrierBytes, false, true};
  use.space = Space::Shared;
  if (!touch(strand, address, use))
    return false;
  MBarrier &barrier = strand.block->mbarriers[address];
  barrier.count = barrier.pending = count;
  barrier.site = strand.site;
  for (unsigned i = 0; i < barrierBytes; ++i)
    sharedArena.states(address)[i] |= BarrierObject;
  return true;
}

/// The mbarrier at this address, after the checks of an access by an
/// instruction of mbarriers; null after a finding.
MBarrier *Launch::findMBarrier(Strand &strand, uint64_t address) {
  auto found = strand.block->mbarriers.find(address);
  if (found == strand.block->mbarriers.end()) {
    report(strand, FindingKind::Barrier,
           nameOf(strand, address) + " is no mbarrier that was initialised",
           "`mbarrier.init` by one thread, then a barrier of the block");
    ended = true;
    return nullptr;
  }
  // Whoever initialised it must have done so before.
  Touch touch{
      strand.moment, strand.gridWarp, strand.lane, strand.site, true, true,
      true,          Scope::Block};
  if (std::optional<Rival> rival =
          sharedShadow.touch(sharedArena, address, barrierBytes, touch)) {
    Use use{barrierBytes, barrierBytes, true, true, true, Scope::Block};
    reportRace(strand, address, use, *rival, true);
    if (ended)
      return nullptr;
  }
  return &found->second;
}

bool Launch::mbarrierInvalidate(Thread &thread, uint64_t address) {
  Strand &strand = strandOf(thread);
  if (!findMBarrier(strand, address))
    return false;
  strand.block->mbarriers.erase(address);
  for (unsigned i = 0; i < barrierBytes; ++i)
    sharedArena.states(address)[i] &= ~(BarrierObject | Initialised);
  return true;
}

void Launch::completePhase(Block &block, uint64_t address, MBarrier &barrier) {
  ++barrier.phase;
  barrier.pending = barrier.count;
  SmallVector<const Moment *> moments;
  for (const Moment &moment : barrier.moments)
    moments.push_back(&moment);
  // Earlier phases happened before this one.
  if (!moments.empty())
    barrier.released = join(barrier.released, meet(moments, threadsPerBlock));
  barrier.moments.clear();
  noteChange();
  for (Strand &strand : block.threads)
    if (strand.status == Strand::Status::Phase &&
        strand.phaseBarrier == address)
      strand.status = Strand::Status::Ready;
}

void Launch::arriveMBarrier(Strand &strand, MBarrier &barrier, uint32_t count,
                            const Moment &moment) {
  if (count > barrier.pending) {
    report(strand, FindingKind::Barrier,
           Twine(count) + " more arrivals at an mbarrier that waits for " +
               Twine(barrier.pending) + " of " + Twine(barrier.count),
           "each phase takes as many arrivals as `mbarrier.init` said");
    ended = true;
    return;
  }
  barrier.pending -= count;
  barrier.moments.push_back(moment);
  noteChange();
  for (auto &[address, each] : strand.block->mbarriers)
    if (&each == &barrier && barrier.pending == 0 &&
        barrier.transactionBytes == 0)
      completePhase(*strand.block, address, barrier);
}

std::optional<uint64_t> Launch::mbarrierArrive(Thread &thread, uint64_t address,
                                               uint32_t count,
                                               uint32_t transactionBytes,
                                               bool drops) {
  Strand &strand = strandOf(thread);
  MBarrier *barrier = findMBarrier(strand, address);
  if (!barrier)
    return std::nullopt;
  barrier->transactionBytes += transactionBytes;
  if (drops) {
    if (count > barrier->count) {
      report(strand, FindingKind::Barrier,
             "more threads leave an mbarrier than it is for", "");
      ended = true;
      return std::nullopt;
    }
    barrier->count -= count;
  }
  uint64_t phase = barrier->phase;
  arriveMBarrier(strand, *barrier, count, strand.moment);
  ++strand.moment.time;
  if (ended)
    return std::nullopt;
  return phase;
}

bool Launch::mbarrierExpect(Thread &thread, uint64_t address,
                            uint32_t transactionBytes) {
  MBarrier *barrier = findMBarrier(strandOf(thread), address);
  if (!barrier)
    return false;
  barrier->transactionBytes += transactionBytes;
  return true;
}

template <typename Done>
std::optional<bool> Launch::testPhase(Strand &strand, uint64_t address,
                                      bool waits, Done done) {
  while (true) {
    MBarrier *barrier = findMBarrier(strand, address);
    if (!barrier)
      return std::nullopt;
    if (done(*barrier)) {
      if (ended)
        return std::nullopt;
      learn(strand, barrier->released);
      return true;
    }
    if (!waits) {
      poll(strand, address);
      return false;
    }
    strand.phaseBarrier = address;
    strand.status = Strand::Status::Phase;
    wait(strand);
  }
}

std::optional<bool> Launch::mbarrierTest(Thread &thread, uint64_t address,
                                         uint64_t state, bool waits) {
  Strand &strand = strandOf(thread);
  return testPhase(strand, address, waits, [&](const MBarrier &barrier) {
    if (state > barrier.phase || barrier.phase - state > 1) {
      report(strand, FindingKind::Barrier,
             "a state that is not of the mbarrier's phase, nor of the one "
             "before",
             "a state is of use until the phase after its own is complete");
      ended = true;
      return true;
    }
    return barrier.phase > state;
  });
}

std::optional<bool> Launch::mbarrierTestParity(Thread &thread, uint64_t address,
                                               uint32_t parity, bool waits) {
  return testPhase(strandOf(thread), address, waits,
                   [&](const MBarrier &barrier) {
                     return (barrier.phase & 1) != (parity & 1);
                   });
}
