# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Settings of built-in layers, and what they are called with.

func settings(x: [M]) -> [M] {
# CHECK: layers.gf:[[@LINE+2]]:19: error: `linear` has no setting `n`
# CHECK: hint: did you mean `N`?
  param a: linear(n=3)
# CHECK: layers.gf:[[@LINE+2]]:9: error: dimension `N` of `linear` is not known
# CHECK: hint: write `linear(N=...)`
  param b: linear()
# CHECK: layers.gf:[[@LINE+1]]:29: error: `bias` is true or false, found the number 1
  param c: linear(N=3, bias=1)
# CHECK: layers.gf:[[@LINE+1]]:9: error: `conv1d` needs the setting `kernel`
  param d: conv1d(N=3)
# CHECK: layers.gf:[[@LINE+1]]:41: error: `stride` is at least 1, found 0
  param e: conv1d(N=3, kernel=3, stride=0)
# CHECK: layers.gf:[[@LINE+1]]:19: error: settings of an instance are given by name
  param f: linear(3)
  return x
}

func calls(x: [T, 6], i: i64[T], m: bool[T]) -> [T, 6] {
  param fc: linear(N=6), embed: embedding(V=10, N=6), conv: conv1d(N=4, kernel=9, groups=3)
# CHECK: layers.gf:[[@LINE+1]]:13: error: `embed` needs integers, found [T, 6]
  a = embed(x)
# CHECK: layers.gf:[[@LINE+1]]:13: error: index 10 is out of range for a size of 10
  b = embed(10)
# CHECK: layers.gf:[[@LINE+1]]:10: error: `fc` does not apply to bool
  c = fc(m)
# CHECK: layers.gf:[[@LINE+1]]:10: error: `x` of `fc` is [], expected 1 dimension or more
  d = fc(x[0, 0])
# CHECK: layers.gf:[[@LINE+1]]:13: error: `fc` has no argument `N`
  e = fc(x, N=3)
# CHECK: layers.gf:[[@LINE+1]]:7: error: `conv1d`: 3 groups do not divide 4 outputs
  f = conv(x.T)
  return fc(x)
}

func convolution(x: [2, 4]) -> [2, 4] {
  param conv: conv1d(N=4, kernel=9)
# CHECK: layers.gf:[[@LINE+1]]:7: error: `conv1d`: a length of 4 is less than the kernel's reach of 9
  y = conv(x)
  return x
}
