# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# Scores of a network; reductions over the keys.

attention additive(q: [T, A], k: [S, A], v: [S, E], w: [A]) -> [T, E] {
  p = softmax(tanh(q[:, None, :] + k[None, :, :]) @ w)
  return (p / sum(p, axis=1, keep=true)) @ v
}

model scores(q: [T, 16], k: [S, 16], v: [S, 24]) -> [T, 24] {
  param w: [16]
  return additive(q, k, v, w)
}

# CHECK: gf.attention queries(%{{.*}}) keys(%{{.*}}) captures(%{{.*}} : tensor<16xf32>)
# CHECK: tensor.expand_shape %{{.*}} : tensor<16xf32> into tensor<1x16xf32>
# CHECK: tensor.expand_shape %{{.*}} : tensor<?x16xf32> into tensor<1x?x16xf32>
# CHECK: math.tanh
# CHECK: linalg.contract
# CHECK-SAME: outs(%{{.*}} : tensor<?xf32>)
# CHECK: gf.row_softmax
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["reduction"]
# CHECK: } -> tensor<f32>
# CHECK: gf.row_values
