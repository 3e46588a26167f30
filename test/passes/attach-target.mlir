// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v3 | FileCheck %s --check-prefix=CPU
// RUN: gatefold-opt %s --gf-attach-target=target=sm_80 | FileCheck %s --check-prefix=AMPERE
// RUN: gatefold-opt %s --gf-attach-target=target=sm_90a | FileCheck %s --check-prefix=HOPPER
// RUN: gatefold-opt %s --gf-attach-target="target=sm_80 fast-math=true" | FileCheck %s --check-prefix=FAST
// RUN: not gatefold-opt %s --gf-attach-target=target=sm_75 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// A CPU has none of a GPU's numbers.
// CPU-NOT: gf.fast_math
// CPU: gf.target = {first_cache_bytes = {{[0-9]+}} : i64, second_cache_bytes = {{[0-9]+}} : i64, vector_bytes = 32 : i64, vector_registers = 16 : i64}

// AMPERE: block_shared_bytes = 160768 : i64, block_threads = 256 : i64, clock_megahertz = 1410 : i64, exponentials = 16 : i64
// AMPERE-SAME: float_operations = 128 : i64, global_gigabytes = 2039 : i64, half_tensor_operations = 2048 : i64
// AMPERE-SAME: multiprocessor_registers = 65536 : i64, multiprocessor_shared_bytes = 167936 : i64, multiprocessor_threads = 2048 : i64, multiprocessors = 108 : i64, ptx_version = 81 : i64
// AMPERE-SAME: shared_bytes_per_clock = 128 : i64, tf32_tensor_operations = 1024 : i64

// HOPPER: block_shared_bytes = 226304 : i64

// FAST: attributes {gf.fast_math, gf.target = {

// UNKNOWN: no GPU 'sm_75' is known; there are sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120
module {
}
