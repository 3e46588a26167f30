// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --allow-unregistered-dialect --gf-form-kernels --split-input-file --verify-diagnostics | FileCheck %s
// RUN: gatefold-opt %s --allow-unregistered-dialect --gf-form-kernels=threads=64 --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=FEW

// CHECK: module attributes {{.*}}gpu.container_module
module attributes {gf.target = {block_threads = 256 : i64}, gf.description = {dimensions = ["N"], entry = "f", equal = [], messages = [], tensors = [{name = "x", role = 0 : i64, shape = affine_map<()[s0] -> (s0)>, type = tensor<?xf32>}]}} {
  // What the host calls stays.
  // CHECK: func.func @gatefold_sizes
  func.func @gatefold_sizes() {
    return
  }
  func.func private @part(%x: memref<?xf32>) {
    return
  }
  func.func @gatefold_run_entry(%x: memref<?xf32>, %arena: memref<?xi8>) {
    %ranks = gf.team_size
    call @part(%x) : (memref<?xf32>) -> ()
    return
  }
  // CHECK-NOT: @gatefold_run_entry
  // CHECK: gpu.module @gatefold_kernels
  // CHECK: func.func private @part(%{{.*}}: memref<?xf32, #gpu.address_space<global>>)
  // CHECK: gpu.func @gatefold_run_kernel(%[[X:.*]]: memref<?xf32, #gpu.address_space<global>>, %{{.*}}: memref<?xi8, #gpu.address_space<global>>, %{{.*}}: !llvm.ptr<1>) kernel
  // CHECK-SAME: nvvm.maxntid = array<i32: 256>
  // FEW: nvvm.maxntid = array<i32: 64>
  // CHECK: call @part(%[[X]])
  // CHECK: gpu.return
}

// -----

// Code on vectors is made for all threads of a block, so a kernel that comes to
// it, through another function too, takes just so many.
module attributes {gf.target = {block_threads = 256 : i64}, gf.description = {dimensions = ["N"], entry = "f", equal = [], messages = [], tensors = [{name = "x", role = 0 : i64, shape = affine_map<()[s0] -> (s0)>, type = tensor<?xf32>}]}} {
  func.func private @vectors(%x: memref<?xf32>) attributes {gf.vectors} {
    return
  }
  func.func private @part(%x: memref<?xf32>) {
    call @vectors(%x) : (memref<?xf32>) -> ()
    return
  }
  // CHECK: gpu.func @gatefold_run_kernel
  // CHECK-NOT: nvvm.maxntid
  // CHECK-SAME: nvvm.reqntid = array<i32: 256>
  // FEW: gpu.func @gatefold_run_kernel
  // FEW-SAME: nvvm.reqntid = array<i32: 64>
  func.func @gatefold_run_entry(%x: memref<?xf32>, %arena: memref<?xi8>) {
    call @part(%x) : (memref<?xf32>) -> ()
    return
  }
}

// -----

// Constants that kernels read go with them; those of the host stay.
// CHECK-NOT: @of_kernels
// CHECK: memref.global "private" constant @of_both : memref<2xi64>
// CHECK: memref.global "private" constant @of_host
module attributes {gf.target = {block_threads = 256 : i64}, gf.description = {dimensions = ["N"], entry = "f", equal = [], messages = [], tensors = [{name = "x", role = 0 : i64, shape = affine_map<()[s0] -> (s0)>, type = tensor<?xf32>}]}} {
  memref.global "private" constant @of_kernels : memref<i64> = dense<3>
  memref.global "private" constant @of_both : memref<2xi64> = dense<[4, 5]>
  memref.global "private" constant @of_host : memref<1xi64> = dense<6>
  func.func @gatefold_sizes() -> (memref<2xi64>, memref<1xi64>) {
    %b = memref.get_global @of_both : memref<2xi64>
    %h = memref.get_global @of_host : memref<1xi64>
    return %b, %h : memref<2xi64>, memref<1xi64>
  }
  // CHECK: gpu.module @gatefold_kernels
  // CHECK-NOT: @of_host
  // CHECK-DAG: memref.global "private" constant @of_kernels : memref<i64, #gpu.address_space<global>> = dense<3>
  // CHECK-DAG: memref.global "private" constant @of_both : memref<2xi64, #gpu.address_space<global>> = dense<[4, 5]>
  // CHECK: memref.get_global @of_kernels : memref<i64, #gpu.address_space<global>>
  func.func @gatefold_run_entry(%x: memref<?xf32>, %arena: memref<?xi8>) {
    %k = memref.get_global @of_kernels : memref<i64>
    %b = memref.get_global @of_both : memref<2xi64>
    "test.use"(%k, %b) : (memref<i64>, memref<2xi64>) -> ()
    return
  }
}

// -----

// expected-error @below {{needs a well-formed gf.description}}
module {
}

// -----

module attributes {gf.target = {block_threads = 256 : i64}, gf.description = {dimensions = ["N"], entry = "f", equal = [], messages = [], tensors = [{name = "x", role = 0 : i64, shape = affine_map<()[s0] -> (s0)>, type = tensor<?xf32>}]}} {
  // expected-error @below {{has more than one block}}
  func.func @gatefold_run_entry(%x: memref<?xf32>, %arena: memref<?xi8>) {
    cf.br ^next
  ^next:
    return
  }
}
