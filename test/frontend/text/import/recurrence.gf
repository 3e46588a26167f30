# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# A scan is a gf.recurrence over the batch as a whole.
import cells

cell counter(h0: [H]) -> [H] {
  state h: [H] = h0
  h' = h + 1
  return h'
}

model recurrence(x: [B, T, 40], lengths: i64[B], border: bool[B, T], start: [B, 4]) ->
    (a: [B, T, 16], b: [B, T, 8], c: [B, 7, 4]) {
  param both: lstm(H=8, layers=1, bidirectional=true), rnn: gru(H=8), count: counter()
  a, _ = scan(both, x, lengths=lengths)
  b, _ = scan(rnn, x, reset=border)
  c, _ = scan(count, with=start, steps=7)
  return a, b, c
}

# CHECK: func.func @recurrence(
# CHECK-SAME: gf.at_most = affine_map<()[s0, s1] -> (s1)>, gf.name = "lengths"
# CHECK: gf.recurrence sequences(%arg0 : tensor<?x?x40xf32>)
# CHECK-SAME: lengths(%arg1 : tensor<?xi64>) time_axis 1 -> (tensor<?x?x8xf32>)
# CHECK-NEXT: ^step(%{{.*}}: tensor<?x40xf32>, %{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>):
# CHECK: linalg.contract
# CHECK: math.tanh
# CHECK: gf.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
# CHECK: gf.recurrence
# CHECK-SAME: time_axis 1 reverse
# CHECK: tensor.concat dim(2)
# CHECK: gf.recurrence
# CHECK-SAME: resets(%arg2 : tensor<?x?xi1>) reset_states(%{{.*}} : tensor<?x8xf32>)
# CHECK: gf.recurrence
# CHECK-SAME: steps(%{{.*}}) time_axis 1 -> (tensor<?x7x4xf32>)
