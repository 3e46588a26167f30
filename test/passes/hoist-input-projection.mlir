// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-hoist-input-projection --canonicalize --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-hoist-input-projection --split-input-file --remark-format=emitRemark --remarks-filter=gf-hoist-input-projection 2>&1 | FileCheck %s --check-prefix=REMARK

#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#i = affine_map<(d0, d1) -> (d0, d1)>
#b = affine_map<(d0, d1) -> (d1)>

// The product with the input leaves with its bias, the one with the state stays; the views
// of their sum stay too. Time stands behind the batch.
// CHECK-DAG: #[[WEIGHTS:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[RESULT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func @input_and_state
// CHECK-SAME: %[[X:.*]]: tensor<?x?x5xf32>, %[[H:.*]]: tensor<?x4xf32>, %[[W:.*]]: tensor<8x5xf32>, %[[U:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<8xf32>
func.func @input_and_state(%x: tensor<?x?x5xf32>, %h: tensor<?x4xf32>, %w: tensor<8x5xf32>,
    %u: tensor<8x4xf32>, %bias: tensor<8xf32>, %batch: index) -> tensor<?x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%batch) : tensor<?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: %[[P:.*]] = linalg.contract indexing_maps = [#[[WEIGHTS]], #[[ROWS]], #[[RESULT]]] ins(%[[W]], %[[X]]
  // CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[B]] : tensor<?x?x8xf32>, tensor<8xf32>)
  // CHECK: gf.recurrence sequences(%[[Q]] : tensor<?x?x8xf32>)
  // CHECK-NEXT: ^step(%[[Q_T:.*]]: tensor<?x8xf32>, %[[S:.*]]: tensor<?x4xf32>):
  // CHECK-NEXT: %[[R:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[S]]
  // CHECK-NEXT: arith.addf %[[Q_T]], %[[R]]
  // REMARK-DAG: :[[# @LINE + 4]]:10: remark: [Passed] {{.*}}input projection [8, 5] x [?, 5] hoisted: one product over all steps
  // REMARK-DAG: :[[# @LINE + 11]]:10: remark: [Missed] {{.*}}product [8, 4] x [?, 4] stays in the step: it depends on state #0
  %r = gf.recurrence sequences(%x : tensor<?x?x5xf32>) states(%h : tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x5xf32>, %s: tensor<?x4xf32>):
    %p = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%w, %x_t : tensor<8x5xf32>, tensor<?x5xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
    %q = linalg.generic {indexing_maps = [#i, #b, #i], iterator_types = ["parallel", "parallel"]}
        ins(%p, %bias : tensor<?x8xf32>, tensor<8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %c: f32, %out: f32):
      %d = arith.addf %a, %c : f32
      linalg.yield %d : f32
    } -> tensor<?x8xf32>
    %v = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%u, %s : tensor<8x4xf32>, tensor<?x4xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
    %sum = arith.addf %q, %v : tensor<?x8xf32>
    %left = tensor.extract_slice %sum[0, 0] [%batch, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
    %right = tensor.extract_slice %sum[0, 4] [%batch, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
    %next = arith.mulf %left, %right : tensor<?x4xf32>
    gf.yield %next : tensor<?x4xf32>
  }
  return %r : tensor<?x4xf32>
}

// -----

#w = affine_map<(d0, d1) -> (d0, d1)>
#x = affine_map<(d0, d1) -> (d1)>
#y = affine_map<(d0, d1) -> (d0)>
#v = affine_map<(d0) -> (d0)>

// Gates and what is computed from them leave too; 1 - z is computed in the step, where z
// is needed anyway. A gather before a product is one of all steps, its table not.
// CHECK-LABEL: func @gates_of_the_input
// CHECK-SAME: %[[X:.*]]: tensor<?xi64>, %[[H:.*]]: tensor<4xf32>, %[[TABLE:.*]]: tensor<9x4xf32>
func.func @gates_of_the_input(%x: tensor<?xi64>, %h: tensor<4xf32>, %table: tensor<9x4xf32>,
    %w: tensor<4x4xf32>, %u: tensor<4x4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<?xi64>)
  // CHECK: %[[COLUMN:.*]] = linalg.index 1
  // CHECK: tensor.extract %[[TABLE]][%{{.*}}, %[[COLUMN]]]
  // CHECK: linalg.contract {{.*}} tensor<4x4xf32>, tensor<?x4xf32>
  // CHECK: %[[Z:.*]] = math.tanh %{{.*}} : tensor<?x4xf32>
  // CHECK: linalg.contract {{.*}} tensor<4x4xf32>, tensor<?x4xf32>
  // CHECK: %[[C:.*]] = arith.mulf %[[Z]], %{{.*}} : tensor<?x4xf32>
  // CHECK: gf.recurrence sequences(%[[Z]], %[[C]] :
  // CHECK-NEXT: ^step(
  // CHECK-NEXT: arith.subf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.addf
  %r = gf.recurrence sequences(%x : tensor<?xi64>) states(%h : tensor<4xf32>) time_axis 0 {
  ^step(%x_t: tensor<i64>, %s: tensor<4xf32>):
    %g = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, #v], iterator_types = ["parallel"]}
        ins(%x_t : tensor<i64>) outs(%e : tensor<4xf32>) {
    ^bb0(%token: i64, %out: f32):
      %row = arith.index_cast %token : i64 to index
      %column = linalg.index 0 : index
      %value = tensor.extract %table[%row, %column] : tensor<9x4xf32>
      linalg.yield %value : f32
    } -> tensor<4xf32>
    %p = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%w, %g : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    %z = math.tanh %p : tensor<4xf32>
    %q = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%u, %g : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    %c = arith.mulf %z, %q : tensor<4xf32>
    %not_z = arith.subf %ones, %z : tensor<4xf32>
    %a = arith.mulf %not_z, %s : tensor<4xf32>
    %zs = arith.mulf %z, %s : tensor<4xf32>
    %b = arith.addf %zs, %c : tensor<4xf32>
    %next = arith.addf %a, %b : tensor<4xf32>
    gf.yield %next : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

#w = affine_map<(d0, d1) -> (d0, d1)>
#x = affine_map<(d0, d1) -> (d1)>
#y = affine_map<(d0, d1) -> (d0)>

// At a concatenation the known part leaves, for all steps or once.
// CHECK-LABEL: func @through_a_concatenation
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[M:.*]]: tensor<3xf32>, %{{.*}}: tensor<4xf32>, %[[W:.*]]: tensor<4x12xf32>
func.func @through_a_concatenation(%x: tensor<?x5xf32>, %m: tensor<3xf32>, %h: tensor<4xf32>,
    %w: tensor<4x12xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // CHECK-DAG: %[[WX:.*]] = tensor.extract_slice %[[W]][0, 0] [4, 5] [1, 1]
  // CHECK-DAG: %[[WM:.*]] = tensor.extract_slice %[[W]][0, 9] [4, 3] [1, 1]
  // CHECK-DAG: %[[WH:.*]] = tensor.extract_slice %[[W]][0, 5] [4, 4] [1, 1]
  // CHECK-DAG: %[[PM:.*]] = linalg.contract {{.*}} ins(%[[WM]], %[[M]]
  // CHECK-DAG: %[[PX:.*]] = linalg.contract {{.*}} ins(%[[WX]], %[[X]]
  // CHECK: gf.recurrence sequences(%[[PX]]
  // CHECK-NEXT: ^step(%[[P_T:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<4xf32>):
  // CHECK-NEXT: %[[PH:.*]] = linalg.contract {{.*}} ins(%[[WH]], %[[S]]
  // CHECK-NEXT: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[P_T]], %[[PH]]
  // CHECK: linalg.generic {{.*}} ins(%[[SUM]], %[[PM]]
  // REMARK: remark: [Passed] {{.*}}product split at a concatenation: 8 of 12 terms are known before the step
  %r = gf.recurrence sequences(%x : tensor<?x5xf32>) states(%h : tensor<4xf32>) time_axis 0 {
  ^step(%x_t: tensor<5xf32>, %s: tensor<4xf32>):
    %all = tensor.concat dim(0) %x_t, %s, %m : (tensor<5xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<12xf32>
    %p = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%w, %all : tensor<4x12xf32>, tensor<12xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    gf.yield %p : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

#w = affine_map<(d0, d1) -> (d0, d1)>
#x = affine_map<(d0, d1) -> (d1)>
#y = affine_map<(d0, d1) -> (d0)>

// What has no form for all steps at once stays, and says what it was.
// CHECK-LABEL: func @not_for_all_steps
// CHECK: gf.recurrence
// CHECK: tensor.pad
// CHECK: linalg.contract
func.func @not_for_all_steps(%x: tensor<?x3xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = gf.recurrence sequences(%x : tensor<?x3xf32>) time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<3xf32>):
    %padded = tensor.pad %x_t low[1] high[0] {
    ^bb0(%at: index):
      tensor.yield %zero : f32
    } : tensor<3xf32> to tensor<4xf32>
    // REMARK: :[[# @LINE + 1]]:10: remark: [Missed] {{.*}}stays in the step: tensor.pad is not computed for all steps at once
    %p = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%w, %padded : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    gf.yield %p : tensor<4xf32>
  }
  return %r : tensor<?x4xf32>
}
