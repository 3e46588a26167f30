# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# What can be called, and with what.

import cells

func needs_name(x: [M]) -> [M] {
  # CHECK: calls.gf:[[@LINE+2]]:7: error: `linear` has parameters and needs a name
  # CHECK: hint: declare it, `param fc: linear(...)`, and call `fc`
  y = linear(x)
  # CHECK: calls.gf:[[@LINE+2]]:10: error: `with_parameters` has parameters and needs a name
  # CHECK: hint: declare it, `param fc: with_parameters(...)`, and call `fc`
  return with_parameters(x)
}

func with_parameters(x: [M], width = 4) -> [M] {
  param up: linear(N=width), down: linear(N=M)
  return down(up(x))
}

func cell_called(x: [T, M]) -> [T, M] {
  param c: lstm(H=M)
  # CHECK: calls.gf:[[@LINE+2]]:7: error: `c` is a cell and cannot be called
  # CHECK: hint: write `scan(c, x)` or `step(c, x, s)`
  y = c(x)
  # CHECK: calls.gf:[[@LINE+2]]:10: error: `lstm` is a cell and cannot be called
  # CHECK: hint: declare `param c: lstm(...)`, then `scan(c, x)` or `step(c, x, s)`
  return lstm(x)
}

model whole(x: [M]) -> [M] {
  return x
}

func of_model(x: [M]) -> [M] {
  # CHECK: calls.gf:[[@LINE+2]]:12: error: `whole` is a model and cannot be used in another
  # CHECK: hint: make it a func
  param m: whole()
  # CHECK: calls.gf:[[@LINE+3]]:10: error: `whole` is a model and cannot be called
  # CHECK: note: declared here
  # CHECK: hint: make it a func, which a model may call
  return whole(x)
}

func instances(x: [M]) -> [M] {
  # CHECK: calls.gf:[[@LINE+6]]:12: error: no cell, func or layer is named `lstn`
  # CHECK: hint: did you mean `lstm`?
  # CHECK: calls.gf:[[@LINE+4]]:31: error: `lstm` has no setting `HH`
  # CHECK: hint: did you mean `H`?
  # CHECK: calls.gf:[[@LINE+2]]:48: error: `linear` has no setting `n`
  # CHECK: hint: did you mean `N`?
  param a: lstn(H=M), b: lstm(HH=M), c: linear(n=M)
  # CHECK: calls.gf:[[@LINE+6]]:28: error: `with_parameters` has no setting `with`
  # CHECK: hint: did you mean `width`?
  # CHECK: calls.gf:[[@LINE+4]]:56: error: `x` is a tensor of `with_parameters`, not a setting
  # CHECK: note: declared here
  # CHECK: hint: give it where `e` is called
  # CHECK: calls.gf:[[@LINE+1]]:65: error: no cell, func or layer is named `dot`
  param d: with_parameters(with=3), e: with_parameters(x=x), f: dot(x)
  # CHECK: calls.gf:[[@LINE+2]]:28: error: settings of an instance are given by name
  # CHECK: note: tensors are given where `g` is called
  param g: with_parameters(3)
  return x
}

attention scores(q: [T, D], k: [S, D]) -> [T, D] {
  return softmax(q @ k.T) @ k
}

func of_attention(x: [T, M]) -> [T, M] {
  # CHECK: calls.gf:[[@LINE+2]]:12: error: `scores` is an attention and has no parameters
  # CHECK: hint: call it where it is used: `scores(...)`
  param a: scores()
  return scores(x, x)
}

func plain(x: [K], scale = 1) -> [K] {
  return x * scale
}

func arguments(x: [3], t: [T, 3]) -> [3] {
  param p: with_parameters()
  # CHECK: calls.gf:[[@LINE+1]]:16: error: `plain` has no input or setting `J`
  a = plain(x, J=4)
  # CHECK: calls.gf:[[@LINE+2]]:7: error: `plain` needs its input `x`
  # CHECK: note: declared here
  b = plain()
  # CHECK: calls.gf:[[@LINE+2]]:19: error: `plain` takes 2 arguments, here is one more
  # CHECK: note: declared here
  c = plain(x, 2, x)
  # CHECK: calls.gf:[[@LINE+2]]:16: error: `x` is given twice
  # CHECK: note: first given here
  d = plain(x, x=x)
  # CHECK: calls.gf:[[@LINE+1]]:22: error: an argument by position stands before those by name
  e = plain(scale=2, x)
  # CHECK: calls.gf:[[@LINE+1]]:22: error: `scale` is a setting of `plain`: a number, `true`, `false` or a string, found [3]
  f = plain(x, scale=x)
  # CHECK: calls.gf:[[@LINE+1]]:13: error: `x` of `plain` must be a tensor of type f32, found true
  g = plain(true)
  # CHECK: calls.gf:[[@LINE+1]]:13: error: `x` of `plain` must be a tensor of type f32, found a tuple of 2 values
  h = plain((x, x))
  # CHECK: calls.gf:[[@LINE+3]]:12: error: `width` is a setting of `with_parameters`
  # CHECK: note: declared here
  # CHECK: hint: give it where `p` is declared: `p: with_parameters(width=...)`
  i = p(x, width=3)
  # CHECK: calls.gf:[[@LINE+2]]:12: error: `p` takes 1 argument, here is one more
  # CHECK: note: declared here
  j = p(x, x)
  k = plain(3, K=3) + plain(x=x, scale=2)
  return k
}

func needs_setting(x: [M], width) -> [M] {
  return x * width
}

func gives_none(x: [M]) -> [M] {
  # CHECK: calls.gf:[[@LINE+3]]:10: error: `needs_setting` needs its setting `width`
  # CHECK: note: declared here
  # CHECK: hint: write `needs_setting(width=...)`
  return needs_setting(x)
}

func first(x: [M]) -> [M] {
  return second(x)
}

func second(x: [M]) -> [M] {
  # CHECK: calls.gf:[[@LINE+3]]:10: error: `first` calls itself
  # CHECK: note: `first` calls `second` here
  # CHECK: note: `second` calls `first` here
  return first(x)
}

cell itself(x: [H]) -> [H] {
  state h: [H]
  param inner: itself()
  # CHECK: calls.gf:[[@LINE+2]]:11: error: `itself` calls itself
  # CHECK: note: `itself` calls `itself` here
  _, h' = step(inner, x, h)
  return h'
}
