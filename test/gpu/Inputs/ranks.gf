# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs that are worth many blocks, and few.
import attention

model million(x: [1048576]) -> [1048576] {
  return exp(x)
}

model few(x: [64]) -> [64] {
  return exp(x)
}

model product(x: [1024, 1024]) -> [1024, 1024] {
  param l: linear(N=1024)
  return l(x)
}

# 64 blocks of queries.
model queries(q: [4, 16, 128, 64], k: [4, 16, 128, 64], v: [4, 16, 128, 64]) -> [4, 16, 128, 64] {
  return dot_product(q, k, v)
}

model open(x: [B, T, 1024]) -> [B, T, 1024] {
  return exp(x)
}
