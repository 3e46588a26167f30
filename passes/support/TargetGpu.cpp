// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TargetGpu.cpp - GPUs that code can be made for ---------------------===//
//
// What kernels need to know of a GPU, by its compute capability. Of a
// capability that several products have, the numbers are those of a large one.
//
//===----------------------------------------------------------------------===//

#include "passes/support/Target.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gatefold;

namespace {
struct Gpu {
  StringLiteral name;
  int64_t multiprocessors, threads, sharedKilobytes, secondCacheMegabytes;
  int64_t ptxVersion;
  /// Of a multiprocessor in a clock.
  int64_t halfOperations, tf32Operations, floatOperations;
  int64_t megahertz, gigabytes;
};
} // namespace

// The least version of PTX is 8.1: before it a kernel takes 4 KB of parameters.
//
// Peaks are those of NVIDIA's data sheets for dense operations, and the clock
// that at which tensor cores reach them: A100 80GB SXM (312 TFLOP/s in 16 bits,
// 156 in tf32, 2,039 GB/s), RTX A6000 (154.8, 77.4, 768), RTX 6000 Ada (364.2,
// 182.1, 960), H100 SXM (989.4, 494.7, 3,352), B200 (2,250, 1,125, 8,000),
// GeForce RTX 5090 (209.5, 104.8, 1,792).
static constexpr Gpu gpus[] = {
    {"sm_80", 108, 2048, 164, 40, 81, 2048, 1024, 128, 1410, 2039},
    {"sm_86", 84, 1536, 100, 6, 81, 1024, 512, 256, 1800, 768},
    {"sm_89", 142, 1536, 100, 96, 81, 1024, 512, 256, 2505, 960},
    {"sm_90", 132, 2048, 228, 50, 81, 4096, 2048, 256, 1830, 3352},
    {"sm_90a", 132, 2048, 228, 50, 81, 4096, 2048, 256, 1830, 3352},
    {"sm_100", 148, 2048, 228, 126, 86, 8192, 4096, 256, 1850, 8000},
    {"sm_120", 170, 1536, 100, 96, 87, 512, 256, 256, 2407, 1792},
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
    return llvm::createStringError("no GPU '%s' is known; there are %s",
                                   target.str().c_str(),
                                   llvm::join(getGpuNames(), ", ").c_str());
  }
  TargetDescription description;
  // Panels of 64 columns of f32, one for each thread of two warps.
  description.vectorBytes = 64;
  description.vectorRegisters = 32;
  // What the first cache is to a core, shared memory is to a block; of the
  // second cache each multiprocessor has its share.
  description.multiprocessorSharedBytes = gpu->sharedKilobytes << 10;
  description.blockSharedBytes = ((gpu->sharedKilobytes - 1) << 10) -
                                 TargetDescription::keptSizesBytes -
                                 TargetDescription::keptAcrossCallsBytes;
  description.firstCacheBytes = description.blockSharedBytes;
  description.secondCacheBytes =
      (gpu->secondCacheMegabytes << 20) / gpu->multiprocessors;
  // 255 registers for each thread, the most that there are.
  description.blockThreads = 256;
  description.multiprocessors = gpu->multiprocessors;
  description.multiprocessorThreads = gpu->threads;
  description.multiprocessorRegisters = 64 << 10;
  description.ptxVersion = gpu->ptxVersion;
  description.halfTensorOperations = gpu->halfOperations;
  description.tf32TensorOperations = gpu->tf32Operations;
  description.floatOperations = gpu->floatOperations;
  // By the CUDA programming guide the same for all of these.
  description.exponentials = 16;
  description.sharedBytesPerClock = 128;
  description.clockMegahertz = gpu->megahertz;
  description.globalGigabytes = gpu->gigabytes;
  return description;
}
