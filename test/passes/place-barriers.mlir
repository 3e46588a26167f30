// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-place-barriers --split-input-file --verify-diagnostics | FileCheck %s

// What one operation wrote the next reads; what nobody shares needs no barrier.
// CHECK-LABEL: func @gatefold_run_entry
func.func @gatefold_run_entry(%x: memref<?xf32>, %y: memref<?xf32>, %arena: memref<?xi8>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c0][] : memref<?xi8> to memref<16xf32>
  %b = memref.view %arena[%c64][] : memref<?xi8> to memref<16xf32>
  %c = memref.view %arena[%n][] : memref<?xi8> to memref<16xf32>
  %zero = arith.constant 0.0 : f32
  // CHECK: linalg.fill
  // CHECK-NEXT: linalg.fill
  // CHECK-NEXT: linalg.copy
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: linalg.copy
  linalg.fill ins(%zero : f32) outs(%a : memref<16xf32>)
  linalg.fill ins(%zero : f32) outs(%b : memref<16xf32>)
  linalg.copy ins(%x : memref<?xf32>) outs(%x : memref<?xf32>)
  linalg.copy ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  // A place that is known when it runs may be any.
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: linalg.fill
  linalg.fill ins(%zero : f32) outs(%c : memref<16xf32>)
  // The team's barrier is one of the block; y may be the memory of x.
  // CHECK-NEXT: gf.team_barrier
  // CHECK-NEXT: linalg.copy
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: linalg.fill
  gf.team_barrier
  linalg.copy ins(%x : memref<?xf32>) outs(%b : memref<16xf32>)
  linalg.fill ins(%zero : f32) outs(%y : memref<?xf32>)
  return
}

// -----

// Around a loop's end: the second turn reads what the first one wrote last.
// CHECK-LABEL: func @gatefold_run_entry
func.func @gatefold_run_entry(%arena: memref<?xi8>, %n: index, %flag: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c0][] : memref<?xi8> to memref<16xf32>
  %b = memref.view %arena[%c64][] : memref<?xi8> to memref<16xf32>
  %zero = arith.constant 0.0 : f32
  // CHECK: scf.for
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: linalg.copy
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: linalg.fill
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  // What a branch may have done, and what stands before it, are both there.
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  scf.for %i = %c0 to %n step %c1 {
    linalg.copy ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
    scf.if %flag {
      linalg.fill ins(%zero : f32) outs(%a : memref<16xf32>)
    }
  }
  %value = memref.load %b[%c0] : memref<16xf32>
  return
}

// -----

// A call uses what its function does: it reads what was written before it. The
// function writes another buffer than it reads, so that nothing in it waits.
// CHECK-LABEL: func @gatefold_run_entry
func.func @gatefold_run_entry(%x: memref<16x8xf32>, %arena: memref<4096xi8>) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %a = memref.view %arena[%c0][] : memref<4096xi8> to memref<16x8xf32>
  %b = memref.view %arena[%c512][] : memref<4096xi8> to memref<16x8xf32>
  // CHECK: linalg.copy
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: call @first
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: call @second
  // CHECK-NEXT: linalg.copy
  linalg.copy ins(%x : memref<16x8xf32>) outs(%a : memref<16x8xf32>)
  func.call @first(%a, %b) : (memref<16x8xf32>, memref<16x8xf32>) -> ()
  func.call @second(%a) : (memref<16x8xf32>) -> ()
  linalg.copy ins(%b : memref<16x8xf32>) outs(%x : memref<16x8xf32>)
  return
}
// CHECK-LABEL: func private @first
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func private @first(%x: memref<16x8xf32>, %y: memref<16x8xf32>) attributes {gf.vectors} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  vector.transfer_write %v, %y[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  return
}
// It writes what it has read, and reads that again.
// CHECK-LABEL: func private @second
// CHECK: vector.transfer_read
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: vector.transfer_write
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: vector.transfer_read
func.func private @second(%x: memref<16x8xf32>) attributes {gf.vectors} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  vector.transfer_write %v, %x[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  %w = vector.transfer_read %x[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  return
}

// -----

// Other functions are the host's.
// CHECK-LABEL: func @gatefold_sizes
// CHECK-NOT: gpu.barrier
func.func @gatefold_sizes(%x: memref<?xf32>) {
  linalg.copy ins(%x : memref<?xf32>) outs(%x : memref<?xf32>)
  linalg.copy ins(%x : memref<?xf32>) outs(%x : memref<?xf32>)
  return
}

// -----

func.func @gatefold_run_entry(%x: memref<?xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{is not known to be executed by all threads alike}}
  scf.forall (%i) in (%n) {
    memref.store %zero, %x[%i] : memref<?xf32>
  }
  return
}
