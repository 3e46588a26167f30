# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --entry both --emit import | FileCheck %s
# RUN: gatefold compile %s --entry own --lead 1 --arg lse=true --arg weights=true --emit import | FileCheck %s --check-prefix=ENTRY
# The log-sum-exp is a second result of a softmax, f32 whatever the scores are; weights are its first.

attention own(q: [T, 8], k: [S, 8]) -> [T, 8] {
  s = q @ k.T
  return (softmax(s) - softmax(2 * s)) @ k
}

# CHECK-LABEL: func.func @both
# CHECK: %[[A:.*]]:5 = gf.attention {{.*}} -> (tensor<?x?x8xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>)
# CHECK: %[[P:.*]], %[[L:.*]] = gf.row_softmax %{{.*}} : tensor<?xf32>, tensor<f32>
# CHECK: %[[R:.*]], %[[M:.*]] = gf.row_softmax %{{.*}} : tensor<?xf32>, tensor<f32>
# CHECK: gf.yield %{{.*}}, %[[L]], %[[M]], %[[P]], %[[R]] :
# CHECK: return %[[A]]#0, %[[A]]#1, %[[A]]#4
model both(q: [B, T, 8], k: [B, S, 8]) -> ([B, T, 8], [B, T], [B, T, S]) {
  y, (l, _), (_, p) = own(q, k, lse=true, weights=true)
  return y, l, p
}

# ENTRY: func.func @own
# ENTRY-SAME: gf.name = "output"
# ENTRY-SAME: gf.name = "lse0"
# ENTRY-SAME: gf.name = "lse1"
# ENTRY-SAME: gf.name = "weights0"
# ENTRY-SAME: gf.name = "weights1"
