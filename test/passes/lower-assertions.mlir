// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-lower-assertions | FileCheck %s

module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [], tensors = []}} {
  // CHECK-LABEL: func @gatefold_run_entry
  // CHECK-SAME: %[[OK:.*]]: i1) -> i32 attributes {llvm.emit_c_interface}
  func.func @gatefold_run_entry(%ok: i1) {
    // CHECK: cf.cond_br %[[OK]], ^[[REST:.*]], ^[[FAILED:.*]]
    cf.assert %ok, "max of nothing"
    // CHECK: ^[[REST]]:
    // CHECK: %[[NONE:.*]] = arith.constant 0 : i32
    // CHECK: return %[[NONE]] : i32
    // CHECK: ^[[FAILED]]:
    // CHECK: %[[CODE:.*]] = arith.constant 1 : i32
    // CHECK: return %[[CODE]] : i32
    return
  }
}
