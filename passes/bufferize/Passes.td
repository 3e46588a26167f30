// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase bufferize -----------*- tablegen -*-===//

#ifndef GATEFOLD_BUFFERIZE_PASSES_TD
#define GATEFOLD_BUFFERIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ToBuffers : Pass<"gf-to-buffers", "::mlir::ModuleOp"> {
  let summary = "One-shot bufferization, with copies as linalg";
  let description = [{
    Upstream's one-shot bufferization of the entry, whose arguments are memrefs already.
    Copies are `linalg.copy`, which has strides of any kind, where `memref.copy` would
    call a runtime library.

    First, results are computed in their destination. Upstream's elimination of empty
    tensors would also place there what further values start from, and does not see
    that the destination is written at the end while they are still needed; so each
    operation gets a fill of its own, and what is shared otherwise stays apart.

    What was to be computed in a destination may need memory of its own after all: two
    parts of a slot of a sequence, say, of which one is read later. That memory begins
    undefined; what the destination holds is not copied to it, since nobody may have
    written it.

    ```mlir
    %e = tensor.empty(%n) : tensor<?xf32>
    %y = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>)
    bufferization.materialize_in_destination %y in restrict writable %to
    // becomes
    linalg.exp ins(%from : memref<?xf32, ...>) outs(%to : memref<?xf32, ...>)
    ```
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def JoinCopies : Pass<"gf-join-copies", "::mlir::func::FuncOp"> {
  let summary = "A copy as one more result of the operation that computes its source";
  let description = [{
    Where an elementwise `linalg.generic` writes a buffer and a `linalg.copy` behind it
    copies that to another, the operation writes both. The target has to be memory of this
    function's own that nothing between the two touches; the operation itself may read
    the element that it overwrites. So a recurrence's state that is also its output is
    computed into both places, and a step has no copy.

    ```mlir
    linalg.generic ... ins(%gates : ...) outs(%y : memref<?x64xf32>) { ... yield %h }
    linalg.copy ins(%y : memref<?x64xf32>) outs(%state : memref<?x64xf32>)
    // becomes
    linalg.generic ... ins(%gates : ...) outs(%y, %state : ...) { ... yield %h, %h }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
  let statistics = [Statistic<"copiesJoined", "copies", "Copies joined">];
}

def PlanMemory : Pass<"gf-plan-memory", "::mlir::ModuleOp"> {
  let summary = "All buffers of a run in one arena";
  let description = [{
    Each `memref.alloc` becomes a view into one argument, the arena, at an offset
    that is a multiple of 64 bytes. Sizes may depend on open dimensions; a size that
    depends on data is refused with its place. Buffers whose lifetimes do not meet share a
    slot, whose size is the largest of them. A buffer made in an `scf.forall` is each
    rank's own: behind what the ranks share, the arena has a part for each. Adds
    `gatefold_arena_bytes(symbols, ranks)`, the size of the arena, -1 where that
    overflows. The same as text is `gf.arena_formula` of the module, for what the
    ranks share, and `gf.rank_arena_formula`, for each. Afterwards a run allocates nothing.

    Lifetimes are spans of operations in program order; a buffer made in a loop body
    dies at the end of each iteration.

    ```mlir
    %a = memref.alloc(%n) : memref<?xf32>
    linalg.copy ins(%x) outs(%a)
    %b = memref.alloc(%n) : memref<?xf32>
    linalg.copy ins(%a) outs(%b)
    %c = memref.alloc(%n) : memref<?xf32>
    linalg.copy ins(%b) outs(%c) // the last use of %a stands before
    // becomes, with a new argument %arena: memref<?xi8>
    %a = memref.view %arena[%c0][%n] : memref<?xi8> to memref<?xf32>
    %b = memref.view %arena[%offset][%n] : memref<?xi8> to memref<?xf32>
    linalg.copy ins(%x) outs(%a)
    linalg.copy ins(%a) outs(%b)
    linalg.copy ins(%b) outs(%a)
    ```
  }];
  let dependentDialects = [
    "::gatefold::GfDialect", "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"
  ];
  let statistics = [
    Statistic<"buffersPlanned", "buffers", "Buffers in the arena">,
    Statistic<"slotsUsed", "slots", "Slots that they share">
  ];
}

#endif // GATEFOLD_BUFFERIZE_PASSES_TD
