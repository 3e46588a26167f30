# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --entry lookup --emit import | FileCheck %s
# RUN: gatefold compile %s --entry computed --emit import | FileCheck %s --check-prefix=COMPUTED
# Indices are inputs that a run checks, or numbers that show to fit, sums of such too.

model lookup(tokens: i64[B, T], x: [B], y: i32[B]) -> (a: [B, T, 8], b: [B], c: [3, 8], d: [B]) {
  param embed: embedding(V=100, N=8), table: [5]
  a = embed(tokens)
  return a, take(table, clamp(i64(x), 0, 4)), take(embed.weight, arange(3)), take(table, 2 - clamp(y, -2, 2))
}

# CHECK: func.func @lookup(
# CHECK-SAME: gf.below = affine_map<()[s0, s1] -> (100)>, gf.name = "tokens"
# CHECK: linalg.generic
# CHECK-SAME: ins(%arg0 : tensor<?x?xi64>)
# CHECK: arith.index_cast %{{.*}} : i64 to index
# CHECK: linalg.index 2
# CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<100x8xf32>
# CHECK: tensor.extract %{{.*}}[%{{.*}}] : tensor<5xf32>
# CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<100x8xf32>
# CHECK: arith.subi
# CHECK: tensor.extract %{{.*}}[%{{.*}}] : tensor<5xf32>

model computed(x: i64[B], table: [5]) -> [B] {
  return take(table, x * 2)
}

# What is computed is checked when it runs, and brought into the table in any case.
# COMPUTED: func.func @computed(
# COMPUTED: %[[INDEX:.*]] = linalg.generic
# COMPUTED: arith.muli
# COMPUTED: %[[WRONG:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[INDEX]]
# COMPUTED: arith.cmpi slt
# COMPUTED: arith.cmpi sgt
# COMPUTED: arith.ori
# COMPUTED: %[[ANY:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[WRONG]]
# COMPUTED: %[[IS_WRONG:.*]] = tensor.extract %[[ANY]][]
# COMPUTED: %[[HOLDS:.*]] = arith.xori %[[IS_WRONG]]
# COMPUTED: cf.assert %[[HOLDS]], "take.gf:25:10: an index that the run computed lies outside its table of 5 rows"
# COMPUTED: arith.minsi
# COMPUTED: arith.maxsi
# COMPUTED: tensor.extract %{{.*}} : tensor<5xf32>
