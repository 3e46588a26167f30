// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-linear-to-vectors --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not gatefold-opt %s --gf-linear-to-vectors --split-input-file --remark-format=emitRemark --remarks-filter-missed=gf-linear-to-vectors -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

module attributes {gf.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  // Both products have the same types: one kernel. A row of initial values has no
  // distance between rows.
  // CHECK-LABEL: func @two
  func.func @two(%x: memref<?x?xf32>, %p: memref<?x?x16xf32, strided<[?, 16, 1], offset: ?>>,
                 %b: memref<?xf32>, %y: memref<?x?xf32>) {
    // CHECK: %[[BIAS:.*]] = memref.reinterpret_cast %{{.*}} to offset: [%{{.*}}], sizes: [%{{.*}}, %{{.*}}], strides: [%c0{{.*}}, 1]
    // CHECK: call @gatefold_linear_f32_16(%{{.*}}, %{{.*}}, %[[BIAS]], %true{{.*}}, %{{.*}})
    gf.linear %x, %p initial(%b : memref<?xf32>) outs(%y : memref<?x?xf32>) : memref<?x?xf32>, memref<?x?x16xf32, strided<[?, 16, 1], offset: ?>>
    // CHECK: call @gatefold_linear_f32_16(%{{.*}}, %{{.*}}, %{{.*}}, %false{{.*}}, %{{.*}})
    gf.linear %x, %p outs(%y : memref<?x?xf32>) : memref<?x?xf32>, memref<?x?x16xf32, strided<[?, 16, 1], offset: ?>>
    return
  }
  // CHECK: func.func private @gatefold_linear_f32_16
  // CHECK-SAME: memref<?x?xf32, strided<[?, 1], offset: ?>>, %{{.*}}: memref<?x?x16xf32, strided<[?, 16, 1], offset: ?>>
  // CHECK-SAME: "noinline"

  // Two vectors of columns, then for each row one element and two sums.
  // CHECK: scf.index_switch
  // CHECK: case 3
  // CHECK: default
  // CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[SUM:[^ ]*]] = {{.*}} -> ({{(vector<8xf32>(, )?)+}})
  // CHECK-NEXT: %[[B0:.*]] = vector.load %{{.*}}[%{{.*}}, %[[K]], %{{.*}}] : {{.*}}, vector<8xf32>
  // CHECK-NEXT: %[[B1:.*]] = vector.load %{{.*}}[%{{.*}}, %[[K]], %{{.*}}] : {{.*}}, vector<8xf32>
  // CHECK-NEXT: %[[X:.*]] = memref.load %{{.*}}[%{{.*}}, %[[K]]]
  // CHECK-NEXT: %[[A:.*]] = vector.broadcast %[[X]] : f32 to vector<8xf32>
  // CHECK-NEXT: math.fma %[[A]], %[[B0]], %[[SUM]]
  // CHECK-NEXT: math.fma %[[A]], %[[B1]]
  // CHECK-NEXT: memref.load
  // CHECK-NOT: vector.load
  // CHECK: scf.yield
  // CHECK-NOT: func.func
}

// -----

// Sums are f32; what is loaded is widened, what is stored narrowed.
module attributes {gf.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: func @halves
  func.func @halves(%x: memref<6x8xbf16>, %p: memref<1x8x64xbf16>, %i: memref<6x64xf32>, %y: memref<6x64xbf16>) {
    // CHECK: call @gatefold_linear_bf16_bf16_f32_bf16_64
    gf.linear %x, %p initial(%i : memref<6x64xf32>) outs(%y : memref<6x64xbf16>) : memref<6x8xbf16>, memref<1x8x64xbf16>
    return
  }
  // CHECK: func.func private @gatefold_linear_bf16_bf16_f32_bf16_64
  // CHECK: vector.load {{.*}} vector<16xf32>
  // CHECK: %[[W:.*]] = vector.load {{.*}} vector<16xbf16>
  // CHECK: arith.extf %[[W]] : vector<16xbf16> to vector<16xf32>
  // CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
}

// -----

// One vector of columns: more rows.
module attributes {gf.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @few_columns(%x: memref<?x?xf32>, %p: memref<1x?x16xf32>, %y: memref<?x10xf32>) {
    gf.linear %x, %p outs(%y : memref<?x10xf32>) : memref<?x?xf32>, memref<1x?x16xf32>
    return
  }
  // CHECK-LABEL: func.func private @gatefold_linear_f32_16
  // CHECK: case 11
  // CHECK: default
  // CHECK: scf.for {{.*}} -> (vector<16xf32>, {{(vector<16xf32>(, )?){11}[)]}}
  // CHECK-NEXT: vector.load
  // CHECK-NOT: vector.load
  // CHECK: scf.yield
}

// -----

// Panels that whole vectors do not fill: shorter vectors.
module attributes {gf.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: func @narrow
  func.func @narrow(%x: memref<?x?xf64>, %p: memref<?x?x12xf64>, %y: memref<?x?xf64>) {
    // CHECK: call @gatefold_linear_f64_12
    gf.linear %x, %p outs(%y : memref<?x?xf64>) : memref<?x?xf64>, memref<?x?x12xf64>
    return
  }
  // CHECK: vector<4xf64>
}

// -----

// Leading dimensions become one of rows where their strides allow, which the run finds.
// CHECK-LABEL: func @batches
func.func @batches(%x: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %p: memref<?x?x16xf32>, %y: memref<?x?x?xf32>) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}}:3, %[[STRIDES:.*]]:3 = memref.extract_strided_metadata
  // CHECK: %[[BLOCK:.*]] = arith.muli %[[ROWS:.*]], %[[STRIDES]]#1
  // CHECK: arith.cmpi eq, %[[STRIDES]]#0, %[[BLOCK]]
  // CHECK: scf.for
  // CHECK: call @gatefold_linear_f32_16
  // CHECK-NOT: call
  // CHECK: return
  gf.linear %x, %p outs(%y : memref<?x?x?xf32>) : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, memref<?x?x16xf32>
  return
}

// -----

// CHECK-LABEL: func @one_row
func.func @one_row(%x: memref<?xf32>, %p: memref<?x?x16xf32>, %b: memref<?xf32>, %y: memref<?xf32>) {
  // CHECK-NOT: scf.for
  // CHECK: call @gatefold_linear_f32_16
  gf.linear %x, %p initial(%b : memref<?xf32>) outs(%y : memref<?xf32>) : memref<?xf32>, memref<?x?x16xf32>
  return
}

// -----

// CHECK-LABEL: func @gaps
func.func @gaps(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>, %p: memref<?x?x16xf32>, %y: memref<?x?xf32>) {
  // CHECK-NOT: call
  // CHECK: scf.for
  // CHECK: math.fma %{{.*}} : f32
  // REMARK: remark: {{.*}}product: element by element, since elements along k are not next to each other
  gf.linear %x, %p outs(%y : memref<?x?xf32>) : memref<?x?xf32, strided<[?, ?], offset: ?>>, memref<?x?x16xf32>
  // REMARK: product: element by element, since vectors do not fill the panels
  %q = memref.alloc() : memref<1x4x7xf32>
  %x7 = memref.alloc() : memref<3x4xf32>
  %y7 = memref.alloc() : memref<3x5xf32>
  gf.linear %x7, %q outs(%y7 : memref<3x5xf32>) : memref<3x4xf32>, memref<1x4x7xf32>
  return
}

// -----

func.func @tensors(%x: tensor<3x4xf32>, %p: tensor<2x4x8xf32>, %e: tensor<3x16xf32>) -> tensor<3x16xf32> {
  // expected-error @+1 {{is on tensors; products are lowered on buffers}}
  %y = gf.linear %x, %p outs(%e : tensor<3x16xf32>) : tensor<3x4xf32>, tensor<2x4x8xf32> -> tensor<3x16xf32>
  return %y : tensor<3x16xf32>
}
