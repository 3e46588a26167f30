// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-lower-to-llvm | FileCheck %s

// What a buffer was put together from is what an access uses: no struct is left.
// CHECK-LABEL: llvm.func @view
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[A:.*]]: !llvm.ptr, %[[OFFSET:.*]]: i64, %{{.*}}: i64, %[[STRIDE:.*]]: i64, %[[I:.*]]: i64)
// CHECK-NOT: llvm.insertvalue
// CHECK-NOT: llvm.extractvalue
// CHECK: llvm.store %{{.*}} : vector<16xf32>
// CHECK-NOT: unrealized
// CHECK: llvm.return
func.func private @view(%a: memref<?xf32, strided<[?], offset: ?>>, %i: index) {
  %base, %offset, %size, %stride = memref.extract_strided_metadata %a
    : memref<?xf32, strided<[?], offset: ?>> -> memref<f32>, index, index, index
  %v = memref.reinterpret_cast %base to offset: [%i], sizes: [%size], strides: [1]
    : memref<f32> to memref<?xf32, strided<[1], offset: ?>>
  %mask = vector.create_mask %size : vector<16xi1>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %c0 = arith.constant 0 : index
  %x = vector.maskedload %v[%c0], %mask, %zero
    : memref<?xf32, strided<[1], offset: ?>>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  vector.store %x, %v[%c0] : memref<?xf32, strided<[1], offset: ?>>, vector<16xf32>
  return
}

// One that a branch chooses stays a struct.
// CHECK-LABEL: llvm.func @choice
// CHECK: llvm.insertvalue
// CHECK: ^bb1(%[[CHOSEN:[0-9]+]]: !llvm.struct
// CHECK: llvm.extractvalue %[[CHOSEN]]
func.func private @choice(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1) -> f32 {
  cf.cond_br %c, ^use(%a : memref<4xf32>), ^use(%b : memref<4xf32>)
^use(%m: memref<4xf32>):
  %c1 = arith.constant 1 : index
  %x = memref.load %m[%c1] : memref<4xf32>
  return %x : f32
}

// CHECK-LABEL: llvm.func @bytes
// CHECK-NOT: unrealized
func.func private @bytes(%a: memref<?xi1>) -> i8 {
  %b = builtin.unrealized_conversion_cast %a : memref<?xi1> to memref<?xi8>
  %c0 = arith.constant 0 : index
  %x = memref.load %b[%c0] : memref<?xi8>
  return %x : i8
}
