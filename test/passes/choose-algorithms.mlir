// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-choose-algorithms=naive --verify-diagnostics --split-input-file | FileCheck %s
// RUN: not gatefold-opt %s --gf-choose-algorithms --split-input-file --remark-format=emitRemark --remarks-filter=gf-choose-algorithms 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func @chosen
func.func @chosen(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "naive"}
  // REMARK: :[[# @LINE + 1]]:8: remark: {{.*}}recurrence: naive, one time step after another
  %y = gf.recurrence sequences(%x : tensor<?x4xf32>) time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>):
    gf.yield %x_t : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

func.func @unknown(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{no lowering for algorithm "magic"; there is: "naive", "steps"}}
  %y = gf.recurrence sequences(%x : tensor<?x4xf32>) time_axis 0
      attributes {gf.algorithm = "magic"} -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>):
    gf.yield %x_t : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}
