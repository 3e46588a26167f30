// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase fuse ----------------*- tablegen -*-===//

#ifndef GATEFOLD_FUSE_PASSES_TD
#define GATEFOLD_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

// Passes that share work between operations. Each says in a remark what it did,
// or why it did not.

def FuseGates : Pass<"gf-fuse-gates", "::mlir::func::FuncOp"> {
  let summary = "Products of one operand as one product";
  let description = [{
    Products of one block that read the same operand with weights of the same depth
    become one; its weights are put together once, in `prepare`:

    `f = W_f x, i = W_i x`  becomes  `[f; i] = [W_f; W_i] x`

    What is done alike to each part (adding a bias that depends on parameters, or the
    same part of another product) becomes one operation on the whole, where every
    part has it. So a cell of eight matrices has the step of one with two:

    ```mlir
    %f = linalg.contract ... ins(%w_f, %x : tensor<64x40xf32>, tensor<?x40xf32>)
    %i = linalg.contract ... ins(%w_i, %x : tensor<64x40xf32>, tensor<?x40xf32>)
    // becomes
    %w = tensor.concat dim(0) %w_f, %w_i : ... -> tensor<128x40xf32>
    %p = linalg.contract ... ins(%w, %x : tensor<128x40xf32>, tensor<?x40xf32>)
    %f = tensor.extract_slice %p[0, 0] ...
    %i = tensor.extract_slice %p[0, 64] ...
    ```

    First, parameters that are added to a product are added to each other, and then to
    a product that does not depend on a state: `W x + b + U h + c` becomes
    `W x + (b + c) + U h`.

    Products of all steps stay apart where they are sequences of different recurrences,
    each of which computes its own block by block; and where a weight of more than
    1 MiB is read elsewhere too.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"productsFused", "fused", "Products fused">,
    Statistic<"productsMade", "products", "Products that they became">,
    Statistic<"operationsJoined", "joined", "Elementwise operations saved">,
    Statistic<"biasesSummed", "biases", "Sums with parameters added first">
  ];
}

#endif // GATEFOLD_FUSE_PASSES_TD
