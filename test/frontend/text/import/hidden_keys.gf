# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# A reduction over the keys selects those that some query reaches; all of them where
# nothing hides any.

attention centred(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  s = q @ k.T
  return softmax(s - mean(s, axis=1, keep=true) + sum(q, axis=1, keep=true)) @ v
}

attention above(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  s = q @ k.T
  return softmax(s - max(s, axis=1, keep=true)) @ v
}

model hidden(x: [T, 8], n: i64[]) -> (a: [T, 8], b: [T, 8], c: [T, 8]) {
  return centred(x, x, x, causal=true), above(x, x, x, lengths=n), centred(x, x, x)
}

# CHECK-LABEL: func.func @hidden(
# CHECK: gf.attention {{.*}} causal
# CHECK: %[[S:.*]] = gf.row_scores
# CHECK: %[[REACHED:.*]] = gf.row_visible any_query : tensor<?xi1>
# CHECK: linalg.generic {{.*}}"reduction"]} ins(%[[S]], %[[REACHED]] :
# CHECK: arith.select
# CHECK: linalg.generic {{.*}}"reduction"]} ins(%[[REACHED]] : tensor<?xi1>)
# CHECK: arith.extui
# CHECK: arith.divf
# A row that no key reaches is 0.
# CHECK: gf.attention {{.*}} lengths(
# CHECK: gf.row_visible any_query : tensor<?xi1>
# CHECK: arith.maximumf
# CHECK: %[[EMPTY:.*]] = arith.cmpi eq
# CHECK: arith.select %[[EMPTY]]
# CHECK: gf.attention
# CHECK-NOT: gf.row_visible
