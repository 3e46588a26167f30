# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Loops.

func held(x: [M], n) -> [M] {
  for i in n {
    # CHECK: loops.gf:[[@LINE+1]]:5: error: a `for` holds no `return`
    return x
  }
  return x
}

cell state_in_loop(x: [M]) -> [M] {
  for i in 2 {
    # CHECK: loops.gf:[[@LINE+1]]:5: error: a `for` holds no `state`
    state h: [M]
  }
  return x
}

cell next_in_loop(x: [M]) -> [M] {
  state h: [M]
  for i in 2 {
    # CHECK: loops.gf:[[@LINE+1]]:5: error: a `for` holds no next value
    h' = x
  }
  return x
}

func counts(x: [M]) -> [M] {
  # CHECK: loops.gf:[[@LINE+1]]:12: error: the count of a `for` must be a whole number, found the number 1.5
  for i in 1.5 { y = x }
  # CHECK: loops.gf:[[@LINE+1]]:12: error: the count of a `for` must be 0 to 10000, found 20000
  for i in 20_000 { y = x }
  # CHECK: loops.gf:[[@LINE+1]]:12: error: the count of a `for` must be a whole number, found [M]
  for i in x { y = x }
  # CHECK: loops.gf:[[@LINE+2]]:16: error: `i` is a counter of `counts` and keeps its value
  # CHECK: note: declared here
  for i in 3 { i = 4 }
  # CHECK: loops.gf:[[@LINE+2]]:7: error: `x` is declared twice in `counts`
  # CHECK: note: first declared here
  for x in 3 { y = x }
  return x
}

func names_end(x: [M]) -> [M] {
  for i in 3 {
    y = x + i
    x = y
  }
  # CHECK: loops.gf:[[@LINE+2]]:14: error: `y` is not defined
  # CHECK: loops.gf:[[@LINE+1]]:18: error: `i` is not defined
  return x + y + i
}

# Names that are made inside are new in each turn.
func turns(x: [M], n) -> [M] {
  for i in n {
    param w: [M] = 1
    x = x * w
  }
  for i in 2 {
    param w: [M] as "v"
    x = x * w
  }
  return x
}
