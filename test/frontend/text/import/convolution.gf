# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# A convolution is a linalg.generic; its sums run over channels, then the kernel.

model convolution(x: [B, 4, T]) -> (a: [B, 6, (T - 1)//2 + 1], b: [B, 6, T]) {
  param plain: conv1d(N=6, kernel=3, stride=2, padding=1)
  param grouped: conv1d(N=6, kernel=1, groups=2, bias=false)
  return plain(x), grouped(x)
}

# CHECK-DAG: affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 * 2 + d4)>
# CHECK-DAG: affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4)>
# CHECK: func.func @convolution(
# CHECK: tensor.pad %{{.*}} low[0, 0, 1] high[0, 0, 1]
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
# CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2], [3]] output_shape [%{{.*}}, 2, 2, %{{.*}}]
# CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2], [3]] output_shape [2, 3, 2, 1]
# CHECK: linalg.generic
# CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2], [3]]
