// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-hoist-invariant --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-hoist-invariant --split-input-file --remark-format=emitRemark --remarks-filter=gf-hoist-invariant 2>&1 | FileCheck %s --check-prefix=REMARK

#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>

// The keys of a memory are the same at each step; the fill that the product begins with
// is made anew, and stays for the other one.
// CHECK-LABEL: func @keys_of_a_memory
// CHECK-SAME: %{{.*}}: tensor<?x3x4xf32>, %[[H:.*]]: tensor<3x4xf32>, %[[W:.*]]: tensor<4x4xf32>, %[[M:.*]]: tensor<3x4xf32>
func.func @keys_of_a_memory(%x: tensor<?x3x4xf32>, %h: tensor<3x4xf32>, %w: tensor<4x4xf32>,
    %memory: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[FILL:.*]] = linalg.fill
  // CHECK-NEXT: %[[KEYS:.*]] = linalg.contract {{.*}} ins(%[[W]], %[[M]] : {{.*}}) outs(%[[FILL]]
  // CHECK-NEXT: gf.recurrence
  // CHECK-NEXT: ^step(%{{.*}}: tensor<3x4xf32>, %[[S:.*]]: tensor<3x4xf32>):
  // CHECK-NEXT: tensor.empty
  // CHECK-NEXT: %[[INNER:.*]] = linalg.fill
  // CHECK-NEXT: %[[P:.*]] = linalg.contract {{.*}} ins(%[[W]], %[[S]] : {{.*}}) outs(%[[INNER]]
  // CHECK-NEXT: arith.addf %[[KEYS]], %[[P]]
  // REMARK: :[[# @LINE + 6]]:13: remark: {{.*}}product computed once before all steps
  // REMARK-NOT: remark:
  %last = gf.recurrence sequences(%x : tensor<?x3x4xf32>) states(%h : tensor<3x4xf32>) time_axis 0 {
  ^step(%x_t: tensor<3x4xf32>, %s: tensor<3x4xf32>):
    %e = tensor.empty() : tensor<3x4xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
    %keys = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%w, %memory : tensor<4x4xf32>, tensor<3x4xf32>) outs(%f : tensor<3x4xf32>) -> tensor<3x4xf32>
    %p = linalg.contract indexing_maps = [#w, #x, #y]
        ins(%w, %s : tensor<4x4xf32>, tensor<3x4xf32>) outs(%f : tensor<3x4xf32>) -> tensor<3x4xf32>
    %next = arith.addf %keys, %p : tensor<3x4xf32>
    gf.yield %next : tensor<3x4xf32>
  }
  return %last : tensor<3x4xf32>
}

// -----

// Out of the row of an attention, then out of the step around it. What asks who sees whom
// stays in the row.
// CHECK-LABEL: func @through_an_attention
func.func @through_an_attention(%x: tensor<?x2x4xf32>, %k: tensor<2x?x4xf32>, %gain: tensor<4xf32>,
    %s: index) -> tensor<?x2x4xf32> {
  // CHECK: %[[G:.*]] = math.exp
  // CHECK: gf.recurrence
  // CHECK: gf.attention
  // CHECK: ^row(
  // CHECK: gf.row_visible
  // CHECK: arith.mulf %{{.*}}, %[[G]]
  // REMARK: :[[# @LINE + 11]]:12: remark: {{.*}}elementwise operation computed once before all rows
  // REMARK: :[[# @LINE + 10]]:12: remark: {{.*}}elementwise operation computed once before all steps
  %y = gf.recurrence sequences(%x : tensor<?x2x4xf32>) time_axis 0 -> (tensor<?x2x4xf32>) {
  ^step(%x_t: tensor<2x4xf32>):
    %q = tensor.expand_shape %x_t [[0, 1], [2]] output_shape [2, 1, 4] : tensor<2x4xf32> into tensor<2x1x4xf32>
    %a = gf.attention queries(%q : tensor<2x1x4xf32>) keys(%k : tensor<2x?x4xf32>) -> tensor<2x1x4xf32> {
    ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %row: index, %position: index):
      %scores = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
      %seen = gf.row_visible : tensor<?xi1>
      %p = gf.row_softmax %scores where(%seen : tensor<?xi1>) : tensor<?xf32>
      %v = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
      %g = math.exp %gain : tensor<4xf32>
      %r = arith.mulf %v, %g : tensor<4xf32>
      gf.yield %r : tensor<4xf32>
    }
    %c = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x1x4xf32> into tensor<2x4xf32>
    gf.yield %c : tensor<2x4xf32>
  }
  return %y : tensor<?x2x4xf32>
}

// -----

// There may be no step: what can fail stays.
// CHECK-LABEL: func @division_stays
// CHECK: gf.recurrence
// CHECK: arith.divsi
func.func @division_stays(%a: tensor<4xi64>, %b: tensor<4xi64>, %n: index, %h: tensor<4xi64>) -> tensor<4xi64> {
  %last = gf.recurrence states(%h : tensor<4xi64>) steps(%n) time_axis 0 {
  ^step(%s: tensor<4xi64>):
    %d = arith.divsi %a, %b : tensor<4xi64>
    %next = arith.addi %s, %d : tensor<4xi64>
    gf.yield %next : tensor<4xi64>
  }
  return %last : tensor<4xi64>
}

// -----

// Columns that a row takes of each key are an operand of their own; a part of the keys, whose
// number nobody knows to be that of all, stays.
// CHECK-LABEL: func @columns_of_keys
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x4xf32>, %[[K:[^:]*]]: tensor<2x?x8xf32>
func.func @columns_of_keys(%q: tensor<2x?x4xf32>, %k: tensor<2x?x8xf32>, %some: index) -> tensor<2x?x4xf32> {
  // CHECK: %[[COLUMNS:.*]] = tensor.extract_slice %[[K]][0, 0, 4] [2, %{{.*}}, 4] [1, 1, 1]
  // CHECK: gf.attention queries(%[[Q]] : {{.*}}) keys(%[[K]], %[[COLUMNS]] :
  // CHECK: ^row(%{{[^,]*}}, %[[ALL:[^:]*]]: tensor<?x8xf32>, %[[KR:[^:]*]]: tensor<?x4xf32>,
  // CHECK: gf.row_scores %{{.*}}, %[[KR]]
  // CHECK: tensor.extract_slice %[[ALL]][0, 0] [%{{.*}}, 4] [1, 1]
  // REMARK: :[[# @LINE + 6]]:13: remark: {{.*}}columns of all keys taken once before all rows
  // REMARK-NOT: remark:
  %c1 = arith.constant 1 : index
  %count = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x4xf32>) keys(%k : tensor<2x?x8xf32>) -> tensor<2x?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %half = tensor.extract_slice %kr[0, 4] [%count, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
    %s = gf.row_scores %qr, %half : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %first = tensor.extract_slice %kr[0, 0] [%some, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
    %y = gf.row_values %p, %first : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<2x?x4xf32>
}

// -----

// Of keys that were 16 bits, columns are 16 bits first.
// CHECK-LABEL: func @columns_of_narrow_keys
// CHECK-SAME: %[[NARROW:[^:]*]]: tensor<2x?x8xf16>
func.func @columns_of_narrow_keys(%q: tensor<2x?x4xf32>, %narrow: tensor<2x?x8xf16>) -> tensor<2x?x4xf32> {
  // CHECK: %[[COLUMNS:.*]] = tensor.extract_slice %[[NARROW]][0, 0, 0] [2, %{{.*}}, 4] [1, 1, 1]
  // CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[COLUMNS]] : tensor<2x?x4xf16>)
  // CHECK: arith.extf
  // CHECK: gf.attention {{.*}} keys(%{{.*}}, %[[WIDE]] :
  // REMARK: :[[# @LINE + 12]]:13: remark: {{.*}}columns of all keys taken once before all rows
  %c1 = arith.constant 1 : index
  %count = tensor.dim %narrow, %c1 : tensor<2x?x8xf16>
  %e = tensor.empty(%count) : tensor<2x?x8xf32>
  %k = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%narrow : tensor<2x?x8xf16>) outs(%e : tensor<2x?x8xf32>) {
  ^bb0(%a: f16, %o: f32):
    %x = arith.extf %a : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x4xf32>) keys(%k : tensor<2x?x8xf32>) -> tensor<2x?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %half = tensor.extract_slice %kr[0, 0] [%count, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
    %s = gf.row_scores %qr, %half : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %half : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<2x?x4xf32>
}
