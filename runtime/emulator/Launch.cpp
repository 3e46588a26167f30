// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Launch.cpp - Starting, running and ending threads ------------------===//

#include "runtime/emulator/Launch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>

using namespace llvm;
using namespace gatefold::emulator;

namespace {
// Of one thread, as on GPUs.
constexpr uint64_t localBytes = 512 << 10;
// Where a block's shared memory may begin: any instruction is content.
constexpr uint64_t windowAlignment = 1024;
constexpr uint64_t mostThreadsOfBlock = 1024;
constexpr uint64_t mostDynamicShared = 1 << 20;
// After so many turns of a loop others run, too.
constexpr uint64_t stepsOfTurn = 1 << 16;
} // namespace

Launch::Launch(Device &device, const Code &code, const KernelCode &kernel,
               const LaunchOptions &options)
    : device(device), code(code), kernel(kernel), options(options),
      instructionCounts(code.instructions.size()),
      threadsPerBlock(options.block.count()),
      warpsPerBlock(divideCeil(threadsPerBlock, warpSize)),
      sharedShadow(warpsPerBlock), globalShadow(warpsPerBlock),
      random(options.seed) {}

Launch::~Launch() {
  // A launch that ended early leaves copies under way.
  auto clear = [&](const DenseMap<uint64_t, unsigned> &copies, uint8_t state) {
    for (auto [address, count] : copies)
      if (device.arena().contains(address))
        for (unsigned i = 0; i < cellBytes; ++i)
          device.arena().states(address)[i] &= ~state;
  };
  clear(copyTargets, CopyTarget);
  clear(copySources, CopySource);
}

static std::string textOf(const Extent &extent) {
  return "(" + std::to_string(extent.x) + ", " + std::to_string(extent.y) +
         ", " + std::to_string(extent.z) + ")";
}

/// x, y and z of a block, or a grid; all from 1 on.
static Error checkExtent(StringRef what, const Extent &extent,
                         const Extent &most) {
  if (extent.x && extent.y && extent.z && extent.x <= most.x &&
      extent.y <= most.y && extent.z <= most.z)
    return Error::success();
  return createStringError(what + " is " + textOf(extent) +
                           ", expected (1, 1, 1) to " + textOf(most));
}

Error Launch::prepare(ArrayRef<Argument> values) {
  if (Error error =
          checkExtent("the grid", options.grid, {0x7fffffff, 65535, 65535}))
    return error;
  if (Error error = checkExtent("a block", options.block, {1024, 1024, 64}))
    return error;
  if (threadsPerBlock > mostThreadsOfBlock)
    return createStringError("a block has " + Twine(threadsPerBlock) +
                             " threads, expected at most " +
                             Twine(mostThreadsOfBlock));
  const Extent &exact = kernel.kernel.exactThreads;
  const Extent &most = kernel.kernel.mostThreads;
  if (exact.x && (exact.x != options.block.x || exact.y != options.block.y ||
                  exact.z != options.block.z))
    return createStringError("a block is " + textOf(options.block) + ", `" +
                             kernel.kernel.name + "` expects " + textOf(exact));
  if (most.x && threadsPerBlock > most.count())
    return createStringError("a block has " + Twine(threadsPerBlock) +
                             " threads, `" + kernel.kernel.name +
                             "` expects at most " + Twine(most.count()));
  uint64_t blockCount = options.grid.count();
  if (blockCount > (uint64_t(1) << 32) / warpsPerBlock / warpSize)
    return createStringError("the grid has " + Twine(blockCount) +
                             " blocks, too many to number their threads");
  uint64_t blocksAlive = options.cooperative ? blockCount : 1;
  if (blocksAlive > options.limits.threads / threadsPerBlock)
    return createStringError(Twine(blocksAlive) + " blocks of " +
                             Twine(threadsPerBlock) +
                             " threads are alive at once, expected at most " +
                             Twine(options.limits.threads) + " threads");
  if (options.dynamicSharedBytes > mostDynamicShared)
    return createStringError("the dynamic shared memory of a block is " +
                             Twine(options.dynamicSharedBytes) +
                             " bytes, expected at most " +
                             Twine(mostDynamicShared));

  ArrayRef<Parameter> parameters = kernel.kernel.parameters;
  if (values.size() != parameters.size())
    return createStringError("`" + kernel.kernel.name + "` takes " +
                             Twine(parameters.size()) + " arguments, not " +
                             Twine(values.size()));
  arguments.resize(std::max<uint64_t>(kernel.argumentBytes, 1));
  for (auto [number, parameter] : enumerate(parameters)) {
    ArrayRef<uint8_t> bytes = values[number].bytes;
    if (bytes.size() != parameter.bytes)
      return createStringError(
          "argument " + Twine(number) + " of `" + kernel.kernel.name + "`, " +
          (parameter.name.empty() ? "" : "`" + parameter.name + "`, ") + "is " +
          Twine(bytes.size()) + " bytes, expected " + Twine(parameter.bytes) +
          " (" + parameter.type + ")");
    llvm::copy(bytes, arguments.begin() + kernel.offsets[number]);
  }

  windowBytes = alignTo(code.dynamicSharedOffset + options.dynamicSharedBytes +
                            windowAlignment,
                        windowAlignment);
  uint64_t threadsAlive = blocksAlive * threadsPerBlock;
  Expected<Arena> shared = Arena::create(blocksAlive * windowBytes, true, true);
  if (!shared)
    return shared.takeError();
  sharedArena = std::move(*shared);
  Expected<Arena> local =
      Arena::create(threadsAlive * localBytes, false, false);
  if (!local)
    return local.takeError();
  localArena = std::move(*local);
  Expected<Stacks> made = Stacks::create(threadsAlive);
  if (!made)
    return made.takeError();
  stacks = std::move(*made);

  strands = std::vector<Strand>(threadsAlive);
  blocks = std::vector<Block>(blocksAlive);
  for (auto [number, block] : enumerate(blocks)) {
    block.threads = MutableArrayRef(strands).slice(number * threadsPerBlock,
                                                   threadsPerBlock);
    block.sharedBegin = sharedArena.begin() + number * windowBytes;
  }
  turns.resize(threadsAlive);
  for (auto [number, turn] : enumerate(turns))
    turn = options.order == ThreadOrder::Reverse ? threadsAlive - 1 - number
                                                 : number;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// At how many turns through loops a thread that had `steps` is looked at.
static uint64_t nextCheck(uint64_t steps, const Limits &limits) {
  return std::min(steps + stepsOfTurn - 1, limits.steps) + 1;
}

void Launch::startBlock(Block &block, uint64_t number) {
  const Extent &grid = options.grid, &size = options.block;
  block.index = {uint32_t(number % grid.x), uint32_t(number / grid.x % grid.y),
                 uint32_t(number / grid.x / grid.y)};
  block.number = number;
  block.live = threadsPerBlock;
  block.missingLanes.assign(warpsPerBlock, 0);
  if (unsigned inLast = threadsPerBlock % warpSize)
    block.missingLanes.back() = ~uint32_t(0) << inLast;
  block.mbarriers.clear();
  for (NamedBarrier &barrier : block.barriers)
    barrier = NamedBarrier();

  sharedArena.set(block.sharedBegin, windowBytes, 0);
  sharedArena.forgetAccesses(block.sharedBegin, windowBytes);
  for (const SharedVariable &variable : code.sharedVariables)
    sharedArena.set(block.sharedBegin + variable.offset, variable.bytes,
                    Allocated);
  if (code.usesDynamicShared)
    sharedArena.set(block.sharedBegin + code.dynamicSharedOffset,
                    options.dynamicSharedBytes, Allocated);

  for (auto [index, strand] : enumerate(block.threads)) {
    leaveLocal(strand, 0);
    Fibre fibre = strand.fibre;
    strand = Strand();
    strand.fibre = fibre;
    strand.threadIndex = {uint32_t(index % size.x),
                          uint32_t(index / size.x % size.y),
                          uint32_t(index / size.x / size.y)};
    strand.blockIndex = block.index;
    strand.blockSize = size;
    strand.gridSize = grid;
    strand.warp = index / warpSize;
    strand.lane = index % warpSize;
    strand.dynamicSharedBytes = options.dynamicSharedBytes;
    strand.staticSharedBytes = code.staticSharedBytes;
    strand.launch = this;
    strand.block = &block;
    strand.number = index;
    strand.gridWarp = number * warpsPerBlock + strand.warp;
    strand.slot = &strand - strands.data();
    strand.moment.block = number;
    strand.moment.thread = index;
    strand.nextCheck = nextCheck(0, options.limits);
    stacks.start(strand.slot, strand.fibre, enterFibre, &strand);
  }
  live += threadsPerBlock;
  ++result.statistics.blocks;
  result.statistics.threads += threadsPerBlock;
}

void Launch::run() {
  device.arena().forgetAccesses(device.arena().begin(), device.arena().bytes());
  result.statistics.sharedBytes =
      code.staticSharedBytes + options.dynamicSharedBytes;
  uint64_t count = options.grid.count();
  if (options.cooperative) {
    for (auto [number, block] : enumerate(blocks))
      startBlock(block, number);
    runAlive();
    for (Block &block : blocks)
      endBlock(block);
  } else {
    std::vector<uint32_t> order;
    if (options.order == ThreadOrder::Shuffled) {
      order.resize(count);
      for (auto [number, block] : enumerate(order))
        block = number;
      std::shuffle(order.begin(), order.end(), random);
    }
    for (uint64_t i = 0; i < count && !ended; ++i) {
      uint64_t number = options.order == ThreadOrder::Forward   ? i
                        : options.order == ThreadOrder::Reverse ? count - 1 - i
                                                                : order[i];
      startBlock(blocks.front(), number);
      runAlive();
      endBlock(blocks.front());
      sharedShadow.clear();
      sharedMessages.clear();
    }
  }
  result.finished = !ended;
  for (auto [number, executions] : enumerate(instructionCounts))
    if (executions)
      result.statistics.instructions[code.instructions[number].name] +=
          executions;
}

/// Copies that an mbarrier was to wait for, and nobody waited for it.
void Launch::endBlock(Block &block) {
  if (ended)
    return;
  for (Strand &strand : block.threads) {
    strand.deferred.clear();
    reportUnfinished(strand);
  }
}

void Launch::permute() {
  if (options.order == ThreadOrder::Shuffled)
    std::shuffle(turns.begin(), turns.end(), random);
}

void Launch::runAlive() {
  while (live && !ended) {
    uint64_t before = changes;
    bool ran = false;
    favoured = nullptr;
    permute();
    for (uint32_t turn : turns) {
      Strand &strand = strands[turn];
      if (strand.status != Strand::Status::Ready)
        continue;
      ran = true;
      switchFibre(scheduler, strand.fibre);
      if (ended || stuck)
        break;
    }
    if (ended || (live == 0))
      break;
    // As late as possible: nothing else happens any more.
    if ((!ran || stuck || changes == before) && progressDeferred()) {
      stuck = false;
      continue;
    }
    if (!ran || stuck) {
      reportStuck();
      ended = true;
    }
  }
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Launch::enterFibre() {
  Strand &strand = *static_cast<Strand *>(Stacks::owner());
  Launch &launch = *strand.launch;
  launch.kernel.entry(launch.arguments.data());
  launch.endStrand(strand);
}

void Launch::endStrand(Strand &strand) {
  reportUnfinished(strand);
  strand.status = Strand::Status::Ended;
  --live;
  Block &block = *strand.block;
  --block.live;
  block.missingLanes[strand.warp] |= uint32_t(1) << strand.lane;
  noteChange();
  // Those that wait for all threads wait for this one no longer.
  for (unsigned id = 0; id < Block::barrierCount; ++id)
    if (isComplete(block, block.barriers[id]))
      completeBarrier(block, id);
  abandon(strand);
}

void Launch::abandon(Strand &strand) {
  strand.status = Strand::Status::Ended;
  switchFibre(strand.fibre, scheduler);
  llvm_unreachable("a thread that has ended does not run");
}

void Launch::wait(Strand &strand) {
  strand.stepsBefore = strand.steps;
  strand.nextCheck = nextCheck(strand.steps, options.limits);
  switchFibre(strand.fibre, scheduler);
}

void Launch::exit(Thread &thread) { endStrand(strandOf(thread)); }

void Launch::poll(Strand &strand, uint64_t key) {
  if (strand.pollsSince != changes) {
    strand.pollsSince = changes;
    strand.polls = strand.recentCount = 0;
    std::fill(std::begin(strand.recent), std::end(strand.recent), 0);
  }
  // Reading one address after the other is not waiting.
  if (!is_contained(strand.recent, key))
    strand.recent[strand.recentCount++ % std::size(strand.recent)] = key;
  else if (++strand.polls > options.limits.polls)
    stuck = true;
  wait(strand);
}

void Launch::pause(Thread &thread) {
  Strand &strand = strandOf(thread);
  poll(strand, ~uint64_t(0));
}

void Launch::checkSteps(Strand &strand, uint32_t site) {
  const Limits &limits = options.limits;
  strand.site = site;
  if (strand.steps > limits.steps)
    fail(strand, site, FindingKind::Limit,
         "a thread went through its loops " + Twine(strand.steps) + " times",
         "does this loop end? If so, allow more steps");
  uint64_t quiet = strand.steps - strand.stepsBefore;
  if (quiet > limits.quietSteps)
    fail(strand, site, FindingKind::Limit,
         "a thread went through its loops " + Twine(quiet) +
             " times and looked at no memory that others see",
         "does this loop end? If so, allow more steps");
  strand.nextCheck = nextCheck(strand.steps, limits);
  // Nothing that others do can change such a loop. Letting them run would take
  // as many times longer to the limit as there are threads.
  if (quiet >= stepsOfTurn)
    return;
  // For the same reason one thread runs as long as all others together.
  if (!favoured) {
    favoured = &strand;
    turnsLeft = live;
  }
  if (favoured == &strand && --turnsLeft)
    return;
  wait(strand);
}
