# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --entry steps --emit import | FileCheck %s --check-prefix=STEPS
# RUN: gatefold compile %s --entry rows --emit import | FileCheck %s --check-prefix=ROWS
# RUN: gatefold compile %s --entry write --emit import | FileCheck %s --check-prefix=WRITE
# RUN: gatefold compile %s --entry forced --emit import | FileCheck %s --check-prefix=FORCED
# What a step or a row finds wrong is one more result of it, on which the run fails behind the whole.

cell looked(x: i64[], table: [5]) -> [] {
  state h: []
  h' = h + take(table, x * 2)
  return h'
}
model steps(x: i64[B, T], table: [5], n: i64[B]) -> [B, T] {
  param c: looked()
  y, _ = scan(c, x, with=table, lengths=n)
  return y
}

# STEPS: %[[ALL:.*]]:3 = gf.recurrence {{.*}} -> (tensor<?x?xf32>, tensor<?x?xi1>)
# STEPS: arith.cmpi sgt
# STEPS-NOT: cf.assert
# STEPS: gf.yield %[[NEXT:.*]], %{{.*}}, %[[NEXT]] : tensor<?xf32>, tensor<?xi1>, tensor<?xf32>
# STEPS: %[[ANY:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]} ins(%[[ALL]]#1 : tensor<?x?xi1>)
# STEPS: tensor.extract %[[ANY]][]
# STEPS: cf.assert %{{.*}}, "computed.gf:10:12: an index that the run computed lies outside its table of 5 rows"

attention relative(q: [T, D], k: [S, D], table: [5]) -> [T, D] {
  return softmax(q @ k.T + take(table, position - col)) @ k
}
model rows(x: [B, T, 4], table: [5]) -> [B, T, 4] {
  return relative(x, x, table, causal=true)
}

# Only of keys that the query sees.
# ROWS: %[[ALL:.*]]:2 = gf.attention {{.*}} -> (tensor<?x?x4xf32>, tensor<?x?xi1>)
# ROWS: %[[VISIBLE:.*]] = gf.row_visible :
# ROWS: %[[WRONG:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[VISIBLE]] :
# ROWS: arith.andi
# ROWS: %[[ANY:.*]] = linalg.generic {{.*}} ins(%[[WRONG]] : tensor<?xi1>)
# ROWS: gf.yield %{{.*}}, %[[ANY]] : tensor<4xf32>, tensor<i1>
# ROWS: linalg.generic {{.*}} ins(%[[ALL]]#1 :
# ROWS: cf.assert %{{.*}}, "computed.gf:28:28: an index

cell writer(start: i64[], table: [5, 5]) -> i64[] {
  state token: i64[] = start
  token' = argmax(take(table, token))
  return token'
}
model write(start: i64[B], table: [5, 5]) -> i64[B, 9] {
  param c: writer()
  y, _ = scan(c, with=(start, table), steps=9)
  return y
}

# A state is where it should be if what it begins with is, and each next value.
# WRITE: gf.below = affine_map<()[s0] -> (5)>, gf.name = "start"
# WRITE: gf.recurrence {{.*}} -> (tensor<?x9xi64>)
# WRITE-NOT: cf.assert

cell follower(given: i64[], start: i64[], table: [5, 5]) -> i64[] {
  state token: i64[] = start
  token' = where(given >= 0, given, argmax(take(table, token)))
  return token'
}
model forced(given: i64[B, T], start: i64[B], table: [5, 5]) -> i64[B, T] {
  param c: follower()
  y, _ = scan(c, given, with=(start, table))
  return y
}

# FORCED: gf.name = "given"
# FORCED-SAME: gf.below = affine_map<()[s0, s1] -> (5)>, gf.name = "start"
# FORCED: gf.recurrence {{.*}} -> (tensor<?x?xi64>, tensor<?x?xi1>)
# FORCED: cf.assert %{{.*}}, "computed.gf:62:44: an index
