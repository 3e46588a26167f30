// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-split --gf-to-buffers | FileCheck %s

// Computed where it is to stand; the input is not written.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: (%[[X:.*]]: memref<?xf32, {{.*}}>, %[[Y:.*]]: memref<?xf32, {{.*}}>)
func.func @f(%x: tensor<?xf32> {gf.name = "x", gf.shape = affine_map<()[s0] -> (s0)>})
    -> (tensor<?xf32> {gf.name = "y", gf.shape = affine_map<()[s0] -> (s0)>})
    attributes {gf.entry, gf.dimensions = ["N"]} {
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %e = tensor.empty(%size) : tensor<?xf32>
  // CHECK-NOT: memref.alloc
  // CHECK: linalg.exp ins(%[[X]] : {{.*}}) outs(%[[Y]] :
  %y = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// Of two dimensions of size 1 the view is without the second, which its strides do not tell.
// CHECK-LABEL: func @middle
// CHECK: %[[VIEW:.*]] = memref.subview %{{.*}}[0, 0, %{{.*}}, 0] [1, 2, 1, 3] [1, 1, 1, 1] : memref<1x2x?x3xf32, {{.*}}> to memref<1x2x1x3xf32
// CHECK: memref.collapse_shape %[[VIEW]] {{\[}}[0], [1, 2], [3]] : {{.*}} into memref<1x2x3xf32
// The first and the last are as its strides say.
// CHECK: memref.subview %{{.*}}[0, 0, %{{.*}}, 0] [1, 1, 2, 3] [1, 1, 1, 1] : memref<1x2x?x3xf32, {{.*}}> to memref<1x2x3xf32
func.func @middle(%memory: memref<1x2x?x3xf32, strided<[?, ?, ?, 1], offset: ?>>, %t: index,
                  %to: memref<1x2x3xf32>, %also: memref<1x2x3xf32>) {
  %x = bufferization.to_tensor %memory restrict : memref<1x2x?x3xf32, strided<[?, ?, ?, 1], offset: ?>> to tensor<1x2x?x3xf32>
  %step = tensor.extract_slice %x[0, 0, %t, 0] [1, 2, 1, 3] [1, 1, 1, 1] : tensor<1x2x?x3xf32> to tensor<1x2x3xf32>
  bufferization.materialize_in_destination %step in restrict writable %to : (tensor<1x2x3xf32>, memref<1x2x3xf32>) -> ()
  %row = tensor.extract_slice %x[0, 0, %t, 0] [1, 1, 2, 3] [1, 1, 1, 1] : tensor<1x2x?x3xf32> to tensor<1x2x3xf32>
  bufferization.materialize_in_destination %row in restrict writable %also : (tensor<1x2x3xf32>, memref<1x2x3xf32>) -> ()
  return
}

// A slice of nothing begins at 0: a view may not begin at the end.
// CHECK-LABEL: func @nothing
// CHECK: memref.subview %{{.*}}[0, 0] [9, 0] [1, 1]
func.func @nothing(%memory: memref<9x7xf32>, %to: memref<9x0xf32>) {
  %x = bufferization.to_tensor %memory restrict : memref<9x7xf32> to tensor<9x7xf32>
  %some = tensor.cast %x : tensor<9x7xf32> to tensor<9x?xf32>
  %none = tensor.extract_slice %some[0, 7] [9, 0] [1, 1] : tensor<9x?xf32> to tensor<9x0xf32>
  bufferization.materialize_in_destination %none in restrict writable %to : (tensor<9x0xf32>, memref<9x0xf32>) -> ()
  return
}
