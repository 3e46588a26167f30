/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * peak.c - what one core multiplies and adds at most.
 *
 * Built on the machine that the benchmark runs on, for its own processor.
 */
#include <stdint.h>

/* Enough independent sums to hide the latency of two units; few enough for the
 * registers. */
#if defined(__AVX512F__)
#define LANES 16
#define SUMS 12
#elif defined(__AVX__)
#define LANES 8
#define SUMS 12
#else
#define LANES 4
#define SUMS 12
#endif

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));

/* Operations of one round; the sum of all lanes goes to `result`. */
int64_t gatefold_bench_peak(int64_t rounds, float *result) {
  vector sums[SUMS];
  for (int i = 0; i < SUMS; ++i)
    for (int lane = 0; lane < LANES; ++lane)
      sums[i][lane] = 1.0f + i + lane;
  vector factor = {0}, term = {0};
  factor += 0.999999f;
  term += 0.000001f;
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; ++i)
      sums[i] = sums[i] * factor + term;
  }
  float total = 0;
  for (int i = 0; i < SUMS; ++i)
    for (int lane = 0; lane < LANES; ++lane)
      total += sums[i][lane];
  *result = total;
  return 2 * SUMS * LANES;
}
