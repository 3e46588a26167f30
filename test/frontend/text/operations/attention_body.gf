# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# What the body of an attention may hold.

func scaled(x: [N]) -> [N] {
# CHECK: attention_body.gf:[[@LINE+2]]:10: error: `softmax` stands in a func that an attention calls; the options of the attention would not reach it
# CHECK: hint: write it in the body of the attention
  return softmax(x)
}

attention other(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  return softmax(q @ k.T) @ v
}

attention body(q: [T, D], k: [S, D], v: [S, E], u: [T, S], z: [T, 1]) -> [T, E] {
  s = q @ k.T / sqrt(D)
# CHECK: attention_body.gf:[[@LINE+2]]:9: error: the whole score map [T, S] would be needed here: a map cannot be transposed
# CHECK: hint: an attention is computed one query at a time; a func can hold a whole map, such as `q @ k.T`
  a = s.T
# CHECK: attention_body.gf:[[@LINE+1]]:9: error: the whole score map [T, S] would be needed here: a map cannot be transposed
  b = k @ q.T
# CHECK: attention_body.gf:[[@LINE+1]]:9: error: the whole score map [T, S] would be needed here: two maps cannot be multiplied with `@`
  c = s @ u
# CHECK: attention_body.gf:[[@LINE+2]]:15: error: softmax needs scores [T, S], found [T, D]
# CHECK: hint: scores are what each query has of each key, such as `q @ k.T`
  d = softmax(q)
# CHECK: attention_body.gf:[[@LINE+2]]:23: error: in an attention softmax runs over the keys; it takes no axis
# CHECK: hint: leave `axis` out
  e = softmax(s, axis=0)
# CHECK: attention_body.gf:[[@LINE+1]]:7: error: `mean` mixes queries, along T
  f = mean(s, axis=0)
# CHECK: attention_body.gf:[[@LINE+1]]:9: error: `[...]` mixes queries, along T
  g = q[0]
# CHECK: attention_body.gf:[[@LINE+1]]:9: error: a value [T, T] cannot exist in an attention: it has T twice
  h = q @ q.T
# CHECK: attention_body.gf:[[@LINE+2]]:7: error: `sum` works along the keys, S
# CHECK: hint: what needs only keys is computed before the call
  i = sum(v, axis=0)
# CHECK: attention_body.gf:[[@LINE+2]]:7: error: the attention `other` cannot stand inside an attention
# CHECK: hint: compute it before the call, and give its result as an input
  j = other(q, k, v)
# CHECK: attention_body.gf:[[@LINE+1]]:31: error: the width of neighbour_difference is odd, found 2
  l = neighbour_difference(s, 2)
# CHECK: attention_body.gf:[[@LINE+1]]:7: error: top_k needs count= or fraction=
  m = top_k(s)
# CHECK: attention_body.gf:[[@LINE+1]]:25: error: `fraction` is from 0 to 1, found the number 2
  n = top_k(s, fraction=2)
# CHECK: attention_body.gf:[[@LINE+1]]:7: error: the whole score map [T, S] would be needed here: `flip` does not work along the keys of a map
  o = flip(s, axis=1)
# CHECK: attention_body.gf:[[@LINE+2]]:7: error: `arange(T)` does not exist in an attention, which is computed one query at a time
# CHECK: hint: write `row`, the index of the query
  p = arange(T)
# CHECK: attention_body.gf:[[@LINE+1]]:24: error: `where` of softmax needs bool[T, S], found [T, S]
  r = softmax(s, where=s)
# CHECK: attention_body.gf:[[@LINE+1]]:23: error: `sink` is a scalar or [T, 1], found [T, S]
  t = softmax(s, sink=s)
# CHECK: attention_body.gf:[[@LINE+1]]:9: error: `+`: [T, D] and [S, D] do not fit
  w = q + k
# What is allowed.
  x = softmax(s - abs(position - col), where=abs(row - col) > 2 and visible, sink=z)
  return (x - mean(s, axis=1, keep=true)) @ v
}

attention calls_softmax(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  return scaled(q @ k.T) @ v
}

# CHECK: attention_body.gf:[[@LINE+2]]:39: error: `mask` has a meaning in every attention and names no input
# CHECK: hint: give the input another name
attention named(q: [T, D], k: [S, D], mask: [T, S]) -> [T, D] {
  return q
}

# CHECK: attention_body.gf:[[@LINE+1]]:46: error: the whole score map [T, S] would be needed here: it cannot be a result
attention whole_map(q: [T, D], k: [S, D]) -> [T, S] {
  return q @ k.T
}

# CHECK: attention_body.gf:[[@LINE+1]]:11: error: no input of the attention `no_keys` has the dimension `S`
attention no_keys(q: [T, D]) -> [T, D] {
  return q
}
