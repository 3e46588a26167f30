// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-raise-attention --canonicalize --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-raise-attention --split-input-file --remark-format=emitRemark --remarks-filter=gf-raise-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

#left = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#turned = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#right = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#out = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#head = affine_map<(d0, d1, d2) -> (d0)>

// Weights that are scores times a decay, which the row computes from its index; keys behind the last
// one have none.
// REMARK: remark: {{.*}}attention that was written out runs over tiles of keys
// CHECK-LABEL: func @decay
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[V:.*]]: tensor<2x?x6xf32>, %[[RATE:.*]]: tensor<2xf32>
func.func @decay(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>, %rate: tensor<2xf32>) -> tensor<2x?x6xf32> {
  // CHECK-NOT: linalg.contract
  // CHECK: gf.attention queries(%[[Q]] : {{.*}}) keys(%[[K]], %[[V]] : {{.*}}) captures(%[[RATE]] : tensor<2xf32>) -> tensor<2x?x6xf32>
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %[[VR:.*]]: tensor<?x6xf32>, %[[RATER:.*]]: tensor<f32>, %[[ROW:[a-z]*]]: index
  // CHECK: %[[S:.*]] = gf.row_scores %[[QR]], %[[KR]]
  // CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[RATER]] :
  // CHECK: arith.subi %[[ROW]]
  // CHECK: arith.mulf
  // CHECK: %[[SEEN:.*]] = gf.row_visible : tensor<?xi1>
  // CHECK: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[SEEN]], %[[W]] :
  // CHECK: arith.select
  // CHECK: %[[Y:.*]] = gf.row_values %[[ALL]], %[[VR]]
  // CHECK: gf.yield %[[Y]]
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = linalg.generic {indexing_maps = [#whole, #head, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %rate : tensor<2x?x?xf32>, tensor<2xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %r: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %far = arith.subi %i, %j : index
    %far_i = arith.index_cast %far : index to i32
    %far_f = arith.sitofp %far_i : i32 to f32
    %power = math.powf %r, %far_f : f32
    %x = arith.mulf %a, %power : f32
    linalg.yield %x : f32
  } -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// -----

#left = affine_map<(d0, d1, d2) -> (d0, d2)>
#turned = affine_map<(d0, d1, d2) -> (d1, d2)>
#right = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#whole = affine_map<(d0, d1) -> (d0, d1)>

// Two products with nothing between are a chain of products; 40 weights of each query are no more than
// four times the 8 and 6 numbers that they are made of.
// CHECK-LABEL: func @chain_and_few
func.func @chain_and_few(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x6xf32>, %few: tensor<40x8xf32>, %few_v: tensor<40x6xf32>)
    -> (tensor<?x6xf32>, tensor<?x6xf32>) {
  // CHECK-NOT: gf.attention
  // CHECK-COUNT-4: linalg.contract
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c0 : tensor<?x8xf32>
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<?x8xf32>, tensor<?x8xf32>) outs(%s_z : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y_e = tensor.empty(%t) : tensor<?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%s, %v : tensor<?x?xf32>, tensor<?x6xf32>) outs(%y_z : tensor<?x6xf32>) -> tensor<?x6xf32>
  %f_e = tensor.empty(%t) : tensor<?x40xf32>
  %f_z = linalg.fill ins(%zero : f32) outs(%f_e : tensor<?x40xf32>) -> tensor<?x40xf32>
  %f = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %few : tensor<?x8xf32>, tensor<40x8xf32>) outs(%f_z : tensor<?x40xf32>) -> tensor<?x40xf32>
  %w = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%f : tensor<?x40xf32>) outs(%f_e : tensor<?x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.maximumf %a, %zero : f32
    linalg.yield %x : f32
  } -> tensor<?x40xf32>
  %z = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %few_v : tensor<?x40xf32>, tensor<40x6xf32>) outs(%y_z : tensor<?x6xf32>) -> tensor<?x6xf32>
  return %y, %z : tensor<?x6xf32>, tensor<?x6xf32>
}

// -----

#left = affine_map<(d0, d1, d2) -> (d0, d2)>
#turned = affine_map<(d0, d1, d2) -> (d1, d2)>
#right = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#whole = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Two layers are no attention, and nothing is said of them; weights over their sum need the weights twice.
// REMARK: remark: {{.*}}attention stays written out: the scores are needed themselves, too
// CHECK-LABEL: func @layers_and_sums
func.func @layers_and_sums(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x6xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>) {
  // CHECK-NOT: gf.attention
  // CHECK-COUNT-4: linalg.contract
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %first = gf.parameter "first" : tensor<100x8xf32>
  %second = gf.parameter "second" : tensor<100x6xf32>
  %t = tensor.dim %q, %c0 : tensor<?x8xf32>
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y_e = tensor.empty(%t) : tensor<?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %h_e = tensor.empty(%t) : tensor<?x100xf32>
  %h_z = linalg.fill ins(%zero : f32) outs(%h_e : tensor<?x100xf32>) -> tensor<?x100xf32>
  %h = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %first : tensor<?x8xf32>, tensor<100x8xf32>) outs(%h_z : tensor<?x100xf32>) -> tensor<?x100xf32>
  %r = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<?x100xf32>) outs(%h_e : tensor<?x100xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.maximumf %a, %zero : f32
    linalg.yield %x : f32
  } -> tensor<?x100xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%r, %second : tensor<?x100xf32>, tensor<100x6xf32>) outs(%y_z : tensor<?x6xf32>) -> tensor<?x6xf32>

  %s_e = tensor.empty(%t, %n) : tensor<?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<?x8xf32>, tensor<?x8xf32>) outs(%s_z : tensor<?x?xf32>) -> tensor<?x?xf32>
  %l_e = tensor.empty(%t) : tensor<?xf32>
  %l_z = linalg.fill ins(%zero : f32) outs(%l_e : tensor<?xf32>) -> tensor<?xf32>
  %l = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<?x?xf32>) outs(%l_z : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.addf %o, %a : f32
    linalg.yield %x : f32
  } -> tensor<?xf32>
  %w = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%s, %l : tensor<?x?xf32>, tensor<?xf32>) outs(%s_e : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.divf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  %z = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<?x?xf32>, tensor<?x6xf32>) outs(%y_z : tensor<?x6xf32>) -> tensor<?x6xf32>
  return %y, %z : tensor<?x6xf32>, tensor<?x6xf32>
}

// -----

#left = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#turned = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#right = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#out = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// A table with a number of each distance for each head: a row has its head's.
// REMARK: remark: {{.*}}attention that was written out runs over tiles of keys
// CHECK-LABEL: func @table_of_heads
// CHECK-SAME: %[[TABLE:[a-z0-9]*]]: tensor<9x2xf32>)
func.func @table_of_heads(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>, %table: tensor<9x2xf32>) -> tensor<2x?x6xf32> {
  // CHECK: %[[TURNED:.*]] = linalg.transpose ins(%[[TABLE]] : {{.*}} permutation = [1, 0]
  // CHECK: gf.attention {{.*}} captures(%[[TURNED]] : tensor<2x9xf32>)
  // CHECK: ^row({{.*}} %[[ROWS:.*]]: tensor<9xf32>, %[[ROW:[a-z]*]]: index
  // CHECK: arith.subi %{{.*}}, %[[ROW]]
  // CHECK: tensor.extract %[[ROWS]][%{{.*}}] : tensor<9xf32>
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x?x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %h = linalg.index 0 : index
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %far = arith.subi %j, %i : index
    %place = arith.andi %far, %c8 : index
    %b = tensor.extract %table[%place, %h] : tensor<9x2xf32>
    %x = arith.mulf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// -----

#left = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#turned = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#right = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#out = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// The head is the number that is looked up, and not only which table.
// REMARK: remark: {{.*}}attention stays written out: a score depends on its leading index
// CHECK-LABEL: func @looked_up_by_head
func.func @looked_up_by_head(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>, %table: tensor<9xf32>) -> tensor<2x?x6xf32> {
  // CHECK-NOT: gf.attention
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x?x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %h = linalg.index 0 : index
    %place = arith.addi %h, %c1 : index
    %b = tensor.extract %table[%place] : tensor<9xf32>
    %x = arith.mulf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}
