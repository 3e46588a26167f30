// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every phase in turn, down to the llvm dialect, and for a GPU down to the nvvm dialect.
// RUN: gatefold-opt %s --gf-simplify --gf-fuse --gf-schedule --gf-tile --gf-split --gf-bufferize --gf-cpu | FileCheck %s --check-prefixes=CHECK,FAST
// RUN: gatefold-opt %s --gf-simplify=naive --gf-fuse=naive --gf-schedule=naive --gf-tile=naive --gf-split=naive --gf-bufferize=naive --gf-cpu=naive | FileCheck %s --check-prefixes=CHECK,NAIVE
// RUN: gatefold-opt %s --gf-simplify=target=sm_80 --gf-fuse=target=sm_80 --gf-schedule=target=sm_80 --gf-tile=target=sm_80 --gf-split=target=sm_80 --gf-bufferize=target=sm_80 --gf-gpu=target=sm_80 --gf-nvvm=target=sm_80 | FileCheck %s --check-prefix=GPU

// CHECK: module attributes {gf.arena_formula = "{{[^"]*}}", gf.description
// CHECK-NOT: memref
// CHECK-NOT: builtin.unrealized_conversion_cast
// NAIVE: llvm.func @tanhf(f32) -> f32
// FAST-NOT: @tanhf
// CHECK: llvm.func @gatefold_run_entry(
// CHECK: llvm.call @gatefold_kernel
// CHECK: llvm.func @_mlir_ciface_gatefold_run_entry(
// CHECK: llvm.func @gatefold_sizes(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: llvm.func @gatefold_arena_bytes(%{{.*}}: !llvm.ptr{{.*}}) -> i64
// CHECK: llvm.func @gatefold_kernel
// NAIVE: llvm.call @tanhf
// FAST: llvm.fdiv {{.*}} : vector<{{.*}}xf32>

// GPU: gpu.module @gatefold_kernels {
// GPU-NOT: memref
// GPU-NOT: scf.
// GPU: llvm.func @gatefold_run_kernel({{.*}}nvvm.kernel
// GPU: nvvm.barrier0
// GPU-NOT: gf.
// GPU-NOT: builtin.unrealized_conversion_cast

func.func private @activate(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = math.tanh %x : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

func.func @f(%x: tensor<?x?x4xf32> {gf.name = "x", gf.shape = affine_map<()[s0, s1] -> (s0, s1, 4)>},
    %h: tensor<?x4xf32> {gf.name = "h", gf.state, gf.initial = 0.0 : f32, gf.shape = affine_map<()[s0, s1] -> (s0, 4)>})
    -> (tensor<?x?x4xf32> {gf.name = "y", gf.shape = affine_map<()[s0, s1] -> (s0, s1, 4)>},
        tensor<?x4xf32> {gf.name = "h", gf.state, gf.shape = affine_map<()[s0, s1] -> (s0, 4)>})
    attributes {gf.entry, gf.dimensions = ["B", "T"]} {
  %y, %last = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h : tensor<?x4xf32>)
      time_axis 1 -> (tensor<?x?x4xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x4xf32>):
    %sum = arith.addf %x_t, %s : tensor<?x4xf32>
    %next = func.call @activate(%sum) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    gf.yield %next, %next : tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %y, %last : tensor<?x?x4xf32>, tensor<?x4xf32>
}
