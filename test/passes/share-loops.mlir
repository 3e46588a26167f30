// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --pass-pipeline='builtin.module(gpu.module(gf-share-loops))' --split-input-file --verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: func @one
  func.func @one(%x: memref<?xf32>, %n: index, %v: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[T:.*]] = gpu.thread_id x
    // CHECK: %[[N:.*]] = gpu.block_dim x
    // CHECK: scf.for %[[I:[^ ]*]] = %[[T]] to %{{.*}} step %[[N]]
    // CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]]]
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      memref.store %v, %x[%i] : memref<?xf32>
    }
    return
  }

  // Neighbouring threads go along %i, in which both buffers are contiguous.
  // CHECK-LABEL: func @two
  // CHECK-SAME: %{{.*}}: memref<?x?xf32>, %{{.*}}: memref<?x?xf32>, %[[N:.*]]: index, %[[M:.*]]: index
  func.func @two(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[NS:.*]] = arith.subi %[[N]]
    // CHECK: %[[COUNT:.*]] = arith.maxsi %[[NS]]
    // CHECK: scf.for %[[AT:[^ ]*]] =
    // CHECK-NEXT: %[[I:.*]] = arith.remui %[[AT]], %[[COUNT]]
    // CHECK-NEXT: %[[J:.*]] = arith.divui %[[AT]], %[[COUNT]]
    // CHECK-NEXT: memref.load %{{.*}}[%[[J]], %[[I]]]
    scf.parallel (%i, %j) = (%c0, %c0) to (%n, %m) step (%c1, %c1) {
      %v = memref.load %x[%j, %i] : memref<?x?xf32>
      memref.store %v, %y[%j, %i] : memref<?x?xf32>
    }
    return
  }

  // Warps take turns, all threads of one alike; and a block does all.
  // CHECK-LABEL: func @warps
  func.func @warps(%x: memref<?xf32>, %n: index, %v: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[T:.*]] = gpu.thread_id x
    // CHECK: %[[N:.*]] = gpu.block_dim x
    // CHECK: %[[W:.*]] = arith.divui %[[T]], %c32
    // CHECK: %[[WS:.*]] = arith.divui %[[N]], %c32
    // CHECK: scf.for %{{.*}} = %[[W]] to %{{.*}} step %[[WS]]
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      memref.store %v, %x[%i] : memref<?xf32>
    } {gf.executor = "warp"}
    // CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %{{.*}} step %c1
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      memref.store %v, %x[%i] : memref<?xf32>
    } {gf.executor = "block"}
    return
  }

  // All threads would store the same.
  // CHECK-LABEL: func @store
  func.func @store(%x: memref<?xf32>, %i: index, %v: f32) {
    // CHECK: %[[FIRST:.*]] = arith.cmpi eq
    // CHECK-NEXT: scf.if %[[FIRST]]
    // CHECK-NEXT: memref.store
    memref.store %v, %x[%i] : memref<?xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @sum(%n: index, %v: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{reduces, and threads share no sum}}
    %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%v) -> f32 {
      scf.reduce(%v : f32) {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %b : f32
        scf.reduce.return %r : f32
      }
    }
    return
  }
}

// -----

gpu.module @kernels {
  func.func @assertion(%n: index, %flag: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      // expected-error @below {{would end the run of one thread alone}}
      cf.assert %flag, "max of nothing"
    }
    return
  }
}
