// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LaunchWait.cpp - Threads that wait for each other ------------------===//
//
// Warps that execute an instruction together, and barriers of a block.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Launch.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

using namespace llvm;
using namespace gatefold::emulator;

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

void Launch::execute(Strand &strand, uint32_t number, uint32_t site,
                     const void *const *operands, void *result) {
  const Instruction &instruction = code.instructions[number];
  strand.site = site;
  strand.instruction = number;
  size_t operandCount = code.operandCounts[number];
  Lane lane{&strand, ArrayRef(operands, operandCount), result};
  if (instruction.group == Instruction::Group::Warp) {
    executeWarp(strand, lane);
  } else {
    ++instructionCounts[number];
    Lane *lanes[] = {&lane};
    instruction.execute(*this, lanes);
    if (update.memory)
      finishUpdate();
  }
  if (ended)
    abandon(strand);
}

/// The lanes of the strand's mask, if all of them wait for the same
/// instruction.
bool Launch::isWarpComplete(Strand &strand, MutableArrayRef<Lane *> lanes) {
  const Instruction &instruction = code.instructions[strand.instruction];
  MutableArrayRef<Strand> threads = strand.block->threads;
  // The last lane first: in most orders it is the last to come.
  for (uint32_t rest = strand.mask; rest;) {
    unsigned lane = warpSize - 1 - countl_zero(rest);
    rest &= ~(uint32_t(1) << lane);
    Strand &other = threads[strand.warp * warpSize + lane];
    if (other.status != Strand::Status::Warp ||
        other.instruction != strand.instruction || other.mask != strand.mask ||
        (other.site != strand.site && !instruction.meetsAnywhere))
      return false;
    lanes[lane] = other.execution;
  }
  return true;
}

void Launch::executeWarp(Strand &strand, Lane &lane) {
  const Instruction &instruction = code.instructions[strand.instruction];
  strand.mask = ~uint32_t(0);
  if (instruction.maskOperand)
    strand.mask = lane.operand<uint32_t>(*instruction.maskOperand);
  auto refuse = [&](const Twine &message) {
    report(strand, FindingKind::WarpMask,
           "`" + instruction.name + "`: " + message, "");
    ended = true;
  };
  if (!(strand.mask >> strand.lane & 1))
    return refuse("lane " + Twine(strand.lane) +
                  " executes it and is not in its mask 0x" +
                  utohexstr(strand.mask));
  Block &block = *strand.block;
  if (uint32_t missing = strand.mask & block.missingLanes[strand.warp]) {
    unsigned other = countr_zero(missing);
    bool isThread = strand.warp * warpSize + other < block.threads.size();
    return refuse("lane " + Twine(other) + " of its mask 0x" +
                  utohexstr(strand.mask) +
                  (isThread ? " has ended" : " is no thread of the block"));
  }
  strand.execution = &lane;
  strand.status = Strand::Status::Warp;
  Lane *lanes[warpSize] = {};
  if (!isWarpComplete(strand, lanes)) {
    wait(strand);
    return;
  }
  // The last one to come executes it for all.
  ++instructionCounts[strand.instruction];
  executesWarp = true;
  instruction.execute(*this, lanes);
  executesWarp = false;
  for (Lane *each : lanes)
    if (each)
      strandOf(*each->thread).status = Strand::Status::Ready;
}

//===----------------------------------------------------------------------===//
// Barriers of a block
//===----------------------------------------------------------------------===//

bool Launch::isComplete(const Block &block, const NamedBarrier &barrier) const {
  if (barrier.arrived == 0)
    return false;
  return barrier.all ? barrier.arrived >= block.live
                     : barrier.arrived >= barrier.expected;
}

/// How many threads an arrival counts for: a warp that is not full counts as a
/// full one.
static unsigned weightOf(const Strand &strand) {
  size_t first = strand.warp * warpSize;
  size_t inWarp =
      std::min<size_t>(warpSize, strand.block->threads.size() - first);
  return strand.lane == 0 ? 1 + warpSize - inWarp : 1;
}

bool Launch::arrive(Strand &strand, unsigned id, unsigned count, bool aligned,
                    bool waits, bool predicate) {
  auto refuse = [&](const Twine &message) {
    report(strand, FindingKind::Barrier, message, "");
    ended = true;
    return false;
  };
  if (id >= Block::barrierCount)
    return refuse("barrier " + Twine(id) + ": a block has the barriers 0 to " +
                  Twine(clusterBarrier - 1));
  if (count % warpSize)
    return refuse("barrier " + Twine(id) + " is for " + Twine(count) +
                  " threads, expected a multiple of " + Twine(warpSize));
  if (count > alignTo(threadsPerBlock, warpSize))
    return refuse("barrier " + Twine(id) + " is for " + Twine(count) +
                  " threads, and the block has " + Twine(threadsPerBlock));
  Block &block = *strand.block;
  NamedBarrier &barrier = block.barriers[id];
  if (barrier.arrived == 0) {
    barrier.expected = count;
    barrier.all = count == 0;
  } else if (barrier.expected != count) {
    return refuse("barrier " + Twine(id) + " is for " +
                  (count ? Twine(count) : Twine("all")) +
                  " threads here, and others came to it for " +
                  (barrier.expected ? Twine(barrier.expected) : Twine("all")));
  }
  // The warp is to execute one instruction.
  Strand *&firstOfWarp = barrier.firstOfWarp[strand.warp];
  if (!firstOfWarp && waits)
    firstOfWarp = &strand;
  if (aligned && firstOfWarp && firstOfWarp->site != strand.site) {
    const Strand &other = *firstOfWarp;
    report(strand, FindingKind::DivergentBarrier,
           "threads " + describe(other) + " and " + describe(strand) +
               " of one warp come to barrier " + Twine(id) +
               " at different places",
           "the condition around the barrier must be the same for all "
           "threads of a warp",
           eventOf(other), other.site);
    if (ended)
      return false;
  }
  barrier.arrived += barrier.all ? 1 : weightOf(strand);
  barrier.ones += predicate;
  noteChange();
  if (!waits) {
    barrier.moments.push_back(strand.moment);
    ++strand.moment.time;
  } else {
    barrier.waiting.push_back(&strand);
    strand.barrier = id;
    strand.status = Strand::Status::Barrier;
  }
  if (isComplete(block, barrier))
    completeBarrier(block, id);
  if (strand.status == Strand::Status::Barrier)
    wait(strand);
  return true;
}

void Launch::completeBarrier(Block &block, unsigned id) {
  NamedBarrier &barrier = block.barriers[id];
  if (!barrier.waiting.empty())
    meetAll(barrier.waiting, barrier.moments);
  for (Strand *strand : barrier.waiting) {
    strand->reduction = barrier.ones;
    strand->mask = barrier.arrived;
    strand->status = Strand::Status::Ready;
  }
  ++result.statistics.barriers;
  noteChange();
  barrier.arrived = barrier.ones = 0;
  barrier.moments.clear();
  barrier.waiting.clear();
  std::fill(std::begin(barrier.firstOfWarp), std::end(barrier.firstOfWarp),
            nullptr);
}

bool Launch::blockBarrier(Thread &thread, unsigned id, unsigned count,
                          bool aligned) {
  return arrive(strandOf(thread), id, count, aligned, true, false) && !ended;
}

bool Launch::blockArrive(Thread &thread, unsigned id, unsigned count,
                         bool aligned) {
  if (count == 0) {
    report(thread, FindingKind::Barrier,
           "`bar.arrive` needs the number of threads of its barrier");
    return false;
  }
  return arrive(strandOf(thread), id, count, aligned, false, false);
}

std::optional<uint32_t> Launch::blockReduce(Thread &thread, unsigned id,
                                            unsigned count, bool predicate,
                                            Reduction reduction) {
  Strand &strand = strandOf(thread);
  if (!arrive(strand, id, count, true, true, predicate) || ended)
    return std::nullopt;
  switch (reduction) {
  case Reduction::Count:
    return strand.reduction;
  case Reduction::And:
    return strand.reduction == strand.mask;
  case Reduction::Or:
    return strand.reduction != 0;
  }
  llvm_unreachable("all reductions are above");
}
