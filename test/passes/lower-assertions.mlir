// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-lower-assertions --split-input-file --verify-diagnostics | FileCheck %s

module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [], tensors = []}} {
  // CHECK-LABEL: func @gatefold_run_entry
  // CHECK-SAME: %[[OK:.*]]: i1) -> i32 attributes {llvm.emit_c_interface}
  func.func @gatefold_run_entry(%ok: i1) {
    // CHECK: %[[EMPTY:.*]] = arith.constant 16 : i32
    // CHECK: cf.cond_br %[[OK]], ^[[REST:.*]], ^[[FAILED:.*]](%[[EMPTY]] : i32)
    cf.assert %ok, "max of nothing" {gf.failure = 0 : i32}
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
    cf.assert %ok, "max of nothing" {gf.failure = 0 : i32}
    return
  }
  // CHECK-LABEL: func private @harmless() {
  func.func private @harmless() {
    return
  }
}

// -----

// The code says which assertion it was.
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [], tensors = []}} {
  // CHECK-LABEL: func @gatefold_run_entry
  func.func @gatefold_run_entry(%ok: i1) {
    // CHECK: %[[THIRD:.*]] = arith.constant 19 : i32
    // CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^{{.*}}(%[[THIRD]] : i32)
    cf.assert %ok, "an index outside its table" {gf.failure = 3 : i32}
    return
  }
}

// -----

module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [], tensors = []}} {
  func.func @gatefold_run_entry(%ok: i1) {
    // expected-error @below {{needs 'gf.failure', as gf-size-functions leaves it}}
    cf.assert %ok, "an index outside its table"
    return
  }
}
