// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --pass-pipeline='builtin.module(gpu.module(gf-attach-places))' --mlir-print-debuginfo | FileCheck %s

// CHECK-DAG: #[[FILE:.*]] = #llvm.di_file<"model.gf" in "folder">
// CHECK-DAG: #[[OTHER:.*]] = #llvm.di_file<"library.gf" in "">
// CHECK-DAG: #[[SCOPE:.*]] = #llvm.di_subprogram<{{.*}}name = "f", linkageName = "f", file = #[[FILE]], line = 3
// CHECK-DAG: #[[BLOCK:.*]] = #llvm.di_lexical_block_file<scope = #[[SCOPE]], file = #[[OTHER]]
// CHECK-DAG: = loc(fused<#[[SCOPE]]>[
// CHECK-DAG: = loc(fused<#[[BLOCK]]>[
// CHECK-DAG: emissionKind = DebugDirectivesOnly
gpu.module @kernels {
  llvm.func @f(%x: i32) {
    %a = llvm.add %x, %x : i32 loc("folder/model.gf":4:7)
    %b = llvm.add %a, %x : i32 loc(callsite("library.gf":9:2 at "folder/model.gf":5:1))
    llvm.return loc("folder/model.gf":6:1)
  } loc("folder/model.gf":3:5)
}
