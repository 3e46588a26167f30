// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --inline --gf-raise-attention --canonicalize --cse | FileCheck %s
// RUN: gatefold-opt %s --inline --gf-raise-attention --remark-format=emitRemark --remarks-filter=gf-raise-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>

// Along the last axis, as importers write it out.
func.func private @softmax(%s: tensor<2x?x?xf32>) -> tensor<2x?x?xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %t = tensor.dim %s, %c1 : tensor<2x?x?xf32>
  %n = tensor.dim %s, %c2 : tensor<2x?x?xf32>
  %er = tensor.empty(%t) : tensor<2x?xf32>
  %ew = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %fl = linalg.fill ins(%least : f32) outs(%er : tensor<2x?xf32>) -> tensor<2x?xf32>
  %fz = linalg.fill ins(%zero : f32) outs(%er : tensor<2x?xf32>) -> tensor<2x?xf32>
  %m = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x?x?xf32>) outs(%fl : tensor<2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x?xf32>
  %e = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x?x?xf32>, tensor<2x?xf32>) outs(%ew : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %none = arith.cmpf oeq, %b, %least : f32
    %top = arith.select %none, %zero, %b : f32
    %d = arith.subf %a, %top : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %l = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<2x?x?xf32>) outs(%fz : tensor<2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x?xf32>
  %w = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %l : tensor<2x?x?xf32>, tensor<2x?xf32>) outs(%ew : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %none = arith.cmpf oeq, %b, %zero : f32
    %total = arith.select %none, %one, %b : f32
    %r = arith.divf %a, %total : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  return %w : tensor<2x?x?xf32>
}

#columns = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#column = affine_map<(d0, d1, d2) -> (d0, d2)>

// Along the axis before it.
func.func private @softmax_of_columns(%s: tensor<2x?x?xf32>) -> tensor<2x?x?xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %t = tensor.dim %s, %c1 : tensor<2x?x?xf32>
  %n = tensor.dim %s, %c2 : tensor<2x?x?xf32>
  %er = tensor.empty(%n) : tensor<2x?xf32>
  %ew = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %fl = linalg.fill ins(%least : f32) outs(%er : tensor<2x?xf32>) -> tensor<2x?xf32>
  %fz = linalg.fill ins(%zero : f32) outs(%er : tensor<2x?xf32>) -> tensor<2x?xf32>
  %m = linalg.generic {indexing_maps = [#columns, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<2x?x?xf32>) outs(%fl : tensor<2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x?xf32>
  %e = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x?x?xf32>, tensor<2x?xf32>) outs(%ew : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %none = arith.cmpf oeq, %b, %least : f32
    %top = arith.select %none, %zero, %b : f32
    %d = arith.subf %a, %top : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %l = linalg.generic {indexing_maps = [#columns, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<2x?x?xf32>) outs(%fz : tensor<2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x?xf32>
  %w = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %l : tensor<2x?x?xf32>, tensor<2x?xf32>) outs(%ew : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %none = arith.cmpf oeq, %b, %zero : f32
    %total = arith.select %none, %one, %b : f32
    %r = arith.divf %a, %total : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  return %w : tensor<2x?x?xf32>
}

#left = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#right = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#turned = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#columns_of_values = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
#shared_keys = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#shared_values = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#out = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>

// Keys that are transposed for the product are read as they were; the scale
// stays on the scores. A second run finds nothing.
// REMARK: remark: {{.*}}attention that was written out runs over tiles of keys
// CHECK-LABEL: func @scaled
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[V:.*]]: tensor<2x?x6xf32>
func.func @scaled(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x?x6xf32> {
  // CHECK-NOT: linalg.contract
  // CHECK: gf.attention queries(%[[Q]] : {{.*}}) keys(%[[K]], %[[V]] : {{.*}}) -> tensor<2x?x6xf32>
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %[[VR:.*]]: tensor<?x6xf32>,
  // CHECK: %[[S:.*]] = gf.row_scores %[[QR]], %[[KR]]
  // CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[S]] :
  // CHECK: arith.mulf
  // CHECK: %[[P:.*]] = gf.row_softmax %[[C]]
  // CHECK: %[[Y:.*]] = gf.row_values %[[P]], %[[VR]]
  // CHECK: gf.yield %[[Y]]
  // CHECK-NOT: linalg.contract
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %kt_e = tensor.empty(%n) : tensor<2x8x?xf32>
  %kt = linalg.transpose ins(%k : tensor<2x?x8xf32>) outs(%kt_e : tensor<2x8x?xf32>) permutation = [0, 2, 1]
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%q, %kt : tensor<2x?x8xf32>, tensor<2x8x?xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %d = arith.constant 0.5 : f32
  %scaled = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x?x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.mulf %a, %d : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %w = call @softmax(%scaled) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// A bias of [T, S] and a mask of [1, S] are pairs, a slope of each head is a
// capture and a shift of each query a query.
// REMARK: attention that was written out
// CHECK-LABEL: func @operands
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<?x?xf32>, %[[MASK:[^:]*]]: tensor<1x?xi1>, %[[SLOPE:[^:]*]]: tensor<2xf32>, %[[SHIFT:[^:]*]]: tensor<2x?x1xf32>
#pair = affine_map<(d0, d1, d2) -> (d1, d2)>
#key = affine_map<(d0, d1, d2) -> (0, d2)>
#head = affine_map<(d0, d1, d2) -> (d0)>
#query = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
func.func @operands(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>, %bias: tensor<?x?xf32>,
    %mask: tensor<1x?xi1>, %slope: tensor<2xf32>, %shift: tensor<2x?x1xf32>) -> tensor<2x?x6xf32> {
  // CHECK: gf.attention queries(%{{.*}}, %{{.*}} : tensor<2x?x8xf32>, tensor<2x?xf32>)
  // CHECK-SAME: pairs(%[[BIAS]], %[[MASK]] : tensor<?x?xf32>, tensor<1x?xi1>)
  // CHECK-SAME: captures(%[[SLOPE]] : tensor<2xf32>)
  // CHECK: ^row(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<f32>, {{.*}}%{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?xi1>, %{{.*}}: tensor<f32>, %[[ROW:.*]]: index, %{{.*}}: index):
  // CHECK: linalg.index 0
  // CHECK: arith.subi %{{.*}}, %[[ROW]]
  // CHECK: gf.row_softmax
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %least = arith.constant 0xFF800000 : f32
  %c = linalg.generic {indexing_maps = [#whole, #pair, #key, #head, #query, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %bias, %mask, %slope, %shift : tensor<2x?x?xf32>, tensor<?x?xf32>, tensor<1x?xi1>, tensor<2xf32>, tensor<2x?x1xf32>)
      outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %m: i1, %l: f32, %h: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %far = arith.subi %j, %i : index
    %far_i = arith.index_cast %far : index to i32
    %far_f = arith.sitofp %far_i : i32 to f32
    %far_l = arith.mulf %far_f, %l : f32
    %sum = arith.addf %a, %b : f32
    %sum_l = arith.addf %sum, %far_l : f32
    %sum_h = arith.subf %sum_l, %h : f32
    %r = arith.select %m, %sum_h, %least : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %w = call @softmax(%c) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// Values that stand transposed are turned around.
// CHECK-LABEL: func @transposed_values
// CHECK-SAME: %[[V:[^:]*]]: tensor<2x6x?xf32>
func.func @transposed_values(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x6x?xf32>) -> tensor<2x?x6xf32> {
  // CHECK: %[[T:.*]] = linalg.transpose ins(%[[V]] : {{.*}} permutation = [0, 2, 1]
  // CHECK: gf.attention queries(%{{.*}}) keys(%{{.*}}, %[[T]] :
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = call @softmax(%s) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x6x?xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// Keys and values of one head serve both; two products have their scores each.
// CHECK-LABEL: func @shared
func.func @shared(%q: tensor<2x?x8xf32>, %k: tensor<?x8xf32>, %p: tensor<2x?x8xf32>, %v: tensor<?x6xf32>) -> tensor<2x?x6xf32> {
  // CHECK: gf.attention queries(%{{.*}} : tensor<2x?x8xf32>) keys(%{{.*}} : tensor<?x8xf32>, tensor<2x?x8xf32>, tensor<?x6xf32>)
  // CHECK-COUNT-2: gf.row_scores
  // CHECK: arith.addf
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #shared_keys, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %r_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %r_z = linalg.fill ins(%zero : f32) outs(%r_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %r = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %p : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%r_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %c = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %r : tensor<2x?x?xf32>, tensor<2x?x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<2x?x?xf32>
  %w = call @softmax(%c) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #shared_values, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// Keys come first, each has a column of weights, and these lie the other way: axes alone.
// CHECK-LABEL: func @turned
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[V:.*]]: tensor<2x?x6xf32>
func.func @turned(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x6x?xf32> {
  // CHECK: %[[Y:.*]] = gf.attention queries(%[[Q]] : {{.*}}) keys(%[[K]], %[[V]] : {{.*}}) -> tensor<2x?x6xf32>
  // CHECK: linalg.transpose ins(%[[Y]] : {{.*}} permutation = [0, 2, 1]
  // CHECK-NOT: linalg.contract
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%n, %t) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%k, %q : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = call @softmax_of_columns(%s) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x6x?xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x6x?xf32>) -> tensor<2x6x?xf32>
  %y = linalg.contract indexing_maps = [#columns_of_values, #right, #out]
      ins(%v, %w : tensor<2x?x6xf32>, tensor<2x?x?xf32>) outs(%y_z : tensor<2x6x?xf32>) -> tensor<2x6x?xf32>
  return %y : tensor<2x6x?xf32>
}

// A mask from indices, and a table that is looked up, are computed in the row; two softmaxes of one
// product share it.
// CHECK-LABEL: func @several
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<9xf32>
func.func @several(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>, %table: tensor<9xf32>) -> tensor<2x?x6xf32> {
  // CHECK-NOT: tensor<?x?x
  // CHECK: gf.attention queries(%{{.*}} : tensor<2x?x8xf32>) keys(%{{.*}} : {{.*}}) captures(%[[TABLE]] : tensor<9xf32>)
  // CHECK: ^row(%{{.*}}, %[[T:capture[^:]*]]: tensor<9xf32>, %[[ROW:.*]]: index, %{{.*}}: index):
  // CHECK: %[[S:.*]] = gf.row_scores
  // CHECK: %[[BIAS:.*]] = linalg.generic
  // CHECK: arith.remui %{{.*}}
  // CHECK: tensor.extract %[[T]]
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[BIAS]] :
  // CHECK: %[[ONE:.*]] = gf.row_softmax %[[SUM]]
  // CHECK: %[[OTHER:.*]] = gf.row_softmax %[[S]]
  // CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[ONE]], %[[OTHER]] :
  // CHECK: gf.row_values %[[W]]
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %b_e = tensor.empty(%t, %n) : tensor<?x?xf32>
  %bias = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      outs(%b_e : tensor<?x?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %both = arith.addi %i, %j : index
    %place = arith.remui %both, %c9 : index
    %r = tensor.extract %table[%place] : tensor<9xf32>
    linalg.yield %r : f32
  } -> tensor<?x?xf32>
  %c = linalg.generic {indexing_maps = [#whole, #pair, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<2x?x?xf32>, tensor<?x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %w1 = call @softmax(%c) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w2 = call @softmax(%s) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w1, %w2 : tensor<2x?x?xf32>, tensor<2x?x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// What two attentions read is computed by each.
// CHECK-LABEL: func @shared_scores
func.func @shared_scores(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>, %u: tensor<2x?x6xf32>) -> (tensor<2x?x6xf32>, tensor<2x?x6xf32>) {
  // CHECK-COUNT-2: gf.attention
  // CHECK-NOT: linalg.contract
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = call @softmax(%s) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %z = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %u : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y, %z : tensor<2x?x6xf32>, tensor<2x?x6xf32>
}
