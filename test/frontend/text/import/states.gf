# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --entry fixed --emit import | FileCheck %s --check-prefix=FIXED
# RUN: gatefold compile %s --entry open --emit import | FileCheck %s --check-prefix=OPEN
# A state goes out in the shape in which it comes in, where a run has to compare them.

model fixed(x: [B, C]) -> [B] {
  state c: [B, 4]
  c' = x
  return sum(c, axis=1)
}
# FIXED: func.func @fixed(
# FIXED-SAME: -> (tensor<?xf32> {{{[^}]*}}}, tensor<?x4xf32> {gf.name = "c"
# FIXED-SAME: gf.equal_messages = ["states.gf:8:3: `c'` is [B, C], expected the shape of its state, [B, 4]"]
# FIXED: tensor.cast %{{.*}} : tensor<?x?xf32> to tensor<?x4xf32>

model open(x: [B, 4]) -> [B] {
  state c: [B, B]
  c' = x
  return sum(c, axis=1)
}
# OPEN: func.func @open(
# OPEN-SAME: -> (tensor<?xf32> {{{[^}]*}}}, tensor<?x?xf32> {gf.name = "c"
# OPEN: tensor.cast %{{.*}} : tensor<?x4xf32> to tensor<?x?xf32>
