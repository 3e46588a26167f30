// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-split-prepare --split-input-file --verify-diagnostics --remark-format=emitRemark --remarks-filter=gf-split-prepare | FileCheck %s
// RUN: gatefold-opt %s --gf-split-prepare --gf-size-functions --gf-destination-arguments --split-input-file --verify-diagnostics --remark-format=emitRemark --remarks-filter=gf-split-prepare | FileCheck %s --check-prefix=BUFFERS

// A packed weight, a sum of two biases and two weights side by side, all made once; the
// packing stands in a loop. The bias that the run adds itself stays its parameter.

#vector = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-LABEL: func.func @gatefold_prepare_entry
// CHECK-SAME: %[[W:.*]]: tensor<6x4xf32>, %[[B:.*]]: tensor<6xf32>, %[[C:.*]]: tensor<6xf32>, %[[D:.*]]: tensor<6xf32>)
// CHECK-SAME: -> (tensor<1x4x16xf32>, tensor<6xf32>, tensor<12xf32>)
// CHECK-DAG: %[[PACKED:.*]] = gf.pack %[[W]] along 0
// CHECK-DAG: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[B]], %[[C]]
// CHECK-DAG: %[[FIRST:.*]] = tensor.insert_slice %[[B]] into
// CHECK-DAG: %[[BOTH:.*]] = tensor.insert_slice %[[C]] into %[[FIRST]]
// CHECK: return %[[PACKED]], %[[SUM]], %[[BOTH]]

// CHECK-LABEL: func.func @f
// CHECK-SAME: %{{.*}}: tensor<6x4xf32> {gf.name = "w", gf.parameter, {{[^}]*}}}, %{{[^}]*}}}, %{{[^}]*}}}, %[[D:[^:]*]]: tensor<6xf32> {gf.name = "d"
// CHECK-SAME: %[[PANELS:[^:]*]]: tensor<1x4x16xf32> {gf.prepared = "w", gf.shape = {{[^}]*}}}
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<6xf32> {gf.prepared = "b and c"
// CHECK-SAME: %[[LONG:[^:]*]]: tensor<12xf32> {gf.prepared = "b and c"
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32> {gf.name = "x"
// CHECK-NOT: gf.pack
// CHECK: scf.for
// CHECK: gf.linear %{{.*}}, %[[PANELS]] initial(%[[BIAS]]
// CHECK: tensor.extract_slice %[[LONG]][6] [6] [1]
// CHECK: linalg.generic {{.*}}, %[[D]] :

// The run has the parameters still, but does not read the first three.
// BUFFERS: name = "w", prepare_only, role = 3
// BUFFERS: name = "b", prepare_only, role = 3
// BUFFERS: name = "c", prepare_only, role = 3
// BUFFERS: name = "d", role = 3
// BUFFERS: name = "w", role = 4
// BUFFERS-LABEL: func.func @gatefold_prepare_entry
// BUFFERS-SAME: %{{[^:]*}}: memref<6x4xf32>, %{{[^:]*}}: memref<6xf32>, %{{[^:]*}}: memref<6xf32>, %{{[^:]*}}: memref<6xf32>
// BUFFERS-SAME: %[[TO:[^:]*]]: memref<1x4x16xf32>, %{{[^:]*}}: memref<6xf32>, %{{[^:]*}}: memref<12xf32>) {
// BUFFERS: materialize_in_destination %{{.*}} in restrict writable %[[TO]]
// BUFFERS-LABEL: func.func @gatefold_run_entry
// BUFFERS-SAME: memref<1x4x16xf32>, %{{[^:]*}}: memref<6xf32>, %{{[^:]*}}: memref<12xf32>, %{{[^:]*}}: memref<?x4xf32, strided<[?, 1], offset: ?>>
func.func @f(%w: tensor<6x4xf32> {gf.name = "w", gf.parameter, gf.shape = affine_map<()[s0] -> (6, 4)>},
             // expected-remark @+2 {{b is kept in 2 layouts}}
             // expected-remark @+2 {{c is kept in 2 layouts}}
             %b: tensor<6xf32> {gf.name = "b", gf.parameter, gf.shape = affine_map<()[s0] -> (6)>},
             %c: tensor<6xf32> {gf.name = "c", gf.parameter, gf.shape = affine_map<()[s0] -> (6)>},
             %d: tensor<6xf32> {gf.name = "d", gf.parameter, gf.shape = affine_map<()[s0] -> (6)>},
             %x: tensor<?x4xf32> {gf.name = "x", gf.shape = affine_map<()[s0] -> (s0, 4)>})
    -> (tensor<6xf32> {gf.name = "y", gf.shape = affine_map<()[s0] -> (6)>})
    attributes {gf.entry, gf.dimensions = ["N"]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %zero : tensor<?x4xf32>
  %empty = tensor.empty() : tensor<6xf32>
  // expected-remark @+1 {{prepare: b and c computed, 24 bytes}}
  %bias = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%b, %c : tensor<6xf32>, tensor<6xf32>) outs(%empty : tensor<6xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %long = tensor.empty() : tensor<12xf32>
  %half = tensor.insert_slice %b into %long[0] [6] [1] : tensor<6xf32> into tensor<12xf32>
  // expected-remark @+1 {{prepare: b and c put together, 48 bytes}}
  %both = tensor.insert_slice %c into %half[6] [6] [1] : tensor<6xf32> into tensor<12xf32>
  %row = tensor.empty() : tensor<1x6xf32>
  %last = scf.for %i = %zero to %n step %one iter_args(%y = %row) -> tensor<1x6xf32> {
    %panels = tensor.empty() : tensor<1x4x16xf32>
    // expected-remark @+1 {{prepare: w packed, 256 bytes}}
    %packed = gf.pack %w along 0 into %panels : tensor<6x4xf32> into tensor<1x4x16xf32> -> tensor<1x4x16xf32>
    %x_i = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<1x4xf32>
    %next = gf.linear %x_i, %packed initial(%bias : tensor<6xf32>) outs(%y : tensor<1x6xf32>) : tensor<1x4xf32>, tensor<1x4x16xf32> -> tensor<1x6xf32>
    scf.yield %next : tensor<1x6xf32>
  }
  %flat = tensor.collapse_shape %last [[0, 1]] : tensor<1x6xf32> into tensor<6xf32>
  %part = tensor.extract_slice %both[6] [6] [1] : tensor<12xf32> to tensor<6xf32>
  %result = linalg.generic {indexing_maps = [#vector, #vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%flat, %part, %d : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) outs(%empty : tensor<6xf32>) {
  ^bb0(%l: f32, %r: f32, %t: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<6xf32>
  return %result : tensor<6xf32>
}

// -----

// Views, repetitions, fills and cheap numbers stay, and read the parameter itself; so does
// what would be many times as large as the parameters. The table of sines does not.

#matrix = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#column = affine_map<(d0, d1) -> (d0)>
#vector = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @gatefold_prepare_entry
// CHECK-SAME: (%{{.*}}: tensor<1024xf32>) -> tensor<4xf32>
// CHECK: math.sin
// CHECK-LABEL: func.func @g
// CHECK-SAME: %[[B:[^:]*]]: tensor<1024xf32> {gf.name = "b"
// CHECK-SAME: %[[SINES:[^:]*]]: tensor<4xf32> {gf.prepared = "constants"
// CHECK: tensor.extract_slice %[[B]]
// CHECK: linalg.generic {{.*}} ins(%[[B]] :
// CHECK: linalg.generic {{.*}} ins(%[[B]], %[[B]] :
// CHECK: linalg.fill
// CHECK: linalg.index
// CHECK: return {{.*}}%[[SINES]]
func.func @g(%b: tensor<1024xf32> {gf.name = "b", gf.parameter, gf.shape = affine_map<() -> (1024)>})
    -> (tensor<4xf32> {gf.name = "p", gf.shape = affine_map<() -> (4)>},
        tensor<3x1024xf32> {gf.name = "q", gf.shape = affine_map<() -> (3, 1024)>},
        tensor<1024x1024xf32> {gf.name = "r", gf.shape = affine_map<() -> (1024, 1024)>},
        tensor<4xf32> {gf.name = "s", gf.shape = affine_map<() -> (4)>},
        tensor<4xf32> {gf.name = "t", gf.shape = affine_map<() -> (4)>},
        tensor<4xf32> {gf.name = "u", gf.shape = affine_map<() -> (4)>}) attributes {gf.entry} {
  %number = arith.constant 1.0 : f32
  %four = tensor.empty() : tensor<4xf32>
  %three = tensor.empty() : tensor<3x1024xf32>
  %large = tensor.empty() : tensor<1024x1024xf32>
  %p = tensor.extract_slice %b[2] [4] [1] : tensor<1024xf32> to tensor<4xf32>
  %q = linalg.generic {indexing_maps = [#row, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<1024xf32>) outs(%three : tensor<3x1024xf32>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  } -> tensor<3x1024xf32>
  // expected-remark @+1 {{computed in each run: 4194304 bytes would be kept for b}}
  %r = linalg.generic {indexing_maps = [#column, #row, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%b, %b : tensor<1024xf32>, tensor<1024xf32>) outs(%large : tensor<1024x1024xf32>) {
  ^bb0(%l: f32, %m: f32, %o: f32):
    %v = arith.mulf %l, %m : f32
    linalg.yield %v : f32
  } -> tensor<1024x1024xf32>
  %s = linalg.fill ins(%number : f32) outs(%four : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.generic {indexing_maps = [#vector], iterator_types = ["parallel"]} outs(%four : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %v = arith.sitofp %j : i32 to f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  // expected-remark @+1 {{prepare: constants computed, 16 bytes}}
  %u = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]}
      ins(%t : tensor<4xf32>) outs(%four : tensor<4xf32>) {
  ^bb0(%l: f32, %o: f32):
    %v = math.sin %l : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %p, %q, %r, %s, %t, %u : tensor<4xf32>, tensor<3x1024xf32>, tensor<1024x1024xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Nothing to prepare: no function.
// CHECK-LABEL: func.func @h
// CHECK-NOT: gatefold_prepare_entry
func.func @h(%w: tensor<4xf32> {gf.name = "w", gf.parameter, gf.shape = affine_map<() -> (4)>})
    -> (tensor<4xf32> {gf.name = "y", gf.shape = affine_map<() -> (4)>}) attributes {gf.entry} {
  return %w : tensor<4xf32>
}

// -----

// expected-error @+1 {{the module has a 'gatefold_prepare_entry' already}}
func.func private @gatefold_prepare_entry() {
  return
}
func.func @taken(%w: tensor<6x4xf32> {gf.name = "w", gf.parameter, gf.shape = affine_map<() -> (6, 4)>})
    -> (tensor<1x4x16xf32> {gf.name = "y", gf.shape = affine_map<() -> (1, 4, 16)>})
    attributes {gf.entry} {
  %panels = tensor.empty() : tensor<1x4x16xf32>
  %packed = gf.pack %w along 0 into %panels : tensor<6x4xf32> into tensor<1x4x16xf32> -> tensor<1x4x16xf32>
  return %packed : tensor<1x4x16xf32>
}
