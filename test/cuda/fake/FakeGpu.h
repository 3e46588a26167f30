// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeGpu.h - a GPU for tests: memory, modules and streams, whose kernels the
// emulator executes.
//
// What the real driver would leave undefined, or would make slow, is a
// complaint: a host's address where the GPU's is expected, memory that is
// freed, a wait or an allocation while a stream captures, a finding of the
// emulator.
//
// Addresses of the GPU are such as no host can use, so that whoever reads its
// memory without the driver ends. Work on a stream is done when somebody waits
// for it, so that whoever does not wait reads what was there before.

#ifndef GATEFOLD_TEST_CUDA_FAKE_FAKEGPU_H
#define GATEFOLD_TEST_CUDA_FAKE_FAKEGPU_H

#include "runtime/emulator/Emulator.h"
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace fake {

using Work = std::function<int()>;

struct Graph {
  std::vector<Work> work;
};

struct Stream {
  std::deque<Work> pending;
  /// Null: it does not capture.
  Graph *capture = nullptr;
  /// The capture was broken by a call that is not allowed.
  bool isBroken = false;
};

struct Module {
  std::unique_ptr<gatefold::emulator::Program> program;
};

struct Function {
  Module *module;
  const gatefold::emulator::Kernel *kernel;
  int64_t sharedBytes = 48 << 10;
};

/// What the tests set by the variable GATEFOLD_FAKE_GPU, as in
/// "count=2 capability=80".
struct Settings {
  int count = 1, capability = 90, multiprocessors = 4, blocks = 1;
  int cooperative = 1, version = 13000, initialise = 0;

  static Settings fromEnvironment();
};

/// CUresult.
enum : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  UnsupportedPtxVersion = 222,
  NotFound = 500,
  IllegalAddress = 700,
  LaunchTooLarge = 720,
  CaptureUnsupported = 900,
  CaptureInvalidated = 901,
  Unknown = 999
};

class Gpu {
public:
  Settings settings;
  std::string complaints;
  int contexts = 0;
  std::list<Module> modules;
  std::list<Function> functions;
  std::list<Stream> streams;
  Stream defaultStream;
  std::list<Graph> graphs;
  /// What the last failed work leaves to all later calls.
  int fault = Success;

  static Gpu &get();

  void complain(const std::string &text) { complaints += text + "\n"; }
  /// What is not given back.
  std::string leaks() const;

  int allocate(uint64_t &address, uint64_t bytes, bool isPinned);
  int free(uint64_t address, bool isPinned);
  /// The emulator's address of `bytes` bytes of the GPU or of pinned memory; 0,
  /// and a complaint, where there are none.
  uint64_t translate(uint64_t address, uint64_t bytes, const char *what);
  bool isOfGpu(uint64_t address) const;
  bool isPinned(uint64_t address) const;

  int copyIn(uint64_t to, const void *from, uint64_t bytes);
  int copyOut(void *to, uint64_t from, uint64_t bytes);
  int copy(uint64_t to, uint64_t from, uint64_t bytes);

  int load(Module *&module, const char *image);
  int launch(const Function &function, unsigned grid, unsigned block,
             unsigned sharedBytes, bool isCooperative, Stream *stream,
             void *const *parameters);

  Stream &streamOf(void *stream) {
    return stream ? *static_cast<Stream *>(stream) : defaultStream;
  }
  void enqueue(Stream &stream, Work work);
  int flush(Stream &stream);
  bool isCapturing() const;
  /// The status of a call that a capture does not allow.
  int refuseInCapture(const char *what);

private:
  struct Allocation {
    uint64_t bytes;
    bool isPinned, isLive;
  };

  gatefold::emulator::Device &device();
  const std::pair<const uint64_t, Allocation> *find(uint64_t address) const;
  int execute(const Function &function,
              std::vector<gatefold::emulator::Argument> arguments,
              const gatefold::emulator::LaunchOptions &options);
  int drain(Stream &stream);

  std::unique_ptr<gatefold::emulator::Device> memory;
  /// By the emulator's addresses; freed ones stay.
  std::map<uint64_t, Allocation> allocations;
};

} // namespace fake

#endif // GATEFOLD_TEST_CUDA_FAKE_FAKEGPU_H
