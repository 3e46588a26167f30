# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# What a run may find to be empty is asserted first of all; lengths before they are used.

cell highest(x: [N]) -> [] {
  state best: [] = 0
  best' = best + max(x)
  return best'
}

model largest(x: [B, T, 4], w: [B, T, N], n: i64[B]) -> (y: [B, T], a: [B, 4], b: [B, 4], c: [B, T]) {
  param cell: highest()
  y, _ = scan(cell, w)
  return y, max(x, axis=1), min(x, axis=1, lengths=n), max(x, axis=2)
}

# CHECK-LABEL: func.func @largest(
# CHECK-SAME: %{{[^:]*}}: tensor<?x?x4xf32> {{[^%]*}}%{{[^:]*}}: tensor<?x?x?xf32> {{[^%]*}}%[[LENGTHS:[^:]*]]: tensor<?xi64>
# A step of no elements fails, unless there is none.
# CHECK: %[[SOME:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}} : index
# CHECK: %[[NO_ROW:.*]] = arith.cmpi slt
# CHECK: %[[ONE:.*]] = arith.ori %[[SOME]], %[[NO_ROW]]
# CHECK: %[[NO_STEP:.*]] = arith.cmpi slt
# CHECK: %[[TWO:.*]] = arith.ori %[[ONE]], %[[NO_STEP]]
# CHECK: cf.assert %{{.*}}, "largest_of_nothing.gf:7:18: max of no elements"
# CHECK: cf.assert %{{.*}}, "largest_of_nothing.gf:14:13: max of no elements"
# CHECK: gf.recurrence
# CHECK-NOT: cf.assert
# CHECK: %[[WRONG:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[LENGTHS]] : tensor<?xi64>)
# CHECK: arith.cmpi slt
# CHECK: %[[ANY:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[WRONG]] : tensor<?xi1>)
# CHECK: %[[IS_WRONG:.*]] = tensor.extract %[[ANY]][]
# CHECK: %[[HOLDS:.*]] = arith.xori %[[IS_WRONG]]
# CHECK: cf.assert %[[HOLDS]], "largest_of_nothing.gf:14:29: min of no elements"
