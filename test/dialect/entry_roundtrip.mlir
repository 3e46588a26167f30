// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --emit-bytecode | gatefold-opt | FileCheck %s

// CHECK: #[[EQUAL:.*]] = affine_map<()[s0, s1] -> (s1, s0 * 2)>
// CHECK-LABEL: func @model
// CHECK-SAME: gf.at_most = affine_map<()[s0, s1] -> (s1)>
// CHECK-SAME: gf.dimensions = ["B", "T"], gf.entry, gf.equal = [#[[EQUAL]]], gf.equal_messages = ["T is twice B"]
func.func @model(
    %tokens: tensor<?x?xi32> {gf.name = "tokens", gf.shape = affine_map<()[s0, s1] -> (s0, s1)>,
                              gf.below = affine_map<()[s0, s1] -> (20000)>},
    %lengths: tensor<?xi64> {gf.name = "lengths", gf.shape = affine_map<()[s0, s1] -> (s0)>,
                             gf.at_most = affine_map<()[s0, s1] -> (s1)>},
    %h: tensor<?x8xf32> {gf.name = "h", gf.shape = affine_map<()[s0, s1] -> (s0, 8)>, gf.state,
                         gf.initial = 0.0 : f32},
    %flag: tensor<i1> {gf.name = "flag", gf.shape = affine_map<()[s0, s1] -> ()>, gf.state, gf.initial = false},
    %w: tensor<8xf32> {gf.name = "w", gf.shape = affine_map<()[s0, s1] -> (8)>, gf.parameter,
                       gf.initial = 1.0 : f32})
    -> (tensor<?x?xi32> {gf.name = "tokens", gf.shape = affine_map<()[s0, s1] -> (s0, s1)>},
        tensor<i1> {gf.name = "flag", gf.shape = affine_map<()[s0, s1] -> ()>, gf.state},
        tensor<?x8xf32> {gf.name = "h", gf.shape = affine_map<()[s0, s1] -> (s0, 8)>, gf.state})
    attributes {gf.entry, gf.dimensions = ["B", "T"],
                gf.equal = [affine_map<()[s0, s1] -> (s1, 2 * s0)>], gf.equal_messages = ["T is twice B"]} {
  return %tokens, %flag, %h : tensor<?x?xi32>, tensor<i1>, tensor<?x8xf32>
}

// An entry without open dimensions needs no names of them.
// CHECK-LABEL: func @fixed
func.func @fixed(%x: tensor<2xf32> {gf.name = "x", gf.shape = affine_map<() -> (2)>})
    -> (tensor<2xf32> {gf.name = "output", gf.shape = affine_map<() -> (2)>}) attributes {gf.entry} {
  return %x : tensor<2xf32>
}

// Names and shapes may be left out; a parameter may have the name of an input.
// CHECK-LABEL: func @bare
func.func @bare(%x: tensor<?xf32> {gf.name = "x"}, %w: tensor<?xf32> {gf.name = "x", gf.parameter}) -> tensor<?xf32>
    attributes {gf.entry} {
  return %x : tensor<?xf32>
}

// After bufferization results are arguments, and states have no partner.
// CHECK-LABEL: func @bufferized
func.func @bufferized(%h: memref<?x8xf32> {gf.name = "h", gf.shape = affine_map<()[s0] -> (s0, 8)>, gf.state})
    attributes {gf.entry, gf.dimensions = ["B"]} {
  return
}
