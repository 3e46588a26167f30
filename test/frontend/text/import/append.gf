# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --entry one --emit import | FileCheck %s --check-prefix=ONE
# RUN: gatefold compile %s --entry each --emit import | FileCheck %s --check-prefix=EACH
# RUN: gatefold compile %s --entry counted --emit import | FileCheck %s --check-prefix=COUNTED
# RUN: gatefold compile %s --entry each --dim T=0 --emit import | FileCheck %s --check-prefix=NOTHING
# Rows go into a state as a slice; the run checks where they begin.
import attention

# ONE: func.func @one(
# ONE-SAME: %[[K:[a-z0-9]*]]: tensor<?x?x4xf32>
# ONE-SAME: %[[N:[a-z0-9]*]]: tensor<i64> {gf.at_most = affine_map<()[s0, s1, s2] -> ({{.*}})>, gf.name = "n"
# ONE-SAME: %[[KEYS:[a-z0-9]*]]: tensor<?x?x4xf32> {{{.*}}gf.name = "keys"{{.*}}gf.state}
# ONE: %[[START:.*]] = tensor.extract %[[N]][]
# ONE: %[[PLACE:.*]] = arith.index_cast %[[START]] : i64 to index
# ONE: tensor.insert_slice %[[K]] into %[[KEYS]][0, %[[PLACE]], 0] [%{{.*}}, %{{.*}}, 4] [1, 1, 1]
# ONE: gf.attention {{.*}} lengths(
model one(k: [B, T, 4], n: i64[]) -> [B, T, 4] {
  state keys: [B, C, 4]
  keys' = append(keys, k, at=n)
  return dot_product(k, keys', keys', lengths=n + T)
}

# A place for each sequence.
# EACH: func.func @each(
# EACH-SAME: %[[N:[a-z0-9]*]]: tensor<?xi32> {gf.at_most
# EACH: scf.for %[[B:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[KEYS:.*]] = %{{.*}}) -> (tensor<?x2x?x4xf32>)
# EACH: %[[START:.*]] = tensor.extract %[[N]][%[[B]]]
# EACH: %[[ROWS:.*]] = tensor.extract_slice %{{.*}}[%[[B]], 0, 0, 0] [1, 2, %{{.*}}, 4]
# EACH: %[[MADE:.*]] = tensor.insert_slice %[[ROWS]] into %[[KEYS]][%[[B]], 0, %{{.*}}, 0] [1, 2, %{{.*}}, 4]
# EACH: scf.yield %[[MADE]]
# No rows.
# NOTHING: func.func @each(
# NOTHING-SAME: %[[STATE:[a-z0-9]*]]: tensor<?x2x?x4xf32>
# NOTHING-NOT: insert_slice
# NOTHING: return %{{.*}}, %[[STATE]]
model each(k: [B, 2, T, 4], n: i32[B]) -> [B, 2, T, 4] {
  state keys: [B, 2, C, 4]
  keys' = append(keys, k, at=n)
  return k
}

# A state of a cell that counts its steps.
cell rows(x: [I]) -> [I] {
  state seen: [7, I], n: i64[] = 1
  seen' = append(seen, x[None, :], at=n)
  n' = n + 1
  return sum(seen', axis=0)
}
# COUNTED: gf.recurrence
# COUNTED: scf.for
# COUNTED: tensor.insert_slice
model counted(x: [B, 6, 3]) -> [B, 6, 3] {
  param c: rows()
  y, _ = scan(c, x)
  return y
}
