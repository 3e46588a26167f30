// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-join-copies --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// A state that is also an output: the cell writes both.
// CHECK-LABEL: func @output_and_state(
// CHECK-SAME: %[[GATES:[a-z0-9]*]]: memref<?x64xf32>, %[[Y:[a-z0-9]*]]: memref<?x9x64xf32>
func.func @output_and_state(%gates: memref<?x64xf32>, %y: memref<?x9x64xf32>, %p: memref<1x64x64xf32>, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  // CHECK: %[[STATE:.*]] = memref.alloc
  %state = memref.alloc(%rows) : memref<?x64xf32>
  // CHECK: scf.for
  scf.for %t = %c0 to %c9 step %c1 {
    // CHECK: %[[OUT:.*]] = memref.subview %[[Y]]
    %out = memref.subview %y[0, %t, 0] [%rows, 1, 64] [1, 1, 1]
        : memref<?x9x64xf32> to memref<?x64xf32, strided<[576, 1], offset: ?>>
    // CHECK: gf.linear %[[STATE]]
    gf.linear %state, %p outs(%gates : memref<?x64xf32>) : memref<?x64xf32>, memref<1x64x64xf32>
    // CHECK: linalg.generic {{.*}} ins(%[[GATES]] : {{.*}}) outs(%[[OUT]], %[[STATE]] :
    // CHECK: %[[H:.*]] = math.tanh
    // CHECK: linalg.yield %[[H]], %[[H]] : f32, f32
    // CHECK-NOT: linalg.copy
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%gates : memref<?x64xf32>) outs(%out : memref<?x64xf32, strided<[576, 1], offset: ?>>) {
    ^bb0(%g: f32, %old: f32):
      %h = math.tanh %g : f32
      linalg.yield %h : f32
    }
    linalg.copy ins(%out : memref<?x64xf32, strided<[576, 1], offset: ?>>) outs(%state : memref<?x64xf32>)
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// It may read the element that it overwrites.
// CHECK-LABEL: func @reads_its_element(
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} :
// CHECK-NOT: linalg.copy
func.func @reads_its_element(%y: memref<3x64xf32>) {
  %state = memref.alloc() : memref<3x64xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%state : memref<3x64xf32>) outs(%y : memref<3x64xf32>) {
  ^bb0(%g: f32, %old: f32):
    %h = math.tanh %g : f32
    linalg.yield %h : f32
  }
  linalg.copy ins(%y : memref<3x64xf32>) outs(%state : memref<3x64xf32>)
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// It reads another element of the target.
// CHECK-LABEL: func @reads_another(
// CHECK: linalg.copy
func.func @reads_another(%y: memref<64x64xf32>) {
  %state = memref.alloc() : memref<64x64xf32>
  linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%state : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%g: f32, %old: f32):
    linalg.yield %g : f32
  }
  linalg.copy ins(%y : memref<64x64xf32>) outs(%state : memref<64x64xf32>)
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// The old state is still needed between the two: an output of what it was.
// CHECK-LABEL: func @needed_between(
// CHECK: linalg.generic
// CHECK: linalg.copy
// CHECK: linalg.copy
func.func @needed_between(%g: memref<3x64xf32>, %y: memref<3x64xf32>, %z: memref<3x64xf32>) {
  %state = memref.alloc() : memref<3x64xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : memref<3x64xf32>) outs(%y : memref<3x64xf32>) {
  ^bb0(%in: f32, %old: f32):
    %h = math.tanh %in : f32
    linalg.yield %h : f32
  }
  linalg.copy ins(%state : memref<3x64xf32>) outs(%z : memref<3x64xf32>)
  linalg.copy ins(%y : memref<3x64xf32>) outs(%state : memref<3x64xf32>)
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// The source is written again, or the target is memory that others see.
// CHECK-LABEL: func @written_again(
// CHECK: linalg.fill
// CHECK: linalg.copy
// CHECK: linalg.copy
func.func @written_again(%g: memref<3x64xf32>, %y: memref<3x64xf32>, %z: memref<3x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %state = memref.alloc() : memref<3x64xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : memref<3x64xf32>) outs(%y : memref<3x64xf32>) {
  ^bb0(%in: f32, %old: f32):
    %h = math.tanh %in : f32
    linalg.yield %h : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<3x64xf32>)
  linalg.copy ins(%y : memref<3x64xf32>) outs(%state : memref<3x64xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%state : memref<3x64xf32>) outs(%y : memref<3x64xf32>) {
  ^bb0(%in: f32, %old: f32):
    %h = math.tanh %in : f32
    linalg.yield %h : f32
  }
  linalg.copy ins(%y : memref<3x64xf32>) outs(%z : memref<3x64xf32>)
  return
}
