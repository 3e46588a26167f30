// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-linear --split-input-file --verify-diagnostics

// A width of panels that no product can have.

#m_k = affine_map<(m, n, k) -> (m, k)>
#n_k = affine_map<(m, n, k) -> (n, k)>
#m_n = affine_map<(m, n, k) -> (m, n)>
func.func @negative(%x: tensor<?x40xf32>, %w: tensor<100x40xf32>, %y: tensor<?x100xf32>) -> tensor<?x100xf32> {
  // expected-error @+1 {{expected a width of panels from 0 to 1024 as gf.tile, found -3}}
  %p = linalg.contract indexing_maps = [#m_k, #n_k, #m_n] {gf.tile = -3 : i64}
      ins(%x, %w : tensor<?x40xf32>, tensor<100x40xf32>) outs(%y : tensor<?x100xf32>) -> tensor<?x100xf32>
  return %p : tensor<?x100xf32>
}

// -----

#m_k = affine_map<(m, n, k) -> (m, k)>
#n_k = affine_map<(m, n, k) -> (n, k)>
#m_n = affine_map<(m, n, k) -> (m, n)>
func.func @wide(%x: tensor<?x40xf32>, %w: tensor<100x40xf32>, %y: tensor<?x100xf32>) -> tensor<?x100xf32> {
  // expected-error @+1 {{expected a width of panels from 0 to 1024 as gf.tile, found 1025}}
  %p = linalg.contract indexing_maps = [#m_k, #n_k, #m_n] {gf.tile = 1025 : i64}
      ins(%x, %w : tensor<?x40xf32>, tensor<100x40xf32>) outs(%y : tensor<?x100xf32>) -> tensor<?x100xf32>
  return %p : tensor<?x100xf32>
}
