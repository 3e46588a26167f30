// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Launch.h - A kernel under way ----------------------------*- C++ -*-===//
//
// The machine that instructions work on: blocks, their threads as fibres, and
// what the threads wait for. One fibre runs at a time until it must wait or
// looks at memory that others may change; then the next one in the order does.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_LAUNCH_H
#define RUNTIME_EMULATOR_LAUNCH_H

#include "runtime/emulator/Arena.h"
#include "runtime/emulator/Code.h"
#include "runtime/emulator/Fibre.h"
#include "runtime/emulator/Shadow.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>
#include <map>
#include <random>

namespace gatefold::emulator {

class Launch;
struct Block;

/// A copy that `cp.async` began.
struct Copy {
  uint64_t target = 0, source = 0;
  unsigned bytes = 0, sourceBytes = 0;
  uint32_t site = 0;
  /// How many groups were committed before it, how many copies begun.
  uint64_t group = 0, number = 0;
  bool done = false;
};

/// An arrival at an mbarrier once all copies before a number are done.
struct DeferredArrival {
  uint64_t barrier = 0, before = 0;
  uint32_t site = 0;
};

/// A local variable that is alive.
struct LocalVariable {
  uint64_t address = 0, bytes = 0;
  uint32_t site = 0;
};

/// A thread of the kernel.
struct Strand : Thread {
  enum class Status {
    Ready,
    /// Waits for the other threads of its warp, for a barrier of its block, for
    /// the phase of an mbarrier.
    Warp,
    Barrier,
    Phase,
    Ended,
  };

  Launch *launch = nullptr;
  Block *block = nullptr;
  Fibre fibre;
  Moment moment;
  /// Within the block; of the warp within the grid; among those alive.
  uint32_t number = 0, gridWarp = 0, slot = 0;
  Status status = Status::Ready;
  /// Where it is or waits.
  uint32_t site = 0;

  // Status::Warp
  uint32_t instruction = 0, mask = 0;
  Lane *execution = nullptr;
  // Status::Barrier and Status::Phase
  unsigned barrier = 0;
  uint64_t phaseBarrier = 0;
  uint32_t reduction = 0;

  /// What its fences released, of either reach, and what its relaxed reads saw
  /// that a fence may acquire.
  std::optional<Moment> wideFence, narrowFence;
  Message seen;

  /// Addresses that it looked at since something changed, and how often it came
  /// back to one of them.
  uint64_t recent[4] = {};
  uint64_t recentCount = 0, polls = 0, pollsSince = 0;
  /// Turns through loops; how many there were when it last looked at memory of
  /// others or waited for them; after how many more is to be done than to
  /// count.
  uint64_t steps = 0, stepsBefore = 0, nextCheck = 0;

  std::deque<Copy> copies;
  uint64_t copyGroups = 0, copiesBegun = 0;
  std::vector<DeferredArrival> deferred;

  uint64_t localUsed = 0;
  std::vector<LocalVariable> locals;
};

struct NamedBarrier {
  /// Of threads; 0: nobody has come yet.
  unsigned expected = 0, arrived = 0;
  bool all = false;
  unsigned ones = 0;
  uint32_t site = 0;
  std::vector<Moment> moments;
  std::vector<Strand *> waiting;
  /// The first thread of each warp that waits.
  Strand *firstOfWarp[32] = {};
};

struct MBarrier {
  uint32_t count = 0, pending = 0;
  int64_t transactionBytes = 0;
  uint64_t phase = 0;
  uint32_t site = 0;
  std::vector<Moment> moments;
  /// What the arrivals of the last complete phase released.
  KnowledgeRef released;
};

struct Block {
  /// Those with a number, and the one of its cluster.
  static constexpr unsigned barrierCount = clusterBarrier + 1;
  Extent index;
  uint32_t number = 0, live = 0;
  uint64_t sharedBegin = 0;
  llvm::MutableArrayRef<Strand> threads;
  /// Of each warp the lanes that have ended or never were.
  std::vector<uint32_t> missingLanes;
  NamedBarrier barriers[barrierCount];
  std::map<uint64_t, MBarrier> mbarriers;
};

class Launch final : public Machine {
public:
  Launch(Device &device, const Code &code, const KernelCode &kernel,
         const LaunchOptions &options);
  ~Launch() override;

  llvm::Error prepare(llvm::ArrayRef<Argument> arguments);
  void run();
  LaunchResult take() { return std::move(result); }

  //===- Machine ----------------------------------------------------------===//
  void *access(Thread &thread, uint64_t address, unsigned bytes,
               unsigned alignment, AccessKind kind) override;
  void *accessAtomic(Thread &thread, uint64_t address, unsigned bytes,
                     bool reads, bool writes, Ordering ordering,
                     Scope scope) override;
  void fence(Thread &thread, Ordering ordering, Scope scope) override;
  void joinWarp(llvm::ArrayRef<Thread *> threads) override;
  bool isShared(Thread &thread, uint64_t address) override;
  bool isLocal(Thread &thread, uint64_t address) override;
  bool blockBarrier(Thread &thread, unsigned id, unsigned count,
                    bool aligned) override;
  bool blockArrive(Thread &thread, unsigned id, unsigned count,
                   bool aligned) override;
  std::optional<uint32_t> blockReduce(Thread &thread, unsigned id,
                                      unsigned count, bool predicate,
                                      Reduction reduction) override;
  void pause(Thread &thread) override;
  void exit(Thread &thread) override;
  bool copyAsync(Thread &thread, uint64_t destination, uint64_t source,
                 unsigned bytes, unsigned sourceBytes) override;
  void commitCopies(Thread &thread) override;
  bool waitCopies(Thread &thread, unsigned groups) override;
  bool waitAllCopies(Thread &thread) override;
  bool arriveAfterCopies(Thread &thread, uint64_t barrier,
                         bool noIncrement) override;
  bool mbarrierInit(Thread &thread, uint64_t barrier, uint32_t count) override;
  bool mbarrierInvalidate(Thread &thread, uint64_t barrier) override;
  std::optional<uint64_t> mbarrierArrive(Thread &thread, uint64_t barrier,
                                         uint32_t count,
                                         uint32_t transactionBytes,
                                         bool drops) override;
  bool mbarrierExpect(Thread &thread, uint64_t barrier,
                      uint32_t transactionBytes) override;
  std::optional<bool> mbarrierTest(Thread &thread, uint64_t barrier,
                                   uint64_t state, bool waits) override;
  std::optional<bool> mbarrierTestParity(Thread &thread, uint64_t barrier,
                                         uint32_t parity, bool waits) override;
  uint64_t clock() override { return ++clockTime; }
  uint32_t print(Thread &thread, uint64_t format, uint64_t arguments) override;
  void report(Thread &thread, FindingKind kind,
              const llvm::Twine &message) override;

  //===- What hooks ask for; see Retarget.h
  //-----------------------------------===//

  // Those that are told to do something that ends the launch do not return.
  void accessSite(Strand &strand, uint64_t address, uint32_t site);
  void atomicSite(Strand &strand, uint64_t address, uint32_t site);
  void fill(Strand &strand, uint64_t target, uint8_t value, uint64_t bytes,
            uint32_t site);
  void copy(Strand &strand, uint64_t target, uint64_t source, uint64_t bytes,
            uint32_t targetSite, uint32_t sourceSite);
  uint64_t allocateLocal(Strand &strand, uint64_t bytes, uint64_t alignment,
                         uint32_t site);
  void leaveLocal(Strand &strand, uint64_t mark);
  void initialiseLocal(uint64_t address, uint64_t bytes);
  void step(Strand &strand, uint32_t site) {
    if (++strand.steps >= strand.nextCheck)
      checkSteps(strand, site);
  }
  void execute(Strand &strand, uint32_t instruction, uint32_t site,
               const void *const *operands, void *result);
  [[noreturn]] void fail(Strand &strand, uint32_t site, FindingKind kind,
                         const llvm::Twine &message, llvm::StringRef hint = "");
  const Site &siteOf(uint32_t site) const { return code.sites[site]; }
  const Code &codeOf() const { return code; }
  void noteChange() { ++changes; }

private:
  static constexpr uint32_t noSite = ~uint32_t(0);

  struct Use {
    uint64_t bytes, alignment;
    bool reads, writes, atomic = false;
    Scope scope = Scope::System;
    Space space = Space::Generic;
    /// What is copied need not be initialised.
    bool copies = false;
  };

  //===- Running ----------------------------------------------------------===//
  void startBlock(Block &block, uint64_t number);
  void runAlive();
  void endBlock(Block &block);
  void permute();
  static void enterFibre();
  [[noreturn]] void endStrand(Strand &strand);
  /// Lets others run until this one may go on.
  void wait(Strand &strand);
  /// Never runs this one again.
  [[noreturn]] void abandon(Strand &strand);
  void checkSteps(Strand &strand, uint32_t site);
  void poll(Strand &strand, uint64_t key);
  bool reportStuck();

  //===- Memory -----------------------------------------------------------===//
  void *touch(Strand &strand, uint64_t address, const Use &use);
  bool reportState(Strand &strand, uint64_t address, const Use &use);
  Arena *arenaOf(uint64_t address);
  void outOfBounds(Strand &strand, uint64_t address, const Use &use);
  void reportRace(Strand &strand, uint64_t address, const Use &use,
                  const Rival &rival, bool isShared);
  void finishUpdate();
  void order(Strand &strand, uint64_t address, bool reads, bool writes,
             Ordering ordering, Scope scope);
  void learn(Strand &strand, const KnowledgeRef &known);
  KnowledgeRef knowledgeOf(const Moment &moment) const;
  /// "byte 20 of `tile`".
  std::string nameOf(const Strand &strand, uint64_t address) const;

  //===- Waiting ----------------------------------------------------------===//
  void executeWarp(Strand &strand, Lane &lane);
  bool isWarpComplete(Strand &strand, llvm::MutableArrayRef<Lane *> lanes);
  bool arrive(Strand &strand, unsigned id, unsigned count, bool aligned,
              bool waits, bool predicate);
  void completeBarrier(Block &block, unsigned id);
  bool isComplete(const Block &block, const NamedBarrier &barrier) const;
  void meetAll(llvm::ArrayRef<Strand *> strands,
               llvm::ArrayRef<Moment> moments);
  MBarrier *findMBarrier(Strand &strand, uint64_t address);
  void arriveMBarrier(Strand &strand, MBarrier &barrier, uint32_t count,
                      const Moment &moment);
  void completePhase(Block &block, uint64_t address, MBarrier &barrier);
  template <typename Done>
  std::optional<bool> testPhase(Strand &strand, uint64_t address, bool waits,
                                Done done);

  //===- Asynchronous copies ----------------------------------------------===//
  void beginCopy(const Copy &copy, int change);
  void performCopy(Copy &copy);
  bool finishCopies(Strand &strand, uint64_t beforeNumber);
  bool progressDeferred();
  void reportUnfinished(Strand &strand);

  //===- Findings ---------------------------------------------------------===//
  void report(Strand &strand, FindingKind kind, const llvm::Twine &message,
              llvm::StringRef hint, llvm::ArrayRef<Event> others = {},
              uint32_t otherSite = noSite);
  bool countAgain(const Strand &strand, FindingKind kind, uint32_t otherSite);
  Event eventOf(const Strand &strand) const;
  Event eventOf(const Rival &rival) const;
  static std::string describe(const Strand &strand);

  static Strand &strandOf(Thread &thread) {
    return static_cast<Strand &>(thread);
  }

  Device &device;
  const Code &code;
  const KernelCode &kernel;
  const LaunchOptions &options;
  LaunchResult result;
  std::map<std::tuple<FindingKind, uint32_t, uint32_t>, size_t> findingNumbers;
  std::vector<uint64_t> instructionCounts;

  std::vector<uint8_t> arguments;
  uint64_t threadsPerBlock = 0, warpsPerBlock = 0, windowBytes = 0;
  Arena sharedArena, localArena;
  Shadow sharedShadow, globalShadow;
  Stacks stacks;
  std::vector<Block> blocks;
  std::vector<Strand> strands;
  std::vector<uint32_t> turns;
  std::mt19937_64 random;
  Fibre scheduler;
  uint64_t live = 0, changes = 1, clockTime = 0;
  bool ended = false, stuck = false;
  /// Of those that took their turn to its end since the scheduler last went
  /// through all threads the first, and how many turns more it may have.
  const Strand *favoured = nullptr;
  uint64_t turnsLeft = 0;
  /// A warp's instruction is executed, on the stack of one of its threads.
  bool executesWarp = false;

  /// An update by an instruction, and what was there before.
  struct {
    void *memory = nullptr;
    unsigned bytes = 0;
    uint8_t old[16] = {};
  } update;

  /// Of atomic variables.
  llvm::DenseMap<uint64_t, Message> globalMessages, sharedMessages;
  /// How many copies are under way into, and from, each four bytes.
  llvm::DenseMap<uint64_t, unsigned> copyTargets, copySources;
};

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_LAUNCH_H
