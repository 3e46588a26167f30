// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GatefoldDialect.td - The gf dialect -----------------*- tablegen -*-===//

#ifndef GATEFOLD_DIALECT_TD
#define GATEFOLD_DIALECT_TD

include "mlir/IR/OpBase.td"

def Gf_Dialect : Dialect {
  let name = "gf";
  let cppNamespace = "::gatefold";
  let summary = "Recurrences and attentions as their equations.";
  let description = [{
    Only what upstream MLIR lacks: a region applied over time
    (`gf.recurrence`), a program for one query's row over the keys
    (`gf.attention` and its row operations), and named weights
    (`gf.parameter`). All other computation is `linalg`, `tensor`, `arith`,
    `math`.

    An entry of a compiled program is a `func.func` with the unit attribute
    `gf.entry` and these discardable attributes, all checked by the dialect:

    | on | attribute | meaning |
    | --- | --- | --- |
    | function | `gf.dimensions = ["B", "T"]` | names of the open dimensions, in the order of the symbols of every map below |
    | function | `gf.equal = [affine_map<()[s0, s1] -> (s0, s1)>]`, `gf.equal_messages = ["..."]` | two sizes that every run must find equal |
    | argument, result | `gf.name = "x"` | name at the interface |
    | argument, result | `gf.shape = affine_map<()[s0, s1] -> (s0, s1, 40)>` | the size of each dimension |
    | argument | `gf.below = affine_map<()[s0, s1] -> (20000)>` | each value v of an integer tensor has 0 <= v < bound (a token) |
    | argument | `gf.at_most = affine_map<()[s0, s1] -> (s1)>` | each value v has 0 <= v <= bound (a length) |
    | argument, result | `gf.state` | the value is a streaming state: argument and result of the same name |
    | argument | `gf.initial = 0.0 : f32` | the value with which each element of a state starts |
    | argument | `gf.parameter` | (after bind-parameters) a weight; `gf.initial` is then its default |
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Gf_Op<string mnemonic, list<Trait> traits = []>
    : Op<Gf_Dialect, mnemonic, traits>;

#endif // GATEFOLD_DIALECT_TD
