// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeDriver.cpp - libcuda.so.1 for tests: the functions of the driver that the
// runtime and its tests call, over FakeGpu.
//
// What it complains of is printed when the process ends. `fakeFailAt(n)` lets
// the n-th call from then on fail; those that give something back do so all the
// same. `fakeReport` tells of complaints before, and of what was not given
// back.

#include "FakeGpu.h"
#include <cstring>

using namespace fake;

#define API extern "C" __attribute__((visibility("default"))) int

static int calls, failAt;
static thread_local int current;

/// Counts a call; true if it is the one that fails.
static bool fails() { return ++calls == failAt; }

#define CALL()                                                                 \
  Gpu &gpu = Gpu::get();                                                       \
  (void)gpu;                                                                   \
  if (fails())                                                                 \
    return Unknown;

/// A call that needs a current context, too.
#define CALL_IN_CONTEXT()                                                      \
  CALL()                                                                       \
  if (!current) {                                                              \
    gpu.complain(std::string(__func__) + " without a context");                \
    return InvalidContext;                                                     \
  }

#define REFUSE_IN_CAPTURE()                                                    \
  if (int result = gpu.refuseInCapture(__func__))                              \
    return result;

//===----------------------------------------------------------------------===//
// For tests
//===----------------------------------------------------------------------===//

API fakeFailAt(int number) {
  calls = 0;
  failAt = number;
  return Success;
}
API fakeCalls() { return calls; }

/// Writes complaints and leaks, and forgets the complaints; 0: there are none.
API fakeReport(char *text, int bytes) {
  Gpu &gpu = Gpu::get();
  std::string all = gpu.complaints + gpu.leaks();
  if (current)
    all += "a context is still current\n";
  snprintf(text, size_t(bytes), "%s", all.c_str());
  gpu.complaints.clear();
  gpu.fault = Success;
  return !all.empty();
}

/// What nobody has asked for is said at the end.
__attribute__((destructor)) static void reportAtEnd() {
  char text[4000];
  if (fakeReport(text, sizeof(text)))
    fprintf(stderr, "libcuda.so.1 for tests: %s", text);
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

API cuInit(unsigned) {
  CALL()
  gpu.settings = Settings::fromEnvironment();
  return gpu.settings.initialise;
}

API cuDriverGetVersion(int *version) {
  *version = Settings::fromEnvironment().version;
  return Success;
}

API cuGetErrorString(int error, const char **text) {
  static const std::map<int, const char *> texts = {
      {InvalidValue, "invalid argument"},
      {OutOfMemory, "out of memory"},
      {NoDevice, "no CUDA-capable device is detected"},
      {InvalidDevice, "invalid device ordinal"},
      {InvalidContext, "invalid device context"},
      {NoBinaryForGpu,
       "no kernel image is available for execution on the device"},
      {UnsupportedPtxVersion,
       "the provided PTX was compiled with an unsupported toolchain."},
      {NotFound, "named symbol not found"},
      {IllegalAddress, "an illegal memory access was encountered"},
      {LaunchTooLarge, "too many blocks in cooperative launch"},
      {CaptureUnsupported, "operation not permitted when stream is capturing"},
      {CaptureInvalidated,
       "operation failed due to a previous error during capture"},
      {Unknown, "unknown error"}};
  auto found = texts.find(error);
  *text = found == texts.end() ? nullptr : found->second;
  return *text ? Success : InvalidValue;
}

API cuDeviceGetCount(int *count) {
  CALL()
  *count = gpu.settings.count;
  return Success;
}

API cuDeviceGet(int *device, int ordinal) {
  CALL()
  *device = ordinal;
  return ordinal >= 0 && ordinal < gpu.settings.count ? Success : InvalidDevice;
}

API cuDeviceGetName(char *name, int bytes, int) {
  CALL()
  snprintf(name, size_t(bytes), "Fake GPU");
  return Success;
}

API cuDeviceGetAttribute(int *value, int attribute, int) {
  CALL()
  const Settings &settings = gpu.settings;
  switch (attribute) {
  case 16:
    *value = settings.multiprocessors;
    return Success;
  case 75:
    *value = settings.capability / 10;
    return Success;
  case 76:
    *value = settings.capability % 10;
    return Success;
  case 95:
    *value = settings.cooperative;
    return Success;
  default:
    gpu.complain("an attribute that is not known");
    return InvalidValue;
  }
}

API cuDevicePrimaryCtxRetain(void **context, int) {
  CALL()
  ++gpu.contexts;
  *context = &gpu;
  return Success;
}

API cuDevicePrimaryCtxRelease_v2(int) {
  --Gpu::get().contexts;
  return fails() ? Unknown : Success;
}

API cuCtxPushCurrent_v2(void *context) {
  CALL()
  if (context != &gpu || !gpu.contexts) {
    gpu.complain("no context is made current");
    return InvalidContext;
  }
  ++current;
  return Success;
}

API cuCtxPopCurrent_v2(void **context) {
  --current;
  *context = &Gpu::get();
  return fails() ? Unknown : Success;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

API cuModuleLoadData(void **module, const void *image) {
  CALL_IN_CONTEXT()
  REFUSE_IN_CAPTURE()
  Module *made = nullptr;
  int result = gpu.load(made, static_cast<const char *>(image));
  *module = made;
  return result;
}

API cuModuleUnload(void *module) {
  Gpu &gpu = Gpu::get();
  gpu.modules.remove_if([&](Module &each) { return &each == module; });
  return fails() ? Unknown : Success;
}

API cuModuleGetFunction(void **function, void *module, const char *name) {
  CALL_IN_CONTEXT()
  auto *from = static_cast<Module *>(module);
  for (const auto &kernel : from->program->kernels())
    if (kernel.name == name) {
      gpu.functions.push_back({from, &kernel});
      *function = &gpu.functions.back();
      return Success;
    }
  return NotFound;
}

API cuFuncSetAttribute(void *function, int attribute, int value) {
  CALL_IN_CONTEXT()
  if (attribute != 8)
    gpu.complain("an attribute of a function that is not known");
  // That of the real ones.
  if (value > 227 << 10)
    return InvalidValue;
  static_cast<Function *>(function)->sharedBytes = value;
  return Success;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function,
                                                int threads, size_t bytes) {
  CALL_IN_CONTEXT()
  auto *asked = static_cast<Function *>(function);
  bool fits = int64_t(bytes) <= asked->sharedBytes && threads <= 1024;
  *blocks = fits ? gpu.settings.blocks : 0;
  return Success;
}

API cuLaunchKernel(void *function, unsigned x, unsigned, unsigned,
                   unsigned block, unsigned, unsigned, unsigned bytes,
                   void *stream, void **parameters, void **) {
  CALL_IN_CONTEXT()
  return gpu.launch(*static_cast<Function *>(function), x, block, bytes,
                    /*isCooperative=*/false, &gpu.streamOf(stream), parameters);
}

API cuLaunchCooperativeKernel(void *function, unsigned x, unsigned, unsigned,
                              unsigned block, unsigned, unsigned,
                              unsigned bytes, void *stream, void **parameters) {
  CALL_IN_CONTEXT()
  return gpu.launch(*static_cast<Function *>(function), x, block, bytes,
                    /*isCooperative=*/true, &gpu.streamOf(stream), parameters);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

API cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  CALL_IN_CONTEXT()
  REFUSE_IN_CAPTURE()
  return gpu.allocate(*address, bytes, /*isPinned=*/false);
}

API cuMemFree_v2(uint64_t address) {
  Gpu &gpu = Gpu::get();
  REFUSE_IN_CAPTURE()
  gpu.flush(gpu.defaultStream);
  int result = gpu.free(address, /*isPinned=*/false);
  return fails() ? Unknown : result;
}

API cuMemAllocHost_v2(void **memory, size_t bytes) {
  uint64_t address = 0;
  int result = Gpu::get().allocate(address, bytes, /*isPinned=*/true);
  *memory = reinterpret_cast<void *>(address);
  return result;
}

API cuMemFreeHost(void *memory) {
  return Gpu::get().free(reinterpret_cast<uint64_t>(memory),
                         /*isPinned=*/true);
}

/// Whether a copy's side of the host is that.
static bool isHost(const void *memory, const char *what) {
  if (!Gpu::get().isOfGpu(reinterpret_cast<uint64_t>(memory)))
    return true;
  Gpu::get().complain(std::string(what) + ": the GPU's memory as the host's");
  return false;
}

API cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  CALL_IN_CONTEXT()
  REFUSE_IN_CAPTURE()
  if (!isHost(from, __func__))
    return InvalidValue;
  gpu.flush(gpu.defaultStream);
  return gpu.copyIn(to, from, bytes);
}

API cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  CALL_IN_CONTEXT()
  REFUSE_IN_CAPTURE()
  if (!isHost(to, __func__))
    return InvalidValue;
  if (int result = gpu.flush(gpu.defaultStream))
    return result;
  return gpu.copyOut(to, from, bytes);
}

/// Copies between host and GPU may be captured, but no run makes any.
static void complainOfHostCopy(void *stream, const char *what) {
  Gpu &gpu = Gpu::get();
  if (gpu.streamOf(stream).capture)
    gpu.complain(std::string(what) + " while a stream captures");
}

API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                         void *stream) {
  CALL_IN_CONTEXT()
  if (!isHost(from, __func__))
    return InvalidValue;
  complainOfHostCopy(stream, __func__);
  gpu.enqueue(gpu.streamOf(stream),
              [=, &gpu] { return gpu.copyIn(to, from, bytes); });
  return Success;
}

API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  CALL_IN_CONTEXT()
  if (!isHost(to, __func__))
    return InvalidValue;
  complainOfHostCopy(stream, __func__);
  gpu.enqueue(gpu.streamOf(stream),
              [=, &gpu] { return gpu.copyOut(to, from, bytes); });
  return Success;
}

API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                         void *stream) {
  CALL_IN_CONTEXT()
  gpu.enqueue(gpu.streamOf(stream),
              [=, &gpu] { return gpu.copy(to, from, bytes); });
  return Success;
}

API cuMemsetD32Async(uint64_t to, unsigned word, size_t count, void *stream) {
  CALL_IN_CONTEXT()
  gpu.enqueue(gpu.streamOf(stream), [=, &gpu] {
    std::vector<unsigned> words(count, word);
    return gpu.copyIn(to, words.data(), count * sizeof(word));
  });
  return Success;
}

//===----------------------------------------------------------------------===//
// Streams and graphs
//===----------------------------------------------------------------------===//

API cuStreamCreate(void **stream, unsigned) {
  Gpu &gpu = Gpu::get();
  gpu.streams.emplace_back();
  *stream = &gpu.streams.back();
  return Success;
}

API cuStreamDestroy_v2(void *stream) {
  Gpu &gpu = Gpu::get();
  gpu.flush(gpu.streamOf(stream));
  gpu.streams.remove_if([&](Stream &each) { return &each == stream; });
  return Success;
}

API cuStreamSynchronize(void *stream) {
  CALL_IN_CONTEXT()
  if (!stream || gpu.streamOf(stream).capture)
    REFUSE_IN_CAPTURE()
  return gpu.flush(gpu.streamOf(stream));
}

API cuStreamIsCapturing(void *stream, int *status) {
  CALL_IN_CONTEXT()
  *status = gpu.streamOf(stream).capture != nullptr;
  return Success;
}

API cuStreamBeginCapture_v2(void *stream, int) {
  Gpu &gpu = Gpu::get();
  gpu.graphs.emplace_back();
  gpu.streamOf(stream).capture = &gpu.graphs.back();
  return Success;
}

API cuStreamEndCapture(void *stream, void **graph) {
  Stream &captured = Gpu::get().streamOf(stream);
  *graph = captured.capture;
  captured.capture = nullptr;
  bool isBroken = captured.isBroken;
  captured.isBroken = false;
  return isBroken ? CaptureInvalidated : Success;
}

API cuGraphInstantiateWithFlags(void **instance, void *graph, uint64_t) {
  *instance = graph;
  return Success;
}

API cuGraphLaunch(void *instance, void *stream) {
  Gpu &gpu = Gpu::get();
  for (const Work &work : static_cast<Graph *>(instance)->work)
    gpu.enqueue(gpu.streamOf(stream), work);
  return Success;
}
