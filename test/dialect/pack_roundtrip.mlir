// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --emit-bytecode | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --mlir-print-op-generic | gatefold-opt | FileCheck %s

// CHECK-LABEL: func @tensors
func.func @tensors(%w: tensor<100x40xf32>, %k: tensor<?x?xbf16>, %e: tensor<7x40x16xf32>, %f: tensor<?x?x32xbf16>)
    -> (tensor<7x40x16xf32>, tensor<?x?x32xbf16>) {
  // CHECK: gf.pack %{{.*}} along 0 into %{{.*}} : tensor<100x40xf32> into tensor<7x40x16xf32> -> tensor<7x40x16xf32>
  %0 = gf.pack %w along 0 into %e : tensor<100x40xf32> into tensor<7x40x16xf32> -> tensor<7x40x16xf32>
  // CHECK: gf.pack %{{.*}} along 1 into %{{.*}} {note} : tensor<?x?xbf16> into tensor<?x?x32xbf16> -> tensor<?x?x32xbf16>
  %1 = gf.pack %k along 1 into %f {note} : tensor<?x?xbf16> into tensor<?x?x32xbf16> -> tensor<?x?x32xbf16>
  return %0, %1 : tensor<7x40x16xf32>, tensor<?x?x32xbf16>
}

// Matrices of one size, in panels of 8 columns of each.
// CHECK-LABEL: func @gates
func.func @gates(%w: tensor<4x100x40xf32>, %k: tensor<40x2x?xf32>, %e: tensor<13x40x32xf32>, %f: tensor<?x40x16xf32>)
    -> (tensor<13x40x32xf32>, tensor<?x40x16xf32>) {
  // CHECK: gf.pack %{{.*}} along 0 into %{{.*}} : tensor<4x100x40xf32> into tensor<13x40x32xf32> -> tensor<13x40x32xf32>
  %0 = gf.pack %w along 0 into %e : tensor<4x100x40xf32> into tensor<13x40x32xf32> -> tensor<13x40x32xf32>
  // CHECK: gf.pack %{{.*}} along 1 into %{{.*}} : tensor<40x2x?xf32> into tensor<?x40x16xf32> -> tensor<?x40x16xf32>
  %1 = gf.pack %k along 1 into %f : tensor<40x2x?xf32> into tensor<?x40x16xf32> -> tensor<?x40x16xf32>
  return %0, %1 : tensor<13x40x32xf32>, tensor<?x40x16xf32>
}

// CHECK-LABEL: func @buffers
func.func @buffers(%w: memref<?x?xf64, strided<[?, 1], offset: ?>>, %e: memref<?x?x8xf64>) {
  // CHECK: gf.pack %{{.*}} along 0 into %{{.*}} : memref<?x?xf64, strided<[?, 1], offset: ?>> into memref<?x?x8xf64>{{$}}
  gf.pack %w along 0 into %e : memref<?x?xf64, strided<[?, 1], offset: ?>> into memref<?x?x8xf64>
  return
}
