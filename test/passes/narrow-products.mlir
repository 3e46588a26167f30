// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-narrow-products --canonicalize | FileCheck %s
// RUN: gatefold-opt %s --gf-narrow-products --remark-format=emitRemark --remarks-filter-passed=gf-narrow-products -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// REMARK: product: its columns stay bf16
// CHECK-LABEL: func @weights
// CHECK-SAME: %[[X:.*]]: tensor<?x40xf32>, %[[H:.*]]: tensor<100x40xbf16>
func.func @weights(%x: tensor<?x40xf32>, %h: tensor<100x40xbf16>, %y: tensor<?x100xf32>) -> tensor<?x100xf32> {
  // CHECK-NOT: linalg.generic
  // CHECK: %[[P:.*]] = gf.pack %[[H]] along 0 into %{{.*}} : tensor<100x40xbf16> into tensor<2x40x64xbf16>
  // CHECK: gf.linear %[[X]], %[[P]] outs({{.*}}) : tensor<?x40xf32>, tensor<2x40x64xbf16>
  %e = tensor.empty() : tensor<100x40xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<100x40xbf16>) outs(%e : tensor<100x40xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<100x40xf32>
  %e2 = tensor.empty() : tensor<2x40x64xf32>
  %p = gf.pack %w along 0 into %e2 : tensor<100x40xf32> into tensor<2x40x64xf32> -> tensor<2x40x64xf32>
  %r = gf.linear %x, %p outs(%y : tensor<?x100xf32>) : tensor<?x40xf32>, tensor<2x40x64xf32> -> tensor<?x100xf32>
  return %r : tensor<?x100xf32>
}

// A slice of rows that others read in f32 costs nothing.
// REMARK: product: its rows stay f16
// CHECK-LABEL: func @rows
// CHECK-SAME: %[[H:.*]]: tensor<?x40xf16>
func.func @rows(%h: tensor<?x40xf16>, %p: tensor<2x40x64xf32>, %n: index, %y: tensor<?x100xf32>) -> (tensor<?x100xf32>, tensor<?x40xf32>) {
  // CHECK: linalg.generic
  // CHECK: %[[S:.*]] = tensor.extract_slice %[[H]][%{{.*}}, 0] [8, 40] [1, 1] : tensor<?x40xf16> to tensor<8x40xf16>
  // CHECK: gf.linear %{{.*}}, %{{.*}} outs({{.*}}) : tensor<8x40xf16>, tensor<2x40x64xf32>
  %e = tensor.empty(%n) : tensor<?x40xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<?x40xf16>) outs(%e : tensor<?x40xf32>) {
  ^bb0(%in: f16, %out: f32):
    %0 = arith.extf %in : f16 to f32
    linalg.yield %0 : f32
  } -> tensor<?x40xf32>
  %s = tensor.extract_slice %w[%n, 0] [8, 40] [1, 1] : tensor<?x40xf32> to tensor<8x40xf32>
  %o = tensor.cast %s : tensor<8x40xf32> to tensor<?x40xf32>
  %r = gf.linear %o, %p outs(%y : tensor<?x100xf32>) : tensor<?x40xf32>, tensor<2x40x64xf32> -> tensor<?x100xf32>
  return %r, %w : tensor<?x100xf32>, tensor<?x40xf32>
}

// Weights one above the other, one of them turned over, and rows of zeros.
// CHECK-LABEL: func @concatenation
// CHECK-SAME: tensor<?x40xf32>, %[[A:.*]]: tensor<60x40xbf16>, %[[B:.*]]: tensor<40x30xbf16>
func.func @concatenation(%x: tensor<?x40xf32>, %a: tensor<60x40xbf16>, %b: tensor<40x30xbf16>, %y: tensor<?x100xf32>) -> tensor<?x100xf32> {
  // CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[B]] : tensor<40x30xbf16>) outs(%{{.*}} : tensor<30x40xbf16>)
  // CHECK-NOT: arith.extf
  // CHECK: %[[P:.*]] = tensor.pad %[[T]] low[0, 0] high[10, 0]
  // CHECK: tensor.yield %{{.*}} : bf16
  // CHECK: %[[I:.*]] = tensor.insert_slice %[[A]] into %{{.*}}[0, 0] [60, 40] [1, 1] : tensor<60x40xbf16> into tensor<100x40xbf16>
  // CHECK: tensor.insert_slice %[[P]] into %[[I]][60, 0] [40, 40] [1, 1] : tensor<40x40xbf16> into tensor<100x40xbf16>
  // CHECK: gf.linear {{.*}} : tensor<?x40xf32>, tensor<2x40x64xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<60x40xf32>
  %wa = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<60x40xbf16>) outs(%e : tensor<60x40xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<60x40xf32>
  %e1 = tensor.empty() : tensor<30x40xf32>
  %wb = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<40x30xbf16>) outs(%e1 : tensor<30x40xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<30x40xf32>
  %padded = tensor.pad %wb low[0, 0] high[10, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<30x40xf32> to tensor<40x40xf32>
  %e2 = tensor.empty() : tensor<100x40xf32>
  %i0 = tensor.insert_slice %wa into %e2[0, 0] [60, 40] [1, 1] : tensor<60x40xf32> into tensor<100x40xf32>
  %i1 = tensor.insert_slice %padded into %i0[60, 0] [40, 40] [1, 1] : tensor<40x40xf32> into tensor<100x40xf32>
  %e3 = tensor.empty() : tensor<2x40x64xf32>
  %p = gf.pack %i1 along 0 into %e3 : tensor<100x40xf32> into tensor<2x40x64xf32> -> tensor<2x40x64xf32>
  %r = gf.linear %x, %p outs(%y : tensor<?x100xf32>) : tensor<?x40xf32>, tensor<2x40x64xf32> -> tensor<?x100xf32>
  return %r : tensor<?x100xf32>
}

// Others than products read the panels; what is computed is no extension; f16
// beside bf16 has no type of 16 bits.
// CHECK-LABEL: func @left
func.func @left(%x: tensor<?x40xf32>, %h: tensor<64x40xbf16>, %f: tensor<32x40xf16>, %y: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<1x40x64xf32>) {
  // CHECK-COUNT-3: gf.linear {{.*}} : tensor<?x40xf32>, tensor<1x40x64xf32>
  %e = tensor.empty() : tensor<64x40xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<64x40xbf16>) outs(%e : tensor<64x40xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<64x40xf32>
  %e2 = tensor.empty() : tensor<1x40x64xf32>
  %p = gf.pack %w along 0 into %e2 : tensor<64x40xf32> into tensor<1x40x64xf32> -> tensor<1x40x64xf32>
  %r = gf.linear %x, %p outs(%y : tensor<?x64xf32>) : tensor<?x40xf32>, tensor<1x40x64xf32> -> tensor<?x64xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<64x40xbf16>) outs(%e : tensor<64x40xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.negf %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x40xf32>
  %q = gf.pack %n along 0 into %e2 : tensor<64x40xf32> into tensor<1x40x64xf32> -> tensor<1x40x64xf32>
  %s = gf.linear %x, %q outs(%y : tensor<?x64xf32>) : tensor<?x40xf32>, tensor<1x40x64xf32> -> tensor<?x64xf32>
  %e3 = tensor.empty() : tensor<32x40xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%f : tensor<32x40xf16>) outs(%e3 : tensor<32x40xf32>) {
  ^bb0(%in: f16, %out: f32):
    %0 = arith.extf %in : f16 to f32
    linalg.yield %0 : f32
  } -> tensor<32x40xf32>
  %i = tensor.insert_slice %v into %w[0, 0] [32, 40] [1, 1] : tensor<32x40xf32> into tensor<64x40xf32>
  %u = gf.pack %i along 0 into %e2 : tensor<64x40xf32> into tensor<1x40x64xf32> -> tensor<1x40x64xf32>
  %t = gf.linear %x, %u outs(%y : tensor<?x64xf32>) : tensor<?x40xf32>, tensor<1x40x64xf32> -> tensor<?x64xf32>
  return %r, %s, %t, %p : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<1x40x64xf32>
}
