// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-sink-output-projection --canonicalize --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-sink-output-projection --split-input-file --remark-format=emitRemark --remarks-filter=gf-sink-output-projection 2>&1 | FileCheck %s --check-prefix=REMARK

#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#i = affine_map<(d0, d1) -> (d0, d1)>
#b = affine_map<(d0, d1) -> (d1)>

// The product and its bias leave; behind the end there is 0, not the bias.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[WEIGHTS:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-DAG: #[[RESULT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func @linear_of_the_state
// CHECK-SAME: %[[X:.*]]: tensor<?x?x4xf32>, %[[H:.*]]: tensor<?x4xf32>, %[[N:.*]]: tensor<?xi64>, %[[W:.*]]: tensor<3x4xf32>, %[[B:.*]]: tensor<3xf32>
func.func @linear_of_the_state(%x: tensor<?x?x4xf32>, %h: tensor<?x4xf32>, %n: tensor<?xi64>,
    %w: tensor<3x4xf32>, %bias: tensor<3xf32>, %batch: index) -> tensor<?x?x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%batch) : tensor<?x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
  // CHECK: %[[STATES:.*]]:2 = gf.recurrence {{.*}} -> (tensor<?x?x4xf32>)
  // CHECK: %[[NEXT:.*]] = math.tanh
  // CHECK-NEXT: gf.yield %[[NEXT]], %[[NEXT]]
  // CHECK: %[[P:.*]] = linalg.contract indexing_maps = [#[[ROWS]], #[[WEIGHTS]], #[[RESULT]]] ins(%[[STATES]]#0, %[[W]]
  // CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[B]]
  // CHECK: linalg.generic {{.*}} ins(%[[N]], %[[S]]
  // CHECK: %[[TIME:.*]] = linalg.index 1
  // CHECK: %[[END:.*]] = arith.index_cast
  // CHECK: %[[VALID:.*]] = arith.cmpi slt, %[[TIME]], %[[END]]
  // CHECK: arith.select %[[VALID]], %{{.*}}, %{{.*}} : f32
  // REMARK: :[[# @LINE + 6]]:10: remark: {{.*}}output projection [?, 4] x [3, 4] sunk
  %r:2 = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h : tensor<?x4xf32>)
      lengths(%n : tensor<?xi64>) time_axis 1 -> (tensor<?x?x3xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x4xf32>):
    %sum = arith.addf %x_t, %s : tensor<?x4xf32>
    %next = math.tanh %sum : tensor<?x4xf32>
    %p = linalg.contract indexing_maps = [#x, #w, #y]
        ins(%next, %w : tensor<?x4xf32>, tensor<3x4xf32>) outs(%f : tensor<?x3xf32>) -> tensor<?x3xf32>
    %y = linalg.generic {indexing_maps = [#i, #b, #i], iterator_types = ["parallel", "parallel"]}
        ins(%p, %bias : tensor<?x3xf32>, tensor<3xf32>) outs(%e : tensor<?x3xf32>) {
    ^bb0(%a: f32, %c: f32, %out: f32):
      %d = arith.addf %a, %c : f32
      linalg.yield %d : f32
    } -> tensor<?x3xf32>
    gf.yield %y, %next : tensor<?x3xf32>, tensor<?x4xf32>
  }
  return %r#0 : tensor<?x?x3xf32>
}

// -----

#x = affine_map<(d0, d1) -> (d1)>
#w = affine_map<(d0, d1) -> (d0, d1)>
#y = affine_map<(d0, d1) -> (d0)>

// What the state needs stays. What reads much to give little stays too, for the memory;
// not where it is an output anyway.
// CHECK-LABEL: func @what_stays
func.func @what_stays(%x: tensor<?x4xf32>, %h: tensor<4xf32>, %w: tensor<4x4xf32>, %v: tensor<1x12xf32>,
    %u: tensor<1x4xf32>) -> (tensor<?x4xf32>, tensor<?x1xf32>, tensor<?x1xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<1xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1xf32>) -> tensor<1xf32>
  // CHECK: gf.recurrence
  // CHECK: linalg.contract
  // CHECK: linalg.contract
  // CHECK-NOT: linalg.contract
  // CHECK: gf.yield
  // CHECK: linalg.contract {{.*}} tensor<1x4xf32>, tensor<?x4xf32>
  // REMARK: :[[# @LINE + 9]]:10: remark: {{.*}}output projection [1, 12] x [12] stays in the step: all steps of what it reads, 12 elements each, would be kept for 1
  // REMARK: :[[# @LINE + 10]]:10: remark: {{.*}}output projection [1, 4] x [4] sunk
  %r:4 = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h : tensor<4xf32>)
      time_axis 0 -> (tensor<?x4xf32>, tensor<?x1xf32>, tensor<?x1xf32>) {
  ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>):
    %p = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%w, %s : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    %next = arith.addf %p, %x_t : tensor<4xf32>
    %wide = tensor.concat dim(0) %s, %next, %p : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
    %q = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%v, %wide : tensor<1x12xf32>, tensor<12xf32>) outs(%f1 : tensor<1xf32>) -> tensor<1xf32>
    %z = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%u, %next : tensor<1x4xf32>, tensor<4xf32>) outs(%f1 : tensor<1xf32>) -> tensor<1xf32>
    gf.yield %next, %q, %z, %next : tensor<4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<?x4xf32>, tensor<?x1xf32>, tensor<?x1xf32>
}

// -----

#w = affine_map<(d0, d1) -> (d0, d1)>
#x = affine_map<(d0, d1) -> (d1)>
#y = affine_map<(d0, d1) -> (d0)>

// What is computed from a product has no form for all steps at once: both stay.
// CHECK-LABEL: func @not_for_all_steps
// CHECK: gf.recurrence
// CHECK: linalg.contract
// CHECK: tensor.pad
// CHECK: gf.yield
// CHECK-NOT: linalg.contract
func.func @not_for_all_steps(%x: tensor<?x4xf32>, %h: tensor<4xf32>, %w: tensor<4x4xf32>) -> tensor<?x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r:2 = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h : tensor<4xf32>) time_axis 0 -> (tensor<?x5xf32>) {
  ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>):
    %next = arith.addf %s, %x_t : tensor<4xf32>
    // REMARK: :[[# @LINE + 1]]:10: remark: [Missed] {{.*}}output projection [4, 4] x [4] stays in the step: tensor.pad is not computed for all steps at once
    %p = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%w, %next : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
    %padded = tensor.pad %p low[1] high[0] {
    ^bb0(%at: index):
      tensor.yield %zero : f32
    } : tensor<4xf32> to tensor<5xf32>
    gf.yield %padded, %next : tensor<5xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<?x5xf32>
}
