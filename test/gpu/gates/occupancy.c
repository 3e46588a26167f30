/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Blocks of a multiprocessor as NVIDIA's header has them: chip, threads,
 * registers, dynamic shared memory, blocks in each line. */

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <cuda_occupancy.h>

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof((ARRAY)[0]))

static const struct {
  int major, minor, threads, kilobytes;
} chips[] = {{8, 0, 2048, 164}, {8, 6, 1536, 100},  {8, 9, 1536, 100},
             {9, 0, 2048, 228}, {10, 0, 2048, 228}, {12, 0, 1536, 100}};
static const int threadCounts[] = {32, 128, 256, 512, 1024};
static const int registerCounts[] = {16, 32, 64, 84, 128, 129, 168, 200, 255};
static const int sharedSizes[] = {0,      1000,   33000,  49152,
                                  49153,  70000,  101376, 101377,
                                  166912, 166913, 232448, 232449};

int main(void) {
  for (size_t c = 0; c < COUNT(chips); ++c)
    for (size_t t = 0; t < COUNT(threadCounts); ++t)
      for (size_t r = 0; r < COUNT(registerCounts); ++r)
        for (size_t s = 0; s < COUNT(sharedSizes); ++s) {
          cudaOccDeviceProp device = {0};
          device.computeMajor = chips[c].major;
          device.computeMinor = chips[c].minor;
          device.maxThreadsPerBlock = 1024;
          device.maxThreadsPerMultiprocessor = chips[c].threads;
          device.regsPerBlock = device.regsPerMultiprocessor = 64 << 10;
          device.warpSize = 32;
          device.sharedMemPerBlock = 48 << 10;
          device.sharedMemPerMultiprocessor = chips[c].kilobytes << 10;
          device.sharedMemPerBlockOptin = (chips[c].kilobytes - 1) << 10;
          device.reservedSharedMemPerBlock = 1 << 10;
          device.numSms = 1;
          cudaOccFuncAttributes function = {0};
          function.maxThreadsPerBlock = 1024;
          function.numRegs = registerCounts[r];
          function.maxDynamicSharedSizeBytes = sharedSizes[s];
          function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          function.numBlockBarriers = 1;
          cudaOccDeviceState state = {0};
          state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
          cudaOccResult result;
          if (cudaOccMaxActiveBlocksPerMultiprocessor(
                  &result, &device, &function, &state, threadCounts[t],
                  sharedSizes[s]) != CUDA_OCC_SUCCESS)
            return 1;
          printf("sm_%d%d %d %d %d %d\n", chips[c].major, chips[c].minor,
                 threadCounts[t], registerCounts[r], sharedSizes[s],
                 result.activeBlocksPerMultiprocessor);
        }
  return 0;
}
