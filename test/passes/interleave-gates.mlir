// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=sm_90 --gf-interleave-gates --canonicalize --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-attach-target=target=sm_90 --gf-interleave-gates --split-input-file --remark-format=emitRemark --remarks-filter=gf-interleave-gates -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Four gates of 24 columns: three panels, each with 8 columns of all gates. What the sum begins with has gates, too.
// CHECK-LABEL: func @gates
// CHECK-SAME: %[[W:.*]]: tensor<96x24xf32>, %[[H:.*]]: tensor<?x24xf32>, %[[A:.*]]: tensor<?x96xf32>
// REMARK: 4 gates of a step in one product: each panel has 8 columns of each
func.func @gates(%w: tensor<96x24xf32>, %h: tensor<?x24xf32>, %a: tensor<?x96xf32>, %n: index) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %e = tensor.empty() : tensor<6x24x16xf32>
  // CHECK: %[[V:.*]] = tensor.expand_shape %[[W]] {{\[\[}}0, 1], [2]] output_shape [4, 24, 24]
  // CHECK: %[[P:.*]] = gf.pack %[[V]] along 0 into {{.*}} : tensor<4x24x24xf32> into tensor<3x24x32xf32>
  %p = gf.pack %w along 0 into %e : tensor<96x24xf32> into tensor<6x24x16xf32> -> tensor<6x24x16xf32>
  %f = tensor.empty(%n) : tensor<?x96xf32>
  // CHECK: %[[B:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0], [1, 2]] output_shape [%{{.*}}, 4, 24]
  // CHECK: %[[Y:.*]] = gf.linear %[[H]], %[[P]] initial(%[[B]] : tensor<?x4x24xf32>) outs(%{{.*}} : tensor<?x4x24xf32>) {gf.step}
  %y = gf.linear %h, %p initial(%a : tensor<?x96xf32>) outs(%f : tensor<?x96xf32>) {gf.step} : tensor<?x24xf32>, tensor<6x24x16xf32> -> tensor<?x96xf32>
  // CHECK: %[[I:.*]] = tensor.extract_slice %[[Y]][0, 0, 0] [%{{.*}}, 1, 24] [1, 1, 1] : tensor<?x4x24xf32> to tensor<?x24xf32>
  %i = tensor.extract_slice %y[0, 0] [%n, 24] [1, 1] : tensor<?x96xf32> to tensor<?x24xf32>
  // CHECK: %[[G:.*]] = tensor.extract_slice %[[Y]][0, 2, 0] [%{{.*}}, 1, 24]
  %g = tensor.extract_slice %y[0, 48] [%n, 24] [1, 1] : tensor<?x96xf32> to tensor<?x24xf32>
  // CHECK: return %[[I]], %[[G]]
  return %i, %g : tensor<?x24xf32>, tensor<?x24xf32>
}

// -----

// Rows of no batch, columns of the weights, a bias; the last panel is filled up, and many columns are wider panels.
// CHECK-LABEL: func @columns
// REMARK: 3 gates of a step in one product: each panel has 16 columns of each
func.func @columns(%w: tensor<20x3300xf32>, %h: tensor<20xf32>, %b: tensor<3300xf32>) -> tensor<1100xf32> {
  %e = tensor.empty() : tensor<207x20x16xf32>
  // CHECK: gf.pack %{{.*}} along 1 into {{.*}} : tensor<20x3x1100xf32> into tensor<69x20x48xf32>
  %p = gf.pack %w along 1 into %e : tensor<20x3300xf32> into tensor<207x20x16xf32> -> tensor<207x20x16xf32>
  %f = tensor.empty() : tensor<3300xf32>
  // CHECK: %[[Y:.*]] = gf.linear %{{.*}} initial(%{{.*}} : tensor<3x1100xf32>) outs(%{{.*}} : tensor<3x1100xf32>)
  %y = gf.linear %h, %p initial(%b : tensor<3300xf32>) outs(%f : tensor<3300xf32>) {gf.step} : tensor<20xf32>, tensor<207x20x16xf32> -> tensor<3300xf32>
  // CHECK: tensor.extract_slice %[[Y]][1, 0] [1, 1100] [1, 1] : tensor<3x1100xf32> to tensor<1100xf32>
  %i = tensor.extract_slice %y[1100] [1100] [1] : tensor<3300xf32> to tensor<1100xf32>
  return %i : tensor<1100xf32>
}

// -----

#map = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
// What is done with all gates element by element has gates, with all that it reads and writes.
// CHECK-LABEL: func @sigmoids
// CHECK-SAME: %{{.*}}: tensor<16x24xf32>, %{{.*}}: tensor<?x24xf32>, %[[B:.*]]: tensor<16xf32>
// REMARK: 2 gates of a step in one product: each panel has 8 columns of each
func.func @sigmoids(%w: tensor<16x24xf32>, %h: tensor<?x24xf32>, %b: tensor<16xf32>, %n: index) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %e = tensor.empty() : tensor<1x24x16xf32>
  %p = gf.pack %w along 0 into %e : tensor<16x24xf32> into tensor<1x24x16xf32> -> tensor<1x24x16xf32>
  %f = tensor.empty(%n) : tensor<?x16xf32>
  // CHECK: %[[Y:.*]] = gf.linear {{.*}} -> tensor<?x2x8xf32>
  %y = gf.linear %h, %p outs(%f : tensor<?x16xf32>) {gf.step} : tensor<?x24xf32>, tensor<1x24x16xf32> -> tensor<?x16xf32>
  // CHECK-DAG: %[[R:.*]] = tensor.expand_shape %[[B]] {{\[\[}}0, 1]] output_shape [2, 8]
  // CHECK-DAG: %[[OUT:.*]] = tensor.empty({{.*}}) : tensor<?x2x8xf32>
  // CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[Y]], %[[R]] : tensor<?x2x8xf32>, tensor<2x8xf32>) outs(%[[OUT]] : tensor<?x2x8xf32>)
  %s = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]} ins(%y, %b : tensor<?x16xf32>, tensor<16xf32>) outs(%f : tensor<?x16xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %0 = arith.addf %in, %bias : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x16xf32>
  // CHECK: tensor.extract_slice %[[S]][0, 0, 0] [%{{.*}}, 1, 8]
  %r = tensor.extract_slice %s[0, 0] [%n, 8] [1, 1] : tensor<?x16xf32> to tensor<?x8xf32>
  // CHECK: tensor.extract_slice %[[S]][0, 1, 0] [%{{.*}}, 1, 8]
  %z = tensor.extract_slice %s[0, 8] [%n, 8] [1, 1] : tensor<?x16xf32> to tensor<?x8xf32>
  return %r, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

#map = affine_map<(i) -> (i)>
// One row that is a batch of one: the dimension of one index goes in front of the gates, behind elementwise work, too.
// CHECK-LABEL: func @one_row
// REMARK: 2 gates of a step in one product: each panel has 8 columns of each
func.func @one_row(%w: tensor<16x24xf32>, %h: tensor<24xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  %e = tensor.empty() : tensor<1x24x16xf32>
  %p = gf.pack %w along 0 into %e : tensor<16x24xf32> into tensor<1x24x16xf32> -> tensor<1x24x16xf32>
  %f = tensor.empty() : tensor<16xf32>
  // CHECK: %[[Y:.*]] = gf.linear {{.*}} -> tensor<2x8xf32>
  %y = gf.linear %h, %p outs(%f : tensor<16xf32>) {gf.step} : tensor<24xf32>, tensor<1x24x16xf32> -> tensor<16xf32>
  // CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<2x8xf32>)
  %s = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%y : tensor<16xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.tanh %in : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  // CHECK: %[[ROW:.*]] = tensor.expand_shape %[[S]] {{\[\[}}0, 1], [2]] output_shape [1, 2, 8]
  %row = tensor.expand_shape %s [[0, 1]] output_shape [1, 16] : tensor<16xf32> into tensor<1x16xf32>
  // CHECK: tensor.extract_slice %[[ROW]][0, 0, 0] [1, 1, 8] [1, 1, 1] : tensor<1x2x8xf32> to tensor<1x8xf32>
  %a = tensor.extract_slice %row[0, 0] [1, 8] [1, 1] : tensor<1x16xf32> to tensor<1x8xf32>
  // CHECK: tensor.extract_slice %[[ROW]][0, 1, 0] [1, 1, 8]
  %b = tensor.extract_slice %row[0, 8] [1, 8] [1, 1] : tensor<1x16xf32> to tensor<1x8xf32>
  return %a, %b : tensor<1x8xf32>, tensor<1x8xf32>
}

// -----

#map = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (i)>
// A norm reads all gates of a row.
// CHECK-LABEL: func @norm
// REMARK: gates of a step are no parts of one panel, since its columns are read together, too, and not only gate by gate
func.func @norm(%w: tensor<16x24xf32>, %h: tensor<4x24xf32>, %m: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<1x24x16xf32>
  // CHECK: gf.pack {{.*}} : tensor<16x24xf32> into
  %p = gf.pack %w along 0 into %e : tensor<16x24xf32> into tensor<1x24x16xf32> -> tensor<1x24x16xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  // CHECK: gf.linear {{.*}} -> tensor<4x16xf32>
  %y = gf.linear %h, %p outs(%f : tensor<4x16xf32>) {gf.step} : tensor<4x24xf32>, tensor<1x24x16xf32> -> tensor<4x16xf32>
  %i = tensor.extract_slice %y[0, 8] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#map, #sum], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<4x16xf32>) outs(%m : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %i, %s : tensor<4x8xf32>, tensor<4xf32>
}

// -----

// Parts of different sizes.
// REMARK: gates of a step are no parts of one panel, since its columns are not read in parts of one size
func.func @sizes(%w: tensor<48x24xf32>, %h: tensor<4x24xf32>) -> (tensor<4x16xf32>, tensor<4x32xf32>) {
  %e = tensor.empty() : tensor<3x24x16xf32>
  %p = gf.pack %w along 0 into %e : tensor<48x24xf32> into tensor<3x24x16xf32> -> tensor<3x24x16xf32>
  %f = tensor.empty() : tensor<4x48xf32>
  // CHECK-LABEL: func @sizes
  // CHECK: gf.linear {{.*}} -> tensor<4x48xf32>
  %y = gf.linear %h, %p outs(%f : tensor<4x48xf32>) {gf.step} : tensor<4x24xf32>, tensor<3x24x16xf32> -> tensor<4x48xf32>
  %a = tensor.extract_slice %y[0, 0] [4, 16] [1, 1] : tensor<4x48xf32> to tensor<4x16xf32>
  %b = tensor.extract_slice %y[0, 16] [4, 32] [1, 1] : tensor<4x48xf32> to tensor<4x32xf32>
  return %a, %b : tensor<4x16xf32>, tensor<4x32xf32>
}

// -----

// Nine gates are more than a tile of 64 columns has room for.
// REMARK: gates of a step are no parts of one panel, since a tile has no room for 9 gates
func.func @many(%w: tensor<72x24xf32>, %h: tensor<4x24xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<5x24x16xf32>
  %p = gf.pack %w along 0 into %e : tensor<72x24xf32> into tensor<5x24x16xf32> -> tensor<5x24x16xf32>
  %f = tensor.empty() : tensor<4x72xf32>
  // CHECK-LABEL: func @many
  // CHECK: gf.linear {{.*}} -> tensor<4x72xf32>
  %y = gf.linear %h, %p outs(%f : tensor<4x72xf32>) {gf.step} : tensor<4x24xf32>, tensor<5x24x16xf32> -> tensor<4x72xf32>
  %a = tensor.extract_slice %y[0, 16] [4, 8] [1, 1] : tensor<4x72xf32> to tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}

// -----

// A width that the text gives; 16 bits; weights packed together with others.
// REMARK: since its gf.tile says how wide panels are
// REMARK: since its operands have 16 bits
// REMARK: since its weights are parts of others that are packed together
// CHECK-LABEL: func @left
// CHECK-COUNT-3: gf.linear {{.*}} -> tensor<4x16xf32>
func.func @left(%w: tensor<16x24xf32>, %v: tensor<16x24xf16>, %all: tensor<4x24x16xf32>, %h: tensor<4x24xf32>, %g: tensor<4x24xf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<1x24x16xf32>
  %e16 = tensor.empty() : tensor<1x24x16xf16>
  %f = tensor.empty() : tensor<4x16xf32>
  %p = gf.pack %w along 0 into %e : tensor<16x24xf32> into tensor<1x24x16xf32> -> tensor<1x24x16xf32>
  %y = gf.linear %h, %p outs(%f : tensor<4x16xf32>) {gf.step, gf.tile = 16 : i64} : tensor<4x24xf32>, tensor<1x24x16xf32> -> tensor<4x16xf32>
  %a = tensor.extract_slice %y[0, 0] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %q = gf.pack %v along 0 into %e16 : tensor<16x24xf16> into tensor<1x24x16xf16> -> tensor<1x24x16xf16>
  %z = gf.linear %g, %q outs(%f : tensor<4x16xf32>) {gf.step} : tensor<4x24xf16>, tensor<1x24x16xf16> -> tensor<4x16xf32>
  %b = tensor.extract_slice %z[0, 8] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %part = tensor.extract_slice %all[2, 0, 0] [1, 24, 16] [1, 1, 1] : tensor<4x24x16xf32> to tensor<1x24x16xf32>
  %x = gf.linear %h, %part outs(%f : tensor<4x16xf32>) {gf.step} : tensor<4x24xf32>, tensor<1x24x16xf32> -> tensor<4x16xf32>
  %c = tensor.extract_slice %x[0, 8] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  return %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// No product of a step; and one whose columns are one gate.
// REMARK-NOT: Remark=
// CHECK-LABEL: func @others
// CHECK-COUNT-2: gf.linear {{.*}} -> tensor<4x16xf32>
func.func @others(%p: tensor<1x24x16xf32>, %h: tensor<4x24xf32>) -> (tensor<4x8xf32>, tensor<4x16xf32>) {
  %f = tensor.empty() : tensor<4x16xf32>
  %y = gf.linear %h, %p outs(%f : tensor<4x16xf32>) : tensor<4x24xf32>, tensor<1x24x16xf32> -> tensor<4x16xf32>
  %a = tensor.extract_slice %y[0, 0] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %z = gf.linear %h, %p outs(%f : tensor<4x16xf32>) {gf.step} : tensor<4x24xf32>, tensor<1x24x16xf32> -> tensor<4x16xf32>
  return %a, %z : tensor<4x8xf32>, tensor<4x16xf32>
}
