// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase schedule ------------*- tablegen -*-===//

#ifndef GATEFOLD_SCHEDULE_PASSES_TD
#define GATEFOLD_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"gf-attach-target", "::mlir::ModuleOp"> {
  let summary = "Write the processor that code is made for on the module";
  let description = [{
    Sets `gf.target` of a module that has none: bytes and number of vector registers,
    bytes of the caches; of a GPU also what its multiprocessors and blocks have. Passes
    read nothing else of the processor. With `fast-math` it also sets `gf.fast_math`, which allows
    less exact arithmetic: products of f32 in tf32 and approximate exponentials on a GPU.

    ```mlir
    // --gf-attach-target=target=x86-64-v3
    module attributes {gf.target = {first_cache_bytes = ..., second_cache_bytes = ...,
                                    vector_bytes = 32 : i64, vector_registers = 16 : i64}}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"native\"",
           "native, aarch64, an LLVM processor name or a GPU: sm_80">,
    Option<"fastMath", "fast-math", "bool", "false", "Set gf.fast_math">
  ];
}

def HoistQueries : Pass<"gf-hoist-queries", "::mlir::func::FuncOp"> {
  let summary = "Compute queries before an attention that lacks registers for them";
  let description = [{
    Of an attention in registers (on a GPU) a query that is computed in the region takes
    registers as long as keys pass; one that is given stays in shared memory. Where blocks of
    queries and keys could be larger without them, elementwise operations that make a query
    of queries and captures become operations on whole tensors:

    ```mlir
    %y = gf.attention queries(%q : tensor<4x?x64xf32>) captures(%a : tensor<4x64xf32>) ... {
    ^row(%qr, ...):
      %qa = linalg.generic ... ins(%qr, %ar : ...)  // %qr * %ar
      %s = gf.row_scores %qa, %kr
    // becomes
    %whole = linalg.generic ... ins(%q, %a : ...)   // [h, t, d]: %q[h, t, d] * %a[h, d]
    %y = gf.attention queries(%whole : tensor<4x?x64xf32>) ... {
    ^row(%qa, ...):
      %s = gf.row_scores %qa, %kr
    ```
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"queriesHoisted", "hoisted", "Queries computed before attentions">
  ];
}

def ChooseAlgorithms : Pass<"gf-choose-algorithms", "::mlir::func::FuncOp"> {
  let summary = "Write the algorithm on each recurrence and attention";
  let description = [{
    Sets `gf.algorithm` on each `gf.recurrence` and `gf.attention` that has none.
    The lowerings of phase `tile` each take the operations of their algorithm, so
    that a choice can be printed, overridden and tested. A name that has no
    lowering is refused.

    | algorithm | of | beside it |
    | --- | --- | --- |
    | `naive` | both | |
    | `steps` | recurrence | `gf.step_rows`: steps times batch in a block, from the caches |
    | `scan` | recurrence that is linear in its states | the same |
    | `resident` | attention | `gf.query_block`: queries in a block, from the caches; `gf.block_scores`, with an open number of keys: queries times keys in a block at most |
    | `online` | attention | the same, and `gf.key_block`: keys in a block, from the caches |
    | `registers` | attention, on a GPU | both, from registers and shared memory |

    What the option `schedule` chooses stands above the attributes that the operation
    has and above the cost model: `attention.algorithm=naive,recurrence.step_rows=64`. The
    algorithm is then marked `gf.algorithm_given`, and a lowering that cannot do it refuses
    the operation instead of leaving it to the naive one.

    ```mlir
    gf.recurrence ...
    // becomes
    gf.recurrence ... attributes {gf.algorithm = "steps", gf.step_rows = ...}
    ```
  }];
  let options = [
    Option<"naive", "naive", "bool", "false", "Choose `naive` throughout">,
    Option<"schedule", "schedule", "std::string", "",
           "KEY=VALUE[,KEY=VALUE...], the keys being recurrence.algorithm, "
           "recurrence.step_rows, attention.algorithm, attention.query_block, "
           "attention.key_block; and, read by other phases, "
           "recurrence.directions (fuse) and product.panel_width (tile)">
  ];
}

#endif // GATEFOLD_SCHEDULE_PASSES_TD
