# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Differential attention that also gives its two maps, to look at. `weights=true` stores
# them; without it no map exists as a whole.
import attention

model maps(x: [T, M], heads = 2) -> (output: [heads, T, M/heads], first: [heads, T, T], second: [heads, T, T]) {
  param q1: linear(N=M, bias=false), q2: linear(N=M, bias=false)
  param k1: linear(N=M, bias=false), k2: linear(N=M, bias=false)
  param v: linear(N=M, bias=false), lambda: [heads, 1, 1]
  y, (first, second) = differential(split_heads(q1(x), heads), split_heads(q2(x), heads),
                                    split_heads(k1(x), heads), split_heads(k2(x), heads),
                                    split_heads(v(x), heads), lambda, weights=true)
  return y, first, second
}
