# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# Products are linalg.contract on f32 sums that start at 0.

model contract(x: [B, T, 40], y: [B, T, 40], v: [40]) ->
    (a: [B, T, 8], b: [B, T, T], c: [B, T], d: []) {
  param fc: linear(N=8)
  return fc(x), x @ y.T, x @ v, v @ v
}

# CHECK-DAG: #[[X:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
# CHECK-DAG: #[[W:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
# CHECK-DAG: #[[Y:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
# CHECK: func.func @contract
# CHECK-DAG: %[[WEIGHT:.*]] = gf.parameter "fc.weight" : tensor<8x40xf32>
# CHECK-DAG: %[[BIAS:.*]] = gf.parameter "fc.bias" : tensor<8xf32>
# CHECK: %[[ZERO:.*]] = linalg.fill
# CHECK: linalg.contract indexing_maps = [#[[X]], #[[W]], #[[Y]]]
# CHECK-SAME: ins(%{{.*}}, %[[WEIGHT]] : tensor<?x?x40xf32>, tensor<8x40xf32>) outs(%[[ZERO]] : tensor<?x?x8xf32>)
# CHECK: linalg.contract
# CHECK-SAME: outs(%{{.*}} : tensor<?x?x?xf32>)
# CHECK: linalg.contract
# CHECK-SAME: outs(%{{.*}} : tensor<?x?xf32>)
# CHECK: linalg.contract
# CHECK-SAME: outs(%{{.*}} : tensor<f32>)
