# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --emit import | FileCheck %s
# A number made of open dimensions is a scalar, not a tensor.

model numbers(x: [T, 8]) -> [T, 8] {
  return x / sqrt(T)
}

# CHECK: %[[T:.*]] = tensor.dim
# CHECK: arith.index_cast %[[T]]
# CHECK-NOT: tensor.from_elements
# CHECK: math.sqrt
# CHECK: linalg.generic
# CHECK-SAME: ins(%{{[a-z0-9]+}} : tensor<?x8xf32>)
