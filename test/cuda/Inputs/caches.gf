# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import attention

model caches(q: [B, 2, T, 16], k: [B, 2, T, 16], n: i64[B]) -> [B, 2, T, 16] {
  state keys: [B, 2, 9, 16]
  keys' = append(keys, k, at=n)
  return dot_product(q, keys', keys', causal=true, offset=n)
}
