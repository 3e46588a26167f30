// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-choose-algorithms=schedule=recurrence.algorithm=scan --verify-diagnostics
// RUN: not gatefold-opt %s --gf-tile-recurrence 2>&1 | FileCheck %s

// What a user or a module asks for, and what cannot be.
// CHECK: error: recurrence cannot be scheduled as a scan: the next "h" holds tanh of "h"
// CHECK: note: it is here
func.func @not_linear(%x: tensor<?x?x4xf32>, %h0: tensor<?x4xf32>) {
  // expected-error @+1 {{recurrence cannot be scheduled as a scan: the next "h" holds tanh of "h"}}
  %y = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0 : tensor<?x4xf32>) time_axis 1
      attributes {gf.algorithm = "scan"} {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32> loc("h")):
    %sum = arith.addf %x_t, %h : tensor<?x4xf32>
    // expected-note @+1 {{it is here}}
    %next = math.tanh %sum : tensor<?x4xf32>
    gf.yield %next : tensor<?x4xf32>
  }
  return
}
