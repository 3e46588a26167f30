// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-pack-to-vectors --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not gatefold-opt %s --gf-pack-to-vectors --split-input-file --remark-format=emitRemark --remarks-filter-missed=gf-pack-to-vectors -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

module attributes {gf.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: func @both
  func.func @both(%w: memref<?x?xf32, strided<[?, 1], offset: ?>>, %p: memref<?x?x16xf32>) {
    // CHECK: call @gatefold_pack_rows_f32_16
    gf.pack %w along 0 into %p : memref<?x?xf32, strided<[?, 1], offset: ?>> into memref<?x?x16xf32>
    // CHECK: call @gatefold_pack_rows_f32_16
    gf.pack %w along 0 into %p : memref<?x?xf32, strided<[?, 1], offset: ?>> into memref<?x?x16xf32>
    // CHECK: call @gatefold_pack_columns_f32_16
    gf.pack %w along 1 into %p : memref<?x?xf32, strided<[?, 1], offset: ?>> into memref<?x?x16xf32>
    return
  }
  // 4 elements of 8 rows, turned over in two rounds.
  // CHECK-LABEL: func.func private @gatefold_pack_rows_f32_16
  // CHECK-COUNT-8: vector.load {{.*}} vector<4xf32>
  // CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
  // CHECK: vector.shuffle %{{.*}}, %{{.*}} [2, 10, 3, 11, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
  // CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 8, 9, 4, 5, 12, 13] : vector<8xf32>, vector<8xf32>
  // CHECK-COUNT-4: vector.store
  // CHECK-LABEL: func.func private @gatefold_pack_columns_f32_16
  // CHECK: vector.load
  // CHECK: vector.maskedload
}

// -----

// Without instructions for masks.
module attributes {gf.target = {vector_bytes = 16 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: func.func private @gatefold_pack_columns_f64_8
  // CHECK-NOT: maskedload
  // CHECK: return
  func.func @columns(%w: memref<?x?xf64>, %p: memref<?x?x8xf64>) {
    gf.pack %w along 1 into %p : memref<?x?xf64> into memref<?x?x8xf64>
    return
  }
}

// -----

// CHECK-LABEL: func @gaps
func.func @gaps(%w: memref<?x?xf32, strided<[1, ?]>>, %p: memref<?x?x16xf32>) {
  // CHECK-NOT: call
  // CHECK: memref.store
  // REMARK: packing: element by element, since the elements of a row have gaps
  gf.pack %w along 1 into %p : memref<?x?xf32, strided<[1, ?]>> into memref<?x?x16xf32>
  return
}

// -----

// CHECK-LABEL: func @wide
func.func @wide(%w: memref<?x?xf32>, %p: memref<?x?x1099511627776xf32>) {
  // CHECK-NOT: call
  // CHECK: memref.store
  // REMARK: packing: element by element, since the panels are too wide
  gf.pack %w along 1 into %p : memref<?x?xf32> into memref<?x?x1099511627776xf32>
  return
}

// -----

// Whatever is said of the processor, vectors have a power of two of lanes.
module attributes {gf.target = {vector_bytes = 24 : i64, vector_registers = 16 : i64}} {
  // CHECK-LABEL: func.func private @gatefold_pack_rows_f32_48
  // CHECK: vector.store {{.*}} vector<4xf32>
  func.func @odd(%w: memref<?x?xf32>, %p: memref<?x?x48xf32>) {
    gf.pack %w along 0 into %p : memref<?x?xf32> into memref<?x?x48xf32>
    return
  }
}

// -----

func.func @tensors(%w: tensor<8x4xf32>, %e: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error @+1 {{not compiled yet: 'gf.pack' on tensors}}
  %p = gf.pack %w along 0 into %e : tensor<8x4xf32> into tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  return %p : tensor<1x4x8xf32>
}
