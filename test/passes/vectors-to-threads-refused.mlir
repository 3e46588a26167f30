// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gf-vectors-to-threads{threads=256}))'
// RUN: not gatefold-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gf-vectors-to-threads{threads=16}))' 2>&1 | FileCheck %s

// CHECK: error: is for a block of warps, and has 16 threads
gpu.module @kernels {
  func.func @rows(%x: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{no warps share 'vector<24x8xf32>': of 1 x 1 each takes rows in groups of 16 and columns in groups of 8}}
    %v = arith.constant dense<0.0> : vector<24x8xf32>
    vector.transfer_write %v, %x[%c0, %c0] : vector<24x8xf32>, memref<?x?xf32>
    return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gf.warps' gives 16 warps, and a block has 8}}
  func.func @warps() attributes {gf.vectors, gf.warps = array<i64: 4, 4>} {
    return
  }
}

// -----

gpu.module @kernels {
  func.func @unknown(%x: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %v = arith.constant dense<0.0> : vector<16x16xf32>
    // expected-error @below {{'vector.transpose' on vectors is not compiled for a GPU}}
    %w = vector.transpose %v, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
    vector.transfer_write %w, %x[%c0, %c0] : vector<16x16xf32>, memref<?x?xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @transposed(%x: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %v = arith.constant dense<0.0> : vector<16x16xf32>
    // expected-error @below {{a transposed vector is not compiled for a GPU}}
    vector.transfer_write %v, %x[%c0, %c0] {permutation_map = affine_map<(i, j) -> (j, i)>} : vector<16x16xf32>, memref<?x?xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @masked(%x: memref<?x?xf32>, %m: vector<16x16xi1>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %v = arith.constant dense<0.0> : vector<16x16xf32>
    // expected-error @below {{a vector that is read or written under a mask is not compiled for a GPU}}
    vector.transfer_write %v, %x[%c0, %c0], %m : vector<16x16xf32>, memref<?x?xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @constant() attributes {gf.vectors} {
    // expected-error @below {{the numbers of a constant vector differ}}
    %v = arith.constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]> : vector<1x8xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @rank() attributes {gf.vectors} {
    %v = arith.constant dense<0.0> : vector<16xf32>
    // expected-error @below {{a vector of rank 1 is no tile, row or column of 'vector<16x16xf32>'}}
    %w = vector.broadcast %v : vector<16xf32> to vector<16x16xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @cast() attributes {gf.vectors, gf.warps = array<i64: 1, 1>} {
    %v = arith.constant dense<0.0> : vector<16x16xf32>
    // expected-error @below {{threads do not have 'vector<32x8xf32>' where they have 'vector<16x16xf32>'}}
    %w = vector.shape_cast %v : vector<16x16xf32> to vector<32x8xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @step() attributes {gf.vectors} {
    // expected-error @below {{numbers are those of rows or of columns, by vector.shape_cast or vector.broadcast alone}}
    %v = vector.step : vector<16xindex>
    %w = arith.addi %v, %v : vector<16xindex>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @columns() attributes {gf.vectors} {
    %v = arith.constant dense<0.0> : vector<16x16xf32>
    %w = arith.constant dense<0.0> : vector<16xf32>
    // expected-error @below {{a reduction that is not along the rows of a tile is not compiled for a GPU}}
    %s = vector.multi_reduction <add>, %v, %w [0] : vector<16x16xf32> to vector<16xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @split() attributes {gf.vectors, gf.warps = array<i64: 1, 2>} {
    %v = arith.constant dense<0.0> : vector<16x16xf32>
    %w = arith.constant dense<0.0> : vector<16xf32>
    // expected-error @below {{a row lies in 2 warps; reductions are within one}}
    %s = vector.multi_reduction <add>, %v, %w [1] : vector<16x16xf32> to vector<16xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @wide() attributes {gf.vectors} {
    %v = arith.constant dense<0> : vector<16x16xi64>
    %w = arith.constant dense<0> : vector<16xi64>
    // expected-error @below {{lanes do not exchange 'i64'}}
    %s = vector.multi_reduction <add>, %v, %w [1] : vector<16x16xi64> to vector<16xi64>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @computed() attributes {gf.vectors} {
    %a = arith.constant dense<0.0> : vector<16x16xf32>
    // expected-error @below {{the second operand of a product is read from memory, perhaps extended; this one is computed}}
    %s = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %a, %a : vector<16x16xf32>, vector<16x16xf32> into vector<16x16xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @left(%x: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %a = arith.constant dense<0.0> : vector<16x16xf32>
    %b = vector.transfer_read %x[%c0, %c0], %zero : memref<?x?xf32>, vector<16x16xf32>
    // expected-error @below {{a product of [M, K] with [N, K] or [K, N] is compiled for a GPU, and no other}}
    %s = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %a : vector<16x16xf32>, vector<16x16xf32> into vector<16x16xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @terms(%x: memref<?x?xf16>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f16
    %sum = arith.constant dense<0.0> : vector<16x16xf32>
    %b = vector.transfer_read %x[%c0, %c0], %zero : memref<?x?xf16>, vector<16x8xf16>
    // expected-error @below {{a product is of whole tiles, and of a multiple of 16 terms; found 'vector<16x8xf16>' with 'vector<16x8xf16>'}}
    %s = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %b, %b, %sum : vector<16x8xf16>, vector<16x8xf16> into vector<16x16xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @types(%x: memref<?x?xf64>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f64
    %sum = arith.constant dense<0.0> : vector<16x16xf64>
    %b = vector.transfer_read %x[%c0, %c0], %zero : memref<?x?xf64>, vector<16x16xf64>
    // expected-error @below {{products are of two operands in f32, f16 or bf16, not of 'f64' with 'f64'}}
    %s = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %b, %b, %sum : vector<16x16xf64>, vector<16x16xf64> into vector<16x16xf64>
    return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gf.warps' gives warps for rows, for columns and, perhaps, for terms of products; found array<i64: 4>}}
  func.func @rows_alone() attributes {gf.vectors, gf.warps = array<i64: 4>} {
    return
  }
}

// -----

!shared = memref<16x32xf32, #gpu.address_space<workgroup>>
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  // Four warps have 16 terms each.
  func.func @few_terms(%a: !shared) attributes {gf.vectors, gf.warps = array<i64: 1, 1, 4>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : vector<16x16xf32>
    %v = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : !shared, vector<16x32xf32>
    // expected-error @below {{a product is of whole tiles, and of a multiple of 64 terms}}
    %s = vector.contract {indexing_maps = [#left, #right, #sums], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %v, %v, %none : vector<16x32xf32>, vector<16x32xf32> into vector<16x16xf32>
    return
  }
}

// -----

!shared = memref<16x32xf32, #gpu.address_space<workgroup>>
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  // Each warp would add what the sum begins with.
  func.func @begun(%a: !shared) attributes {gf.vectors, gf.warps = array<i64: 1, 1, 2>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant dense<1.0> : vector<16x16xf32>
    %v = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : !shared, vector<16x32xf32>
    // expected-error @below {{warps share the terms of a product, which is no sum that begins with 0 and is used behind its loops alone}}
    %s = vector.contract {indexing_maps = [#left, #right, #sums], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %v, %v, %one : vector<16x32xf32>, vector<16x32xf32> into vector<16x16xf32>
    return
  }
}

// -----

!shared = memref<16x32xf32, #gpu.address_space<workgroup>>
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  func.func @computed(%a: !shared) attributes {gf.vectors, gf.warps = array<i64: 1, 1, 2>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : vector<16x16xf32>
    %v = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : !shared, vector<16x32xf32>
    %u = arith.constant dense<1.0> : vector<16x32xf32>
    // expected-error @below {{the first operand is computed, and warps share its terms}}
    %s = vector.contract {indexing_maps = [#left, #right, #sums], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %u, %v, %none : vector<16x32xf32>, vector<16x32xf32> into vector<16x16xf32>
    return
  }
}

// -----

gpu.module @kernels {
  func.func @slice(%x: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %v = arith.constant dense<0.0> : vector<16x32xf32>
    // expected-error @below {{a warp has all rows of whole groups of 8 columns, and takes nothing else from 'vector<16x32xf32>'; found 'vector<16x8xf32>'}}
    %s = vector.extract_strided_slice %v {offsets = [0, 4], sizes = [16, 8], strides = [1, 1]} : vector<16x32xf32> to vector<16x8xf32>
    vector.transfer_write %s, %x[%c0, %c0] : vector<16x8xf32>, memref<?x?xf32>
    return
  }
}
