// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver.h - the CUDA driver, opened at run time.
//
// A program that is linked to libcuda does not start where there is none, so
// nothing here is. The types are the driver's, written anew after its
// documentation: names, values and layouts are its ABI.

#ifndef GATEFOLD_RUNTIME_CUDA_DRIVER_H
#define GATEFOLD_RUNTIME_CUDA_DRIVER_H

#include "runtime/Message.h"
#include "runtime/Runtime.h"

namespace gatefold::runtime::cuda {

/// CUresult, those that are told apart.
enum Result : int32_t {
  Success = 0,
  OutOfMemory = 2,
  StubLibrary = 34,
  NoDevice = 100,
  InvalidImage = 200,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  NoJitCompiler = 221,
  UnsupportedPtxVersion = 222,
};

/// CUdevice_attribute.
enum DeviceAttribute : int32_t {
  Multiprocessors = 16,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  CooperativeLaunch = 95,
};

/// CUfunction_attribute.
enum FunctionAttribute : int32_t { DynamicSharedBytes = 8 };

/// CUstreamCaptureStatus.
enum CaptureStatus : int32_t { NoCapture = 0 };

using Gpu = int32_t;
using Address = uint64_t;
using Context = struct ContextOfDriver *;
using Module = struct ModuleOfDriver *;
using Function = struct FunctionOfDriver *;
using Stream = struct StreamOfDriver *;

/// Member, the library's name, parameters. The names with a version are those
/// that cuda.h gives the plain ones since CUDA 11 and before.
#define GATEFOLD_CUDA_FUNCTIONS(X)                                             \
  X(initialise, "cuInit", (uint32_t flags))                                    \
  X(getVersion, "cuDriverGetVersion", (int32_t * version))                     \
  X(getErrorString, "cuGetErrorString", (Result result, const char **text))    \
  X(countDevices, "cuDeviceGetCount", (int32_t * count))                       \
  X(getDevice, "cuDeviceGet", (Gpu * device, int32_t ordinal))                 \
  X(getName, "cuDeviceGetName", (char *name, int32_t bytes, Gpu device))       \
  X(getAttribute, "cuDeviceGetAttribute",                                      \
    (int32_t * value, DeviceAttribute attribute, Gpu device))                  \
  X(retainContext, "cuDevicePrimaryCtxRetain",                                 \
    (Context * context, Gpu device))                                           \
  X(releaseContext, "cuDevicePrimaryCtxRelease_v2", (Gpu device))              \
  X(pushContext, "cuCtxPushCurrent_v2", (Context context))                     \
  X(popContext, "cuCtxPopCurrent_v2", (Context * context))                     \
  X(loadModule, "cuModuleLoadData", (Module * module, const void *image))      \
  X(unloadModule, "cuModuleUnload", (Module module))                           \
  X(getFunction, "cuModuleGetFunction",                                        \
    (Function * function, Module module, const char *name))                    \
  X(setFunctionAttribute, "cuFuncSetAttribute",                                \
    (Function function, FunctionAttribute attribute, int32_t value))           \
  X(countResidentBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",        \
    (int32_t * blocks, Function function, int32_t threads,                     \
     size_t sharedBytes))                                                      \
  X(allocate, "cuMemAlloc_v2", (Address * address, size_t bytes))              \
  X(free, "cuMemFree_v2", (Address address))                                   \
  X(copyIn, "cuMemcpyHtoD_v2", (Address to, const void *from, size_t bytes))   \
  X(copyOut, "cuMemcpyDtoH_v2", (void *to, Address from, size_t bytes))        \
  X(copyInLater, "cuMemcpyHtoDAsync_v2",                                       \
    (Address to, const void *from, size_t bytes, Stream stream))               \
  X(copyOutLater, "cuMemcpyDtoHAsync_v2",                                      \
    (void *to, Address from, size_t bytes, Stream stream))                     \
  X(copyLater, "cuMemcpyDtoDAsync_v2",                                         \
    (Address to, Address from, size_t bytes, Stream stream))                   \
  X(fillLater, "cuMemsetD32Async",                                             \
    (Address to, uint32_t word, size_t count, Stream stream))                  \
  X(synchronise, "cuStreamSynchronize", (Stream stream))                       \
  X(getCapture, "cuStreamIsCapturing",                                         \
    (Stream stream, CaptureStatus * status))                                   \
  X(launch, "cuLaunchKernel",                                                  \
    (Function function, uint32_t gridX, uint32_t gridY, uint32_t gridZ,        \
     uint32_t blockX, uint32_t blockY, uint32_t blockZ, uint32_t sharedBytes,  \
     Stream stream, void **parameters, void **extra))                          \
  X(launchTogether, "cuLaunchCooperativeKernel",                               \
    (Function function, uint32_t gridX, uint32_t gridY, uint32_t gridZ,        \
     uint32_t blockX, uint32_t blockY, uint32_t blockZ, uint32_t sharedBytes,  \
     Stream stream, void **parameters))

/// The driver's functions. All bytes zero: not opened.
struct Driver {
  void *library;
  /// 13000 for CUDA 13.0.
  int32_t version;
#define GATEFOLD_CUDA_MEMBER(member, name, parameters)                         \
  Result(*member) parameters;
  GATEFOLD_CUDA_FUNCTIONS(GATEFOLD_CUDA_MEMBER)
#undef GATEFOLD_CUDA_MEMBER

  /// Opens and initialises the driver; false, with a message, where there is
  /// none that can be used.
  bool open(Message &message);
  void close();

  /// Appends the driver's words: "no CUDA-capable device is detected (100)".
  void appendWords(Message &message, Result result) const;
  /// GATEFOLD_OK, or the status of what the driver refused, with "cannot WHAT:
  /// its words".
  gatefold_status check(Message &message, Result result,
                        const char *what) const;
};

/// While it lives, a context is the thread's current one.
class CurrentContext {
public:
  CurrentContext(const Driver &driver, Context context)
      : driver(driver), result(driver.pushContext(context)) {}
  ~CurrentContext() {
    Context popped;
    if (result == Success)
      driver.popContext(&popped);
  }
  /// What the driver said to it.
  Result get() const { return result; }

private:
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

  const Driver &driver;
  Result result;
};

} // namespace gatefold::runtime::cuda

#endif // GATEFOLD_RUNTIME_CUDA_DRIVER_H
