// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The innermost loops of products, as each kind of processor gets them: a product for
// each sum in a register, a broadcast for each row, nothing on the stack, no call, no
// mask, no copy. It is read, not run, so that any machine can tell.

// RUN: sed s/WIDTH/64/g %s > %t.64.mlir
// RUN: sed s/WIDTH/16/g %s > %t.16.mlir
// RUN: gatefold compile %t.64.mlir --target x86-64-v4 --emit asm -o - | %python %S/Inputs/innermost_loops.py gatefold_linear > %t.v4
// RUN: FileCheck %s --check-prefix=V4 --input-file %t.v4
// RUN: FileCheck %s --check-prefix=CLEAN --input-file %t.v4
// RUN: gatefold compile %t.16.mlir --target x86-64-v3 --emit asm -o - | %python %S/Inputs/innermost_loops.py gatefold_linear > %t.v3
// RUN: FileCheck %s --check-prefix=V3 --input-file %t.v3
// RUN: FileCheck %s --check-prefix=CLEAN --input-file %t.v3
// RUN: gatefold compile %t.16.mlir --target aarch64 --emit asm -o - | %python %S/Inputs/innermost_loops.py gatefold_linear > %t.arm
// RUN: FileCheck %s --check-prefix=ARM --input-file %t.arm
// RUN: FileCheck %s --check-prefix=CLEAN --input-file %t.arm

// Six rows of four vectors; of one row two strips.
// V4-DAG: gatefold_linear_f32_64: products=24 (vfmadd) broadcasts=6 registers=zmm
// V4-DAG: gatefold_linear_f32_64: products=20 (vfmadd) broadcasts=5 registers=zmm
// V4-DAG: gatefold_linear_f32_64: products=16 (vfmadd) broadcasts=4 registers=zmm
// V4-DAG: gatefold_linear_f32_64: products=12 (vfmadd) broadcasts=3 registers=zmm
// V4-DAG: gatefold_linear_f32_64: products=8 (vfmadd) broadcasts=2 registers=zmm
// V4-DAG: gatefold_linear_f32_64: products=8 (vfmadd) broadcasts=1 registers=zmm

// Six rows of two vectors; of up to three rows more strips.
// V3-DAG: gatefold_linear_f32_16: products=12 (vfmadd) broadcasts=6 registers=ymm
// V3-DAG: gatefold_linear_f32_16: products=10 (vfmadd) broadcasts=5 registers=ymm
// V3-DAG: gatefold_linear_f32_16: products=8 (vfmadd) broadcasts=4 registers=ymm
// V3-DAG: gatefold_linear_f32_16: products=12 (vfmadd) broadcasts=3 registers=ymm
// V3-DAG: gatefold_linear_f32_16: products=8 (vfmadd) broadcasts=2 registers=ymm
// V3-DAG: gatefold_linear_f32_16: products=8 (vfmadd) broadcasts=1 registers=ymm

// ARM-DAG: gatefold_linear_f32_16: products=24 (fmla) {{.*}}registers=neon
// ARM-DAG: gatefold_linear_f32_16: products=20 (fmla) {{.*}}registers=neon
// ARM-DAG: gatefold_linear_f32_16: products=16 (fmla) {{.*}}registers=neon
// ARM-DAG: gatefold_linear_f32_16: products=8 (fmla) {{.*}}registers=neon

// CLEAN: gatefold_linear
// CLEAN-NOT: stack={{[1-9]}}
// CLEAN-NOT: calls={{[1-9]}}
// CLEAN-NOT: masked={{[1-9]}}
// CLEAN-NOT: copies={{[1-9]}}

func.func @product(%x: tensor<?x?xf32> {gf.name = "x", gf.shape = affine_map<()[m, n, k] -> (m, k)>},
                   %w: tensor<?x?xf32> {gf.name = "w", gf.shape = affine_map<()[m, n, k] -> (n, k)>},
                   %b: tensor<?xf32> {gf.name = "b", gf.shape = affine_map<()[m, n, k] -> (n)>})
    -> (tensor<?x?xf32> {gf.name = "y", gf.shape = affine_map<()[m, n, k] -> (m, n)>})
    attributes {gf.entry, gf.dimensions = ["M", "N", "K"]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %width = arith.constant WIDTH : index
  %most = arith.subi %width, %one : index
  %m = tensor.dim %x, %zero : tensor<?x?xf32>
  %n = tensor.dim %w, %zero : tensor<?x?xf32>
  %k = tensor.dim %w, %one : tensor<?x?xf32>
  %upper = arith.addi %n, %most : index
  %p = arith.divui %upper, %width : index
  %empty_panels = tensor.empty(%p, %k) : tensor<?x?xWIDTHxf32>
  %panels = gf.pack %w along 0 into %empty_panels : tensor<?x?xf32> into tensor<?x?xWIDTHxf32> -> tensor<?x?xWIDTHxf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = gf.linear %x, %panels initial(%b : tensor<?xf32>) outs(%empty : tensor<?x?xf32>)
    : tensor<?x?xf32>, tensor<?x?xWIDTHxf32> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
