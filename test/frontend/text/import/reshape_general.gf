# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# Where no grouping of dimensions shows, all are collapsed and expanded.

model general(x: [B, 6], y: [1, B, 1], z: []) -> (a: [3, B, 2], b: [B, 1], c: [1, 1]) {
  return reshape(x, (3, B, 2)), reshape(y, (B, 1)), reshape(z, (1, 1))
}

# CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<?x6xf32> into tensor<?xf32>
# CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1, 2]] output_shape [3, %{{.*}}, 2] : tensor<?xf32> into tensor<3x?x2xf32>
# CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<1x?x1xf32> into tensor<?x1xf32>
# CHECK: tensor.expand_shape %{{.*}} [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
