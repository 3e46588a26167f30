// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-linear --canonicalize --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-linear --split-input-file --remark-format=emitRemark --remarks-filter=gf-tile-linear 2>&1 | FileCheck %s --check-prefix=REMARK

// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-linear=panel-width=8 --split-input-file --remark-format=emitRemark --remarks-filter=gf-tile-linear 2>&1 | FileCheck %s --check-prefix=EIGHT
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-linear=panel-width=0 --split-input-file | FileCheck %s --check-prefix=NONE

// The user's width is every product's.
// EIGHT-NOT: packed in panels of {{[^8]}}
// EIGHT: packed in panels of 8,
// NONE-NOT: gf.linear

#m_k = affine_map<(m, n, k) -> (m, k)>
#n_k = affine_map<(m, n, k) -> (n, k)>
#m_n = affine_map<(m, n, k) -> (m, n)>

// The bias is what the sum begins with; 100 columns are two panels, about equally full.
// CHECK-LABEL: func @linear
// CHECK-SAME: %[[X:.*]]: tensor<?x40xf32>
// CHECK-DAG: %[[W:.*]] = gf.parameter "w"
// CHECK-DAG: %[[B:.*]] = gf.parameter "b"
// CHECK-DAG: %[[PANELS:.*]] = gf.pack %[[W]] along 0 into %{{.*}} : tensor<100x40xf32> into tensor<2x40x64xf32>
// CHECK: %[[Y:.*]] = gf.linear %[[X]], %[[PANELS]] initial(%[[B]] : tensor<100xf32>)
// CHECK: return %[[Y]]
// REMARK: remark: {{.*}}product 100x40 packed in panels of 64, weights prepared once
func.func @linear(%x: tensor<?x40xf32>, %d: index) -> tensor<?x100xf32> {
  %w = gf.parameter "w" : tensor<100x40xf32>
  %b = gf.parameter "b" : tensor<100xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d) : tensor<?x100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x100xf32>) -> tensor<?x100xf32>
  %p = linalg.contract indexing_maps = [#m_k, #n_k, #m_n]
      ins(%x, %w : tensor<?x40xf32>, tensor<100x40xf32>) outs(%f : tensor<?x100xf32>) -> tensor<?x100xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<?x100xf32>, tensor<100xf32>) outs(%e : tensor<?x100xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}

// -----

#m_k = affine_map<(m, n, k) -> (m, k)>
#k_n = affine_map<(m, n, k) -> (k, n)>
#m_n = affine_map<(m, n, k) -> (m, n)>
#m_n_2 = affine_map<(m, n) -> (m, n)>

// (x A + h B) + (y C + c): the first of the products begins with c.
// CHECK-LABEL: func @bias_of_the_last
// CHECK-SAME: %[[X:.*]]: tensor<?x40xf32>, %[[H:.*]]: tensor<?x40xf32>, %[[Y:.*]]: tensor<?x40xf32>
// CHECK: %[[C:.*]] = gf.parameter "c"
// CHECK: %[[P:.*]] = gf.linear %{{.*}}, %{{.*}} initial(%[[C]] : tensor<64xf32>)
// CHECK: %[[Q:.*]] = gf.linear %{{.*}}, %{{.*}} initial(%[[P]] : tensor<?x64xf32>)
// CHECK: %[[R:.*]] = gf.linear %[[Y]], %{{.*}} initial(%[[Q]] : tensor<?x64xf32>)
// CHECK-NEXT: return %[[R]]
func.func @bias_of_the_last(%x: tensor<?x40xf32>, %h: tensor<?x40xf32>, %y: tensor<?x40xf32>, %d: index) -> tensor<?x64xf32> {
  %wa = gf.parameter "wa" : tensor<40x64xf32>
  %wb = gf.parameter "wb" : tensor<40x64xf32>
  %wc = gf.parameter "wc" : tensor<40x64xf32>
  %c = gf.parameter "c" : tensor<64xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d) : tensor<?x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %p = linalg.contract indexing_maps = [#m_k, #k_n, #m_n]
      ins(%x, %wa : tensor<?x40xf32>, tensor<40x64xf32>) outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  %q = linalg.contract indexing_maps = [#m_k, #k_n, #m_n]
      ins(%h, %wb : tensor<?x40xf32>, tensor<40x64xf32>) outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.contract indexing_maps = [#m_k, #k_n, #m_n]
      ins(%y, %wc : tensor<?x40xf32>, tensor<40x64xf32>) outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  %pq = linalg.generic {indexing_maps = [#m_n_2, #m_n_2, #m_n_2], iterator_types = ["parallel", "parallel"]}
      ins(%p, %q : tensor<?x64xf32>, tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<?x64xf32>
  %rc = linalg.generic {indexing_maps = [#m_n_2, affine_map<(m, n) -> (n)>, #m_n_2], iterator_types = ["parallel", "parallel"]}
      ins(%r, %c : tensor<?x64xf32>, tensor<64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<?x64xf32>
  %sum = linalg.generic {indexing_maps = [#m_n_2, #m_n_2, #m_n_2], iterator_types = ["parallel", "parallel"]}
      ins(%pq, %rc : tensor<?x64xf32>, tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<?x64xf32>
  return %sum : tensor<?x64xf32>
}

// -----

#m_k = affine_map<(m, n, k) -> (m, k)>
#k_n = affine_map<(m, n, k) -> (k, n)>
#n_k = affine_map<(m, n, k) -> (n, k)>
#m_n = affine_map<(m, n, k) -> (m, n)>

// (x A + a) + (h B + b): one product begins with the other, and that with a + b.
// CHECK-LABEL: func @gates
// CHECK-SAME: %[[X:.*]]: tensor<?x40xf32>, %[[H:.*]]: tensor<?x32xf32>
// CHECK-DAG: %[[A:.*]] = gf.pack %{{.*}} along 1 into %{{.*}} : tensor<40x128xf32> into tensor<2x40x64xf32>
// CHECK-DAG: %[[B:.*]] = gf.pack %{{.*}} along 0 into %{{.*}} : tensor<128x32xf32> into tensor<2x32x64xf32>
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<128xf32>, tensor<128xf32>)
// CHECK: %[[P:.*]] = gf.linear %[[X]], %[[A]] initial(%[[SUM]] : tensor<128xf32>)
// CHECK: %[[Q:.*]] = gf.linear %[[H]], %[[B]] initial(%[[P]] : tensor<?x128xf32>)
// CHECK-NEXT: return %[[Q]]
func.func @gates(%x: tensor<?x40xf32>, %h: tensor<?x32xf32>, %d: index) -> tensor<?x128xf32> {
  %wa = gf.parameter "wa" : tensor<40x128xf32>
  %wb = gf.parameter "wb" : tensor<128x32xf32>
  %ba = gf.parameter "ba" : tensor<128xf32>
  %bb = gf.parameter "bb" : tensor<128xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d) : tensor<?x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x128xf32>) -> tensor<?x128xf32>
  %p = linalg.contract indexing_maps = [#m_k, #k_n, #m_n]
      ins(%x, %wa : tensor<?x40xf32>, tensor<40x128xf32>) outs(%f : tensor<?x128xf32>) -> tensor<?x128xf32>
  %pa = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%p, %ba : tensor<?x128xf32>, tensor<128xf32>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<?x128xf32>
  %q = linalg.contract indexing_maps = [#m_k, #n_k, #m_n]
      ins(%h, %wb : tensor<?x32xf32>, tensor<128x32xf32>) outs(%f : tensor<?x128xf32>) -> tensor<?x128xf32>
  %qb = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%q, %bb : tensor<?x128xf32>, tensor<128xf32>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<?x128xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%pa, %qb : tensor<?x128xf32>, tensor<?x128xf32>) outs(%e : tensor<?x128xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  } -> tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}

// -----

// A convolution of [B, C, L]: windows are gathered as the next product reads them, the
// rectifier comes before the transposition, the second convolution instead of it.
#x = affine_map<(b, n, l, c, k) -> (b, c, l * 2 + k)>
#w = affine_map<(b, n, l, c, k) -> (n, c, k)>
#y = affine_map<(b, n, l, c, k) -> (b, n, l)>
#id = affine_map<(b, n, l) -> (b, n, l)>
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 * 2 + d3)>
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1 * 2 + d2, d3)>
// CHECK-LABEL: func @convolutions
// CHECK-SAME: %[[X:.*]]: tensor<?x5x19xf32>
// CHECK: %[[WINDOWS:.*]] = linalg.generic {indexing_maps = [#[[FIRST]], {{.*}} ins(%[[X]] : {{.*}}) outs(%{{.*}} : tensor<?x9x5x3xf32>)
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %[[WINDOWS]] {{\[}}[0], [1], [2, 3]]
// CHECK: %[[P:.*]] = gf.linear %[[ROWS]], %{{.*}} outs(%{{.*}} : tensor<?x9x32xf32>)
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<?x9x32xf32>)
// CHECK: arith.maximumf
// CHECK: linalg.generic {indexing_maps = [#[[SECOND]], {{.*}} ins(%[[R]] : {{.*}}) outs(%{{.*}} : tensor<?x4x3x32xf32>)
// CHECK: %[[Q:.*]] = gf.linear %{{.*}} outs(%{{.*}} : tensor<?x4x48xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[Q]] : tensor<?x4x48xf32>) outs(%{{.*}} : tensor<?x48x4xf32>)
// REMARK: remark: {{.*}}product 32x15 packed
// REMARK: remark: {{.*}}product 48x96 packed
func.func @convolutions(%x: tensor<?x5x19xf32>, %d: index) -> tensor<?x48x4xf32> {
  %w = gf.parameter "w" : tensor<32x5x3xf32>
  %v = gf.parameter "v" : tensor<48x32x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d) : tensor<?x32x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32x9xf32>) -> tensor<?x32x9xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<?x5x19xf32>, tensor<32x5x3xf32>) outs(%f : tensor<?x32x9xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x32x9xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<?x32x9xf32>) outs(%e : tensor<?x32x9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %a, %zero : f32
    linalg.yield %s : f32
  } -> tensor<?x32x9xf32>
  %e2 = tensor.empty(%d) : tensor<?x48x4xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x48x4xf32>) -> tensor<?x48x4xf32>
  %q = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%r, %v : tensor<?x32x9xf32>, tensor<48x32x3xf32>) outs(%f2 : tensor<?x48x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x48x4xf32>
  return %q : tensor<?x48x4xf32>
}

// -----

// Weights for each group are packed together, padded to whole panels; the groups are a
// loop. Two columns dimensions are one.
#x = affine_map<(b, g, n, j, k) -> (b, g, k)>
#w = affine_map<(b, g, n, j, k) -> (g, n, j, k)>
#y = affine_map<(b, g, n, j, k) -> (b, g, n, j)>
// CHECK-LABEL: func @groups
// CHECK: %[[PADDED:.*]] = tensor.pad %{{.*}} high[0, 12, 0]
// CHECK: %[[ALL:.*]] = tensor.collapse_shape %[[PADDED]] {{\[}}[0, 1], [2]] : tensor<3x32x7xf32> into tensor<96x7xf32>
// CHECK: %[[PANELS:.*]] = gf.pack %[[ALL]] along 0 into %{{.*}} : tensor<96x7xf32> into tensor<3x7x32xf32>
// CHECK: %[[PRODUCTS:.*]] = scf.for %[[G:.*]] = %{{.*}} to %c3
// CHECK: tensor.extract_slice %[[PANELS]][%[[G]], 0, 0] [1, 7, 32]
// CHECK: gf.linear %{{.*}} outs(%{{.*}} : tensor<?x20xf32>)
// CHECK: tensor.insert_slice
// CHECK: tensor.expand_shape
func.func @groups(%x: tensor<?x3x7xf32>, %d: index) -> tensor<?x3x4x5xf32> {
  %w = gf.parameter "w" : tensor<3x4x5x7xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d) : tensor<?x3x4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x3x4x5xf32>) -> tensor<?x3x4x5xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y]
      ins(%x, %w : tensor<?x3x7xf32>, tensor<3x4x5x7xf32>) outs(%f : tensor<?x3x4x5xf32>) -> tensor<?x3x4x5xf32>
  return %p : tensor<?x3x4x5xf32>
}

// -----

#m_k = affine_map<(m, n, k) -> (m, k)>
#n_k = affine_map<(m, n, k) -> (n, k)>
#m_n = affine_map<(m, n, k) -> (m, n)>

// Half weights are packed and multiplied as they are.
// CHECK-LABEL: func @half
// CHECK: %[[PANELS:.*]] = gf.pack %{{.*}} : tensor<64x40xf16> into tensor<1x40x64xf16>
// CHECK: gf.linear %{{.*}}, %[[PANELS]] outs({{.*}}) : tensor<?x40xf32>, tensor<1x40x64xf16> -> tensor<?x64xf32>
func.func @half(%x: tensor<?x40xf32>, %d: index) -> tensor<?x64xf32> {
  %w = gf.parameter "w" : tensor<64x40xf16>
  %wide = arith.extf %w : tensor<64x40xf16> to tensor<64x40xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%d) : tensor<?x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %p = linalg.contract indexing_maps = [#m_k, #n_k, #m_n]
      ins(%x, %wide : tensor<?x40xf32>, tensor<64x40xf32>) outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %p : tensor<?x64xf32>
}

// -----

#m_k = affine_map<(m, n, k) -> (m, k)>
#n_k = affine_map<(m, n, k) -> (n, k)>
#m_n = affine_map<(m, n, k) -> (m, n)>

// What is not packed stays, and says why.
// CHECK-LABEL: func @left
// CHECK-COUNT-3: linalg.contract
// REMARK: remark: {{.*}}product 3x40 not packed: its 3 columns fill too little of a vector of 16
// REMARK: remark: {{.*}}product 64x40 not packed: its 2 rows are fewer than packing pays for
// REMARK: remark: {{.*}}product not packed: its elements are not f16, bf16, f32 or f64
func.func @left(%x: tensor<?x40xf32>, %few: tensor<3x40xf32>, %out: tensor<?x3xf32>,
    %y: tensor<2x40xf32>, %z: tensor<64x40xf32>, %out2: tensor<2x64xf32>,
    %i: tensor<8x40xf8E4M3FN>, %j: tensor<64x40xf8E4M3FN>, %out3: tensor<8x64xf8E4M3FN>)
    -> (tensor<?x3xf32>, tensor<2x64xf32>, tensor<8x64xf8E4M3FN>) {
  %p = linalg.contract indexing_maps = [#m_k, #n_k, #m_n]
      ins(%x, %few : tensor<?x40xf32>, tensor<3x40xf32>) outs(%out : tensor<?x3xf32>) -> tensor<?x3xf32>
  %q = linalg.contract indexing_maps = [#m_k, #n_k, #m_n]
      ins(%y, %z : tensor<2x40xf32>, tensor<64x40xf32>) outs(%out2 : tensor<2x64xf32>) -> tensor<2x64xf32>
  %r = linalg.contract indexing_maps = [#m_k, #n_k, #m_n]
      ins(%i, %j : tensor<8x40xf8E4M3FN>, tensor<64x40xf8E4M3FN>) outs(%out3 : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return %p, %q, %r : tensor<?x3xf32>, tensor<2x64xf32>, tensor<8x64xf8E4M3FN>
}

// -----

#m_k = affine_map<(m, n, k) -> (m, k)>
#n_k = affine_map<(m, n, k) -> (n, k)>
#m_n = affine_map<(m, n, k) -> (m, n)>

// In a loop the packing stands where the weights are; a sum that begins with a value keeps
// it.
// CHECK-LABEL: func @in_a_loop
// CHECK: gf.pack
// CHECK: scf.for
// CHECK-NOT: gf.pack
// CHECK: gf.linear %[[S:.*]], %{{.*}} initial(%{{.*}} : tensor<?x64xf32>)
func.func @in_a_loop(%h: tensor<?x64xf32>, %given: tensor<?x64xf32>, %t: index) -> tensor<?x64xf32> {
  %w = gf.parameter "w" : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %t step %c1 iter_args(%s = %h) -> tensor<?x64xf32> {
    %p = linalg.contract indexing_maps = [#m_k, #n_k, #m_n]
        ins(%s, %w : tensor<?x64xf32>, tensor<64x64xf32>) outs(%given : tensor<?x64xf32>) -> tensor<?x64xf32>
    scf.yield %p : tensor<?x64xf32>
  }
  return %last : tensor<?x64xf32>
}

// -----

#m_k = affine_map<(m, n, k) -> (m, k)>
#n_k = affine_map<(m, n, k) -> (n, k)>
#m_n = affine_map<(m, n, k) -> (m, n)>

// A product may say itself what it is to be.
// CHECK-LABEL: func @given
// CHECK: gf.pack {{.*}} into tensor<4x40x16xf32>
// CHECK-NOT: gf.pack
// CHECK: linalg.contract
// REMARK: remark: {{.*}}product 64x40 packed in panels of 16
// REMARK: remark: {{.*}}product 64x40 not packed: as its gf.tile says
func.func @given(%x: tensor<8x40xf32>, %w: tensor<64x40xf32>, %o: tensor<8x64xf32>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %p = linalg.contract indexing_maps = [#m_k, #n_k, #m_n] {gf.tile = 16 : i64}
      ins(%x, %w : tensor<8x40xf32>, tensor<64x40xf32>) outs(%o : tensor<8x64xf32>) -> tensor<8x64xf32>
  %q = linalg.contract indexing_maps = [#m_k, #n_k, #m_n] {gf.tile = 0 : i64}
      ins(%x, %w : tensor<8x40xf32>, tensor<64x40xf32>) outs(%o : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %p, %q : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// Windows far longer than their distance stay windows.
#x = affine_map<(b, n, l, c, k) -> (b, c, l + k)>
#w = affine_map<(b, n, l, c, k) -> (n, c, k)>
#y = affine_map<(b, n, l, c, k) -> (b, n, l)>
// CHECK-LABEL: func @long_windows
// CHECK-NOT: gf.linear
// REMARK: remark: {{.*}}product 32x320 not packed: its windows would hold each element 64 times
func.func @long_windows(%x: tensor<?x5x?xf32>, %w: tensor<32x5x64xf32>, %o: tensor<?x32x?xf32>) -> tensor<?x32x?xf32> {
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<?x5x?xf32>, tensor<32x5x64xf32>) outs(%o : tensor<?x32x?xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<?x32x?xf32>
  return %p : tensor<?x32x?xf32>
}
