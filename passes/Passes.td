// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes, by phase --------------------*- tablegen -*-===//

#ifndef GATEFOLD_PASSES_TD
#define GATEFOLD_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// schedule
//===----------------------------------------------------------------------===//

def ChooseAlgorithms : Pass<"gf-choose-algorithms", "::mlir::func::FuncOp"> {
  let summary = "Write the algorithm on each recurrence and attention";
  let description = [{
    Sets `gf.algorithm` on each `gf.recurrence` and `gf.attention` that has none.
    The lowerings of phase `tile` each take the operations of their algorithm, so
    that a choice can be printed, overridden and tested.

    The only algorithm so far is `naive`; another name is refused.
  }];
}

//===----------------------------------------------------------------------===//
// tile
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// split
//===----------------------------------------------------------------------===//

def CompleteInterface : Pass<"gf-complete-interface", "::mlir::ModuleOp"> {
  let summary = "Find the entry and fill in what its interface leaves out";
  let description = [{
    The entry is the function with `gf.entry`, or the only public one. Without
    attributes, arguments are named `input0`, ... (`input` if there is one), results
    `output0`, ... (`output`), and each dynamic dimension of an argument is an open
    dimension of its own, `input0_0` for dimension 0 of `input0`.

    Refused, at the place of the entry: an element type without an equivalent at
    the interface (16-bit floats among them), a dynamic dimension of a result that has
    no `gf.shape`, an open dimension that no argument binds, two inputs or two
    results of one name.
  }];
}

def BindParameters : Pass<"gf-bind-parameters", "::mlir::ModuleOp"> {
  let summary = "Parameters become leading arguments of the entry";
  let description = [{
    Each `gf.parameter` becomes an argument, one for each name, in the order of
    their first use. Arguments are then parameters, inputs, states; results are results,
    states.

    ```mlir
    func.func @f(%x: tensor<?x40xf32>) { %w = gf.parameter "w" : tensor<8x40xf32> ... }
    // becomes
    func.func @f(%w: tensor<8x40xf32> {gf.name = "w", gf.parameter}, %x: tensor<?x40xf32>) ...
    ```
  }];
  let statistics = [
    Statistic<"parametersBound", "parameters", "Parameters of the entry">
  ];
}

def SizeFunctions : Pass<"gf-size-functions", "::mlir::ModuleOp"> {
  let summary = "Describe the interface, and compute its sizes";
  let description = [{
    Moves the attributes of the entry's interface into `gf.description` of the
    module, which later passes and the emission read, and adds the function
    `gatefold_sizes(symbols, sizes)`, which computes all sizes from the open dimensions
    in the order of runtime/Description.h. A size that overflows is -1. The entry is
    called `gatefold_run_entry` from here on.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"
  ];
}

def DestinationArguments : Pass<"gf-destination-arguments", "::mlir::ModuleOp"> {
  let summary = "Results of the entry are written into arguments";
  let description = [{
    Arguments and results of the entry become memref arguments; any strides, but
    parameters are contiguous. States are written last, each from a copy, so that a
    result may be the memory of the state that it follows.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"
  ];
}

//===----------------------------------------------------------------------===//
// bufferize
//===----------------------------------------------------------------------===//

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
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def PlanMemory : Pass<"gf-plan-memory", "::mlir::ModuleOp"> {
  let summary = "All buffers of a run in one arena";
  let description = [{
    Each `memref.alloc` becomes a view into one argument, the arena, at an offset
    that is a multiple of 64 bytes. Sizes may depend on open dimensions; a size that
    depends on data is refused with its place. Buffers whose lifetimes do not meet share a
    slot, whose size is the largest of them. Adds `gatefold_arena_bytes(symbols)`, the
    size of the arena, -1 where that overflows. Afterwards a run allocates nothing.

    Lifetimes are spans of operations in program order; a buffer made in a loop body
    dies at the end of each iteration.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
  let statistics = [
    Statistic<"buffersPlanned", "buffers", "Buffers in the arena">,
    Statistic<"slotsUsed", "slots", "Slots that they share">
  ];
}

//===----------------------------------------------------------------------===//
// cpu
//===----------------------------------------------------------------------===//

def OutlineKernels : Pass<"gf-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Structured operations to functions, equal ones to the same";
  let description = [{
    Each structured operation on buffers that has a loop becomes a call of a private
    function, which is compiled once however often it is called: twelve equal blocks cost
    as much as one, and no function is large enough for the compiler to take long.
    Constants stay constants inside; everything else that the operation uses is an
    argument.

    ```mlir
    linalg.copy ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)
    // becomes
    call @gatefold_kernel(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"operationsOutlined", "operations", "Operations moved to functions">,
    Statistic<"kernelsMade", "kernels", "Functions made for them">
  ];
}

def LinalgToLoops : Pass<"gf-linalg-to-loops", "::mlir::func::FuncOp"> {
  let summary = "Linalg on buffers to loops with accumulators in registers";
  let description = [{
    Every structured operation becomes a nest of `scf.for`: parallel dimensions
    outside, reductions inside, whose accumulators are values of the loops. Upstream's
    convert-linalg-to-loops stores the accumulator in each step, which costs a factor
    of ten where the compiler cannot prove that nothing aliases.

    A result whose place depends on a reduction dimension is loaded and stored in
    each step.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [Statistic<"operationsLowered", "operations", "Operations lowered">];
}

def ExpandOpenShapes : Pass<"gf-expand-open-shapes", "::mlir::func::FuncOp"> {
  let summary = "Expansions of a buffer to several open sizes become casts";
  let description = [{
    A `memref.expand_shape` with two open sizes in one group, as [T*B] seen as [T, B],
    becomes `memref.reinterpret_cast` with the sizes that it states. Upstream's
    expand-strided-metadata crashes on it.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def LowerAssertions : Pass<"gf-lower-assertions", "::mlir::ModuleOp"> {
  let summary = "The entry returns a code where an assertion fails";
  let description = [{
    The entry returns an i32: 0, or GATEFOLD_RUN_EMPTY_REDUCTION at the first
    `cf.assert` that fails. Runs on blocks, after scf-to-cf.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect"
  ];
}

def LowerMath : Pass<"gf-lower-math", "::mlir::ModuleOp"> {
  let summary = "Functions without an instruction become calls of libm";
  let description = [{
    exp, tanh, erf, sin, ... call the C library, whose errors are within those that
    the project states. sqrt, abs, floor, fma, ... stay for `llvm`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"
  ];
}

#endif // GATEFOLD_PASSES_TD
