# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# One linalg.generic for each operation, with the numbers inside; broadcasting is
# in the maps.

model elementwise(x: [B, T, 8], row: [B, 1, 8], n: i64[B], m: bool[B, T, 8]) ->
    (a: [B, T, 8], b: [B, T, 8], c: [B, T, 8], d: [B, T, 8], e: [B, T, 8],
        f: i64[B], g: i64[B], h: [B, T, 8], i: i64[B, T, 8]) {
  return (x * 0.5 + row, sigmoid(x), softplus(x), gelu(x), where(m, max(x, 0), x**2),
          n // 3, n % n, x // 2, i64(x))
}

# The row stretches along T.
# CHECK-DAG: #[[IDENTITY:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
# CHECK-DAG: #[[ROW:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
# CHECK: func.func @elementwise(

# x * 0.5, with the number in the body
# CHECK: linalg.generic
# CHECK-SAME: ins(%{{[a-z0-9]+}} : tensor<?x?x8xf32>)
# CHECK: arith.constant 5.000000e-01 : f32
# CHECK: arith.mulf
# CHECK: linalg.generic {indexing_maps = [#[[IDENTITY]], #[[ROW]], #[[IDENTITY]]]
# CHECK: arith.addf

# 1 / (1 + exp(-x))
# CHECK: arith.negf
# CHECK: math.exp
# CHECK: arith.addf
# CHECK: arith.divf

# max(x, 0) + log1p(exp(-|x|))
# CHECK: arith.maximumf
# CHECK: math.absf
# CHECK: arith.negf
# CHECK: math.exp
# CHECK: math.log1p
# CHECK: arith.addf

# exact, by erf
# CHECK: arith.constant 0.707106{{[0-9]*}} : f32
# CHECK: math.erf

# NaN wins; a square is a product
# CHECK: arith.maximumf
# CHECK: arith.mulf %[[X:[a-z0-9_]+]], %[[X]] : f32
# CHECK: arith.select

# A divisor that is known and neither 0 nor -1 needs no guard.
# CHECK: linalg.generic
# CHECK-NOT: arith.cmpi eq
# CHECK: arith.divsi
# CHECK: arith.remsi
# CHECK: linalg.yield
# One from the data does.
# CHECK: arith.cmpi eq
# CHECK: arith.cmpi eq
# CHECK: arith.remsi
# CHECK: linalg.yield

# CHECK: arith.remf
# CHECK: math.floor

# Conversions cut, and keep to the range.
# CHECK: arith.maxnumf
# CHECK: arith.minnumf
# CHECK: arith.fptosi
