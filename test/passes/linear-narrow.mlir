// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of numbers of 16 bits, run apart from the phases: those widen all numbers
// before, so that no text reaches these kernels yet.

// RUN: gatefold-opt %s --gf-pack-to-vectors --gf-linear-to-vectors --expand-strided-metadata --lower-affine --canonicalize \
// RUN:   --convert-scf-to-cf --convert-vector-to-llvm --convert-math-to-llvm --convert-arith-to-llvm --convert-index-to-llvm \
// RUN:   --finalize-memref-to-llvm --convert-cf-to-llvm --convert-func-to-llvm --reconcile-unrealized-casts \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -mcpu=native -relocation-model=pic -filetype=obj -o %t.o
// RUN: %cc -shared %t.o -o %t.so
// RUN: %python %S/Inputs/narrow_products.py %t.so bf16_f32_f32 f16_f32_f32 bf16_bf16_bf16 f16_f32_f16

module attributes {gf.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
func.func @bf16_f32_f32(%w: memref<?x?xbf16>, %p: memref<?x?x32xbf16>, %x: memref<?x?xbf16>, %i: memref<?xf32>, %y: memref<?x?xf32>)
    attributes {llvm.emit_c_interface} {
  gf.pack %w along 0 into %p : memref<?x?xbf16> into memref<?x?x32xbf16>
  gf.linear %x, %p initial(%i : memref<?xf32>) outs(%y : memref<?x?xf32>) : memref<?x?xbf16>, memref<?x?x32xbf16>
  return
}

func.func @f16_f32_f32(%w: memref<?x?xf16>, %p: memref<?x?x32xf16>, %x: memref<?x?xf16>, %i: memref<?xf32>, %y: memref<?x?xf32>)
    attributes {llvm.emit_c_interface} {
  gf.pack %w along 0 into %p : memref<?x?xf16> into memref<?x?x32xf16>
  gf.linear %x, %p initial(%i : memref<?xf32>) outs(%y : memref<?x?xf32>) : memref<?x?xf16>, memref<?x?x32xf16>
  return
}

func.func @bf16_bf16_bf16(%w: memref<?x?xbf16>, %p: memref<?x?x32xbf16>, %x: memref<?x?xbf16>, %i: memref<?xbf16>, %y: memref<?x?xbf16>)
    attributes {llvm.emit_c_interface} {
  gf.pack %w along 0 into %p : memref<?x?xbf16> into memref<?x?x32xbf16>
  gf.linear %x, %p initial(%i : memref<?xbf16>) outs(%y : memref<?x?xbf16>) : memref<?x?xbf16>, memref<?x?x32xbf16>
  return
}

func.func @f16_f32_f16(%w: memref<?x?xf16>, %p: memref<?x?x32xf16>, %x: memref<?x?xf16>, %i: memref<?xf32>, %y: memref<?x?xf16>)
    attributes {llvm.emit_c_interface} {
  gf.pack %w along 0 into %p : memref<?x?xf16> into memref<?x?x32xf16>
  gf.linear %x, %p initial(%i : memref<?xf32>) outs(%y : memref<?x?xf16>) : memref<?x?xf16>, memref<?x?x32xf16>
  return
}
}
