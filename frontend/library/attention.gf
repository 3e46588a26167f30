# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Attention variants, one head each: T queries, S keys. Every call may also give
#   causal=true, window=(left, right), offset=o, mask=m, bias=b, lengths=n, gqa=true
# which apply to each softmax of the variant alike.

attention dot_product(q: [T, D], k: [S, D], v: [S, E], scale = 1 / sqrt(D)) -> [T, E] {
  return softmax(scale * (q @ k.T)) @ v
}

# Bahdanau et al. 2015; the projections are the caller's.
attention additive(q: [T, A], k: [S, A], v: [S, E], w: [A]) -> [T, E] {
  s = tanh(q[:, None, :] + k[None, :, :]) @ w
  return softmax(s) @ v
}

# Scores plus their difference from the neighbouring scores along the keys.
# Linear in k, so it folds into the keys and costs what dot_product costs.
attention diff_window(q: [T, D], k: [S, D], v: [S, E], width = 3) -> [T, E] {
  s = q @ k.T / sqrt(D)
  return softmax(s + neighbour_difference(s, width)) @ v
}

# Two maps, one subtracted from the other. lambda is one number per query: give
# a scalar, [heads, 1, 1] for one per head, or [.., T, 1].
attention differential(q1: [T, D], q2: [T, D], k1: [S, D], k2: [S, D], v: [S, E],
                       lambda: [T, 1]) -> [T, E] {
  a1 = softmax(q1 @ k1.T / sqrt(D))
  a2 = softmax(q2 @ k2.T / sqrt(D))
  return (a1 - lambda * a2) @ v
}

# One projection, two maps told apart by learned elementwise scales.
attention scaled_differential(q: [T, D], k: [S, D], v: [S, E],
                              lambda_q1: [D], lambda_k1: [D],
                              lambda_q2: [D], lambda_k2: [D]) -> [T, E] {
  a1 = softmax((q * lambda_q1) @ (k * lambda_k1).T / sqrt(D))
  a2 = softmax((q * lambda_q2) @ (k * lambda_k2).T / sqrt(D))
  return (a1 - a2) @ v
}

# The largest scores of each row, at two temperatures of the same map.
attention sparse_differential(q: [T, D], k: [S, D], v: [S, E],
                              fraction = 0.5, temperature = 0.5) -> [T, E] {
  s = q @ k.T / sqrt(D)
  kept = top_k(s, fraction=fraction)
  return (softmax(s, where=kept) - softmax(temperature * s, where=kept)) @ v
}

# position is where a query stands among the keys: the last at the last key.
attention alibi(q: [T, D], k: [S, D], v: [S, E], slope: []) -> [T, E] {
  s = q @ k.T / sqrt(D) - slope * abs(position - col)
  return softmax(s) @ v
}

attention soft_capped(q: [T, D], k: [S, D], v: [S, E], cap = 50) -> [T, E] {
  s = q @ k.T / sqrt(D)
  return softmax(cap * tanh(s / cap)) @ v
}
