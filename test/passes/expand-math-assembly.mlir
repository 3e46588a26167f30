// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions in f64, and powers, call nothing where the processor has an fma; where it
// has none, one call of libm is cheaper than one for each fma.
// RUN: gatefold compile %s --target=x86-64-v4 --emit=asm -o - | FileCheck %s --check-prefixes=NONE,V4
// RUN: gatefold compile %s --target=x86-64-v3 --emit=asm -o - | FileCheck %s --check-prefixes=NONE,V3
// RUN: gatefold compile %s --target=aarch64 --emit=asm -o - | FileCheck %s --check-prefix=ARM
// RUN: gatefold compile %s --target=x86-64-v2 --emit=asm -o - | FileCheck %s --check-prefix=V2

// Constants that do not fit into the 32 registers are read where they are needed: nothing
// is put on the stack.
// RUN: gatefold compile %s --target=x86-64-v4 --emit=asm -o - | %python %S/Inputs/innermost_loops.py gatefold_kernel | FileCheck %s --check-prefix=CLEAN
// CLEAN-COUNT-2: gatefold_kernel{{.*}} stack=0 calls=0
// CLEAN-NOT: {{stack|calls}}={{[1-9]}}

// NONE-NOT: {{(call|jmp)q?.*(exp|log|tanh|erf|sin|cos|pow|fma)}}
// V4: vfmadd{{.*}}pd {{.*}}zmm
// V3: vfmadd{{.*}}pd {{.*}}ymm
// NONE-NOT: {{(call|jmp)q?.*(exp|log|tanh|erf|sin|cos|pow|fma)}}
// ARM-NOT: bl {{exp|log|tanh|erf|sin|cos|pow|fma}}
// ARM: fmla v{{[0-9]+}}.2d
// ARM-NOT: bl {{exp|log|tanh|erf|sin|cos|pow|fma}}
// V2-NOT: fma
// V2: call{{q?}} exp
// V2-NOT: fma
#row = affine_map<(i) -> (i)>
func.func @functions(%x: tensor<?xf64> {gf.name = "x", gf.shape = affine_map<()[n] -> (n)>},
    %z: tensor<?xf32> {gf.name = "z", gf.shape = affine_map<()[n] -> (n)>})
    -> (tensor<?xf64> {gf.name = "y", gf.shape = affine_map<()[n] -> (n)>},
        tensor<?xf32> {gf.name = "power", gf.shape = affine_map<()[n] -> (n)>})
    attributes {gf.entry, gf.dimensions = ["N"]} {
  %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf64>) outs(%x : tensor<?xf64>) {
  ^bb0(%a: f64, %out: f64):
    %0 = math.exp %a : f64
    %1 = math.expm1 %0 : f64
    %2 = math.log %1 : f64
    %3 = math.log1p %2 : f64
    %4 = math.tanh %3 : f64
    %5 = math.erf %4 : f64
    %6 = math.sin %5 : f64
    %7 = math.cos %6 : f64
    %8 = math.powf %7, %a : f64
    linalg.yield %8 : f64
  } -> tensor<?xf64>
  %power = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%z : tensor<?xf32>) outs(%z : tensor<?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %c = math.powf %a, %a : f32
    linalg.yield %c : f32
  } -> tensor<?xf32>
  return %y, %power : tensor<?xf64>, tensor<?xf32>
}
