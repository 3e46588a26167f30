// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ShadowTest.cpp - Races, against a history of everything ------------===//
//
// Random accesses, barriers, releases and acquires of a few threads, told to
// the emulator's clocks and shadow, and to a reference that keeps every access
// with a vector clock of the whole grid. Up to the first race on a byte both
// must say the same of each access.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Shadow.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <random>

using namespace llvm;
using namespace gatefold::emulator;

namespace {

using VectorClock = std::vector<uint32_t>;

void raise(VectorClock &clock, const VectorClock &other) {
  for (auto [time, otherTime] : zip(clock, other))
    time = std::max(time, otherTime);
}

/// The reference.
struct History {
  struct Access {
    unsigned thread;
    uint32_t time;
    bool writes, atomic, narrow;
  };
  struct Release {
    VectorClock clock;
    unsigned block;
    bool wide;
  };

  unsigned threadsPerBlock;
  std::vector<VectorClock> clocks;
  std::map<unsigned, std::vector<Access>> accesses;
  std::map<unsigned, std::vector<Release>> releases;
  std::map<unsigned, bool> raced;

  /// Whether it races with an earlier one; none where a byte has raced before.
  std::optional<bool> access(unsigned byte, const Access &now) {
    if (raced[byte])
      return std::nullopt;
    bool races = any_of(accesses[byte], [&](const Access &old) {
      if (old.thread == now.thread || (!old.writes && !now.writes))
        return false;
      bool sameBlock =
          old.thread / threadsPerBlock == now.thread / threadsPerBlock;
      if (old.atomic && now.atomic &&
          (sameBlock || !(old.narrow || now.narrow)))
        return false;
      return clocks[now.thread][old.thread] < old.time;
    });
    raced[byte] = races;
    accesses[byte].push_back(now);
    return races;
  }

  void meet(ArrayRef<unsigned> threads) {
    VectorClock all = clocks[threads.front()];
    for (unsigned thread : threads)
      raise(all, clocks[thread]);
    for (unsigned thread : threads) {
      clocks[thread] = all;
      ++clocks[thread][thread];
    }
  }
};

class Trial {
public:
  explicit Trial(unsigned seed)
      : random(seed), blocks(1 + below(3)),
        threadsPerBlock(below(2) ? 1 + below(40) : 32 + below(70)),
        warps((threadsPerBlock + warpSize - 1) / warpSize), shadow(warps),
        arena(cantFail(Arena::create(4096, /*shared=*/true, /*low=*/false))) {
    unsigned threads = blocks * threadsPerBlock;
    moments.resize(threads);
    history.threadsPerBlock = threadsPerBlock;
    history.clocks.assign(threads, VectorClock(threads, 0));
    for (unsigned thread = 0; thread < threads; ++thread) {
      moments[thread].block = thread / threadsPerBlock;
      moments[thread].thread = thread % threadsPerBlock;
      history.clocks[thread][thread] = 1;
    }
    unsigned count = std::min(threads, 2 + below(6));
    for (unsigned i = 0; i < count; ++i)
      active.push_back(below(threads));
  }

  /// How many accesses the two disagree on.
  unsigned run(unsigned steps) {
    unsigned wrong = 0;
    for (unsigned step = 0; step < steps; ++step) {
      unsigned thread = active[below(active.size())];
      unsigned what = below(100);
      if (what < 70)
        wrong += !access(thread, step);
      else if (what < 86)
        meetSome(thread, /*all=*/what < 78);
      else if (what < 93)
        release(thread);
      else
        acquire(thread);
    }
    return wrong;
  }
  unsigned races = 0;

private:
  unsigned below(unsigned end) { return random() % end; }
  Scope anyScope() { return below(2) ? Scope::Device : Scope::Block; }

  bool access(unsigned thread, unsigned step) {
    unsigned bytes = 1u << below(4), first = below(20);
    bool atomic = below(6) == 0, writes = below(3) == 0;
    Scope scope = atomic ? anyScope() : Scope::System;
    const Moment &moment = moments[thread];
    Touch touch{moment,
                moment.block * warps + moment.thread / warpSize,
                moment.thread % warpSize,
                step,
                !writes,
                writes,
                atomic,
                scope};
    bool races = false, known = true;
    for (unsigned byte = first; byte < first + bytes; ++byte) {
      std::optional<bool> raced =
          history.access(byte, {thread, history.clocks[thread][thread], writes,
                                atomic, scope < Scope::Device});
      known &= raced.has_value();
      races |= raced.value_or(false);
    }
    bool found =
        shadow.touch(arena, arena.begin() + first, bytes, touch).has_value();
    this->races += races;
    return !known || found == races;
  }

  /// Threads of the block meet: all, or some of those that do anything.
  void meetSome(unsigned thread, bool all) {
    SmallVector<unsigned> threads{thread};
    unsigned begin = thread / threadsPerBlock * threadsPerBlock;
    for (unsigned other = begin; other < begin + threadsPerBlock; ++other)
      if (other != thread && (all || (is_contained(active, other) && below(2))))
        threads.push_back(other);
    history.meet(threads);
    SmallVector<const Moment *> met;
    for (unsigned each : threads)
      met.push_back(&moments[each]);
    KnowledgeRef known = meet(met, threadsPerBlock);
    for (unsigned each : threads) {
      moments[each].known = known;
      ++moments[each].time;
    }
  }

  void release(unsigned thread) {
    unsigned variable = below(3);
    Scope scope = anyScope();
    // An update continues what was released before; a store does not.
    if (below(2)) {
      messages[variable] = Message();
      history.releases[variable].clear();
    }
    Moment &moment = moments[thread];
    messages[variable].add(meet(&moment, threadsPerBlock), moment.block, scope);
    history.releases[variable].push_back(
        {history.clocks[thread], moment.block, scope == Scope::Device});
    ++moment.time;
    ++history.clocks[thread][thread];
  }

  void acquire(unsigned thread) {
    unsigned variable = below(3);
    Scope scope = anyScope();
    Moment &moment = moments[thread];
    // Through what a fence would have seen, half of the time.
    Message seen;
    seen.addFor(moment.block, messages[variable]);
    const Message &message = below(2) ? seen : messages[variable];
    moment.known = join(moment.known, message.read(moment.block, scope));
    for (const History::Release &release : history.releases[variable])
      if (release.block == moment.block ||
          (release.wide && scope == Scope::Device))
        raise(history.clocks[thread], release.clock);
  }

  std::mt19937 random;
  unsigned blocks, threadsPerBlock, warps;
  Shadow shadow;
  Arena arena;
  std::vector<Moment> moments;
  std::map<unsigned, Message> messages;
  History history;
  SmallVector<unsigned> active;
};

} // namespace

int testShadow() {
  unsigned wrong = 0, races = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Trial trial(seed);
    unsigned wrongOfTrial = trial.run(200);
    if (wrongOfTrial)
      errs() << "ShadowTest.cpp: seed " << seed << ": " << wrongOfTrial
             << " accesses\n";
    wrong += wrongOfTrial;
    races += trial.races;
  }
  // Otherwise the trials say nothing.
  if (races < 1000) {
    errs() << "ShadowTest.cpp: only " << races << " races\n";
    ++wrong;
  }
  return wrong;
}
