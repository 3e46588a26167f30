// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-drop-zero-maps --canonicalize --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-drop-zero-maps --split-input-file --remark-format=emitRemark --remarks-filter=gf-drop-zero-maps -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:
// By default the map stays: 0 times NaN is NaN.
// RUN: gatefold-opt %s --gf-fuse --split-input-file | FileCheck %s --check-prefix=EXACT
// RUN: gatefold-opt %s --gf-fuse=fast-math --split-input-file | FileCheck %s --check-prefix=FAST

#row = affine_map<(d0) -> (d0)>
#number = affine_map<(d0) -> ()>

// REMARK: remark: {{.*}}attention: 1 map of weight 0 left out, as fast-math allows
// CHECK-LABEL: func @weights
// EXACT-LABEL: func @weights
// EXACT-COUNT-2: gf.row_softmax
// FAST-LABEL: func @weights
// FAST: gf.row_softmax
// FAST-NOT: gf.row_softmax
func.func @weights(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %other: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.attention queries(%{{.*}} : tensor<?x8xf32>) keys(%{{.*}} : tensor<?x8xf32>) ->
  // CHECK: %[[S:.*]] = gf.row_scores
  // CHECK: %[[P:.*]] = gf.row_softmax %[[S]]
  // CHECK-NEXT: gf.row_values %[[P]]
  %zero = arith.constant dense<0.0> : tensor<f32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%other, %k : tensor<?x8xf32>, tensor<?x8xf32>)
      captures(%zero : tensor<f32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %or: tensor<?x8xf32>, %kr: tensor<?x8xf32>, %l: tensor<f32>, %i: index, %position: index):
    %es = tensor.empty(%n) : tensor<?xf32>
    %s1 = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p1 = gf.row_softmax %s1 : tensor<?xf32>
    %s2 = gf.row_scores %qr, %or : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %z = linalg.generic {indexing_maps = [#number, #row, #row], iterator_types = ["parallel"]}
        ins(%l, %p2 : tensor<f32>, tensor<?xf32>) outs(%es : tensor<?xf32>) {
    ^bb0(%x: f32, %w: f32, %o: f32):
      %m = arith.mulf %x, %w : f32
      linalg.yield %m : f32
    } -> tensor<?xf32>
    %d = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%p1, %z : tensor<?xf32>, tensor<?xf32>) outs(%es : tensor<?xf32>) {
    ^bb0(%x: f32, %w: f32, %o: f32):
      %m = arith.subf %x, %w : f32
      linalg.yield %m : f32
    } -> tensor<?xf32>
    %r = gf.row_values %d, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// Of the results of maps, and a sum that begins with 0; a map of weight 1 stays.
// REMARK: remark: {{.*}}attention: 1 map of weight 0 left out, as fast-math allows
// CHECK-LABEL: func @results
// EXACT-LABEL: func @results
// EXACT-COUNT-2: gf.row_softmax
// FAST-LABEL: func @results
// FAST: gf.row_softmax
// FAST-NOT: gf.row_softmax
func.func @results(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %other: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[P:.*]] = gf.row_softmax
  // CHECK: %[[Y:.*]] = gf.row_values %[[P]]
  // CHECK-NEXT: gf.yield %[[Y]]
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%other, %k : tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %or: tensor<?x8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %e = tensor.empty() : tensor<8xf32>
    %s1 = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p1 = gf.row_softmax %s1 : tensor<?xf32>
    %r1 = gf.row_values %p1, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    %s2 = gf.row_scores %qr, %or : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %r2 = gf.row_values %p2, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    %z = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%r2 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %m = arith.mulf %x, %zero : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    %d = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%z, %r1 : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %w: f32, %o: f32):
      %m = arith.addf %x, %w : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    gf.yield %d : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}
