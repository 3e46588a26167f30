// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase cpu -----------------*- tablegen -*-===//

#ifndef GATEFOLD_CPU_PASSES_TD
#define GATEFOLD_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def PackToVectors : Pass<"gf-pack-to-vectors", "::mlir::ModuleOp"> {
  let summary = "Packings of a matrix into panels to loops";
  let description = [{
    Each `gf.pack` on buffers becomes loops; columns behind the matrix's are 0.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
  let statistics = [Statistic<"matricesPacked", "matrices", "Packings lowered">];
}

def LinearToVectors : Pass<"gf-linear-to-vectors", "::mlir::ModuleOp"> {
  let summary = "Products on packed panels to loops";
  let description = [{
    Each `gf.linear` on buffers becomes loops that add the terms in the order of k.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [Statistic<"productsLowered", "products", "Products lowered">];
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

#endif // GATEFOLD_CPU_PASSES_TD
