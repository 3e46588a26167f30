# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Names and scopes.

func undefined(x: [M]) -> [M] {
  # CHECK: names.gf:[[@LINE+2]]:14: error: `xx` is not defined
  # CHECK: hint: did you mean `x`?
  return x + xx
}

func no_function(x: [M]) -> [M] {
  # CHECK: names.gf:[[@LINE+2]]:7: error: no function is named `sofmax`
  # CHECK: hint: did you mean `softmax`?
  y = sofmax(x)
  # CHECK: names.gf:[[@LINE+3]]:10: error: no function is named `x`
  # CHECK: note: `x` is a value
  # CHECK: hint: `[..]` takes a part of a value
  return x(1)
}

func no_function_near(x: [M]) -> [M] {
  # CHECK: names.gf:[[@LINE+2]]:10: error: no function is named `cumsum`
  # CHECK: hint: write a func of this name, or take one of the reference's list of functions
  return cumsum(x)
}

func of_other_kinds(x: [T, M]) -> [T, M] {
  param fc: linear(N=M)
  # CHECK: names.gf:[[@LINE+3]]:7: error: `fc` is an instance of `linear`, not a value
  # CHECK: note: declared here
  # CHECK: hint: call it: `fc(x)`
  a = fc + x
  # CHECK: names.gf:[[@LINE+2]]:7: error: `softmax` is not defined
  # CHECK: hint: `softmax` is a function: call it
  b = softmax + x
  # CHECK: names.gf:[[@LINE+2]]:9: error: no value has a member `shape`
  # CHECK: hint: `.T` swaps the last two dimensions; the parameters of an instance are its members too
  c = x.shape
  return fc(x)
}

func keeps(x: [B, M], scale = 2) -> [B, M] {
  param w: [M], l: linear(N=M)
  # CHECK: names.gf:[[@LINE+1]]:3: error: `B` is a dimension of `keeps` and keeps its value
  B = 3
  # CHECK: names.gf:[[@LINE+2]]:3: error: `scale` is a setting of `keeps` and keeps its value
  # CHECK: note: declared here
  scale = 4
  # CHECK: names.gf:[[@LINE+2]]:3: error: `w` is a parameter of `keeps` and keeps its value
  # CHECK: note: declared here
  w = x
  # CHECK: names.gf:[[@LINE+2]]:3: error: `l` is an instance of `keeps` and keeps its value
  # CHECK: note: declared here
  l = x
  x = x + 1
  return l(x) * w * scale
}

# CHECK: names.gf:[[@LINE+2]]:20: error: `x` is declared twice in `twice`
# CHECK: note: first declared here
func twice(x: [M], x: [M]) -> [M] {
  return x
}

func twice_in_body(x: [M]) -> [M] {
  # CHECK: names.gf:[[@LINE+2]]:17: error: `a` is declared twice in `twice_in_body`
  # CHECK: note: first declared here
  param a: [M], a: linear(N=M)
  y = x
  # CHECK: names.gf:[[@LINE+2]]:9: error: `y` is declared twice in `twice_in_body`
  # CHECK: note: first declared here
  param y: [M]
  return x + a
}

# CHECK: names.gf:[[@LINE+2]]:21: error: `n` in a shape is not a setting of `lower_case`
# CHECK: hint: a dimension begins with a capital letter
func lower_case(x: [n]) -> [M] {
  return x
}

# CHECK: names.gf:[[@LINE+1]]:6: error: `no_return` does not return: its last statement must be `return`
func no_return(x: [M]) -> [M] {
  y = x
}

func early_return(x: [M]) -> [M] {
  # CHECK: names.gf:[[@LINE+1]]:3: error: only the last statement returns
  return x
  return x
}

# A function and a value may have one name.
func mean_of(x: [M]) -> [] {
  mean = mean(x)
  return mean
}

# Each name once.
func often(x: [M], y: [depth, depth]) -> [M] {
  # CHECK: names.gf:[[@LINE-1]]:24: error: `depth` in a shape is not a setting of `often`
  return x
}

func missing_often(x: [M]) -> [M] {
  # CHECK: names.gf:[[@LINE+1]]:7: error: `gone` is not defined
  a = gone + x
  b = gone * gone
  return a + b
}

cell early(x: [M]) -> [M] {
  state h: [M]
  # CHECK: names.gf:[[@LINE+1]]:7: error: `h'` is not assigned before this line
  a = h' + h'
  h' = x
  return a
}

# What was meant to take an instance is said, not that it is none.
func no_taker(x: [T, M]) -> [T, M] {
  param rnn: cell_of_names(H=M)
  # CHECK: names.gf:[[@LINE+1]]:10: error: no function is named `scann`
  return scann(rnn, x)
}

cell cell_of_names(x: [M]) -> [H] {
  state h: [H]
  param w: [H, M]
  h' = w @ x
  return h'
}

cell no_state(x: [M]) -> [M] {
  state g: [M]
  # CHECK: names.gf:[[@LINE+1]]:13: error: `hh` is not defined
  g' = tanh(hh + x)
  hh' = g'
  return hh'
}
