// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase simplify ------------*- tablegen -*-===//

#ifndef GATEFOLD_SIMPLIFY_PASSES_TD
#define GATEFOLD_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def ListParameters : Pass<"gf-list-parameters", "::mlir::ModuleOp"> {
  let summary = "Say which parameters each entry has";
  let description = [{
    Lists the parameters of each function that may be an entry, and of those that it calls,
    in `gf.parameters`, so that one which nothing reads stays a parameter of the compiled
    model: `gf-bind-parameters` makes an argument for each. So the interface is that of the
    program, whatever a path finds useless.

    ```mlir
    func.func @f() { %w = gf.parameter "w" : tensor<8xf32> ... }
    // becomes
    func.func @f() attributes {gf.parameters = [{name = "w", type = tensor<8xf32>} ]} ...
    ```
  }];
  let statistics = [
    Statistic<"parametersListed", "parameters", "Parameters listed">
  ];
}

def WidenHalf : Pass<"gf-widen-half", "::mlir::ModuleOp"> {
  let summary = "Floats of 16 bits inside a program to f32";
  let description = [{
    f16 and bf16 stay at the interface alone: inputs and parameters are extended where
    they are read, results are rounded once, to nearest even. Between, everything is f32:
    sums, statistics, states. States (`gf.state`) are f32 at the interface too, but for
    caches: one of 16 bits that a function gives back with rows written into it
    (`tensor.insert_slice`, in loops, in steps of `gf.recurrence`) keeps these; rows
    are rounded, readers extend. A recurrence's state that no function's goes through
    keeps them where the rows were rounded before, and what it begins with is exact.

    A conversion to 16 bits rounds where its rounding mode is written, and the rounded
    value is f32 again; without a mode it only names a type, so that constants keep
    their digits. What rounds at the end of each operation in 16 bits does not round
    here.

    Extensions move towards their readers, past slices and reshapes into elementwise
    operations and reads of single elements (the rows of an embedding), so that no f32
    copy of a table is made.

    ```mlir
    func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16>
      %y = linalg.generic ... ins(%x, %x) { mulf bf16 }
    // becomes
      %y = linalg.generic ... ins(%x, %x) { extf; extf; mulf f32 } -> tensor<4xf32>
      %z = linalg.generic ... ins(%y) { truncf } -> tensor<4xbf16>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"valuesWidened", "values", "Values that became f32">,
    Statistic<"roundingsKept", "roundings", "Conversions to 16 bits that round">
  ];
}

#endif // GATEFOLD_SIMPLIFY_PASSES_TD
