// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --inline --gf-raise-attention --verify-diagnostics --remark-format=emitRemark --remarks-filter=gf-raise-attention | FileCheck %s

// What stays written out, and why; each is said where the product with the values is asked for.
// CHECK-NOT: gf.attention

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

#transposed = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
#left = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#right = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#turned = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#out = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>

func.func @weights_returned(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> (tensor<2x?x6xf32>, tensor<2x?x?xf32>) {
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
  // expected-remark @+1 {{attention stays written out: the weights are needed themselves, too}}
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y, %w : tensor<2x?x6xf32>, tensor<2x?x?xf32>
}

func.func @scores_returned(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> (tensor<2x?x6xf32>, tensor<2x?x?xf32>) {
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
  // expected-remark @+1 {{attention stays written out: the scores are needed themselves, too}}
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y, %s : tensor<2x?x6xf32>, tensor<2x?x?xf32>
}

func.func @scores_before_the_scale_returned(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> (tensor<2x?x6xf32>, tensor<2x?x?xf32>) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
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
  // expected-remark @+1 {{attention stays written out: the scores are needed themselves, too}}
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y, %s : tensor<2x?x6xf32>, tensor<2x?x?xf32>
}

// Each key's weights over the queries.
func.func @along_the_queries(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x?x6xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %wt = call @softmax_of_columns(%s) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  // expected-remark @+1 {{attention stays written out: the softmax does not run along the keys}}
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%wt, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// The product sums over the queries, as if they were the keys.
func.func @weights_transposed(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x?x6xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = call @softmax(%s) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%n) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  // expected-remark @+1 {{attention stays written out: the softmax does not run along the keys, which the product with the values sums over}}
  %y = linalg.contract indexing_maps = [#transposed, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// Slots of a memory that is learned.
func.func @parameter_keys(%q: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x?x6xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %k = gf.parameter "slots" : tensor<2x4x8xf32>
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = arith.constant 4 : index
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x4x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = call @softmax(%s) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  // expected-remark @+1 {{attention stays written out: the keys are parameters, of which a product packs panels}}
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

func.func @heads_differ(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x?x6xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %c = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x?x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %h = linalg.index 0 : index
    %hi = arith.index_cast %h : index to i32
    %hf = arith.sitofp %hi : i32 to f32
    %r = arith.mulf %a, %hf : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %w = call @softmax(%c) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  // expected-remark @+1 {{attention stays written out: a score depends on its leading index}}
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// No product stands before the softmax: nothing that is nearly an attention.
func.func @scores_given(%s: tensor<2x?x?xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x?x6xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %s, %c1 : tensor<2x?x?xf32>
  %w = call @softmax(%s) : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}

// Powers over their sum: NaN where a row has no key, and so no softmax.
func.func @powers_over_their_sum(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>) -> tensor<2x?x6xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %s_e = tensor.empty(%t, %n) : tensor<2x?x?xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %s = linalg.contract indexing_maps = [#left, #turned, #out]
      ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%s_z : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %e = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x?x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %l_e = tensor.empty(%t) : tensor<2x?xf32>
  %l_z = linalg.fill ins(%zero : f32) outs(%l_e : tensor<2x?xf32>) -> tensor<2x?xf32>
  %l = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<2x?x?xf32>) outs(%l_z : tensor<2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x?xf32>
  %w = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %l : tensor<2x?x?xf32>, tensor<2x?xf32>) outs(%s_e : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x?x?xf32>
  %y_e = tensor.empty(%t) : tensor<2x?x6xf32>
  %y_z = linalg.fill ins(%zero : f32) outs(%y_e : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  // expected-remark @+1 {{attention stays written out: its weights are powers over their sum, which is no softmax in a row that sees no key; write softmax(..)}}
  %y = linalg.contract indexing_maps = [#left, #right, #out]
      ins(%w, %v : tensor<2x?x?xf32>, tensor<2x?x6xf32>) outs(%y_z : tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  return %y : tensor<2x?x6xf32>
}
