// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase tile ----------------*- tablegen -*-===//

#ifndef GATEFOLD_TILE_PASSES_TD
#define GATEFOLD_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerAttention : Pass<"gf-lower-attention", "::mlir::func::FuncOp"> {
  let summary = "Attention, row by row, to loops and linalg";
  let description = [{
    `gf.attention` with `gf.algorithm = "naive"` becomes loops over the leading
    indices and the queries; the region stands in the innermost loop, its row
    operations become `linalg` on rows of the keys' length.

    `gf.row_values` reads only the keys that lengths, causal, window and offset
    leave to some query of the head; what is hidden from this query alone is
    weighed by 0 in the softmax.

    ```mlir
    %s = gf.row_scores %q, %k : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    // becomes a product of matrix and vector
    %s = linalg.generic ... ins(%q, %k) outs(%zero)
    ```

    Rows of 16-bit floats are refused: they are to accumulate in f32.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"attentionsLowered", "attentions", "Attentions lowered">
  ];
}

def LowerRecurrence : Pass<"gf-lower-recurrence", "::mlir::func::FuncOp"> {
  let summary = "Recurrence to a loop over time";
  let description = [{
    `gf.recurrence` with `gf.algorithm = "naive"` becomes an `scf.for` over time
    that carries the outputs and the states. Each step takes its slice of the
    sequences, and puts its outputs into their place; a state is written once all
    of the step has been computed. Under `lengths` a step behind the end selects 0
    and the old state, so that nothing computed from padding is ever kept.

    An inner recurrence is lowered before the one around it.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"recurrencesLowered", "recurrences", "Recurrences lowered">
  ];
}

def DecomposeTensors : Pass<"gf-decompose-tensors", "::mlir::func::FuncOp"> {
  let summary = "Tensor operations that have no buffers to slices and linalg";
  let description = [{
    `tensor.concat` becomes insertions into one tensor; elementwise `arith` and `math`
    on tensors become `linalg`; a constant of one repeated value, above 64 KiB, becomes
    a fill, so that no short text makes a large object.
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // GATEFOLD_TILE_PASSES_TD
