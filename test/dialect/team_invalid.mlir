// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --split-input-file --verify-diagnostics

func.func @no_operands(%n: index) {
  // expected-error@+1 {{requires zero operands}}
  %ranks = "gf.team_size"(%n) : (index) -> index
  return
}

// -----

func.func @an_index() {
  // expected-error@+1 {{result #0 must be index, but got 'i64'}}
  %rank = "gf.team_rank"() : () -> i64
  return
}

// -----

func.func @no_result() {
  // expected-error@+1 {{requires zero results}}
  %0 = "gf.team_barrier"() : () -> index
  return
}
