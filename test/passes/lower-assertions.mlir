// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-lower-assertions --split-input-file | FileCheck %s

module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [], tensors = []}} {
  // CHECK-LABEL: func @gatefold_run_entry
  // CHECK-SAME: %[[OK:.*]]: i1) -> i32 attributes {llvm.emit_c_interface}
  func.func @gatefold_run_entry(%ok: i1) {
    // CHECK: %[[EMPTY:.*]] = arith.constant 1 : i32
    // CHECK: cf.cond_br %[[OK]], ^[[REST:.*]], ^[[FAILED:.*]](%[[EMPTY]] : i32)
    cf.assert %ok, "max of nothing"
    // CHECK: ^[[REST]]:
    // CHECK: %[[NONE:.*]] = arith.constant 0 : i32
    // CHECK: return %[[NONE]] : i32
    // CHECK: ^[[FAILED]](%[[CODE:.*]]: i32):
    // CHECK: return %[[CODE]] : i32
    return
  }
}

// -----

// A part of the entry in which a run may end returns a code, too, from which
// its caller returns.
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [], tensors = []}} {
  // CHECK-LABEL: func @gatefold_run_entry
  func.func @gatefold_run_entry(%ok: i1) {
    // CHECK: %[[CODE:.*]] = call @outer(%{{.*}}) : (i1) -> i32
    // CHECK: %[[FINE:.*]] = arith.cmpi eq, %[[CODE]], %{{.*}} : i32
    // CHECK: cf.cond_br %[[FINE]], ^{{.*}}, ^[[FAILED:.*]](%[[CODE]] : i32)
    // CHECK: call @harmless() : () -> ()
    // CHECK: ^[[FAILED]](%[[FIRST:.*]]: i32):
    // CHECK: return %[[FIRST]] : i32
    func.call @outer(%ok) : (i1) -> ()
    func.call @harmless() : () -> ()
    return
  }
  // CHECK-LABEL: func private @outer(%{{.*}}: i1) -> i32 {
  func.func private @outer(%ok: i1) {
    // CHECK: call @inner(%{{.*}}) : (i1) -> i32
    func.call @inner(%ok) : (i1) -> ()
    return
  }
  // CHECK-LABEL: func private @inner(%{{.*}}: i1) -> i32 {
  func.func private @inner(%ok: i1) {
    cf.assert %ok, "max of nothing"
    return
  }
  // CHECK-LABEL: func private @harmless() {
  func.func private @harmless() {
    return
  }
}

// -----

// Of a computed index the code is another one.
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [], tensors = []}} {
  // CHECK-LABEL: func @gatefold_run_entry
  func.func @gatefold_run_entry(%ok: i1) {
    // CHECK: %[[INDEX:.*]] = arith.constant 3 : i32
    // CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^{{.*}}(%[[INDEX]] : i32)
    cf.assert %ok, "an index outside its table"
    return
  }
}
