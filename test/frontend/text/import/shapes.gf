# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# Nodes that move elements.

model shapes(x: [B, T, 8]) ->
    (a: [B, 2, T, 4], b: [B*T, 8], c: [B, T, 3], d: [B, 2*T, 8], e: [B, T, 12],
        f: [B, T, 8], g: i64[T]) {
  return (split_heads(x, 2), reshape(x, (B*T, 8)), x[:, :, 1:6:2], concat(x, x, axis=1),
          pad(x, left=1, right=3), flip(x, axis=1), arange(T))
}

# CHECK-DAG: #[[MERGED:map[0-9]*]] = affine_map<()[s0, s1] -> (s0 * s1, 8)>
# CHECK: func.func @shapes(
# CHECK-SAME: gf.name = "b", gf.shape = #[[MERGED]]
# CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] output_shape [%{{.*}}, %{{.*}}, 2, 4]
# CHECK: linalg.transpose
# CHECK-SAME: permutation = [0, 2, 1, 3]
# CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
# CHECK: tensor.extract_slice %{{.*}}[0, 0, 1] [%{{.*}}, %{{.*}}, 3] [1, 1, 2] : tensor<?x?x8xf32> to tensor<?x?x3xf32>
# CHECK: tensor.concat dim(1)
# CHECK: tensor.pad %{{.*}} low[0, 0, 1] high[0, 0, 3]
# CHECK: linalg.generic
# CHECK: tensor.extract
# CHECK: linalg.generic
# CHECK: linalg.index 0
# CHECK-NEXT: arith.index_cast
