# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# An attention is a gf.attention: the axis T is left out of its region.

attention everything(q: [T, D], k: [S, D], v: [S, E], pair: [T, S], slope: [], mix: [T, 1]) -> [T, E] {
  s = q @ k.T / sqrt(D) + pair - slope * abs(position - col)
  near = softmax(s, where=abs(row - col) < 8, sink=mix)
  kept = softmax(s + neighbour_difference(s, 3), where=top_k(s, fraction=0.5))
  return where(visible, near - mix * kept, 0) @ v
}

model attention(q: [B, 2, T, 16], k: [B, 2, S, 16], v: [B, 2, S, 24], pair: [1, S],
                slope: [2], mix: [B, 2, T, 1], lengths: i64[B], mask: bool[B, 1, 1, S]) -> [B, 2, T, 24] {
  return everything(q, k, v, pair, slope, mix, causal=true, window=(64, inf),
                    lengths=lengths, mask=mask)
}

# CHECK: func.func @attention(
# CHECK: gf.attention queries(%arg0, %arg5 : tensor<?x2x?x16xf32>, tensor<?x2x?x1xf32>)
# CHECK-SAME: keys(%arg1, %arg2 : tensor<?x2x?x16xf32>, tensor<?x2x?x24xf32>)
# CHECK-SAME: pairs(%arg3 : tensor<1x?xf32>)
# CHECK-SAME: captures(%arg4 : tensor<2xf32>)
# CHECK-SAME: lengths(%arg6 : tensor<?xi64>) mask(%arg7 : tensor<?x1x1x?xi1>) causal window(64, -1) -> tensor<?x2x?x24xf32>
# CHECK-NEXT: ^row(%[[Q:.*]]: tensor<16xf32>, %[[MIX:.*]]: tensor<1xf32>, %[[K:.*]]: tensor<?x16xf32>, %[[V:.*]]: tensor<?x24xf32>, %{{.*}}: tensor<?xf32>, %{{.*}}: tensor<f32>, %[[ROW:.*]]: index, %[[POSITION:.*]]: index):
# CHECK-DAG: gf.row_scores %[[Q]], %[[K]] : tensor<16xf32>, tensor<?x16xf32> -> tensor<?xf32>
# CHECK-DAG: arith.index_cast %[[POSITION]]
# CHECK-DAG: arith.index_cast %[[ROW]]
# CHECK: %[[SINK:.*]] = tensor.extract %[[MIX]]
# CHECK: gf.row_softmax %{{.*}} where(%{{.*}} : tensor<?xi1>) sink(%[[SINK]] : f32) : tensor<?xf32>
# CHECK-DAG: gf.row_neighbours %{{.*}} width 3 scope visible
# CHECK-DAG: gf.row_top_k %{{.*}} fraction 5.000000e-01 : tensor<?xf32> -> tensor<?xi1>
# CHECK: gf.row_softmax
# CHECK: gf.row_visible : tensor<?xi1>
# CHECK: %[[Y:.*]] = gf.row_values %{{.*}}, %[[V]]
# CHECK: gf.yield %[[Y]] : tensor<24xf32>
