// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Instruction.h - What a GPU has and LLVM IR has not -------*- C++ -*-===//
//
// The border between the two halves of the emulator. Above it, `Machine`:
// threads, memory and everything that makes threads wait for each other. Below
// it, the meaning of each intrinsic `llvm.nvvm.*` and of each PTX instruction
// in inline assembly, as a function of the values of one thread or of the
// threads of a warp.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_INSTRUCTION_H
#define RUNTIME_EMULATOR_INSTRUCTION_H

#include "runtime/emulator/Finding.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace llvm {
class FunctionType;
}

namespace gatefold::emulator {

inline constexpr unsigned warpSize = 32;

/// A barrier of a block beside those that a program names, 0 to 15: the one of
/// its cluster, which is this block.
inline constexpr unsigned clusterBarrier = 16;

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// What a thread knows about itself; the machine derives its own from it.
struct Thread {
  Extent threadIndex, blockIndex, blockSize, gridSize;
  /// Of the warp within its block, of the thread within its warp.
  uint32_t warp = 0, lane = 0;
  uint32_t dynamicSharedBytes = 0, staticSharedBytes = 0;
};

enum class AccessKind { Read, Write };

/// Up to whom an ordering reaches. Narrower than a warp there is only the
/// thread.
enum class Scope { Thread, Warp, Block, Cluster, Device, System };

enum class Ordering { Relaxed, Acquire, Release, AcquireRelease };

/// What instructions ask of the machine. Addresses are generic, whatever space
/// an operand was written in. What is wrong is reported by the machine; a null
/// or `false` then means that the launch has ended and the instruction is to
/// return at once.
class Machine {
public:
  virtual ~Machine();

  //===- Memory -----------------------------------------------------------===//

  /// `bytes` bytes at an address that is a multiple of `alignment`, after all
  /// checks: bounds, alignment, initialised if read, races.
  virtual void *access(Thread &thread, uint64_t address, unsigned bytes,
                       unsigned alignment, AccessKind kind) = 0;
  /// The same for an atomic access, which races with no other atomic one of
  /// enough scope, and orders as given.
  virtual void *accessAtomic(Thread &thread, uint64_t address, unsigned bytes,
                             bool reads, bool writes, Ordering ordering,
                             Scope scope) = 0;
  virtual void fence(Thread &thread, Ordering ordering, Scope scope) = 0;
  /// Memory as `__syncwarp` orders it among `threads`.
  virtual void joinWarp(llvm::ArrayRef<Thread *> threads) = 0;
  /// An address within a window (`cvta.to.shared` and back): the same number,
  /// if it lies there.
  virtual bool isShared(Thread &thread, uint64_t address) = 0;
  virtual bool isLocal(Thread &thread, uint64_t address) = 0;

  //===- Waiting; only from instructions of Group::Thread
  //-------------------===//

  /// `bar.sync id, count` (0: all threads of the block). `aligned`: all threads
  /// of a warp execute this very instruction.
  virtual bool blockBarrier(Thread &thread, unsigned id, unsigned count,
                            bool aligned) = 0;
  /// `bar.arrive id, count`: does not wait.
  virtual bool blockArrive(Thread &thread, unsigned id, unsigned count,
                           bool aligned) = 0;
  enum class Reduction { Count, And, Or };
  /// `bar.red`: a barrier that gives all threads the reduction of `predicate`.
  virtual std::optional<uint32_t> blockReduce(Thread &thread, unsigned id,
                                              unsigned count, bool predicate,
                                              Reduction reduction) = 0;
  /// Lets others run: `nanosleep`, a failed test in a loop.
  virtual void pause(Thread &thread) = 0;
  /// `exit`, `trap`; does not return.
  virtual void exit(Thread &thread) = 0;

  //===- Asynchronous copies (cp.async)
  //--------------------------------------===//

  /// `sourceBytes` bytes, then zeros up to `bytes`.
  virtual bool copyAsync(Thread &thread, uint64_t destination, uint64_t source,
                         unsigned bytes, unsigned sourceBytes) = 0;
  virtual void commitCopies(Thread &thread) = 0;
  /// Waits until at most `groups` of this thread's groups are under way.
  virtual bool waitCopies(Thread &thread, unsigned groups) = 0;
  /// Waits for all copies of this thread, committed or not.
  virtual bool waitAllCopies(Thread &thread) = 0;
  /// `cp.async.mbarrier.arrive`: arrives once all copies so far are done.
  virtual bool arriveAfterCopies(Thread &thread, uint64_t barrier,
                                 bool noIncrement) = 0;

  //===- mbarriers -------------------------------------------------------===//

  virtual bool mbarrierInit(Thread &thread, uint64_t barrier,
                            uint32_t count) = 0;
  virtual bool mbarrierInvalidate(Thread &thread, uint64_t barrier) = 0;
  /// Arrives `count` times after expecting `transactionBytes` more; `drops`
  /// also takes the thread out of later phases. The state for a later test.
  virtual std::optional<uint64_t>
  mbarrierArrive(Thread &thread, uint64_t barrier, uint32_t count,
                 uint32_t transactionBytes, bool drops) = 0;
  virtual bool mbarrierExpect(Thread &thread, uint64_t barrier,
                              uint32_t transactionBytes) = 0;
  /// Whether the phase of `state`, or the one of `parity`, is complete. `waits`
  /// (`try_wait`): the thread may be held until it is.
  virtual std::optional<bool> mbarrierTest(Thread &thread, uint64_t barrier,
                                           uint64_t state, bool waits) = 0;
  virtual std::optional<bool> mbarrierTestParity(Thread &thread,
                                                 uint64_t barrier,
                                                 uint32_t parity,
                                                 bool waits) = 0;

  //===- Others -----------------------------------------------------------===//

  /// Grows by one with each instruction that reads it.
  virtual uint64_t clock() = 0;
  /// `vprintf`: text of a kernel; returns the number of arguments.
  virtual uint32_t print(Thread &thread, uint64_t format,
                         uint64_t arguments) = 0;
  /// What an instruction itself finds wrong.
  virtual void report(Thread &thread, FindingKind kind,
                      const llvm::Twine &message) = 0;
};

/// An execution of an instruction by one thread: its operands and its result,
/// as LLVM lays such values out in memory.
struct Lane {
  Thread *thread = nullptr;
  llvm::ArrayRef<const void *> operands;
  void *result = nullptr;

  template <typename T> T operand(unsigned index) const {
    T value;
    __builtin_memcpy(&value, operands[index], sizeof(T));
    return value;
  }
  template <typename T> void setResult(T value, unsigned offset = 0) const {
    __builtin_memcpy(static_cast<char *>(result) + offset, &value, sizeof(T));
  }
};

struct Instruction {
  enum class Group {
    /// Executed by each thread for itself, at once. `lanes` is one lane.
    Thread,
    /// Executed once all threads of the mask have come to it. `lanes` has
    /// `warpSize` entries; those outside of the mask are null.
    Warp,
  };
  /// As messages name it: `mma.sync.m16n8k16`, `shfl.sync.bfly.b32`.
  std::string name;
  Group group = Group::Thread;
  /// The operand that is the mask of a warp's lanes; none: all 32 must come.
  std::optional<unsigned> maskOperand;
  /// Of `Group::Warp`: threads may also meet where the same instruction stands
  /// at several places (`bar.warp.sync`).
  bool meetsAnywhere = false;
  std::function<void(Machine &, llvm::ArrayRef<Lane *> lanes)> execute;
};

/// The instruction that an intrinsic (`llvm.nvvm...`) or a function of the
/// device's library (`vprintf`, `__assertfail`) is; none if it is not known.
/// Offsets within aggregate results follow the layout of `type`'s return.
std::optional<Instruction> findIntrinsic(llvm::StringRef name,
                                         llvm::FunctionType *type);

/// The instructions of an inline assembly in PTX, as one; none, and which text
/// is not known in `unknown`.
std::optional<Instruction> findAssembly(llvm::StringRef text,
                                        llvm::StringRef constraints,
                                        llvm::FunctionType *type,
                                        std::string &unknown);

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_INSTRUCTION_H
