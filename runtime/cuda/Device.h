// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device.h - a GPU with a program's kernels on it.

#ifndef GATEFOLD_RUNTIME_CUDA_DEVICE_H
#define GATEFOLD_RUNTIME_CUDA_DEVICE_H

#include "runtime/cuda/Driver.h"

namespace gatefold::runtime::cuda {

/// What the kernel that checks values leaves in the run's memory, 0 before.
struct Finding {
  /// 1: there is a value out of range, the first at this place in row-major
  /// order.
  int64_t isBad;
  int64_t place, value;
};

/// Does not change once it is open, so that threads may share it.
struct Device {
  Driver driver;
  int32_t ordinal;
  int32_t capability;
  bool isRetained;
  Gpu gpu;
  Context context;
  const gatefold_variant *variant;
  Module module, checkModule;
  Function run, prepare, check;
  /// Blocks of the run, and of `prepare`, that are resident at once.
  int64_t residentBlocks, residentPrepareBlocks;
  /// For gatefold_device.
  char text[400];

  /// Finds the GPU and loads the variant that suits it best; else a message,
  /// and what it holds is for `close` alone.
  gatefold_status open(const gatefold_description &description, int32_t ordinal,
                       Message &message);
  void close();

  gatefold_status allocate(Message &message, size_t bytes, Address &address,
                           const char *what) const;
  void free(Address address) const;

private:
  gatefold_status findGpu(Message &message);
  gatefold_status loadVariant(const gatefold_description &description,
                              Message &message);
  gatefold_status findFunctions(Message &message);
  gatefold_status findFunction(Message &message, const gatefold_kernel &kernel,
                               Function &function, int64_t &blocks);
  gatefold_status loadCheck(Message &message);
  bool reportUnsuitable(const gatefold_description &description,
                        Message &message) const;
};

/// The name of a GPU and its capability; false where the driver refuses.
bool describeGpu(const Driver &driver, Gpu gpu, char *name, size_t bytes,
                 int32_t &capability, Result &result);

} // namespace gatefold::runtime::cuda

#endif // GATEFOLD_RUNTIME_CUDA_DEVICE_H
