// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-choose-algorithms --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-choose-algorithms --split-input-file --remark-format=emitRemark --remarks-filter=gf-choose-algorithms 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gatefold-opt %s --gf-choose-algorithms=schedule=recurrence.algorithm=steps --split-input-file | FileCheck %s --check-prefix=GIVEN

// However the equation is written: h + z * (n - h).
// CHECK-LABEL: func @oddly
// CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "scan", gf.step_rows
// GIVEN: gf.recurrence {{.*}} attributes {gf.algorithm = "steps", gf.algorithm_given
func.func @oddly(%z: tensor<?x?x4xf32>, %n: tensor<?x?x4xf32>, %h0: tensor<?x4xf32>) -> tensor<?x?x4xf32> {
  // REMARK: :[[# @LINE + 1]]:10: remark: {{.*}}linear recurrence: scan, a block of steps at once
  %y:2 = gf.recurrence sequences(%z, %n : tensor<?x?x4xf32>, tensor<?x?x4xf32>) states(%h0 : tensor<?x4xf32>)
      time_axis 1 -> (tensor<?x?x4xf32>) {
  ^step(%z_t: tensor<?x4xf32>, %n_t: tensor<?x4xf32>, %h: tensor<?x4xf32>):
    %difference = arith.subf %n_t, %h : tensor<?x4xf32>
    %part = arith.mulf %z_t, %difference : tensor<?x4xf32>
    %next = arith.addf %h, %part : tensor<?x4xf32>
    gf.yield %next, %next : tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %y#0 : tensor<?x?x4xf32>
}

// -----

#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// Divisions by what is known, choices by what is known, and their like.
// CHECK-LABEL: func @other_forms
// CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "scan"
func.func @other_forms(%x: tensor<?x?x4xf32>, %p: tensor<?x?x4xi1>, %gain: tensor<4xf32>, %h0: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %e = tensor.empty(%b) : tensor<?x4xf32>
  %y = gf.recurrence sequences(%x, %p : tensor<?x?x4xf32>, tensor<?x?x4xi1>) states(%h0 : tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x4xf32>, %p_t: tensor<?x4xi1>, %h: tensor<?x4xf32>):
    %scaled = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]}
        ins(%h, %gain : tensor<?x4xf32>, tensor<4xf32>) outs(%e : tensor<?x4xf32>) {
    ^bb0(%s: f32, %g: f32, %out: f32):
      %quotient = arith.divf %s, %g : f32
      %minus = arith.negf %quotient : f32
      %twice = math.fma %minus, %g, %s : f32
      linalg.yield %twice : f32
    } -> tensor<?x4xf32>
    %next = arith.select %p_t, %scaled, %x_t : tensor<?x4xi1>, tensor<?x4xf32>
    gf.yield %next : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

// States one after another: the second is linear once the first is known, whatever it
// makes of it.
// CHECK-LABEL: func @one_after_another
// CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "scan"
func.func @one_after_another(%x: tensor<?x4xf32>, %h0: tensor<4xf32>, %c0: tensor<4xf32>) -> tensor<?x4xf32> {
  %y:3 = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h0, %c0 : tensor<4xf32>, tensor<4xf32>)
      time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>, %h: tensor<4xf32>, %c: tensor<4xf32>):
    %next_c = arith.addf %c, %x_t : tensor<4xf32>
    %bent = math.tanh %next_c : tensor<4xf32>
    %gated = arith.mulf %bent, %c : tensor<4xf32>
    %next_h = arith.addf %gated, %h : tensor<4xf32>
    gf.yield %next_h, %next_h, %next_c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %y#0 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func @not_linear
func.func @not_linear(%x: tensor<?x?x4xf32>, %w: tensor<4x4xf32>, %h0: tensor<?x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %e = tensor.empty(%b) : tensor<?x4xf32>
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
  %a = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0 : tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32> loc("memory")):
    // REMARK: :[[# @LINE + 1]]:15: remark: {{.*}}not a linear recurrence: the next "memory" holds a product of "memory" with itself
    %square = arith.mulf %h, %h : tensor<?x4xf32>
    gf.yield %square : tensor<?x4xf32>
  }
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
  %bent = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0 : tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32> loc("h")):
    %sum = arith.addf %x_t, %h : tensor<?x4xf32>
    // REMARK: :[[# @LINE + 1]]:13: remark: {{.*}}not a linear recurrence: the next "h" holds tanh of "h"
    %next = math.tanh %sum : tensor<?x4xf32>
    gf.yield %next : tensor<?x4xf32>
  }
  // A state that the text does not name.
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
  %inverse = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0 : tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32>):
    // REMARK: :[[# @LINE + 1]]:13: remark: {{.*}}not a linear recurrence: the next state #0 holds a division by state #0
    %next = arith.divf %x_t, %h : tensor<?x4xf32>
    gf.yield %next : tensor<?x4xf32>
  }
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
  %mixed = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0 : tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32> loc("h")):
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
    // REMARK: :[[# @LINE + 1]]:13: remark: {{.*}}not a linear recurrence: the next "h" holds a product with "h"
    %next = linalg.matmul ins(%h, %w : tensor<?x4xf32>, tensor<4x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
    gf.yield %next : tensor<?x4xf32>
  }
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
  %turned:2 = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0, %h0 : tensor<?x4xf32>, tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32> loc("real"), %g: tensor<?x4xf32> loc("imaginary")):
    // REMARK: :[[# @LINE + 1]]:15: remark: {{.*}}not a linear recurrence: the next "real" holds "real" beside "imaginary"
    %next_h = arith.subf %h, %g : tensor<?x4xf32>
    %next_g = arith.addf %h, %g : tensor<?x4xf32>
    gf.yield %next_h, %next_g : tensor<?x4xf32>, tensor<?x4xf32>
  }
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
  %swapped:2 = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0, %h0 : tensor<?x4xf32>, tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32> loc("left"), %g: tensor<?x4xf32> loc("right")):
    // REMARK: :[[# @LINE + 1]]:15: remark: {{.*}}not a linear recurrence: the next "left" holds "right", which is not known before it
    %next_h = arith.negf %g : tensor<?x4xf32>
    gf.yield %next_h, %h : tensor<?x4xf32>, tensor<?x4xf32>
  }
  // What a text has no function for is told without the name of the operation.
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
  %reshaped = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0 : tensor<?x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32> loc("h")):
    // REMARK: :[[# @LINE + 1]]:13: remark: {{.*}}not a linear recurrence: the next "h" holds a reshape of "h"
    %flat = tensor.collapse_shape %h [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
    %first = arith.constant 0 : index
    %rows = tensor.dim %h, %first : tensor<?x4xf32>
    %square = tensor.expand_shape %flat [[0, 1]] output_shape [%rows, 4] : tensor<?xf32> into tensor<?x4xf32>
    %next = arith.addf %square, %x_t : tensor<?x4xf32>
    gf.yield %next : tensor<?x4xf32>
  }
  return
}

// -----

#outer = affine_map<(d0, d1, d2) -> (d0, d1)>
#inner = affine_map<(d0, d1, d2) -> (d0, d2)>
#both = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// A matrix for each sequence that vectors are added to: all of them would be many times what
// comes and goes.
// CHECK-LABEL: func @large_states
// CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
func.func @large_states(%k: tensor<2x?x16xf32>, %v: tensor<2x?x16xf32>, %s0: tensor<2x16x16xf32>) -> tensor<2x16x16xf32> {
  %e = tensor.empty() : tensor<2x16x16xf32>
  // REMARK: :[[# @LINE + 1]]:8: remark: {{.*}}linear recurrence, but taken step by step: a block of steps would take 8 times the memory of what it reads and gives
  %s = gf.recurrence sequences(%k, %v : tensor<2x?x16xf32>, tensor<2x?x16xf32>) states(%s0 : tensor<2x16x16xf32>) time_axis 1 {
  ^step(%k_t: tensor<2x16xf32>, %v_t: tensor<2x16xf32>, %state: tensor<2x16x16xf32>):
    %product = linalg.generic {indexing_maps = [#outer, #inner, #both], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%k_t, %v_t : tensor<2x16xf32>, tensor<2x16xf32>) outs(%e : tensor<2x16x16xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<2x16x16xf32>
    %next = arith.addf %state, %product : tensor<2x16x16xf32>
    gf.yield %next : tensor<2x16x16xf32>
  }
  return %s : tensor<2x16x16xf32>
}

// -----

// A product with a state that is known for all steps is one all the same, but stands in each.
// CHECK-LABEL: func @product_between
// CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
func.func @product_between(%x: tensor<2x?x4xf32>, %w: tensor<4x4xf32>, %h0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %y:2 = gf.recurrence sequences(%x : tensor<2x?x4xf32>) states(%h0, %h0 : tensor<2x4xf32>, tensor<2x4xf32>) time_axis 1 {
  ^step(%x_t: tensor<2x4xf32>, %c: tensor<2x4xf32> loc("c"), %h: tensor<2x4xf32> loc("h")):
    %next_c = arith.addf %c, %x_t : tensor<2x4xf32>
    // REMARK: :[[# @LINE + 1]]:10: remark: {{.*}}linear recurrence, but taken step by step: the next "h" takes a product with "c"
    %p = linalg.matmul ins(%next_c, %w : tensor<2x4xf32>, tensor<4x4xf32>) outs(%f : tensor<2x4xf32>) -> tensor<2x4xf32>
    %next_h = arith.addf %h, %p : tensor<2x4xf32>
    gf.yield %next_c, %next_h : tensor<2x4xf32>, tensor<2x4xf32>
  }
  return %y#1 : tensor<2x4xf32>
}

// -----

// What an output needs is not computed for all steps at once.
// CHECK-LABEL: func @padded_output
// CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps"
func.func @padded_output(%x: tensor<2x?x4xf32>, %h0: tensor<2x4xf32>) -> tensor<2x?x5xf32> {
  %zero = arith.constant 0.0 : f32
  %y:2 = gf.recurrence sequences(%x : tensor<2x?x4xf32>) states(%h0 : tensor<2x4xf32>) time_axis 1 -> (tensor<2x?x5xf32>) {
  ^step(%x_t: tensor<2x4xf32>, %h: tensor<2x4xf32>):
    %next = arith.addf %h, %x_t : tensor<2x4xf32>
    // REMARK: :[[# @LINE + 1]]:13: remark: {{.*}}linear recurrence, but taken step by step: 'tensor.pad' is not computed for all steps at once
    %wide = tensor.pad %next low[0, 1] high[0, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<2x4xf32> to tensor<2x5xf32>
    gf.yield %wide, %next : tensor<2x5xf32>, tensor<2x4xf32>
  }
  return %y#0 : tensor<2x?x5xf32>
}
