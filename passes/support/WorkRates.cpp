// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WorkRates.cpp - How long things take a rank ------------------------===//

#include "passes/support/WorkRates.h"

using namespace gatefold;

// Measured on a Zen 5: products run at some hundred operations per nanosecond,
// elementwise work at the speed of memory. A barrier takes three tenths of a
// microsecond with what it makes a rank wait for, and a thread that has to be
// woken some ten microseconds. Work for two ranks is what shows how balanced a
// partition is.
static constexpr WorkRates cpuRates = {
    /*product=*/2,
    /*weight=*/0,
    /*contraction=*/8,
    /*element=*/10,
    /*function=*/40,
    /*scalar=*/100,
    /*barrier=*/30000,
    /*leastShared=*/20000,
    /*worthSharing=*/200000,
    /*rank=*/1000000,
    /*tileRows=*/6,
    /*leastRows=*/4,
    /*manyRows=*/1024,
    /*ranks=*/2,
};

// Estimated from data sheets and from published measurements, for a block of
// 256 threads that has a multiprocessor for itself.
//
// Products: 16-bit numbers on tensor cores at half of their peak take a block
// 0.7 ps (A100) for a multiplication, f32 as three of tf32 8 ps, sums of
// threads 10 ps. A weight of 4 bytes comes from the second cache, of which a
// multiprocessor gets some 64 bytes in a clock.
//
// Elements: a few loads under way in each thread, 8 KB in all, and some 250 ns
// until they are there, are 30 bytes in a nanosecond; a multiprocessor's share
// of global memory is 18 (A100) to 25 (H100). A function of mathematics is some
// 20 instructions, of which a multiprocessor does 64 to 128 in a clock. One
// element alone takes the time of an access to memory.
//
// A barrier of the grid is two passes through the second cache, 1 to 2
// microseconds. Blocks begin with the launch, so one more costs nothing but
// its part in the barriers.
static constexpr WorkRates gpuRates = {
    /*product=*/1,
    /*weight=*/4,
    /*contraction=*/10,
    /*element=*/30,
    /*function=*/20,
    /*scalar=*/20000,
    /*barrier=*/150000,
    /*leastShared=*/100000,
    /*worthSharing=*/400000,
    /*rank=*/200000,
    /*tileRows=*/16,
    /*leastRows=*/16,
    /*manyRows=*/4096,
    /*ranks=*/128,
};

const WorkRates &WorkRates::of(const TargetDescription &target) {
  return target.isGpu() ? gpuRates : cpuRates;
}
