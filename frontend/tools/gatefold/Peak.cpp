// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Peak.cpp - What this machine can do at most ------------------------===//

#include "frontend/tools/gatefold/Peak.h"
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace gatefold::tool {
namespace {

// 192 independent sums: enough vectors of any width to hide the latency of two
// multiply-add units, few enough for the registers of AVX-512 (12 of 16 lanes).
constexpr int lanes = 192, narrowLanes = 96;

template <int count>
[[gnu::always_inline]] inline float multiplyAdd(int64_t rounds) {
  float sums[count];
  for (int i = 0; i < count; ++i)
    sums[i] = 1.0f + i;
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 192
    for (int i = 0; i < count; ++i)
      sums[i] = sums[i] * 0.999999f + 0.000001f;
  }
  float total = 0;
  for (float sum : sums)
    total += sum;
  return total;
}

// Whatever the build's level is; Clang has no such attribute, and needs none
// from -O2 on.
#if defined(__clang__)
#define GATEFOLD_FASTEST
#else
#define GATEFOLD_FASTEST gnu::optimize("O3,no-math-errno"),
#endif

#if defined(__x86_64__)
[[ gnu::target("avx512f"), GATEFOLD_FASTEST gnu::noinline ]] float
wide(int64_t rounds) {
  return multiplyAdd<lanes>(rounds);
}
[[ gnu::target("avx2,fma"), GATEFOLD_FASTEST gnu::noinline ]] float
medium(int64_t rounds) {
  return multiplyAdd<narrowLanes>(rounds);
}
#endif
[[GATEFOLD_FASTEST gnu::noinline]] float narrow(int64_t rounds) {
  return multiplyAdd<narrowLanes / 2>(rounds);
}

} // namespace

double measurePeakFlops() {
  float (*loop)(int64_t) = narrow;
  int count = narrowLanes / 2;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    loop = wide;
    count = lanes;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    loop = medium;
    count = narrowLanes;
  }
#endif
  using Clock = std::chrono::steady_clock;
  constexpr int64_t rounds = 200'000;
  double best = 0;
  volatile float sink = 0;
  auto begin = Clock::now();
  do {
    auto start = Clock::now();
    sink = sink + loop(rounds);
    std::chrono::duration<double> seconds = Clock::now() - start;
    best = std::max(best, 2.0 * count * rounds / seconds.count());
  } while (Clock::now() - begin < std::chrono::milliseconds(50));
  return best;
}

} // namespace gatefold::tool
