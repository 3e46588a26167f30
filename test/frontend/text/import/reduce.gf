# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# Reductions run innermost and in order; what stands behind a length is not read.

model reduce(x: [B, T, 8], lengths: i64[B]) ->
    (a: [B, 8], b: [B, 8], c: [B, T], d: i64[B, T], e: [B, T, 8]) {
  return (sum(x, axis=1), mean(x, axis=1, lengths=lengths), max(x, axis=2),
          argmax(x, axis=2), softmax(x, axis=2, where=x > 0))
}

# CHECK: func.func @reduce(
# CHECK-SAME: gf.at_most = affine_map<()[s0, s1] -> (s1)>, gf.name = "lengths"

# sum
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
# CHECK: arith.addf

# mean: elements are selected by their place, and the sum divided by at least 1
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
# CHECK: linalg.index 2
# CHECK: arith.cmpi slt
# CHECK: arith.select
# CHECK: arith.addf
# CHECK: arith.maxsi
# CHECK: arith.divf

# CHECK: arith.constant 0xFF800000 : f32
# CHECK: linalg.generic
# CHECK: arith.maximumf

# argmax: the first place of the largest
# CHECK: linalg.generic
# CHECK: arith.cmpf ogt
# CHECK: linalg.index 2
# CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, i64

# softmax: hidden elements are -inf, and a row without one divides by 1
# CHECK: arith.cmpf ogt
# CHECK: arith.select
# CHECK: arith.maximumf
# CHECK: math.exp
# CHECK: arith.addf
# CHECK: arith.cmpf oeq
# CHECK: arith.divf
