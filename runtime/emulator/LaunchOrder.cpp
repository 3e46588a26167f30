// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LaunchOrder.cpp - What orders the accesses of threads --------------===//

#include "runtime/emulator/Launch.h"

using namespace llvm;
using namespace gatefold::emulator;

KnowledgeRef Launch::knowledgeOf(const Moment &moment) const {
  return meet(&moment, threadsPerBlock);
}

void Launch::learn(Strand &strand, const KnowledgeRef &known) {
  strand.moment.known = join(strand.moment.known, known);
}

static bool acquires(Ordering ordering) {
  return ordering == Ordering::Acquire || ordering == Ordering::AcquireRelease;
}
static bool releases(Ordering ordering) {
  return ordering == Ordering::Release || ordering == Ordering::AcquireRelease;
}

/// What an atomic access hands on and gets. An update continues what was
/// released to the variable before; a store begins anew.
void Launch::order(Strand &strand, uint64_t address, bool reads, bool writes,
                   Ordering ordering, Scope scope) {
  uint32_t block = strand.block->number;
  auto &messages =
      sharedArena.contains(address) ? sharedMessages : globalMessages;
  auto found = messages.find(address);
  if (reads && found != messages.end()) {
    if (acquires(ordering))
      learn(strand, found->second.read(block, scope));
    strand.seen.addFor(block, found->second);
  }
  if (!writes)
    return;
  if (!reads && found != messages.end()) {
    messages.erase(found);
    found = messages.end();
  }
  if (!strand.wideFence && !strand.narrowFence && !releases(ordering))
    return;
  Message &message =
      found != messages.end() ? found->second : messages[address];
  if (strand.wideFence)
    message.add(knowledgeOf(*strand.wideFence), block, Scope::Device);
  if (strand.narrowFence)
    message.add(knowledgeOf(*strand.narrowFence), block, Scope::Block);
  if (releases(ordering)) {
    message.add(knowledgeOf(strand.moment), block, scope);
    ++strand.moment.time;
  }
}

void Launch::fence(Thread &thread, Ordering ordering, Scope scope) {
  Strand &strand = strandOf(thread);
  if (scope < Scope::Block)
    return;
  if (acquires(ordering))
    learn(strand, strand.seen.read(strand.block->number, scope));
  if (!releases(ordering))
    return;
  (scope >= Scope::Device ? strand.wideFence : strand.narrowFence) =
      strand.moment;
  ++strand.moment.time;
}

void Launch::meetAll(ArrayRef<Strand *> strands, ArrayRef<Moment> moments) {
  SmallVector<const Moment *, warpSize> all;
  uint32_t time = 0;
  for (const Strand *strand : strands)
    time = std::max(time, strand->moment.time);
  // One time for all, so that what they know is one number for most.
  for (Strand *strand : strands) {
    strand->moment.time = time;
    all.push_back(&strand->moment);
  }
  for (const Moment &moment : moments)
    all.push_back(&moment);
  KnowledgeRef known = meet(all, threadsPerBlock);
  for (Strand *strand : strands) {
    strand->moment.known = known;
    ++strand->moment.time;
  }
}

void Launch::joinWarp(ArrayRef<Thread *> threads) {
  SmallVector<Strand *, warpSize> strands;
  for (Thread *thread : threads)
    strands.push_back(&strandOf(*thread));
  if (!strands.empty())
    meetAll(strands, {});
}
