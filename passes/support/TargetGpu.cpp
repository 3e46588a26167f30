// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TargetGpu.cpp - GPUs that code can be made for ---------------------===//
//
// What kernels need to know of a GPU, by its compute capability. Of a
// capability that several products have, the numbers are those of a large one.
//
//===----------------------------------------------------------------------===//

#include "passes/support/Target.h"

using namespace mlir;
using namespace gatefold;

namespace {
struct Gpu {
  StringLiteral name;
  int64_t multiprocessors, threads, sharedKilobytes, secondCacheMegabytes;
  int64_t ptxVersion;
};
} // namespace

// The least version of PTX is 8.1: before it a kernel takes 4 KB of parameters.
static constexpr Gpu gpus[] = {
    {"sm_80", 108, 2048, 164, 40, 81},  {"sm_86", 84, 1536, 100, 6, 81},
    {"sm_89", 142, 1536, 100, 96, 81},  {"sm_90", 132, 2048, 228, 50, 81},
    {"sm_90a", 132, 2048, 228, 50, 81}, {"sm_100", 148, 2048, 228, 126, 86},
    {"sm_120", 170, 1536, 100, 96, 87},
};

SmallVector<StringRef> gatefold::getGpuNames() {
  SmallVector<StringRef> names;
  for (const Gpu &gpu : gpus)
    names.push_back(gpu.name);
  return names;
}

llvm::Expected<TargetDescription> gatefold::describeGpu(StringRef target) {
  const Gpu *gpu = llvm::find_if(
      gpus, [&](const Gpu &entry) { return entry.name == target; });
  if (gpu == std::end(gpus)) {
    std::string known;
    for (const Gpu &entry : gpus)
      known += (known.empty() ? "" : ", ") + entry.name.str();
    return llvm::createStringError("no GPU '%s' is known; there are %s",
                                   target.str().c_str(), known.c_str());
  }
  TargetDescription description;
  // Panels of 64 columns of f32, one for each thread of two warps.
  description.vectorBytes = 64;
  description.vectorRegisters = 32;
  // What the first cache is to a core, shared memory is to a block; of the
  // second cache each multiprocessor has its share.
  description.multiprocessorSharedBytes = gpu->sharedKilobytes << 10;
  description.blockSharedBytes = (gpu->sharedKilobytes - 1) << 10;
  description.firstCacheBytes = description.blockSharedBytes;
  description.secondCacheBytes =
      (gpu->secondCacheMegabytes << 20) / gpu->multiprocessors;
  // 255 registers for each thread, the most that there are.
  description.blockThreads = 256;
  description.multiprocessors = gpu->multiprocessors;
  description.multiprocessorThreads = gpu->threads;
  description.multiprocessorRegisters = 64 << 10;
  description.ptxVersion = gpu->ptxVersion;
  return description;
}
