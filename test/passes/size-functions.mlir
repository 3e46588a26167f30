// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-size-functions --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: module attributes {gf.description = {dimensions = ["B", "T"], entry = "f", {{.*}}messages = ["T is odd"]
// The entry's own attributes have moved there, and its name is ours.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-NOT: gf.name
func.func @f(%n: tensor<?xi64> {gf.name = "n", gf.shape = affine_map<()[s0, s1] -> (s0)>,
                                gf.at_most = affine_map<()[s0, s1] -> (s1)>},
             %x: tensor<?x?xf32> {gf.name = "x", gf.shape = affine_map<()[s0, s1] -> (s0, s1 * 2 + 1)>})
    attributes {gf.entry, gf.dimensions = ["B", "T"],
                gf.equal = [affine_map<()[s0, s1] -> (s1 mod 2, 1)>], gf.equal_messages = ["T is odd"]} {
  return
}

// Sizes of n and x, then the bound, then both sides of the check.
// CHECK-LABEL: func @gatefold_sizes
// CHECK-SAME: %[[SYMBOLS:.*]]: !llvm.ptr, %[[SIZES:.*]]: !llvm.ptr
// CHECK: %[[B:.*]] = llvm.load %[[SYMBOLS]]
// CHECK: %[[T:.*]] = llvm.load
// CHECK: llvm.store %[[B]], %[[SIZES]]
// CHECK: %[[B_PLACE:.*]] = llvm.getelementptr %[[SIZES]][1]
// CHECK: llvm.store %[[B]], %[[B_PLACE]]
// CHECK: %[[TWICE:.*]], %{{.*}} = arith.mulsi_extended %[[T]]
// CHECK: %[[LENGTH:.*]] = arith.addi %[[TWICE]]
// CHECK: %[[CHECKED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LENGTH]]
// CHECK: llvm.store %[[CHECKED]]
// CHECK: %[[BOUND_PLACE:.*]] = llvm.getelementptr %[[SIZES]][3]
// CHECK: llvm.store %[[T]], %[[BOUND_PLACE]]
// CHECK: arith.remsi %[[T]]
// CHECK: llvm.getelementptr %[[SIZES]][5]

// -----

// expected-error @+1 {{needs a complete interface, as gf-complete-interface leaves it}}
func.func @incomplete(%x: tensor<4xf32> {gf.name = "x"}) attributes {gf.entry} {
  return
}

// -----

func.func private @gatefold_sizes() {
  return
}
// expected-error @+1 {{the module has a 'gatefold_sizes' already}}
func.func @taken(%x: tensor<4xf32> {gf.name = "x", gf.shape = affine_map<() -> (4)>}) attributes {gf.entry} {
  return
}

// -----

// Of the two states one is given back with a part written over; the other one is not what it was.
// CHECK: {in_place, name = "keys", {{[^}]*}}role = 1
// CHECK-SAME: {name = "h", {{[^}]*}}role = 1
// CHECK-SAME: {in_place, name = "keys", result, {{[^}]*}}role = 1
// CHECK-SAME: {name = "h", result, {{[^}]*}}role = 1
func.func @f(%x: tensor<4xf32> {gf.name = "x", gf.shape = affine_map<() -> (4)>},
             %keys: tensor<8xf32> {gf.name = "keys", gf.state, gf.shape = affine_map<() -> (8)>},
             %h: tensor<8xf32> {gf.name = "h", gf.state, gf.shape = affine_map<() -> (8)>})
    -> (tensor<8xf32> {gf.name = "keys", gf.state, gf.shape = affine_map<() -> (8)>},
        tensor<8xf32> {gf.name = "h", gf.state, gf.shape = affine_map<() -> (8)>})
    attributes {gf.entry} {
  %next = tensor.insert_slice %x into %keys[1] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %swapped = tensor.insert_slice %x into %keys[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %next, %swapped : tensor<8xf32>, tensor<8xf32>
}

// -----

// Equal messages are one failure.
// CHECK: gf.description = {{.*}}failures = ["f.gf:1:2: first", "f.gf:2:3: second"]
// CHECK: cf.assert %{{.*}}, "f.gf:1:2: first" {gf.failure = 0 : i32}
// CHECK: cf.assert %{{.*}}, "f.gf:2:3: second" {gf.failure = 1 : i32}
// CHECK: cf.assert %{{.*}}, "f.gf:1:2: first" {gf.failure = 0 : i32}
func.func @f(%x: tensor<i1> {gf.name = "x", gf.shape = affine_map<() -> ()>}) attributes {gf.entry} {
  %ok = tensor.extract %x[] : tensor<i1>
  cf.assert %ok, "f.gf:1:2: first"
  cf.assert %ok, "f.gf:2:3: second"
  cf.assert %ok, "f.gf:1:2: first"
  return
}
