# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# States of cells and models.

cell no_next(x: [I]) -> [I] {
  # CHECK: states.gf:[[@LINE+2]]:17: error: state `g` has no next value
  # CHECK: hint: assign `g'`
  state h: [I], g: [I]
  h' = h
  return x
}

cell assigned(x: [I]) -> [I] {
  state h: [I]
  # CHECK: states.gf:[[@LINE+2]]:3: error: `h` is a state; assign its next value `h'`
  # CHECK: note: declared here
  h = x
  h' = x
  # CHECK: states.gf:[[@LINE+2]]:3: error: `h'` is given twice
  # CHECK: note: first given here
  h' = x
  # CHECK: states.gf:[[@LINE+2]]:3: error: `hh'`: `hh` is not a state
  # CHECK: hint: did you mean `h`?
  hh' = x
  return h'
}

cell too_early(x: [I]) -> [I] {
  state h: [I], g: [12]
  # CHECK: states.gf:[[@LINE+1]]:7: error: `h'` is not assigned before this line
  y = h' + x
  # CHECK: states.gf:[[@LINE+2]]:8: error: `hx'`: `hx` is not a state
  # CHECK: hint: did you mean `h`?
  h' = hx' + x
  g' = x
  return y
}

cell shape(x: [12]) -> [12] {
  state h: [6], n: i64[], m: bool[]
  # CHECK: states.gf:[[@LINE+2]]:3: error: `h'` is [12], expected the shape of its state, [6]
  # CHECK: note: `h` is declared here
  h' = x
  # CHECK: states.gf:[[@LINE+1]]:3: error: `n'` must be a tensor of type i64, found the number 1.5
  n' = 1.5
  # CHECK: states.gf:[[@LINE+3]]:3: error: `m'` is [], expected the type of its state, bool[]
  # CHECK: note: `m` is declared here
  # CHECK: hint: convert it: `bool(x)`
  m' = x[0]
  return x
}

func in_func(x: [I]) -> [I] {
  # CHECK: states.gf:[[@LINE+1]]:3: error: only a cell or a model has state
  state h: [I]
  return x
}

attention parameters(q: [T, D], k: [S, D]) -> [T, D] {
  # CHECK: states.gf:[[@LINE+2]]:3: error: an attention has no parameters
  # CHECK: hint: make it an input; a func around it can own the parameter
  param w: [D]
  return softmax(q @ k.T) @ k
}

# CHECK: states.gf:[[@LINE+2]]:6: error: cell `stateless` has no state
# CHECK: hint: declare one, `state h: [H]`, or make it a func
cell stateless(x: [I]) -> [I] {
  return x
}

cell differs(x: [I], start: [I]) -> [I] {
  # CHECK: states.gf:[[@LINE+3]]:18: error: the initial value of `h` is made of what differs at each step
  # CHECK: note: in this use of `differs`
  # CHECK: hint: it may be a number, or a tensor made of parameters and of inputs that are the same at each step
  state h: [I] = x
  h' = x
  return h
}

func of_differs(x: [T, 4]) -> [T, 4] {
  param c: differs()
  y, _ = scan(c, x, with=x[0])
  return y
}

# Parameters and further inputs may be in an initial value.
cell learned(x: [I], start: [I]) -> [I] {
  param w: [I]
  v = tanh(w) + start
  state h: [I] = v, b: bool[] = true, n: i64[] = 3
  h' = x + h
  b' = not b
  n' = n + 1
  return h
}

cell initial(x: [4]) -> [4] {
  param w: [3]
  # CHECK: states.gf:[[@LINE+7]]:18: error: the initial value of `h` is [3], expected the shape of its state, [4]
  # CHECK: note: `h` is declared here
  # CHECK: states.gf:[[@LINE+5]]:32: error: the initial value of `n` must be a tensor of type i64, found the number 0.5
  # CHECK: states.gf:[[@LINE+4]]:49: error: the initial value of `m` must be a tensor of type bool, found the number 1
  # CHECK: states.gf:[[@LINE+3]]:61: error: the initial value of `k` must be a tensor of type f32, found true
  # CHECK: states.gf:[[@LINE+2]]:76: error: the initial value of `z` is a tuple of 2 values, expected the shape of its state, [4]
  # CHECK: note: `z` is declared here
  state h: [4] = w, n: i64[] = 0.5, m: bool[] = 1, k: [4] = true, z: [4] = (1, 2)
  h' = x
  return h
}

model of_model(x: [B, 4]) -> [B, 4] {
  state h: [B, 4], g: [B, 4]
  # CHECK: states.gf:[[@LINE+2]]:3: error: `g` is a state; assign its next value `g'`
  # CHECK: note: declared here
  g = x
  # CHECK: states.gf:[[@LINE+2]]:3: error: `h'` is [4], expected the shape of its state, [B, 4]
  # CHECK: note: `h` is declared here
  h' = x[0]
  return x
}

model result_named(x: [B, 4]) -> (h: [B, 4]) {
  # CHECK: states.gf:[[@LINE+2]]:9: error: two results are named `h`
  # CHECK: note: the other one
  state h: [B, 4]
  h' = x
  return x
}

# Of a cell that is no entry it does not matter.
cell cell_result_named(x: [4]) -> (y: [4], h: [4]) {
  state h: [4]
  h' = x
  return x, h
}
