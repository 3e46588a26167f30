// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device.cpp - finding a GPU, and loading kernels onto it.

#include "runtime/cuda/Device.h"
#include "runtime/Model.h"
#include "runtime/cuda/Check.h"
#include "runtime/cuda/Variant.h"

#include <stdio.h>
#include <string.h>

namespace gatefold::runtime::cuda {

//===----------------------------------------------------------------------===//
// The GPU
//===----------------------------------------------------------------------===//

bool describeGpu(const Driver &driver, Gpu gpu, char *name, size_t bytes,
                 int32_t &capability, Result &result) {
  int32_t major = 0, minor = 0;
  name[0] = '\0';
  result = driver.getName(name, (int32_t)bytes, gpu);
  if (result == Success)
    result = driver.getAttribute(&major, CapabilityMajor, gpu);
  if (result == Success)
    result = driver.getAttribute(&minor, CapabilityMinor, gpu);
  name[bytes - 1] = '\0';
  capability = major * 10 + minor;
  return result == Success;
}

gatefold_status Device::findGpu(Message &message) {
  int32_t count = 0;
  Result result = driver.countDevices(&count);
  if (result == NoDevice || (result == Success && count == 0)) {
    message.append("no GPU: the CUDA driver finds none");
    return GATEFOLD_NO_DEVICE;
  }
  if (gatefold_status status =
          driver.check(message, result, "count the GPUs of this machine"))
    return status;
  if (ordinal < 0 || ordinal >= count) {
    message.append("no GPU number %d: the CUDA driver finds %d, from 0",
                   ordinal, count);
    return GATEFOLD_NO_DEVICE;
  }
  result = driver.getDevice(&gpu, ordinal);
  char name[200];
  int32_t isCooperative = 0;
  if (result == Success &&
      describeGpu(driver, gpu, name, sizeof(name), capability, result))
    result = driver.getAttribute(&isCooperative, CooperativeLaunch, gpu);
  if (gatefold_status status =
          driver.check(message, result, "ask the GPU what it is"))
    return status;
  snprintf(text, sizeof(text), "%s (sm_%d)", name, capability);
  if (!isCooperative) {
    message.append("no GPU: %s cannot launch blocks that wait for each other",
                   text);
    return GATEFOLD_NO_DEVICE;
  }
  return GATEFOLD_OK;
}

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

/// Whether the driver cannot make use of an image on this GPU, so that another
/// one may do.
static bool isOfImage(Result result) {
  return result == InvalidImage || result == NoBinaryForGpu ||
         result == InvalidPtx || result == NoJitCompiler ||
         result == UnsupportedPtxVersion;
}

/// Says that no variant suits the GPU, and which there are.
static void appendTargets(const gatefold_description &description,
                          Message &message) {
  if (description.variant_count == 0) {
    message.append("the program has no kernels for GPUs");
    return;
  }
  message.append("the program has kernels for ");
  for (int64_t v = 0; v < description.variant_count; ++v)
    message.append("%s%s", v ? ", " : "", description.variants[v].target);
}

gatefold_status Device::loadVariant(const gatefold_description &description,
                                    Message &message) {
  // From the best to the worst: an image need not hold what this GPU takes.
  Result result = Success;
  const char *tried = nullptr;
  int32_t before = INT32_MAX;
  for (;;) {
    const gatefold_variant *best = nullptr;
    int32_t most = 0;
    for (int64_t v = 0; v < description.variant_count; ++v) {
      const gatefold_variant &each = description.variants[v];
      int32_t suits = suitability(each.target, capability);
      if (suits > most && suits < before) {
        best = &each;
        most = suits;
      }
    }
    if (!best)
      break;
    if (!checkVariant(description, *best, message))
      return GATEFOLD_INVALID_ARGUMENT;
    result = driver.loadModule(&module, best->image);
    if (result == Success) {
      variant = best;
      size_t length = strlen(text);
      snprintf(text + length, sizeof(text) - length, ", kernels for %s",
               variant->target);
      return GATEFOLD_OK;
    }
    module = nullptr;
    if (!isOfImage(result))
      return driver.check(message, result, "load the kernels");
    tried = best->target;
    before = most;
  }
  message.append("no kernels for %s: ", text);
  appendTargets(description, message);
  if (tried) {
    message.append("; of those for %s the CUDA driver says: ", tried);
    driver.appendWords(message, result);
  }
  return GATEFOLD_NO_DEVICE;
}

gatefold_status Device::findFunction(Message &message,
                                     const gatefold_kernel &kernel,
                                     Function &function, int64_t &blocks) {
  Result result = driver.getFunction(&function, module, kernel.name);
  // More than what every GPU has must be asked for, once.
  constexpr int32_t commonSharedBytes = 48 << 10;
  if (result == Success && kernel.shared_bytes > commonSharedBytes)
    result = driver.setFunctionAttribute(function, DynamicSharedBytes,
                                         kernel.shared_bytes);
  int32_t multiprocessors = 0, each = 0;
  if (result == Success)
    result = driver.getAttribute(&multiprocessors, Multiprocessors, gpu);
  if (result == Success)
    result = driver.countResidentBlocks(&each, function, kernel.threads,
                                        (size_t)kernel.shared_bytes);
  blocks = (int64_t)each * multiprocessors;
  if (result == Success && blocks > 0)
    return GATEFOLD_OK;
  message.append("kernel ");
  message.appendName(kernel.name);
  message.append(", %d threads and %d bytes of shared memory a block, on %s: ",
                 kernel.threads, kernel.shared_bytes, text);
  if (result == Success)
    message.append("no block fits on a multiprocessor");
  else
    driver.appendWords(message, result);
  return GATEFOLD_DEVICE_ERROR;
}

gatefold_status Device::findFunctions(Message &message) {
  gatefold_status status =
      findFunction(message, variant->run, run, residentBlocks);
  if (status == GATEFOLD_OK && variant->prepare.name)
    status =
        findFunction(message, variant->prepare, prepare, residentPrepareBlocks);
  return status;
}

gatefold_status Device::loadCheck(Message &message) {
  Result result = driver.loadModule(&checkModule, checkImage);
  if (result == Success)
    result = driver.getFunction(&check, checkModule, checkKernel);
  else
    checkModule = nullptr;
  return driver.check(message, result, "load the kernel that checks values");
}

gatefold_status Device::open(const gatefold_description &description,
                             int32_t number, Message &message) {
  ordinal = number;
  if (!driver.open(message))
    return GATEFOLD_NO_DEVICE;
  if (gatefold_status status = findGpu(message))
    return status;
  Result result = driver.retainContext(&context, gpu);
  isRetained = result == Success;
  if (gatefold_status status =
          driver.check(message, result, "use the GPU's primary context"))
    return status;
  CurrentContext current(driver, context);
  gatefold_status status =
      driver.check(message, current.get(), "use the GPU's primary context");
  if (status == GATEFOLD_OK)
    status = loadVariant(description, message);
  if (status == GATEFOLD_OK)
    status = findFunctions(message);
  if (status == GATEFOLD_OK && countChecks(*variant->program) > 0)
    status = loadCheck(message);
  return status;
}

// Whatever the driver says: the process may be at its end, and the driver too.
void Device::close() {
  if (isRetained) {
    {
      CurrentContext current(driver, context);
      if (module)
        driver.unloadModule(module);
      if (checkModule)
        driver.unloadModule(checkModule);
    }
    driver.releaseContext(gpu);
  }
  driver.close();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

gatefold_status Device::allocate(Message &message, size_t bytes,
                                 Address &address, const char *what) const {
  CurrentContext current(driver, context);
  Result result = current.get();
  if (result == Success)
    result = driver.allocate(&address, bytes ? bytes : 1);
  if (result == Success)
    return GATEFOLD_OK;
  address = 0;
  message.append("no memory on the GPU for %s, %llu bytes: ", what,
                 (unsigned long long)bytes);
  driver.appendWords(message, result);
  return result == OutOfMemory ? GATEFOLD_OUT_OF_MEMORY : GATEFOLD_DEVICE_ERROR;
}

void Device::free(Address address) const {
  if (!address)
    return;
  CurrentContext current(driver, context);
  driver.free(address);
}

} // namespace gatefold::runtime::cuda
