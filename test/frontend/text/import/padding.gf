# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# Reflection and edges read by computed places; an open dimension may be empty.

model padding(x: [B, 4], y: [B, T]) -> (a: [B, 7], b: [B, T + 3]) {
  return pad(x, right=3, mode="reflect"), pad(y, left=3, mode="edge")
}

# CHECK: linalg.generic
# CHECK-NOT: scf.if
# CHECK: arith.remsi
# CHECK: tensor.extract
# CHECK: linalg.generic
# CHECK: scf.if
# CHECK: arith.maxsi
# CHECK: arith.minsi
# CHECK: tensor.extract
