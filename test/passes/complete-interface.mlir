// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-complete-interface --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @plain
// CHECK-SAME: %{{.*}}: tensor<?x4xf32> {gf.name = "input0", gf.shape = affine_map<()[s0, s1] -> (s0, 4)>}
// CHECK-SAME: %{{.*}}: tensor<?xi64> {gf.name = "input1", gf.shape = affine_map<()[s0, s1] -> (s1)>}
// CHECK-SAME: -> (tensor<4xf32> {gf.name = "output", gf.shape = #{{.*}}})
// CHECK-SAME: attributes {gf.dimensions = ["input0_0", "input1_0"], gf.entry}
func.func @plain(%a: tensor<?x4xf32>, %b: tensor<?xi64>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// expected-error @+1 {{entry 'dynamic', result #0: dimension 0 is dynamic; 'gf.shape' has to say}}
func.func @dynamic(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}

// -----

// expected-error @+1 {{entry 'narrow', argument #0: elements are f16, bf16, f32, f64, i32, i64 or i1 at the interface, found 'i8'}}
func.func @narrow(%a: tensor<4xi8>) {
  return
}

// -----

// expected-error @+1 {{entry 'scalar', argument #0: needs a ranked tensor, found 'f32'}}
func.func @scalar(%a: f32) {
  return
}

// -----

// expected-error @+1 {{open dimension "S" does not follow from the shape of any input}}
func.func @unbound(%a: tensor<?xf32> {gf.name = "a", gf.shape = affine_map<()[s0, s1] -> (s0 + s1)>},
    %b: tensor<?xf32> {gf.name = "b", gf.shape = affine_map<()[s0, s1] -> (s0 * 2 + 1)>})
    attributes {gf.entry, gf.dimensions = ["T", "S"]} {
  return
}

// -----

// expected-error @+1 {{no entry: needs a function with gf.entry, or a single public function; found 2}}
module {
  func.func @first() { return }
  func.func @second() { return }
}

// -----

func.func private @elsewhere(tensor<4xf32>)
func.func @calls(%a: tensor<4xf32>) {
  // expected-error @+1 {{not compiled yet: a call that cannot be inlined}}
  call @elsewhere(%a) : (tensor<4xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{not compiled yet: an entry with branches}}
func.func @branches(%a: tensor<4xf32>) {
  cf.br ^next
^next:
  return
}
