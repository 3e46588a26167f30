// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-keep-sizes=least=2 | FileCheck %s
// RUN: gatefold-opt %s --gf-keep-sizes | FileCheck %s --check-prefix=FEW

#global = #gpu.address_space<global>

// The example of the pass. Two numbers are kept; the size is a parameter, which is
// in memory already.
// CHECK: gpu.module @gatefold_kernels
// CHECK: memref.global "private" @gatefold_run_kernel_sizes : memref<2xi64, #gpu.address_space<workgroup>> = uninitialized
// FEW-NOT: memref.global
gpu.module @gatefold_kernels {
  func.func private @f(%x: memref<?xf32, #global>) {
    return
  }
  // CHECK: gpu.func @gatefold_run_kernel(%[[X:.*]]: memref<?xf32, #gpu.address_space<global>>, %[[ARENA:.*]]: memref<?xi8, #gpu.address_space<global>>)
  gpu.func @gatefold_run_kernel(%x: memref<?xf32, #global>, %arena: memref<?xi8, #global>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %size = memref.dim %x, %c0 : memref<?xf32, #global>
    // CHECK: %[[N:.*]] = arith.muli
    // CHECK: %[[M:.*]] = arith.divui
    // CHECK: %[[KNOWN:.*]] = arith.index_cast %[[N]]
    // CHECK: arith.sitofp %[[KNOWN]]
    // CHECK: %[[TABLE:.*]] = memref.get_global @gatefold_run_kernel_sizes
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
    // CHECK: scf.if %[[FIRST]] {
    // CHECK: %[[WIDE_N:.*]] = arith.index_cast %[[N]] : index to i64
    // CHECK: memref.store %[[WIDE_N]], %[[TABLE]]
    // CHECK: %[[WIDE_M:.*]] = arith.index_cast %[[M]] : index to i64
    // CHECK: memref.store %[[WIDE_M]], %[[TABLE]]
    // CHECK: }
    // CHECK: gpu.barrier
    %n = arith.muli %size, %c4 : index
    %v = memref.view %arena[%n][%size] : memref<?xi8, #global> to memref<?xf32, #global>
    %m = arith.divui %n, %size : index
    // What comes before the table does not read it.
    %wide = arith.index_cast %n : index to i64
    %share = arith.sitofp %wide : i64 to f32
    // CHECK: %[[BOUND:.*]] = memref.load %[[TABLE]]
    // CHECK: %[[STEPS:.*]] = arith.index_cast %[[BOUND]]
    // CHECK: scf.for %{{.*}} = %{{.*}} to %[[STEPS]]
    scf.for %i = %c0 to %m step %c1 {
      // CHECK: memref.load %[[TABLE]]
      // CHECK: %[[VIEW:.*]] = memref.view %[[ARENA]]
      // CHECK: func.call @f(%[[VIEW]])
      func.call @f(%v) : (memref<?xf32, #global>) -> ()
      // Nothing is read where a loop has its registers for itself, but before it.
      // CHECK: memref.load %[[TABLE]]
      // CHECK: %[[SECOND:.*]] = memref.view %[[ARENA]]
      // CHECK: scf.for
      // CHECK-NOT: memref.load %[[TABLE]]
      // CHECK: memref.load %[[SECOND]]
      scf.for %j = %c0 to %c4 step %c1 {
        %element = memref.load %v[%j] : memref<?xf32, #global>
        memref.store %element, %x[%j] : memref<?xf32, #global>
      }
    }
    // FEW: gpu.return
    gpu.return
  }
}

// What is computed of a number in front of the table takes the number itself.
// CHECK: gpu.module @means
gpu.module @means {
  // CHECK: gpu.func @mean
  gpu.func @mean(%x: memref<?xf32, #global>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %size = memref.dim %x, %c0 : memref<?xf32, #global>
    // CHECK: %[[N:.*]] = arith.muli
    // CHECK: %[[WIDE:.*]] = arith.index_cast %[[N]] : index to i64
    // CHECK: arith.sitofp %[[WIDE]] : i64 to f32
    // CHECK: memref.get_global @mean_sizes
    %n = arith.muli %size, %c4 : index
    %wide = arith.index_cast %n : index to i64
    %count = arith.sitofp %wide : i64 to f32
    %m = arith.addi %n, %size : index
    scf.for %i = %n to %m step %c1 {
      memref.store %count, %x[%i] : memref<?xf32, #global>
    }
    gpu.return
  }
}
