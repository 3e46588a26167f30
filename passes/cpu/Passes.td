// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase cpu -----------------*- tablegen -*-===//

#ifndef GATEFOLD_CPU_PASSES_TD
#define GATEFOLD_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineRepeats : Pass<"gf-outline-repeats", "::mlir::ModuleOp"> {
  let summary = "Sequences of operations that a module holds several times to functions";
  let description = [{
    What stands in a function outside of loops more than once, one operation with
    effects or many in a row, becomes calls of one private function: equal layers are
    compiled once. Equal are operations that differ in the values they use alone. A
    value that all occurrences have as the same constant, and views, are made inside;
    everything else is an argument, of which two are one where they are so in all
    occurrences. Constants that are integers must agree, since they are sizes and bounds.

    What saves most goes first. It stays where it is if the calls would pass more
    numbers than there are operations less.

    ```mlir
    linalg.copy ins(%a) outs(%b)
    linalg.copy ins(%b) outs(%c)
    gf.team_barrier
    linalg.copy ins(%d) outs(%e)
    linalg.copy ins(%e) outs(%f)
    gf.team_barrier
    // becomes
    call @gatefold_repeat(%a, %b, %c)
    call @gatefold_repeat(%d, %e, %f)
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"stretchesOutlined", "stretches", "Sequences moved to functions">,
    Statistic<"functionsMade", "functions", "Functions made for them">
  ];
}

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

def OutlineLoops : Pass<"gf-outline-loops", "::mlir::ModuleOp"> {
  let summary = "Loops that stand in a module several times to functions";
  let description = [{
    Of loops around calls of kernels, products and packings, those that are equal but
    for the values they use become calls of one private function: the forms of an
    attention for one and for many ranks, and those of equal layers. Loops with parts of
    ranks, barriers or assertions stay in the entry, as do loops of less than three
    calls and loops that give values.

    ```mlir
    scf.for %i = %c0 to %n step %c12 { ... } // and the same elsewhere with %m
    // becomes
    call @gatefold_loop(%n, ...)
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"loopsOutlined", "loops", "Loops moved to functions">,
    Statistic<"functionsMade", "functions", "Functions made for them">
  ];
}

def PackToVectors : Pass<"gf-pack-to-vectors", "::mlir::ModuleOp"> {
  let summary = "Packings of a matrix into panels to calls of kernels";
  let description = [{
    Each `gf.pack` on buffers becomes a call of a private function of vectors, one for
    each type, width of panel and direction. Rows that become columns are turned over in
    registers. Columns of the last panel behind the matrix's are 0.

    A source whose rows have gaps between their elements, and a width that no vectors
    fill, take loops over the elements.

    ```mlir
    gf.pack %k along 0 into %p : memref<100x40xf32> into memref<7x40x16xf32>
    // becomes, with casts
    call @gatefold_pack_rows_f32_16(%k, %p)
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"matricesPacked", "matrices", "Packings lowered">,
    Statistic<"packingsInLoops", "loops", "Of these, element by element">,
    Statistic<"kernelsMade", "kernels", "Functions made for the others">
  ];
}

def LinearToVectors : Pass<"gf-linear-to-vectors", "::mlir::ModuleOp"> {
  let summary = "Products on packed panels to calls of kernels";
  let description = [{
    Each `gf.linear` on buffers becomes a call of a private function, one for each
    combination of types and each width of panel. It computes tiles of up to 6 rows whose
    sums stay in vectors while k runs; of few rows it takes more columns at a time. Each
    sum is added in the order of k, whatever tile it lies in.

    Leading dimensions of x and the output are joined to one of rows as far as their
    strides allow, which is found when it runs, and else looped over. One row of initial
    values is passed with a stride of 0 between rows.

    An x or output whose elements along k or n have gaps, and a width that no vectors
    fill, take loops over the elements.

    ```mlir
    gf.linear %x, %p initial(%b : memref<100xf32>) outs(%y : memref<?x100xf32>) : memref<?x40xf32>, memref<7x40x16xf32>
    // becomes, with views of rows
    call @gatefold_linear_f32_16(%x, %p, %b, %true, %y)
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"productsLowered", "products", "Products lowered">,
    Statistic<"productsInLoops", "loops", "Of these, element by element">,
    Statistic<"kernelsMade", "kernels", "Functions made for the others">
  ];
}

def LinalgToVectors : Pass<"gf-linalg-to-vectors", "::mlir::func::FuncOp"> {
  let summary = "Linalg on buffers to loops over vectors";
  let description = [{
    A structured operation becomes loops whose innermost steps over vectors of as many
    lanes as a register of `gf.target` has, along the dimension where that is cheapest:
    where most operands have their elements side by side. What is left behind the last
    full vector is the same body once more under a mask.

    - **Lanes of results** (the dimension is parallel): the body's operations on vectors;
      what all lanes share stays scalar and is computed once. Reductions along other
      dimensions run inside, for up to four vectors of results at once.
    - **Lanes of a reduction**: element j of a row is combined into lane j mod L of
      accumulator (j / L) mod 4; at the end of a row the accumulators, then halves of
      the lanes, then what was in the result before. Other results of the same operation
      may be stored on the way, as in `e[j] = exp(s[j] - m), sum += e[j]`.

    A sum of products takes each with one rounding (`math.fma`), where the processor
    does that.

    Neighbouring loops through which every operand steps as through one are joined
    first. Operands whose lanes are apart are turned over in registers, if they are side
    by side along another loop, or gathered where that pays. An arg max keeps a best and
    its place in each lane. A loop in the body steps for all lanes at once if its bounds
    are the same for all. What has no vector form (other regions, results with gaps) is left
    to `gf-linalg-to-loops`, with a remark that says why.

    ```mlir
    linalg.exp ins(%x : memref<100xf32>) outs(%y : memref<100xf32>)
    // becomes, with 16 lanes
    scf.for %j = %c0 to %c96 step %c16 {
      %v = vector.load %x[%j] : memref<100xf32>, vector<16xf32>
      %e = math.exp %v : vector<16xf32>
      vector.store %e, %y[%j] : memref<100xf32>, vector<16xf32>
    }
    %mask = vector.create_mask %c4 : vector<16xi1>
    %v = vector.maskedload %x[%c96], %mask, %zero : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"operationsVectorized", "operations", "Operations on vectors">,
    Statistic<"operationsLeft", "left", "Operations left for scalar loops">
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
    each step. With `parallel` the parallel dimensions of an operation are one
    `scf.parallel`, of one iteration where there are none; the inputs of eight
    steps of a scan are loaded before them.

    ```mlir
    linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
    // becomes
    scf.for %i = ... {
      scf.for %j = ... {
        %start = memref.load %c[%i, %j]
        %sum = scf.for %k = ... iter_args(%s = %start) -> (f32) {
          %x = memref.load %a[%i, %k]
          %y = memref.load %b[%k, %j]
          %p = arith.mulf %x, %y : f32
          %next = arith.addf %s, %p : f32
          scf.yield %next : f32
        }
        memref.store %sum, %c[%i, %j]
    ```
  }];
  let options = [
    Option<"parallel", "parallel", "bool", /*default=*/"false",
           "Parallel dimensions as scf.parallel">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [Statistic<"operationsLowered", "operations", "Operations lowered">];
}

def ExpandOpenShapes : Pass<"gf-expand-open-shapes"> {
  let summary = "Expansions of a buffer to several open sizes become casts";
  let description = [{
    A `memref.expand_shape` with two open sizes in one group, as [T*B] seen as [T, B],
    becomes `memref.reinterpret_cast` with the sizes that it states. Upstream's
    expand-strided-metadata crashes on it.

    ```mlir
    %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%a, %b, 4] : memref<?x4xf32> into memref<?x?x4xf32>
    // becomes, with %stride = 4 %b
    %y = memref.reinterpret_cast %base to offset: [0], sizes: [%a, %b, 4], strides: [%stride, 4, 1]
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def LowerAssertions : Pass<"gf-lower-assertions", "::mlir::ModuleOp"> {
  let summary = "The entry returns a code where an assertion fails";
  let description = [{
    The entry returns an i32: 0, or of the first `cf.assert` that fails
    GATEFOLD_RUN_FAILURE and its `gf.failure`, the place of its message among those of the
    description. So does a function of a part of the entry with assertions or barriers; who
    calls it returns its code unless that is 0. Runs on blocks, after scf-to-cf.

    ```mlir
    cf.assert %ok, "m.gf:3:11: max of no elements" {gf.failure = 2 : i32}
    // becomes, with %code = GATEFOLD_RUN_FAILURE + 2
    cf.cond_br %ok, ^rest, ^failed(%code : i32) // returns it
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect"
  ];
}

def ExpandMath : Pass<"gf-expand-math", "::mlir::ModuleOp"> {
  let summary = "Functions of mathematics to polynomials, on numbers and vectors";
  let description = [{
    exp, exp2, expm1, log, log2, log10, log1p, tanh, erf, sin, cos, pow and the sigmoid
    1 / (1 + exp(-x)) become arithmetic without branches and calls, the same on a number
    as on a lane of a vector, by `MathBuilders.h`, which states their errors. Of f16 and
    bf16 the arguments are extended and the result rounded. Of f64 exp2, log2 and log10
    stay for `gf-lower-math`, as do the functions not named; and where a processor has no
    fma, all of f64 and pow.

    ```mlir
    %y = math.exp %x : vector<16xf32>
    // becomes, for x = k log(2) + r, the polynomial e^r with k added to its exponent:
    %km = math.fma %x, %log2e, %rounder : vector<16xf32>
    %k = arith.subf %km, %rounder : vector<16xf32>
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let statistics = [Statistic<"functionsExpanded", "functions", "Functions expanded">];
}

def AllowContraction : Pass<"gf-allow-contraction", "::mlir::ModuleOp"> {
  let summary = "A product and the sum that takes it may be rounded once";
  let description = [{
    Products, sums and differences of floats get `fastmath<contract>`. The naive
    path has it, where every operation is its own loop. The fast path names each
    `math.fma` itself: which operations meet in one loop depends on what was fused
    there, and what an element comes out as must not.

    ```mlir
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32 // with contract on both: one instruction
    ```
  }];
  let statistics = [
    Statistic<"operationsFlagged", "operations", "Operations that may contract">
  ];
}

def LowerMath : Pass<"gf-lower-math", "::mlir::ModuleOp"> {
  let summary = "Functions without an instruction become calls of libm";
  let description = [{
    exp, tanh, erf, sin, ... call the C library, whose errors are within those that
    the project states. sqrt, abs, floor, fma, ... stay for `llvm`.

    ```mlir
    %y = math.tanh %x : f32
    // becomes
    %y = call @tanhf(%x) : (f32) -> f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"
  ];
}

def LowerToLLVM : Pass<"gf-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Arithmetic, buffers, vectors and functions to the llvm dialect";
  let description = [{
    What upstream has one pass each for, in one conversion. Buffers become structs;
    where one is taken apart in the function that put it together, the parts are used
    instead.

    ```mlir
    memref.store %x, %a[%i] : memref<?xf32>
    // becomes, with the pointer that %a was made of
    %place = llvm.getelementptr %pointer[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %x, %place : f32, !llvm.ptr
    ```
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // GATEFOLD_CPU_PASSES_TD
