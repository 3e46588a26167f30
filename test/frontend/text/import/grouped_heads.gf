# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# Grouped heads are a pair (key head, group); keys have a 1 for the group.
import attention

model grouped(q: [B, 8, T, 16], k: [B, 2, T, 16], v: [B, 2, T, 16]) -> [B, 8, T, 16] {
  return dot_product(q, k, v, causal=true, gqa=true)
}

# CHECK: gf.attention queries(%{{.*}} : tensor<?x2x4x?x16xf32>)
# CHECK-SAME: keys(%{{.*}}, %{{.*}} : tensor<?x2x1x?x16xf32>, tensor<?x2x1x?x16xf32>)
# CHECK-SAME: causal -> tensor<?x2x4x?x16xf32>
# CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2], [3], [4]]
