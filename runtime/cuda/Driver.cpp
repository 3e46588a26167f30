// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver.cpp - opening the CUDA driver, and its words.

#include "runtime/cuda/Driver.h"

#include <dlfcn.h>

namespace gatefold::runtime::cuda {

static constexpr const char *libraryName = "libcuda.so.1";

bool Driver::open(Message &message) {
  *this = {};
  // Not unloaded again: it starts threads that nobody ends.
  library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char *why = dlerror();
    message.append("no GPU: the CUDA driver cannot be opened: %s",
                   why ? why : libraryName);
    return false;
  }
  const char *missing = nullptr;
#define GATEFOLD_CUDA_FIND(member, name, parameters)                           \
  member = (Result(*) parameters)dlsym(library, name);                         \
  if (!member && !missing)                                                     \
    missing = name;
  GATEFOLD_CUDA_FUNCTIONS(GATEFOLD_CUDA_FIND)
#undef GATEFOLD_CUDA_FIND
  if (getVersion && getVersion(&version) != Success)
    version = 0;
  Result result = initialise ? initialise(0) : Success;
  if (result == StubLibrary) {
    message.append("no GPU: %s is the stub of a CUDA toolkit, no driver",
                   libraryName);
  } else if (missing) {
    message.append("no GPU: the driver of CUDA %d.%d is too old: it has no %s",
                   version / 1000, version % 1000 / 10, missing);
  } else if (result != Success) {
    message.append("no GPU: %s says: ", libraryName);
    appendWords(message, result);
  } else {
    return true;
  }
  close();
  return false;
}

void Driver::close() {
  if (library)
    dlclose(library);
  *this = {};
}

void Driver::appendWords(Message &message, Result result) const {
  const char *words = nullptr;
  if (getErrorString(result, &words) != Success || !words)
    words = "an error without a text";
  message.append("%s (%d)", words, (int)result);
}

gatefold_status Driver::check(Message &message, Result result,
                              const char *what) const {
  if (result == Success)
    return GATEFOLD_OK;
  message.append("cannot %s: ", what);
  appendWords(message, result);
  return result == OutOfMemory ? GATEFOLD_OUT_OF_MEMORY : GATEFOLD_DEVICE_ERROR;
}

} // namespace gatefold::runtime::cuda
