// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --emit-bytecode | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --mlir-print-op-generic | gatefold-opt | FileCheck %s

// CHECK-LABEL: func @tensors
func.func @tensors(%x: tensor<?x40xf32>, %panels: tensor<7x40x16xf32>, %b: tensor<100xf32>, %e: tensor<?x100xf32>)
    -> (tensor<?x100xf32>, tensor<?x100xf32>, tensor<?x100xf32>) {
  // CHECK: gf.linear %{{.*}}, %{{.*}} outs(%{{.*}} : tensor<?x100xf32>) : tensor<?x40xf32>, tensor<7x40x16xf32> -> tensor<?x100xf32>
  %0 = gf.linear %x, %panels outs(%e : tensor<?x100xf32>) : tensor<?x40xf32>, tensor<7x40x16xf32> -> tensor<?x100xf32>
  // CHECK: gf.linear %{{.*}}, %{{.*}} initial(%{{.*}} : tensor<100xf32>) outs(%{{.*}} : tensor<?x100xf32>)
  %1 = gf.linear %x, %panels initial(%b : tensor<100xf32>) outs(%e : tensor<?x100xf32>) : tensor<?x40xf32>, tensor<7x40x16xf32> -> tensor<?x100xf32>
  // CHECK: gf.linear %{{.*}}, %{{.*}} initial(%[[OWN:.*]] : tensor<?x100xf32>) outs(%[[OWN]] : tensor<?x100xf32>) {note}
  %2 = gf.linear %x, %panels initial(%e : tensor<?x100xf32>) outs(%e : tensor<?x100xf32>) {note} : tensor<?x40xf32>, tensor<7x40x16xf32> -> tensor<?x100xf32>
  return %0, %1, %2 : tensor<?x100xf32>, tensor<?x100xf32>, tensor<?x100xf32>
}

// CHECK-LABEL: func @gates
func.func @gates(%x: tensor<?x40xf32>, %v: tensor<40xf32>, %panels: tensor<13x40x32xf32>, %b: tensor<4x100xf32>, %e: tensor<?x4x100xf32>, %f: tensor<4x100xf32>)
    -> (tensor<?x4x100xf32>, tensor<4x100xf32>) {
  // CHECK: gf.linear %{{.*}}, %{{.*}} initial(%{{.*}} : tensor<4x100xf32>) outs(%{{.*}} : tensor<?x4x100xf32>) : tensor<?x40xf32>, tensor<13x40x32xf32> -> tensor<?x4x100xf32>
  %0 = gf.linear %x, %panels initial(%b : tensor<4x100xf32>) outs(%e : tensor<?x4x100xf32>) : tensor<?x40xf32>, tensor<13x40x32xf32> -> tensor<?x4x100xf32>
  // CHECK: gf.linear %{{.*}}, %{{.*}} outs(%{{.*}} : tensor<4x100xf32>) : tensor<40xf32>, tensor<13x40x32xf32> -> tensor<4x100xf32>
  %1 = gf.linear %v, %panels outs(%f : tensor<4x100xf32>) : tensor<40xf32>, tensor<13x40x32xf32> -> tensor<4x100xf32>
  return %0, %1 : tensor<?x4x100xf32>, tensor<4x100xf32>
}

// Rows in no and in several dimensions; types of storage differ, sums are f32.
// CHECK-LABEL: func @buffers
func.func @buffers(%v: memref<40xbf16>, %x: memref<2x?x40xbf16, strided<[?, ?, 1], offset: ?>>,
                   %panels: memref<7x40x16xbf16, strided<[1600, 16, 1], offset: ?>>, %y: memref<100xf32>, %z: memref<2x?x100xf16>) {
  // CHECK: gf.linear %{{.*}}, %{{.*}} outs(%{{.*}} : memref<100xf32>) : memref<40xbf16>, memref<7x40x16xbf16, strided<[1600, 16, 1], offset: ?>>{{$}}
  gf.linear %v, %panels outs(%y : memref<100xf32>) : memref<40xbf16>, memref<7x40x16xbf16, strided<[1600, 16, 1], offset: ?>>
  // CHECK: gf.linear %{{.*}}, %{{.*}} initial(%{{.*}} : memref<100xf32>) outs(%{{.*}} : memref<2x?x100xf16>)
  gf.linear %x, %panels initial(%y : memref<100xf32>) outs(%z : memref<2x?x100xf16>) : memref<2x?x40xbf16, strided<[?, ?, 1], offset: ?>>, memref<7x40x16xbf16, strided<[1600, 16, 1], offset: ?>>
  return
}
