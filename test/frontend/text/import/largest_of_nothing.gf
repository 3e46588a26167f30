# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# What a run may find to be empty is asserted first of all; lengths as soon as they are known.

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
# CHECK: %[[NO_ROW:.*]] = arith.cmpi eq
# CHECK: %[[ONE:.*]] = arith.ori %[[SOME]], %[[NO_ROW]]
# CHECK: %[[NO_STEP:.*]] = arith.cmpi eq
# CHECK: %[[TWO:.*]] = arith.ori %[[ONE]], %[[NO_STEP]]
# CHECK: cf.assert %{{.*}}, "max of nothing"
# CHECK: cf.assert %{{.*}}, "max of nothing"
# CHECK: %[[EACH:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[LENGTHS]] : tensor<?xi64>)
# CHECK: arith.cmpi sge
# CHECK: %[[ALL:.*]] = tensor.extract %[[EACH]][]
# CHECK: cf.assert %[[ALL]], "min of nothing"
# CHECK: gf.recurrence
# CHECK-NOT: cf.assert
