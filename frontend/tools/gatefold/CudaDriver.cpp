// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaDriver.cpp - The GPUs of this machine --------------------------===//

#include "frontend/tools/gatefold/CudaDriver.h"
#include "passes/support/Target.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/Variant.h"
#include <dlfcn.h>

using namespace llvm;
namespace cuda = gatefold::runtime::cuda;

namespace gatefold::tool {
namespace {

/// Asks for one GPU; false, with the driver's words, where it refuses.
bool askGpu(const cuda::Driver &driver, int32_t ordinal, CudaGpu &gpu,
            runtime::Message &message) {
  cuda::Gpu device = 0;
  char name[200];
  cuda::Result result = driver.getDevice(&device, ordinal);
  if (result == cuda::Success &&
      cuda::describeGpu(driver, device, name, sizeof(name), gpu.capability,
                        result)) {
    gpu.name = name;
    result = driver.getAttribute(&gpu.multiprocessors, cuda::Multiprocessors,
                                 device);
  }
  // Nothing but this asks for it, so the runtime does not have it.
  using TotalMemory = cuda::Result(size_t * bytes, cuda::Gpu device);
  auto *totalMemory = reinterpret_cast<TotalMemory *>(
      dlsym(driver.library, "cuDeviceTotalMem_v2"));
  size_t bytes = 0;
  if (result == cuda::Success && totalMemory)
    result = totalMemory(&bytes, device);
  gpu.memoryBytes = bytes;
  return driver.check(message, result, "ask a GPU what it is") == GATEFOLD_OK;
}

/// The file that a function came from.
std::string fileOf(void *function) {
  Dl_info info;
  if (function && dladdr(function, &info) && info.dli_fname)
    return info.dli_fname;
  return "";
}

std::string versionText(int32_t version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

} // namespace

CudaDriver CudaDriver::ask() {
  CudaDriver found;
  // Also of one that cannot be used.
  if (void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NODELETE)) {
    void *function = dlsym(library, "cuDriverGetVersion");
    found.path = fileOf(function);
    int32_t version = 0;
    using GetVersion = cuda::Result(int32_t * version);
    if (function &&
        reinterpret_cast<GetVersion *>(function)(&version) == cuda::Success)
      found.version = versionText(version);
    dlclose(library);
  }
  runtime::Message message;
  message.clear();
  cuda::Driver driver;
  if (!driver.open(message)) {
    found.fault = message.text();
    return found;
  }
  int32_t count = 0;
  cuda::Result result = driver.countDevices(&count);
  if (result == cuda::NoDevice || (result == cuda::Success && count == 0))
    message.append("no GPU: the CUDA driver finds none");
  else
    driver.check(message, result, "count the GPUs of this machine");
  for (int32_t ordinal = 0; result == cuda::Success && ordinal < count;
       ++ordinal) {
    CudaGpu gpu;
    if (!askGpu(driver, ordinal, gpu, message))
      break;
    found.gpus.push_back(std::move(gpu));
  }
  found.fault = message.text();
  driver.close();
  return found;
}

std::optional<std::string> findTarget(int32_t capability) {
  std::optional<std::string> best;
  int32_t most = 0;
  for (StringRef name : getGpuNames()) {
    std::string target = name.str();
    int32_t suits = cuda::suitability(target.c_str(), capability);
    if (suits <= most)
      continue;
    most = suits;
    best = target;
  }
  return best;
}

} // namespace gatefold::tool
