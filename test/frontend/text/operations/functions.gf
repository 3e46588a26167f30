# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Arguments of built-in functions.

func arguments(x: [B, T, 6], m: bool[T], n: i64[B]) -> [] {
# CHECK: functions.gf:[[@LINE+2]]:7: error: no function is named `sofmax`
# CHECK: hint: did you mean `softmax`?
  a = sofmax(x)
# CHECK: functions.gf:[[@LINE+2]]:15: error: `mean` has no argument `axes`
# CHECK: hint: did you mean `axis`?
  b = mean(x, axes=1)
# CHECK: functions.gf:[[@LINE+1]]:7: error: mean of a tensor [B, T, 6] needs axis=
  c = mean(x)
# CHECK: functions.gf:[[@LINE+1]]:20: error: `mean`: axis 3 does not exist in [B, T, 6]
  d = mean(x, axis=3)
# CHECK: functions.gf:[[@LINE+1]]:14: error: `exp` takes 1 value by position, found 2
  e = exp(x, 2)
# CHECK: functions.gf:[[@LINE+1]]:7: error: `split` needs `n`
  f = split(x)
# CHECK: functions.gf:[[@LINE+1]]:22: error: `axis` is given twice
  g = sum(x, axis=1, axis=2)
# CHECK: functions.gf:[[@LINE+1]]:24: error: a value by position stands before those by name
  h = split(x, axis=1, 2)
# CHECK: functions.gf:[[@LINE+1]]:11: error: `sum` does not apply to bool
  i = sum(m)
# CHECK: functions.gf:[[@LINE+1]]:27: error: `keep` is true or false, found the number 1
  j = sum(x, axis=1, keep=1)
# CHECK: functions.gf:[[@LINE+1]]:31: error: lengths is [B], expected [B, T]
  k = mean(x, axis=2, lengths=n)
# CHECK: functions.gf:[[@LINE+1]]:31: error: lengths needs integers, found bool[T]
  l = mean(x, axis=1, lengths=m)
# CHECK: functions.gf:[[@LINE+2]]:27: error: `mode` is "zero", "reflect" or "edge", found "reflct"
# CHECK: hint: did you mean `reflect`?
  o = pad(x, left=1, mode="reflct")
# CHECK: functions.gf:[[@LINE+1]]:7: error: `split`: a size of 6 does not split into 4 equal parts
  p = split(x, 4)
# CHECK: functions.gf:[[@LINE+1]]:16: error: `n` is at least 1, found 0
  q = split(x, 0)
# CHECK: functions.gf:[[@LINE+1]]:7: error: `reshape`: [6] has 6 elements, [2, 4] has 8
  r = reshape(x[0, 0], (2, 4))
# CHECK: functions.gf:[[@LINE+1]]:18: error: `permute` names each of the 3 axes of [B, T, 6] once
  s = permute(x, (0, 1))
# CHECK: functions.gf:[[@LINE+1]]:7: error: `concat` does not apply to bool
  t = concat(x, f32(m) > 1, axis=0)
# CHECK: functions.gf:[[@LINE+1]]:7: error: `concat` needs a tensor or more
  u = concat(axis=0)
# CHECK: functions.gf:[[@LINE+1]]:13: error: `where` needs bool, found [B, T, 6]
  v = where(x, 1, 0)
# CHECK: functions.gf:[[@LINE+1]]:7: error: `top_k` works in an attention only
  w = top_k(x, count=3)
# CHECK: functions.gf:[[@LINE+1]]:15: error: `take` needs integers, found [B, T, 6]
  y = take(x, x)
# CHECK: functions.gf:[[@LINE+1]]:7: error: `split_heads`: a size of 6 does not split into 4 heads
  z = split_heads(x, 4)
  return sum(x[0, 0])
}

func more(x: [B, T, 5], n: i64[B]) -> [] {
# CHECK: functions.gf:[[@LINE+1]]:7: error: `rotary` rotates pairs, and a size of 5 is odd
  a = rotary(x)
# CHECK: functions.gf:[[@LINE+1]]:19: error: `x` is [5], expected 2 dimensions or more
  b = split_heads(x[0, 0], 5)
# CHECK: functions.gf:[[@LINE+1]]:7: error: `pad`: 5 more of a size of 5 cannot be reflected
  c = pad(x, left=5, mode="reflect")
# CHECK: functions.gf:[[@LINE+1]]:14: error: `n` must not be negative, found -1
  d = arange(-1)
# CHECK: functions.gf:[[@LINE+1]]:7: error: flip of a tensor [B, T, 5] needs axis=
  e = flip(x)
# CHECK: functions.gf:[[@LINE+1]]:7: error: `max`: [4] and [5] do not fit
  f = max(x[0, 0, 1:], x[0, 0])
# CHECK: functions.gf:[[@LINE+1]]:21: error: index 7 is out of range for a size of 5
  g = take(x[0, 0], 7)
# What is made of an error is an error, and no more is said of it.
# CHECK: functions.gf:[[@LINE+1]]:7: error: a size here does not fit into i64
  h = pad(x[0, 0], left=9000000000000000000, right=9000000000000000000)
  i = h + x[0, 0]
  return x[0, 0, 0]
}
