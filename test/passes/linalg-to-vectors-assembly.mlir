// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass of a softmax in machine code: a loop over full registers without calls, and
// a tail of masked loads and stores.
// RUN: gatefold compile %s --target=x86-64-v4 --emit=asm -o - | FileCheck %s --check-prefixes=CHECK,V4
// RUN: gatefold compile %s --target=x86-64-v3 --emit=asm -o - | FileCheck %s --check-prefixes=CHECK,V3
// RUN: gatefold compile %s --target=aarch64 --emit=asm -o - | FileCheck %s --check-prefix=ARM

// Where there are 32 registers the constants of `exp` stay in them.
// RUN: gatefold compile %s --target=x86-64-v4 --emit=asm -o - | %python %S/Inputs/innermost_loops.py gatefold_kernel | FileCheck %s --check-prefix=CLEAN
// RUN: gatefold compile %s --target=aarch64 --emit=asm -o - | %python %S/Inputs/innermost_loops.py gatefold_kernel | FileCheck %s --check-prefix=CLEAN
// CLEAN: gatefold_kernel
// CLEAN-SAME: stack=0 calls=0
// CLEAN-NOT: {{stack|calls}}={{[1-9]}}

// CHECK-NOT: call{{.*}}exp
// V4: vmovups ({{.*}}), [[X:%zmm[0-9]+]]
// V4-NEXT: vsubps %zmm{{[0-9]+}}, [[X]]
// V4-NOT: ymm
// V4: vmovups %zmm{{[0-9]+}}, (
// V4: vmovups ({{.*}}), %zmm{{[0-9]+}} {%k{{[0-9]}}} {z}
// V4: vmovups %zmm{{[0-9]+}}, ({{.*}}) {%k{{[0-9]}}}
// V3: vmovups ({{.*}}), [[X:%ymm[0-9]+]]
// V3-NEXT: vsubps %ymm{{[0-9]+}}, [[X]]
// V3-NOT: xmm
// V3: vmovups %ymm{{[0-9]+}}, (
// V3: vmaskmovps ({{.*}}), %ymm
// V3: vmaskmovps %ymm{{[0-9]+}}, %ymm{{[0-9]+}}, (
// ARM: fsub v{{[0-9]+}}.4s
// ARM-NOT: bl expf
#rows = affine_map<(i, j) -> (i, j)>
#value = affine_map<(i, j) -> (i)>
func.func @softmax_pass(%s: tensor<?x?xf32> {gf.name = "s", gf.shape = affine_map<()[n, m] -> (n, m)>},
    %m: tensor<?xf32> {gf.name = "m", gf.shape = affine_map<()[n, m] -> (n)>})
    -> (tensor<?x?xf32> {gf.name = "e", gf.shape = affine_map<()[n, m] -> (n, m)>},
        tensor<?xf32> {gf.name = "sum", gf.shape = affine_map<()[n, m] -> (n)>})
    attributes {gf.entry, gf.dimensions = ["N", "M"]} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %s, %c0 : tensor<?x?xf32>
  %columns = tensor.dim %s, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %columns) : tensor<?x?xf32>
  %f = tensor.empty(%n) : tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%f : tensor<?xf32>) -> tensor<?xf32>
  %r:2 = linalg.generic {indexing_maps = [#rows, #value, #rows, #value], iterator_types = ["parallel", "reduction"]}
      ins(%s, %m : tensor<?x?xf32>, tensor<?xf32>) outs(%e, %start : tensor<?x?xf32>, tensor<?xf32>) {
  ^bb0(%score: f32, %max: f32, %out: f32, %total: f32):
    %0 = arith.subf %score, %max : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %total, %1 : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<?x?xf32>, tensor<?xf32>)
  return %r#0, %r#1 : tensor<?x?xf32>, tensor<?xf32>
}
