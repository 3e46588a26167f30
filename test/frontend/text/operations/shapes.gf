# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold check %s 2>&1 | FileCheck %s --allow-empty --implicit-check-not=error:
# The shape and element type that each built-in function gives: a result of another
# one would be an error.

func reductions(x: [B, T, M], n: i64[B], k: i64[T]) -> ([T, M], [B, 1, M], [B, M], i64[B, T], i64[], []) {
  return sum(x, axis=0), max(x, axis=-2, keep=true), mean(x, axis=1, lengths=n), argmax(x, axis=2), sum(k), mean(k)
}

func elements(x: [M], n: i64[M], m: bool[M]) -> ([M], [M], i64[M], i64[M], [M], [M], bool[M], f16[M]) {
  return n / 2, n**2, n // 2, abs(n), exp(n), n + 0.5, x > 0 and m, f16(x)
}

func joins(x: [T, M], y: [S, M]) -> ([T + S, M], [2, T, M], [T, 2*M], [T, M, 2], [T, 3 + M + 1]) {
  return concat(x, y, axis=0), stack(x, x), concat(x, x), stack(x, x, axis=-1), pad(x, left=3, right=1)
}

func parts(x: [T, 3*M]) -> ([T, M], [T, M], [M, T, 3]) {
  a, b, c = split(x, 3)
  return a, b + c, permute(reshape(x, (T, 3, M)), (2, 0, 1))
}

func heads(x: [B, T, 4*D], p: i64[B, T]) -> ([B, 4, T, D], [B, T, 4*D], [B, 4, T, D], [B, 4, T, D]) {
  h = split_heads(x, 4)
  return h, merge_heads(h), rotary(h), rotary(h, interleaved=true, positions=p[:, None, :])
}

func tables(t: [N, M], i: i64[B, T], v: [N]) -> ([B, T, M], [B, T], [M], [N, M]) {
  return take(t, i), take(v, i), take(t, 0), flip(t, axis=0)
}

func products(x: [B, T, M], w: [N, M], v: [M]) -> ([B, T, N], [B, T], [], [N], [M, M], [B, T, T]) {
  return x @ w.T, x @ v, v @ v, w @ v, w.T @ w, x @ x.T
}

func fills(x: [T]) -> ([T, 2], [3], i64[T], [T], [T], [T], [T]) {
  return zeros((T, 2)), ones(3), arange(T), softmax(x), softmax(x, where=x > 0), clamp(x, 0, 1), where(x > 0, 1, x)
}

func layers(x: [B, T, 8], i: i64[B, T]) -> ([B, T, 3], [B, T, 5], [B, 4, T - 2], [B, 4, (T - 1)//2 + 1], [B, T, 8]) {
  param fc: linear(N=3), embed: embedding(V=10, N=5)
  param conv: conv1d(N=4, kernel=3), strided: conv1d(N=4, kernel=3, stride=2, padding=1)
  param norm: layer_norm(), root: rms_norm(affine=false)
  return fc(x), embed(i), conv(x.T), strided(x.T), root(norm(x))
}

# A size of at most 1 stretches: in a body of an attention, too, where nothing else would fit S.
attention scaled(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  return softmax(q @ k.T * q[:, :1], where=k[:, 0] > 0) @ v
}

func first(x: [T, M], y: [N], m: bool[N]) -> ([T, M], [T, N], [T, N], [T, 1]) {
  return x * x[:, :1], softmax(x[:, :1] + y, where=m), where(m, x[:, :1], y), x[:, :1] * x[:, 1:2] * y[:1]
}
