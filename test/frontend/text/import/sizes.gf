# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# Sizes are computed once, at the start; what must hold of them is checked when a run
# starts.

model sizes(x: [B, T, 4], y: [B, S, 4]) -> (a: [B, T - 3, 4], b: [B, T + S, 4], c: [4]) {
  param narrow: conv1d(N=4, kernel=4)
  return narrow(x.T).T, concat(x, y, axis=1), sum(sum(x[:, :5], axis=1), axis=0)
}

# CHECK-DAG: #[[A:map[0-9]*]] = affine_map<()[s0, s1, s2] -> (s0, s1 - 3, 4)>
# CHECK-DAG: #[[B:map[0-9]*]] = affine_map<()[s0, s1, s2] -> (s0, s1 + s2, 4)>
# The length is the greater of itself and 0, with d * (d // 2**62) as what it lacks.
# CHECK-DAG: #[[LENGTH:map[0-9]*]] = affine_map<()[s0, s1, s2] -> (s1 + (s1 - 3) * ((s1 - 3) floordiv 4611686018427387904) - 3, s1 - 3)>
# CHECK-DAG: #[[SIZE:map[0-9]*]] = affine_map<()[s0, s1, s2] -> ((s1 - 3) floordiv 4611686018427387904, 0)>
# CHECK: func.func @sizes(
# CHECK-SAME: gf.name = "a", gf.shape = #[[A]]
# CHECK-SAME: gf.name = "b", gf.shape = #[[B]]
# CHECK-SAME: gf.dimensions = ["B", "T", "S"]
# CHECK-SAME: gf.equal = [#[[LENGTH]], #[[SIZE]]]
# CHECK-SAME: gf.equal_messages = ["sizes.gf:8:10: `conv1d`: a length of T is less than the kernel's reach of 4", "sizes.gf:8:10: the size T - 3 is negative"]
# CHECK: arith.minsi
# CHECK: tensor.extract_slice
