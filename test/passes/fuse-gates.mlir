// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-fuse-gates --canonicalize --cse --split-input-file --verify-diagnostics --remark-format=emitRemark --remarks-filter=gf-fuse-gates | FileCheck %s

// Two gates of two products and two biases each, in a step: one product with the input,
// which takes the biases and depends on no state, and one with the state. What differs
// (exp, tanh) stays on the parts.

#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @gates
// CHECK-DAG: %[[WF:.*]] = gf.parameter "wf"
// CHECK-DAG: %[[WI:.*]] = gf.parameter "wi"
// CHECK-DAG: %[[UF:.*]] = gf.parameter "uf"
// CHECK-DAG: %[[UI:.*]] = gf.parameter "ui"
// CHECK-DAG: %[[BF:.*]] = gf.parameter "bf"
// CHECK-DAG: %[[CF:.*]] = gf.parameter "cf"
// CHECK-DAG: %[[BI:.*]] = gf.parameter "bi"
// CHECK-DAG: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[BF]], %[[CF]] : tensor<8xf32>, tensor<8xf32>)
// CHECK-DAG: %[[W:.*]] = tensor.concat dim(0) %[[WF]], %[[WI]] : {{.*}} -> tensor<16x4xf32>
// CHECK-DAG: %[[U:.*]] = tensor.concat dim(0) %[[UF]], %[[UI]] : {{.*}} -> tensor<16x8xf32>
// CHECK-DAG: %[[B:.*]] = tensor.concat dim(0) %[[SUM]], %[[BI]] : {{.*}} -> tensor<16xf32>
// CHECK: ^step(%[[X:.*]]: tensor<?x4xf32>, %[[H:.*]]: tensor<?x8xf32>):
// CHECK-DAG: %[[XS:.*]] = linalg.contract {{.*}} ins(%[[W]], %[[X]] :
// CHECK-DAG: %[[XB:.*]] = linalg.generic {{.*}} ins(%[[XS]], %[[B]] : tensor<?x16xf32>, tensor<16xf32>)
// CHECK-DAG: %[[HS:.*]] = linalg.contract {{.*}} ins(%[[U]], %[[H]] :
// CHECK-DAG: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[XB]], %[[HS]] : tensor<?x16xf32>, tensor<?x16xf32>)
// CHECK-DAG: %[[F:.*]] = tensor.extract_slice %[[ALL]][0, 0] [%{{.*}}, 8] [1, 1]
// CHECK-DAG: %[[I:.*]] = tensor.extract_slice %[[ALL]][0, 8] [%{{.*}}, 8] [1, 1]
// CHECK-NOT: linalg.contract
// CHECK: linalg.generic {{.*}} ins(%[[F]] :
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} ins(%[[I]] :
// CHECK: math.tanh
func.func @gates(%xs: tensor<?x?x4xf32>, %h0: tensor<?x8xf32>) -> tensor<?x?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %wf = gf.parameter "wf" : tensor<8x4xf32>
  %uf = gf.parameter "uf" : tensor<8x8xf32>
  %bf = gf.parameter "bf" : tensor<8xf32>
  %cf = gf.parameter "cf" : tensor<8xf32>
  %size = tensor.dim %xs, %c0 : tensor<?x?x4xf32>
  %e = tensor.empty(%size) : tensor<?x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %r:2 = gf.recurrence sequences(%xs : tensor<?x?x4xf32>) states(%h0 : tensor<?x8xf32>) time_axis 1 -> (tensor<?x?x8xf32>) {
  ^step(%x: tensor<?x4xf32>, %h: tensor<?x8xf32>):
    // expected-remark @+1 {{gates fused: 2 products into 1 (2 x 8 columns)}}
    %f0 = linalg.contract indexing_maps = [#w, #x, #y] ins(%wf, %x : tensor<8x4xf32>, tensor<?x4xf32>) outs(%fill : tensor<?x8xf32>) -> tensor<?x8xf32>
    %f1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%f0, %bf : tensor<?x8xf32>, tensor<8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<?x8xf32>
    // expected-remark @+1 {{gates fused: 2 products into 1 (2 x 8 columns)}}
    %f2 = linalg.contract indexing_maps = [#w, #x, #y] ins(%uf, %h : tensor<8x8xf32>, tensor<?x8xf32>) outs(%fill : tensor<?x8xf32>) -> tensor<?x8xf32>
    %f3 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%f1, %f2 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<?x8xf32>
    // expected-remark @+1 {{2 biases added to each other first}}
    %f4 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%f3, %cf : tensor<?x8xf32>, tensor<8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<?x8xf32>
    %f = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%f4 : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.exp %a : f32
      linalg.yield %s : f32
    } -> tensor<?x8xf32>
    // These stand behind the first gate's products, and move.
    %wi = gf.parameter "wi" : tensor<8x4xf32>
    %ui = gf.parameter "ui" : tensor<8x8xf32>
    %bi = gf.parameter "bi" : tensor<8xf32>
    %i0 = linalg.contract indexing_maps = [#w, #x, #y] ins(%ui, %h : tensor<8x8xf32>, tensor<?x8xf32>) outs(%fill : tensor<?x8xf32>) -> tensor<?x8xf32>
    %i1 = linalg.contract indexing_maps = [#w, #x, #y] ins(%wi, %x : tensor<8x4xf32>, tensor<?x4xf32>) outs(%fill : tensor<?x8xf32>) -> tensor<?x8xf32>
    %i2 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%i1, %i0 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<?x8xf32>
    // expected-remark @+1 {{1 bias added to a product first}}
    %i3 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%i2, %bi : tensor<?x8xf32>, tensor<8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<?x8xf32>
    %i = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%i3 : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = math.tanh %a : f32
      linalg.yield %s : f32
    } -> tensor<?x8xf32>
    %n = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%f, %i : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.mulf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<?x8xf32>
    gf.yield %n, %n : tensor<?x8xf32>, tensor<?x8xf32>
  }
  return %r#0 : tensor<?x?x8xf32>
}

// -----

// Other operands: they stay apart, and so does a bias that only one part has. Weights of
// different width fuse.

#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @widths
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[Z:.*]]: tensor<?x4xf32>
// CHECK-DAG: %[[Q:.*]] = gf.parameter "q"
// CHECK-DAG: %[[K:.*]] = gf.parameter "k"
// CHECK: %[[W:.*]] = tensor.concat dim(0) %[[Q]], %[[K]] : {{.*}} -> tensor<11x4xf32>
// CHECK: %[[BOTH:.*]] = linalg.contract {{.*}} ins(%[[W]], %[[X]] :
// CHECK-DAG: %[[FIRST:.*]] = tensor.extract_slice %[[BOTH]][0, 0] [%{{.*}}, 8] [1, 1]
// CHECK-DAG: %[[SECOND:.*]] = tensor.extract_slice %[[BOTH]][0, 8] [%{{.*}}, 3] [1, 1]
// CHECK: linalg.contract {{.*}} ins(%[[Q]], %[[Z]] :
// CHECK: linalg.generic {{.*}} ins(%[[FIRST]], %{{.*}} : tensor<?x8xf32>, tensor<8xf32>)
func.func @widths(%x: tensor<?x4xf32>, %z: tensor<?x4xf32>) -> (tensor<?x8xf32>, tensor<?x3xf32>, tensor<?x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%size) : tensor<?x8xf32>
  %g = tensor.empty(%size) : tensor<?x3xf32>
  %fill8 = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %fill3 = linalg.fill ins(%zero : f32) outs(%g : tensor<?x3xf32>) -> tensor<?x3xf32>
  %q = gf.parameter "q" : tensor<8x4xf32>
  // expected-remark @+1 {{gates fused: 2 products into 1 (11 columns)}}
  %a = linalg.contract indexing_maps = [#w, #x, #y] ins(%q, %x : tensor<8x4xf32>, tensor<?x4xf32>) outs(%fill8 : tensor<?x8xf32>) -> tensor<?x8xf32>
  %k = gf.parameter "k" : tensor<3x4xf32>
  %b = linalg.contract indexing_maps = [#w, #x, #y] ins(%k, %x : tensor<3x4xf32>, tensor<?x4xf32>) outs(%fill3 : tensor<?x3xf32>) -> tensor<?x3xf32>
  %c = linalg.contract indexing_maps = [#w, #x, #y] ins(%q, %z : tensor<8x4xf32>, tensor<?x4xf32>) outs(%fill8 : tensor<?x8xf32>) -> tensor<?x8xf32>
  %bias = gf.parameter "bias" : tensor<8xf32>
  %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%a, %bias : tensor<?x8xf32>, tensor<8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  return %d, %b, %c : tensor<?x8xf32>, tensor<?x3xf32>, tensor<?x8xf32>
}

// -----

// A large weight that another product reads would be kept twice. In a step, products that
// look like gates but read something else are named.

#w = affine_map<(d0, d1) -> (d0, d1)>
#x = affine_map<(d0, d1) -> (d1)>
#y = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @apart
// CHECK-NOT: tensor.concat
// CHECK-COUNT-5: linalg.contract
func.func @apart(%x: tensor<512xf32>, %z: tensor<512xf32>, %s: tensor<?x4xf32>, %h0: tensor<4xf32>) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<?x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
  %g = tensor.empty() : tensor<4xf32>
  %fill4 = linalg.fill ins(%zero : f32) outs(%g : tensor<4xf32>) -> tensor<4xf32>
  %p = gf.parameter "p" : tensor<1024x512xf32>
  %q = gf.parameter "q" : tensor<1024x512xf32>
  %v = gf.parameter "v" : tensor<4x4xf32>
  %u = gf.parameter "u" : tensor<4x4xf32>
  // expected-remark @+1 {{not fused: a weight of 2097152 bytes is read elsewhere, and would be kept twice}}
  %a = linalg.contract indexing_maps = [#w, #x, #y] ins(%p, %x : tensor<1024x512xf32>, tensor<512xf32>) outs(%fill : tensor<1024xf32>) -> tensor<1024xf32>
  %b = linalg.contract indexing_maps = [#w, #x, #y] ins(%q, %x : tensor<1024x512xf32>, tensor<512xf32>) outs(%fill : tensor<1024xf32>) -> tensor<1024xf32>
  %c = linalg.contract indexing_maps = [#w, #x, #y] ins(%q, %z : tensor<1024x512xf32>, tensor<512xf32>) outs(%fill : tensor<1024xf32>) -> tensor<1024xf32>
  %r:2 = gf.recurrence sequences(%s : tensor<?x4xf32>) states(%h0 : tensor<4xf32>) time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>, %h: tensor<4xf32>):
    // expected-remark @+1 {{not fused: operands differ}}
    %f = linalg.contract indexing_maps = [#w, #x, #y] ins(%v, %h : tensor<4x4xf32>, tensor<4xf32>) outs(%fill4 : tensor<4xf32>) -> tensor<4xf32>
    // expected-remark @+1 {{not fused: operands differ}}
    %n = linalg.contract indexing_maps = [#w, #x, #y] ins(%u, %f : tensor<4x4xf32>, tensor<4xf32>) outs(%fill4 : tensor<4xf32>) -> tensor<4xf32>
    gf.yield %n, %n : tensor<4xf32>, tensor<4xf32>
  }
  return %a, %b, %c, %r#0 : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<?x4xf32>
}

// -----

// Products of one operand that cannot be one: weights read the other way, or of another type.

#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#t = affine_map<(d0, d1, d2) -> (d2, d1)>
#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @projections
// CHECK-NOT: tensor.concat
// CHECK-COUNT-3: linalg.contract
func.func @projections(%x: tensor<?x4xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf64>) {
  %zero = arith.constant 0.0 : f32
  %zero64 = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%size) : tensor<?x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %e64 = tensor.empty(%size) : tensor<?x8xf64>
  %fill64 = linalg.fill ins(%zero64 : f64) outs(%e64 : tensor<?x8xf64>) -> tensor<?x8xf64>
  %wq = gf.parameter "wq" : tensor<8x4xf32>
  %wk = gf.parameter "wk" : tensor<4x8xf32>
  %wv = gf.parameter "wv" : tensor<4x8xf64>
  %q = linalg.contract indexing_maps = [#w, #x, #y] ins(%wq, %x : tensor<8x4xf32>, tensor<?x4xf32>) outs(%fill : tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-remark @+1 {{not fused with another product of the same operand: their weights are read along different dimensions}}
  %k = linalg.contract indexing_maps = [#t, #x, #y] ins(%wk, %x : tensor<4x8xf32>, tensor<?x4xf32>) outs(%fill : tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-remark @+1 {{not fused with another product of the same operand: weights of tensor<4x8xf32> and tensor<4x8xf64> do not fit side by side}}
  %v = linalg.contract indexing_maps = [#t, #x, #y] ins(%wv, %x : tensor<4x8xf64>, tensor<?x4xf32>) outs(%fill64 : tensor<?x8xf64>) -> tensor<?x8xf64>
  return %q, %k, %v : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf64>
}
