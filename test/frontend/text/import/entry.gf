# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# What an entry says of itself: names, sizes, bounds of values, states.

model tagger(tokens: i64[B, T], lengths: i64[B], extra: [2*T + 1]) -> (y: [B, T, 8], [B, 2*T + 1]) {
  state total: [B] = 0.5
  param embed: embedding(V=100, N=8), gain: [8] = 1
  total' = total + mean(extra, axis=0)
  return embed(tokens) * gain, mean(embed(tokens), axis=2, keep=true)[:, 0, :] * 0 + extra
}

# The lesser of T - 1 and 0 is 0: x // 2**62 is -1 just where x is negative.
# CHECK-DAG: #[[NOT_EMPTY:map[0-9]*]] = affine_map<()[s0, s1] -> (-((s1 - 1) * ((s1 - 1) floordiv 4611686018427387904)), 0)>
# CHECK: func.func @tagger(
# CHECK-SAME: tensor<?x?xi64> {gf.below = affine_map<()[s0, s1] -> (100)>, gf.name = "tokens", gf.shape = [[SHAPE:#map[0-9]*|affine_map<\(\)\[s0, s1\] -> \(s0, s1\)>]]}
# CHECK-SAME: tensor<?xi64> {gf.name = "lengths"
# CHECK-SAME: gf.name = "extra", gf.shape = affine_map<()[s0, s1] -> (s1 * 2 + 1)>
# CHECK-SAME: gf.initial = 5.000000e-01 : f32, gf.name = "total"
# CHECK-SAME: gf.state
# CHECK-SAME: -> (tensor<?x?x8xf32> {gf.name = "y"
# CHECK-SAME: gf.name = "total"
# CHECK-SAME: gf.state
# CHECK-SAME: attributes {gf.dimensions = ["B", "T"], gf.entry, gf.equal = [#[[NOT_EMPTY]]], gf.equal_messages = ["entry.gf:9:74: index 0 is out of range for a size of T"]}
# CHECK-DAG: gf.parameter "embed.weight" : tensor<100x8xf32>
# CHECK-DAG: gf.parameter "gain" initial 1.000000e+00 : tensor<8xf32>
