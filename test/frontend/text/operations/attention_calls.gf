# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Arguments and options of attentions.
import attention

attention relu_attention(q: [T, D], k: [S, D], v: [S, E]) -> [T, E] {
  return relu(q @ k.T) @ v
}

func calls(q: [2, 6, T, 4], k: [2, 4, S, 4], v: [2, 4, S, 3], n: i64[3], m: bool[2, 1, 1, S]) -> [] {
# CHECK: attention_calls.gf:[[@LINE+2]]:28: error: `dot_product` has no input or option `casual`
# CHECK: hint: did you mean `causal`?
  a = dot_product(q, q, q, casual=true)
# CHECK: attention_calls.gf:[[@LINE+1]]:22: error: gqa: 4 heads of `k` do not divide 6 heads
  b = dot_product(q, k, v, gqa=true)
# CHECK: attention_calls.gf:[[@LINE+1]]:36: error: lengths is [3], expected the first of [2, 6]
  c = dot_product(q, q, q, lengths=n)
# CHECK: attention_calls.gf:[[@LINE+1]]:35: error: `causal` is true or false, found the number 1
  d = dot_product(q, q, q, causal=1)
# CHECK: attention_calls.gf:[[@LINE+1]]:35: error: `window` is two numbers, found the number 3
  e = dot_product(q, q, q, window=3)
# CHECK: attention_calls.gf:[[@LINE+2]]:33: error: `mask` needs bool, found [2, 6, T, 4]
# CHECK: hint: true is a key that is seen: `mask=x > 0`; what is added to scores is `bias=...`
  f = dot_product(q, q, q, mask=q)
# CHECK: attention_calls.gf:[[@LINE+1]]:31: error: `causal` has no effect: `relu_attention` has no softmax and does not use `visible`
  g = relu_attention(q, q, q, causal=true)
# CHECK: attention_calls.gf:[[@LINE+1]]:31: error: `lse` has no effect: `relu_attention` has no softmax
  h = relu_attention(q, q, q, lse=true)
# CHECK: attention_calls.gf:[[@LINE+1]]:7: error: the leading dimensions of the arguments of `dot_product` do not fit: [2, 6] of `q`, [2, 4] of `k`, [2, 4] of `v`
  i = dot_product(q, k, v)
# CHECK: attention_calls.gf:[[@LINE+1]]:37: error: `segments` is two tensors, found i64[3]
  j = dot_product(q, q, q, segments=n)
# CHECK: attention_calls.gf:[[@LINE+1]]:33: error: mask is [S], expected [.., T, T]
  l = dot_product(q, q, q, mask=m[0, 0, 0])
# CHECK: attention_calls.gf:[[@LINE+1]]:36: error: a bound of `window` is at least 0, found -1
  o = dot_product(q, q, q, window=(-1, 0))
  return q[0, 0, 0, 0]
}

func shapes(q: [B, 6, T, D], k: [B, 2, S, D], v: [B, 2, S, E], n: i64[B], slope: [6], m: bool[B, 1, 1, S]) -> ([B, 6, T, E], [B, 6, T, D], [B, 6, T], [B, 6, T, T], [B, 6, 1, D]) {
  a = dot_product(q, k, v, gqa=true, lengths=n, mask=m)
  b, lse, weights = alibi(q, q, q, slope, causal=true, window=(4, inf), lse=true, weights=true)
  c, (l1, l2) = differential(q, q, q, q, q, slope[:, None, None], offset=0, causal=true, lse=true)
  d = dot_product(q[:, :, :1], q, q)
  return a, b + c, lse + l1, weights, d
}
