// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Emulator.h - Runs kernels for NVIDIA GPUs on the CPU -----*- C++ -*-===//
//
// A kernel, as the LLVM IR that the NVPTX backend gets, runs on the CPU, thread
// by thread, and every access to memory is checked. In this order:
//
//   auto device = Device::create();
//   auto program = Program::load(**device, bitcode);
//   auto x = (*device)->allocate(512, 256, "x");
//   (*device)->copyIn(*x, values);
//   auto result = (*program)->launch("scale", {Argument::of(*x)}, options);
//   for (const Finding &finding : result->findings) ...
//
// There is no global state. One thread at a time may use a device, its
// programs included.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_EMULATOR_H
#define RUNTIME_EMULATOR_EMULATOR_H

#include "runtime/emulator/Finding.h"
#include "runtime/emulator/Instruction.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <map>
#include <memory>

namespace gatefold::emulator {

class Arena;
struct Code;

/// A GPU's global memory. Whether a byte is initialised is kept with it, so
/// that what one launch wrote the next may read.
class Device {
public:
  /// A device with room for `bytes`, of which only those in use take memory.
  static llvm::Expected<std::unique_ptr<Device>>
  create(uint64_t bytes = uint64_t(4) << 30);
  ~Device();

  /// Memory that nobody has written. Its address is a multiple of `alignment`,
  /// a power of 2, and of no greater one, so that a kernel that needs more is
  /// found out.
  llvm::Expected<uint64_t> allocate(uint64_t bytes, uint64_t alignment,
                                    llvm::StringRef name);
  llvm::Error copyIn(uint64_t address, llvm::ArrayRef<uint8_t> bytes);
  llvm::Error copyOut(uint64_t address,
                      llvm::MutableArrayRef<uint8_t> bytes) const;
  /// From now on a kernel's write there is a finding.
  llvm::Error makeReadOnly(uint64_t address, uint64_t bytes);
  /// How many of these bytes nobody has written.
  llvm::Expected<uint64_t> countUninitialised(uint64_t address,
                                              uint64_t bytes) const;

  struct Allocation {
    std::string name;
    uint64_t address, bytes;
  };
  /// The one that holds the address or is the nearest to it; none if there is
  /// no allocation.
  const Allocation *nearest(uint64_t address) const;

  Arena &arena() { return *memory; }

private:
  Device() = default;
  llvm::Error check(uint64_t address, uint64_t bytes) const;

  std::unique_ptr<Arena> memory;
  std::map<uint64_t, Allocation> allocations;
  uint64_t used = 0;
};

/// A kernel's argument: the bytes of the parameter.
struct Argument {
  std::vector<uint8_t> bytes;

  template <typename T> static Argument of(T value) {
    Argument argument;
    argument.bytes.resize(sizeof(T));
    __builtin_memcpy(argument.bytes.data(), &value, sizeof(T));
    return argument;
  }
};

struct Parameter {
  std::string name;
  /// As LLVM writes it: `ptr addrspace(1)`, `i32`.
  std::string type;
  uint64_t bytes = 0, alignment = 1;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  /// Threads of a block at most, and exactly (`nvvm.maxntid`, `reqntid`); 0:
  /// anything.
  Extent mostThreads{0, 0, 0}, exactThreads{0, 0, 0};
};

/// When an asynchronous copy takes place: as late as a wait for it allows, or
/// at once. What is right in both need not be right between; what is wrong in
/// one is wrong.
enum class CopyTime { Late, Early };

/// Whose turn it is among the threads that can go on, and among the blocks of
/// an ordinary grid.
enum class ThreadOrder { Forward, Reverse, Shuffled };

struct Limits {
  /// Threads alive at once: those of a block, or of a cooperative grid.
  uint64_t threads = 24576;
  /// Turns through loops, of one thread.
  uint64_t steps = uint64_t(1) << 30;
  /// Such turns one after the other in which it neither looked at memory that
  /// others see nor waited for them.
  uint64_t quietSteps = uint64_t(1) << 28;
  /// How often a thread may look at memory that nobody changes.
  uint64_t polls = uint64_t(1) << 16;
  /// Findings at different places; the next one ends the launch.
  unsigned findings = 32;
};

struct LaunchOptions {
  Extent grid, block;
  uint64_t dynamicSharedBytes = 0;
  /// All blocks are alive at once and may wait for each other. In an ordinary
  /// grid one block runs after the other.
  bool cooperative = false;
  CopyTime copies = CopyTime::Late;
  ThreadOrder order = ThreadOrder::Forward;
  /// Of `ThreadOrder::Shuffled`.
  uint64_t seed = 0;
  Limits limits;
};

struct Statistics {
  uint64_t blocks = 0, threads = 0;
  /// Barriers of a block that all threads came to.
  uint64_t barriers = 0;
  uint64_t globalBytesRead = 0, globalBytesWritten = 0;
  uint64_t sharedBytesRead = 0, sharedBytesWritten = 0;
  uint64_t sharedBytes = 0;
  /// Executions of each instruction by its name: by a thread, or by a warp
  /// where a warp executes it as one.
  std::map<std::string, uint64_t> instructions;
};

struct LaunchResult {
  std::vector<Finding> findings;
  /// Whether every thread came to its end. Otherwise the last finding says why
  /// not.
  bool finished = false;
  Statistics statistics;
  /// What the kernel printed.
  std::string printed;
};

/// A module on a device, which must outlive it. Its global variables stay there
/// as long as the device does.
class Program {
public:
  /// Reads LLVM bitcode or text for `nvptx64`. A module that cannot be run is
  /// an error that says why; instructions that are not known are not, until
  /// a thread comes to one.
  static llvm::Expected<std::unique_ptr<Program>>
  load(Device &device, llvm::MemoryBufferRef module);
  ~Program();

  llvm::ArrayRef<Kernel> kernels() const;
  /// An error if the kernel, the arguments or the sizes do not fit; whatever
  /// the kernel does wrong is a finding.
  llvm::Expected<LaunchResult> launch(llvm::StringRef kernel,
                                      llvm::ArrayRef<Argument> arguments,
                                      const LaunchOptions &options);

private:
  Program() = default;

  Device *device = nullptr;
  std::unique_ptr<Code> code;
};

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_EMULATOR_H
