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

# The largest scores of each row alone (Gupta et al. 2021, section 2).
attention sparse_dot_product(q: [T, D], k: [S, D], v: [S, E], count = 32) -> [T, E] {
  s = q @ k.T / sqrt(D)
  return softmax(s, where=top_k(s, count=count)) @ v
}

# N maps, sum over n of coefficients[:, n] * softmax(q_n @ k_n.T / sqrt(D)) @ v. Queries and
# keys of all maps stand side by side, D of M = N * D columns for each.
attention mixed_maps(q: [T, M], k: [S, M], v: [S, E], coefficients: [T, N]) -> [T, E] {
  D = M / N
  mixed = 0
  for n in N {
    s = q[:, n*D:(n+1)*D] @ k[:, n*D:(n+1)*D].T / sqrt(D)
    mixed = mixed + coefficients[:, n][:, None] * softmax(s)
  }
  return mixed @ v
}

# Sigmoids in place of a softmax, which compete for nothing (Ramapuram et al. 2024,
# section 3). The paper's shift is -log of the number of keys.
attention sigmoid_dot_product(q: [T, D], k: [S, D], v: [S, E], shift: []) -> [T, E] {
  return where(visible, sigmoid(q @ k.T / sqrt(D) + shift), 0) @ v
}

# A learned logit that takes weight and gives nothing: `sinks` of gpt-oss (2025, section
# 2.2), one number for each head. With 0 it is "softmax off by one".
attention with_sink(q: [T, D], k: [S, D], v: [S, E], sinks: []) -> [T, E] {
  return softmax(q @ k.T / sqrt(D), sink=sinks) @ v
}

# The first keys of all and those near the query (StreamingLLM, Xiao et al. 2024, section
# 3.2); positions stay those of the keys. Give causal=true beside it.
attention streaming(q: [T, D], k: [S, D], v: [S, E], first = 4, recent = 1020) -> [T, E] {
  s = q @ k.T / sqrt(D)
  return softmax(s, where=col < first or position-col < recent) @ v
}

# Causal, but everyone sees the first `prefix` keys (Raffel et al. 2020, section 3.2.1).
attention prefix_causal(q: [T, D], k: [S, D], v: [S, E], prefix: i64[]) -> [T, E] {
  s = q @ k.T / sqrt(D)
  return softmax(s, where=col < prefix or col <= position) @ v
}

# A learned number for each distance, clipped (Shaw et al. 2018, section 3.2, of scalars):
# table[R + r] for a key r places after the query, -R <= r <= R.
attention relative_bias(q: [T, D], k: [S, D], v: [S, E], table: [2*R+1]) -> [T, E] {
  s = q @ k.T / sqrt(D) + take(table, clamp(col - position, -R, R) + R)
  return softmax(s) @ v
}

# T5's buckets (Raffel et al. 2020, section 2.1): near distances have one each, farther ones
# share them by their logarithm. A head's table is its column of
# relative_attention_bias.weight; decoders say bidirectional=false. T5 does not scale.
attention bucketed_bias(q: [T, D], k: [S, D], v: [S, E], table: [N],
                        bidirectional = true, max_distance = 128, scale = 1) -> [T, E] {
  sides = where(bidirectional, 2, 1)
  buckets = N // sides
  near = buckets // 2
  behind = position - col
  distance = where(bidirectional, abs(behind), max(behind, 0))
  share = log(max(f32(distance), 1) / near) / log(max_distance / near)
  bucket = where(distance < near, distance, min(near + i64(share * (buckets - near)), buckets - 1))
  side = (sides - 1) * buckets * i64(behind < 0)
  return softmax(scale * (q @ k.T) + take(table, clamp(bucket + side, 0, N - 1))) @ v
}
