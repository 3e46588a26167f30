// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: rm -rf %t && mkdir -p %t
// RUN: gatefold compile %s --emit llvm --target x86-64-v3 -o - | FileCheck %s --check-prefix=LLVM
// RUN: gatefold compile %s --emit asm --target aarch64 -o - | FileCheck %s --check-prefix=AARCH64
// RUN: not gatefold compile %s --emit asm --target nonsense -o - 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: gatefold compile %s -o %t/libscale.so
// RUN: llvm-nm -D --defined-only %t/libscale.so | FileCheck %s --check-prefix=SYMBOLS
// RUN: llvm-readelf -d %t/libscale.so | FileCheck %s --check-prefix=NEEDED
// RUN: %cc -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c %t/scale.h
// RUN: FileCheck %s --check-prefix=HEADER --input-file %t/scale.h

// LLVM: @{{.*}}_gatefold_description = {{.*}}constant
// LLVM: define i32 @{{.*}}_run(ptr %0, ptr %1, ptr %2, ptr %3, i64 %4)
// LLVM: tail call i32 @gatefold_run(

// AARCH64: fmul

// TARGET: no processor 'nonsense' among those of

// The runtime inside is hidden: all that is visible has the name in front.
// SYMBOLS-NOT: {{^[^ ]* . (gatefold|_mlir)}}
// SYMBOLS: scale_context_create
// SYMBOLS: scale_run

// NEEDED-DAG: NEEDED{{.*}}libc.so.6
// NEEDED-NOT: NEEDED{{.*}}libstdc++
// NEEDED-NOT: NEEDED{{.*}}libMLIR

// HEADER: SCALE_INPUT_X = 0, /* x: f32[N + 1] */
// HEADER: SCALE_RESULT_Y = 0, /* y: f32[N + 1] */
// HEADER: factor: f32[], 2 if not given
// HEADER: scale_status scale_run(scale_context *context

func.func @scale(%x: tensor<?xf32> {gf.name = "x", gf.shape = affine_map<()[s0] -> (s0 + 1)>})
    -> (tensor<?xf32> {gf.name = "y", gf.shape = affine_map<()[s0] -> (s0 + 1)>})
    attributes {gf.entry, gf.dimensions = ["N"]} {
  %factor = gf.parameter "factor" initial 2.0 : tensor<f32>
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %e = tensor.empty(%size) : tensor<?xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}
      ins(%x, %factor : tensor<?xf32>, tensor<f32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
