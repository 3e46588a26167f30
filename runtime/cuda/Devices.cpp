// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices.cpp - what a program finds where it asks for a GPU.

#include "runtime/cuda/Device.h"

#include <string.h>

using namespace gatefold::runtime;
using namespace gatefold::runtime::cuda;

/// A line for the driver and one for each GPU, or one that says why there is
/// none.
static int32_t describeGpus(Message &message) {
  Driver driver;
  if (!driver.open(message))
    return 0;
  int32_t count = 0;
  Result result = driver.countDevices(&count);
  if (result == NoDevice || (result == Success && count == 0)) {
    message.append("no GPU: the CUDA driver finds none");
    count = 0;
  } else if (result != Success) {
    message.append("no GPU: the CUDA driver says: ");
    driver.appendWords(message, result);
    count = 0;
  } else {
    message.append("CUDA driver %d.%d", driver.version / 1000,
                   driver.version % 1000 / 10);
  }
  for (int32_t ordinal = 0; ordinal < count; ++ordinal) {
    Gpu gpu = 0;
    char name[200];
    int32_t capability = 0, multiprocessors = 0;
    result = driver.getDevice(&gpu, ordinal);
    if (result == Success &&
        describeGpu(driver, gpu, name, sizeof(name), capability, result))
      result = driver.getAttribute(&multiprocessors, Multiprocessors, gpu);
    message.append("\nGPU %d: ", ordinal);
    if (result == Success)
      message.append("%s (sm_%d), %d multiprocessors", name, capability,
                     multiprocessors);
    else
      driver.appendWords(message, result);
  }
  driver.close();
  return count;
}

int32_t gatefold_cuda_devices(char *text, size_t bytes) {
  Message message;
  message.clear();
  int32_t count = describeGpus(message);
  if (text && bytes) {
    size_t length = strnlen(message.text(), bytes - 1);
    memcpy(text, message.text(), length);
    text[length] = '\0';
  }
  return count;
}
