// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-fuse-gates=after-hoisting --verify-diagnostics --remark-format=emitRemark --remarks-filter=gf-fuse-gates | FileCheck %s
// RUN: gatefold-opt %s --gf-fuse-gates=across-directions --canonicalize --cse | FileCheck %s --check-prefix=ACROSS

// Two directions that read the same sequence: each computes its own products block by block,
// unless they are asked to be one product, which is then computed whole. The step's own
// products are not spoken of a second time.

#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @directions
// CHECK-DAG: %[[P:.*]] = gf.parameter "p"
// CHECK-DAG: %[[Q:.*]] = gf.parameter "q"
// CHECK-DAG: linalg.contract {{.*}} ins(%[[P]],
// CHECK-DAG: linalg.contract {{.*}} ins(%[[Q]],
// ACROSS-LABEL: func.func @directions
// ACROSS-DAG: %[[P:.*]] = gf.parameter "p"
// ACROSS-DAG: %[[Q:.*]] = gf.parameter "q"
// ACROSS-DAG: %[[C:.*]] = gf.parameter "c"
// ACROSS-DAG: %[[D:.*]] = gf.parameter "d"
// ACROSS-DAG: %[[W:.*]] = tensor.concat dim(0) %[[P]], %[[Q]] : {{.*}} -> tensor<8x4xf32>
// ACROSS-DAG: %[[BIAS:.*]] = tensor.concat dim(0) %[[C]], %[[D]] : {{.*}} -> tensor<8xf32>
// ACROSS-DAG: %[[BOTH:.*]] = linalg.contract {{.*}} ins(%[[W]], %{{.*}} : tensor<8x4xf32>, tensor<?x4xf32>)
// ACROSS: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[BOTH]], %[[BIAS]] : tensor<?x8xf32>, tensor<8xf32>)
// ACROSS-DAG: %[[FORWARD:.*]] = tensor.extract_slice %[[SUM]][0, 0] [%{{.*}}, 4] [1, 1]
// ACROSS-DAG: %[[BACKWARD:.*]] = tensor.extract_slice %[[SUM]][0, 4] [%{{.*}}, 4] [1, 1]
// ACROSS: gf.recurrence sequences(%[[FORWARD]] :
// ACROSS: gf.recurrence sequences(%[[BACKWARD]] :
func.func @directions(%x: tensor<?x4xf32>, %h0: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%size) : tensor<?x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %p = gf.parameter "p" : tensor<4x4xf32>
  %q = gf.parameter "q" : tensor<4x4xf32>
  %a = linalg.contract indexing_maps = [#w, #x, #y] ins(%p, %x : tensor<4x4xf32>, tensor<?x4xf32>) outs(%fill : tensor<?x4xf32>) -> tensor<?x4xf32>
  // expected-remark @+1 {{not fused with another product of the same operand: each is a sequence of another recurrence, which computes it block by block}}
  %b = linalg.contract indexing_maps = [#w, #x, #y] ins(%q, %x : tensor<4x4xf32>, tensor<?x4xf32>) outs(%fill : tensor<?x4xf32>) -> tensor<?x4xf32>
  %c = gf.parameter "c" : tensor<4xf32>
  %d = gf.parameter "d" : tensor<4xf32>
  %f = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%a, %c : tensor<?x4xf32>, tensor<4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%l: f32, %m: f32, %o: f32):
    %n = arith.addf %l, %m : f32
    linalg.yield %n : f32
  } -> tensor<?x4xf32>
  %g = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%b, %d : tensor<?x4xf32>, tensor<4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%l: f32, %m: f32, %o: f32):
    %n = arith.addf %l, %m : f32
    linalg.yield %n : f32
  } -> tensor<?x4xf32>
  %r:2 = gf.recurrence sequences(%f : tensor<?x4xf32>) states(%h0 : tensor<4xf32>) time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>, %h: tensor<4xf32>):
    gf.yield %x_t, %x_t : tensor<4xf32>, tensor<4xf32>
  }
  %s:2 = gf.recurrence sequences(%g : tensor<?x4xf32>) states(%h0 : tensor<4xf32>) time_axis 0 reverse -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>, %h: tensor<4xf32>):
    gf.yield %x_t, %x_t : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %s#0 : tensor<?x4xf32>, tensor<?x4xf32>
}
