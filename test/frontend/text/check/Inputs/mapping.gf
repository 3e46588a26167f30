# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A func that is mapped over two leading dimensions, and the same written out.

import cells, attention

func inner(x: [T, M], w: [M], s: [], start: [H]) -> ([T, H], [H], [T, T2], [M]) {
  param c: lstm(H=H, layers=2, bidirectional=true)
  param g: gru(H=H), n: rms_norm()
  y, _ = scan(c, x * w)
  z, h = scan(g, n(y) + s, init=start)
  a = dot_product(x * s, x, x, causal=true)
  for i in 2 { a = dot_product(a + w, x, x) }
  q = x @ x.T
  return z, h, q, mean(a, axis=0) + s
}

model mapped(x: [3, 2, 5, 4], w: [2, 4], s: [3, 1], start: [6]) -> (a: [3, 2, 5, 6], b: [3, 2, 6], c: [3, 2, 5, 5], d: [3, 2, 4]) {
  param f: inner(H=6)
  return f(x, w, s, start)
}

model single(x: [3, 2, 5, 4], w: [2, 4], s: [3, 1], start: [6]) -> (a: [3, 2, 5, 6], b: [3, 2, 6], c: [3, 2, 5, 5], d: [3, 2, 4]) {
  param f: inner(H=6)
  a00, b00, c00, d00 = f(x[0, 0], w[0], s[0, 0], start)
  a01, b01, c01, d01 = f(x[0, 1], w[1], s[0, 0], start)
  a10, b10, c10, d10 = f(x[1, 0], w[0], s[1, 0], start)
  a11, b11, c11, d11 = f(x[1, 1], w[1], s[1, 0], start)
  a20, b20, c20, d20 = f(x[2, 0], w[0], s[2, 0], start)
  a21, b21, c21, d21 = f(x[2, 1], w[1], s[2, 0], start)
  a = stack(stack(a00, a01), stack(a10, a11), stack(a20, a21))
  b = stack(stack(b00, b01), stack(b10, b11), stack(b20, b21))
  c = stack(stack(c00, c01), stack(c10, c11), stack(c20, c21))
  d = stack(stack(d00, d01), stack(d10, d11), stack(d20, d21))
  return a, b, c, d
}
