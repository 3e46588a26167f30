// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CudaDriver.h - The GPUs of this machine ------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_CUDADRIVER_H
#define FRONTEND_TOOLS_GATEFOLD_CUDADRIVER_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gatefold::tool {

struct CudaGpu {
  std::string name;
  /// 90 for 9.0.
  int32_t capability = 0;
  int32_t multiprocessors = 0;
  uint64_t memoryBytes = 0;
};

/// What the driver of CUDA says, as a run would open it.
struct CudaDriver {
  /// Why no GPU can be used; empty where one can.
  std::string fault;
  /// The library's file, and its version (`13.0`), where there is one.
  std::string path, version;
  std::vector<CudaGpu> gpus;

  static CudaDriver ask();
};

/// Of the targets that code can be made for, the one that suits such a GPU
/// best, if any does.
std::optional<std::string> findTarget(int32_t capability);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_CUDADRIVER_H
