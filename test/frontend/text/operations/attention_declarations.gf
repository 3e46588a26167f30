# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# The shapes that an attention declares, and what its body and calls need of them.
import attention

# CHECK: attention_declarations.gf:[[@LINE+3]]:20: error: T and S stand at most once in a shape of an attention
# CHECK: hint: T stands for the queries and S for the keys of every attention
# CHECK: hint: what each query has of each key is `[T, S]`
attention twice(q: [T, T], k: [S, D], v: [S, E]) -> [T, E] {
  return softmax(q @ k.T) @ v
}

# CHECK: attention_declarations.gf:[[@LINE+3]]:32: error: T and S stand alone in the shapes of an attention
# CHECK: hint: T stands for the queries and S for the keys of every attention
# CHECK: hint: give this size a name of its own
attention inside(q: [T, D], k: [S + 1, D], v: [S, E]) -> [T, E] {
  return softmax(q @ k.T) @ v
}

# CHECK: attention_declarations.gf:[[@LINE+3]]:54: error: an input over queries and keys is [T, S]
# CHECK: hint: T stands for the queries and S for the keys of every attention
# CHECK: hint: write `[T, S]`; a call may give more dimensions in front
attention turned(q: [T, D], k: [S, D], v: [S, E], m: [S, T]) -> [T, E] {
  return softmax(q @ k.T) @ v
}

# CHECK: attention_declarations.gf:[[@LINE+2]]:55: error: a result of an attention has a row for each query: its first dimension is T
# CHECK: hint: write `-> [T, E]`
attention rowless(q: [T, D], k: [S, D], v: [S, E]) -> [E] {
  return softmax(q @ k.T) @ v
}

attention recurrent(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  # CHECK: attention_declarations.gf:[[@LINE+4]]:7: error: an attention holds no `scan`
  # CHECK: hint: what needs only queries or only keys is computed before the call
  # CHECK: attention_declarations.gf:[[@LINE+2]]:12: error: `scan` needs a cell's instance first, found a value
  # CHECK: hint: declare `param c: lstm(...)`, then `scan(c, x)`
  a = scan(q, q)
  return softmax(q @ k.T) @ v
}

attention unplaced(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  # CHECK: attention_declarations.gf:[[@LINE+2]]:18: error: `rotary` in an attention needs positions=
  # CHECK: hint: rotate queries and keys before the call
  return softmax(rotary(q) @ k.T) @ v
}

func without_heads(q: [T, 4]) -> [T, 4] {
  # CHECK: attention_declarations.gf:[[@LINE+2]]:31: error: gqa needs heads, a dimension in front of those that `dot_product` declares
  # CHECK: hint: give `[.., heads, T, D]`, or leave `gqa` out
  return dot_product(q, q, q, gqa=true)
}

func uses(q: [T, 4]) -> [T, 4] {
  return recurrent(q, q, q) + unplaced(q, q, q)
}
