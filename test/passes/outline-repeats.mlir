// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-outline-repeats --split-input-file | FileCheck %s

// Two layers. They differ in weights, in a number, and in where their memory
// lies: of it, the arena and the places are passed, and views are made inside.
// The size that both use is one argument.
// CHECK-LABEL: func @layers
// CHECK-SAME: (%[[ARENA:.*]]: memref<?xi8>, %[[W:.*]]: memref<64x64xf32>, %[[V:.*]]: memref<64x64xf32>, %[[N:.*]]: index)
func.func @layers(%arena: memref<?xi8>, %w: memref<64x64xf32>, %w2: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // CHECK-DAG: %[[HALF:.*]] = arith.constant 5.0
  // CHECK-DAG: %[[THIRD:.*]] = arith.constant 3.0
  %half = arith.constant 5.0 : f32
  %third = arith.constant 3.0 : f32
  %ranks = gf.team_size
  %a = memref.view %arena[%c0][%n] : memref<?xi8> to memref<?x64xf32>
  %b = memref.view %arena[%c64][%n] : memref<?xi8> to memref<?x64xf32>
  %many = arith.cmpi uge, %n, %ranks : index
  // CHECK-NOT: linalg
  // CHECK: call @[[LAYER:gatefold_repeat]]({{.*}}%[[W]]{{.*}}%[[HALF]]
  // CHECK-NEXT: call @[[LAYER]]({{.*}}%[[V]]{{.*}}%[[THIRD]]
  // CHECK-NEXT: return
  scf.if %many {
    linalg.matmul ins(%a, %w : memref<?x64xf32>, memref<64x64xf32>) outs(%b : memref<?x64xf32>)
    gf.team_barrier
  } else {
    linalg.matmul ins(%a, %w : memref<?x64xf32>, memref<64x64xf32>) outs(%b : memref<?x64xf32>)
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    outs(%b : memref<?x64xf32>) {
  ^bb0(%e: f32):
    %s = arith.mulf %e, %half : f32
    %t = arith.addf %s, %s : f32
    %u = math.exp %t : f32
    %v = arith.divf %u, %e : f32
    %p = math.log %v : f32
    %q = arith.subf %p, %u : f32
    %r = math.tanh %q : f32
    %r1 = arith.mulf %r, %e : f32
    %r2 = arith.addf %r1, %u : f32
    %r3 = arith.divf %r2, %v : f32
    %r4 = math.sqrt %r3 : f32
    %r5 = arith.mulf %r4, %p : f32
    %r6 = arith.addf %r5, %q : f32
    %r7 = arith.divf %r6, %t : f32
    %r8 = math.exp %r7 : f32
    %r9 = arith.subf %r8, %s : f32
    %x = arith.addf %r9, %half : f32
    linalg.yield %x : f32
  }
  scf.if %many {
    linalg.matmul ins(%b, %w2 : memref<?x64xf32>, memref<64x64xf32>) outs(%a : memref<?x64xf32>)
    gf.team_barrier
  } else {
    linalg.matmul ins(%b, %w2 : memref<?x64xf32>, memref<64x64xf32>) outs(%a : memref<?x64xf32>)
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    outs(%a : memref<?x64xf32>) {
  ^bb0(%e: f32):
    %s = arith.mulf %e, %third : f32
    %t = arith.addf %s, %s : f32
    %u = math.exp %t : f32
    %v = arith.divf %u, %e : f32
    %p = math.log %v : f32
    %q = arith.subf %p, %u : f32
    %r = math.tanh %q : f32
    %r1 = arith.mulf %r, %e : f32
    %r2 = arith.addf %r1, %u : f32
    %r3 = arith.divf %r2, %v : f32
    %r4 = math.sqrt %r3 : f32
    %r5 = arith.mulf %r4, %p : f32
    %r6 = arith.addf %r5, %q : f32
    %r7 = arith.divf %r6, %t : f32
    %r8 = math.exp %r7 : f32
    %r9 = arith.subf %r8, %s : f32
    %x = arith.addf %r9, %third : f32
    linalg.yield %x : f32
  }
  return
}
// CHECK: func private @[[LAYER]]({{.*}}: memref<64x64xf32>{{.*}}: f32) attributes {passthrough = ["noinline"]}
// CHECK-DAG: memref.view
// CHECK-DAG: memref.view
// CHECK: scf.if
// CHECK: gf.team_barrier
// CHECK: linalg.generic
// CHECK: return
// CHECK-NOT: func private

// -----

// A call would be as long as what is done again; sizes that are constants
// differ; in a loop a call would be made each time; what gives a value stays.
// CHECK-LABEL: func @stay
// CHECK-NOT: call
// CHECK-NOT: func private
func.func @stay(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  gf.team_barrier
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  gf.team_barrier
  memref.copy %b, %a : memref<?xf32> to memref<?xf32>
  %x = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %n) -> (index) {
    %e = memref.load %a[%i] : memref<?xf32>
    memref.store %e, %b[%s] : memref<?xf32>
    memref.store %e, %b[%i] : memref<?xf32>
    memref.store %e, %a[%s] : memref<?xf32>
    %t = arith.addi %s, %c1 : index
    scf.yield %t : index
  }
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %n) -> (index) {
    %e = memref.load %a[%i] : memref<?xf32>
    memref.store %e, %b[%s] : memref<?xf32>
    memref.store %e, %b[%i] : memref<?xf32>
    memref.store %e, %a[%s] : memref<?xf32>
    %t = arith.addi %s, %c1 : index
    scf.yield %t : index
  }
  scf.for %i = %c0 to %x step %c1 {
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%a : memref<?xf32>) {
    ^bb0(%e: f32):
      %s = arith.mulf %e, %e : f32
      %t = arith.addf %s, %e : f32
      %u = math.exp %t : f32
      %v = arith.divf %u, %t : f32
      %w = math.exp %v : f32
      linalg.yield %w : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%b : memref<?xf32>) {
    ^bb0(%e: f32):
      %s = arith.mulf %e, %e : f32
      %t = arith.addf %s, %e : f32
      %u = math.exp %t : f32
      %v = arith.divf %u, %t : f32
      %w = math.exp %v : f32
      linalg.yield %w : f32
    }
  }
  scf.for %i = %c0 to %c2 step %c1 {
    %e = memref.load %a[%i] : memref<?xf32>
    memref.store %e, %b[%n] : memref<?xf32>
    memref.store %e, %b[%i] : memref<?xf32>
    memref.store %e, %a[%n] : memref<?xf32>
    memref.store %e, %a[%y] : memref<?xf32>
    memref.store %e, %b[%y] : memref<?xf32>
  }
  scf.for %i = %c0 to %c3 step %c1 {
    %e = memref.load %a[%i] : memref<?xf32>
    memref.store %e, %b[%n] : memref<?xf32>
    memref.store %e, %b[%i] : memref<?xf32>
    memref.store %e, %a[%n] : memref<?xf32>
    memref.store %e, %a[%y] : memref<?xf32>
    memref.store %e, %b[%y] : memref<?xf32>
  }
  %e = memref.load %a[%y] : memref<?xf32>
  return %e : f32
}

// -----

// Code on vectors stays in its functions, however often it occurs.

// CHECK-LABEL: func private @vectors
// CHECK-COUNT-16: vector.transfer_write
// CHECK-LABEL: func private @more_vectors
// CHECK-COUNT-16: vector.transfer_write
func.func private @vectors(%x: memref<64x8xf32>, %y: memref<64x8xf32>) attributes {gf.vectors} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    %v = vector.transfer_read %x[%i, %c0], %zero : memref<64x8xf32>, vector<16x8xf32>
    %exp = math.exp %v : vector<16x8xf32>
    vector.transfer_write %exp, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %absf = math.absf %v : vector<16x8xf32>
    vector.transfer_write %absf, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %sqrt = math.sqrt %v : vector<16x8xf32>
    vector.transfer_write %sqrt, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %sin = math.sin %v : vector<16x8xf32>
    vector.transfer_write %sin, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %cos = math.cos %v : vector<16x8xf32>
    vector.transfer_write %cos, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %tanh = math.tanh %v : vector<16x8xf32>
    vector.transfer_write %tanh, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %floor = math.floor %v : vector<16x8xf32>
    vector.transfer_write %floor, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %ceil = math.ceil %v : vector<16x8xf32>
    vector.transfer_write %ceil, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %v = vector.transfer_read %y[%i, %c0], %zero : memref<64x8xf32>, vector<16x8xf32>
    %exp = math.exp %v : vector<16x8xf32>
    vector.transfer_write %exp, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %absf = math.absf %v : vector<16x8xf32>
    vector.transfer_write %absf, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %sqrt = math.sqrt %v : vector<16x8xf32>
    vector.transfer_write %sqrt, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %sin = math.sin %v : vector<16x8xf32>
    vector.transfer_write %sin, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %cos = math.cos %v : vector<16x8xf32>
    vector.transfer_write %cos, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %tanh = math.tanh %v : vector<16x8xf32>
    vector.transfer_write %tanh, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %floor = math.floor %v : vector<16x8xf32>
    vector.transfer_write %floor, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %ceil = math.ceil %v : vector<16x8xf32>
    vector.transfer_write %ceil, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
  }
  return
}

func.func private @more_vectors(%x: memref<64x8xf32>, %y: memref<64x8xf32>) attributes {gf.vectors} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    %v = vector.transfer_read %x[%i, %c0], %zero : memref<64x8xf32>, vector<16x8xf32>
    %exp = math.exp %v : vector<16x8xf32>
    vector.transfer_write %exp, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %absf = math.absf %v : vector<16x8xf32>
    vector.transfer_write %absf, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %sqrt = math.sqrt %v : vector<16x8xf32>
    vector.transfer_write %sqrt, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %sin = math.sin %v : vector<16x8xf32>
    vector.transfer_write %sin, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %cos = math.cos %v : vector<16x8xf32>
    vector.transfer_write %cos, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %tanh = math.tanh %v : vector<16x8xf32>
    vector.transfer_write %tanh, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %floor = math.floor %v : vector<16x8xf32>
    vector.transfer_write %floor, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %ceil = math.ceil %v : vector<16x8xf32>
    vector.transfer_write %ceil, %y[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %v = vector.transfer_read %y[%i, %c0], %zero : memref<64x8xf32>, vector<16x8xf32>
    %exp = math.exp %v : vector<16x8xf32>
    vector.transfer_write %exp, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %absf = math.absf %v : vector<16x8xf32>
    vector.transfer_write %absf, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %sqrt = math.sqrt %v : vector<16x8xf32>
    vector.transfer_write %sqrt, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %sin = math.sin %v : vector<16x8xf32>
    vector.transfer_write %sin, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %cos = math.cos %v : vector<16x8xf32>
    vector.transfer_write %cos, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %tanh = math.tanh %v : vector<16x8xf32>
    vector.transfer_write %tanh, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %floor = math.floor %v : vector<16x8xf32>
    vector.transfer_write %floor, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
    %ceil = math.ceil %v : vector<16x8xf32>
    vector.transfer_write %ceil, %x[%i, %c0] : vector<16x8xf32>, memref<64x8xf32>
  }
  return
}
