// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phases gpu and nvvm -------*- tablegen -*-===//

#ifndef GATEFOLD_GPU_PASSES_TD
#define GATEFOLD_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceBarriers : Pass<"gf-place-barriers", "::mlir::ModuleOp"> {
  let summary = "A barrier of the block between operations that share memory";
  let description = [{
    All threads of a block execute the loops and branches of the run, and of `prepare`,
    alike and share the work of each operation on buffers. In front of an operation that reads what one since the last
    barrier wrote, or that writes what one read or wrote, comes a `gpu.barrier`.

    Two buffers are apart if they are constant places in the arena without a common
    byte, or one in the arena and one that is not. A `gf.team_barrier` is a barrier
    of the block, too.

    ```mlir
    linalg.copy ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
    linalg.exp ins(%y : memref<?xf32>) outs(%z : memref<?xf32>)
    // becomes
    linalg.copy ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
    gpu.barrier
    linalg.exp ins(%y : memref<?xf32>) outs(%z : memref<?xf32>)
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
  let statistics = [Statistic<"barriersPlaced", "barriers", "Barriers placed">];
}

def LinearToParallel : Pass<"gf-linear-to-parallel", "::mlir::func::FuncOp"> {
  let summary = "Products on packed panels, and packings, to parallel loops";
  let description = [{
    Each `gf.linear` on buffers becomes an `scf.parallel` over the elements of its
    output, each the sum of a loop over k with one rounding in each step. Each
    `gf.pack` becomes one over the elements of its panels.

    ```mlir
    gf.linear %x, %p outs(%y : memref<8x64xf32>) : memref<8x40xf32>, memref<1x40x64xf32>
    // becomes
    scf.parallel (%i, %j) = ... {
      %sum = scf.for %k = ... iter_args(%s = %zero) { ... math.fma ... }
      memref.store %sum, %y[%i, %j]
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"operationsLowered", "operations", "Products and packings lowered">
  ];
}

def FormKernels : Pass<"gf-form-kernels", "::mlir::ModuleOp"> {
  let summary = "The run and prepare to kernels in a gpu.module";
  let description = [{
    `gatefold_run_entry` and `gatefold_prepare_entry` leave the module and become the
    kernels `gatefold_run_kernel` and `gatefold_prepare_kernel` of a `gpu.module`,
    with the functions that they call. All buffers there lie in global memory. The last
    argument of a kernel is the memory that its blocks share (`Kernels.h`). A kernel
    takes at most as many threads in a block as `gf.target` says, and works with fewer.

    The functions of sizes stay where they are: the host calls them.

    ```mlir
    func.func @gatefold_run_entry(%x: memref<?xf32>, %arena: memref<?xi8>)
    // becomes
    gpu.module @gatefold_kernels {
      gpu.func @gatefold_run_kernel(%x: memref<?xf32, #gpu.address_space<global>>,
          %arena: memref<?xi8, #gpu.address_space<global>>, %team: !llvm.ptr<1>) kernel
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"0",
           "Threads of a block at most; 0: what gf.target says">
  ];
  let dependentDialects = [
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"
  ];
  let statistics = [Statistic<"kernelsFormed", "kernels", "Kernels formed">];
}

def ShareLoops : Pass<"gf-share-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Parallel loops among the threads of a block";
  let description = [{
    An `scf.parallel` becomes a loop in which thread t of n has the iterations t, t + n,
    t + 2n, ... of all dimensions, counted so that neighbouring threads have neighbours
    along the dimension in which most loads and stores of the body are contiguous. What
    is in it stays with one thread, in order.

    A `memref.store` outside of these loops is done by the first thread. An assertion in
    one is refused: a block ends a run as a whole.

    ```mlir
    scf.parallel (%i) = (%c0) to (%n) step (%c1) { ... }
    // becomes
    %thread = gpu.thread_id x
    %threads = gpu.block_dim x
    scf.for %i = %thread to %n step %threads { ... }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::scf::SCFDialect"
  ];
  let statistics = [Statistic<"loopsShared", "loops", "Loops shared">];
}

def FlattenArguments : Pass<"gf-flatten-arguments", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Buffers that a kernel takes to pointers and open sizes";
  let description = [{
    A buffer that a kernel takes becomes a pointer to its first element, then one 64-bit
    integer for each size and then for each stride that its type leaves open;
    `gf.argument_words` says which. More parameters than a kernel may have are an
    error.

    ```mlir
    gpu.func @f(%x: memref<?x8xf32, strided<[?, 1], offset: ?>, #gpu.address_space<global>>) kernel
    // becomes
    gpu.func @f(%pointer: !llvm.ptr<1>, %size: i64, %stride: i64) kernel
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerGrid : Pass<"gf-lower-grid", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Ranks to thread blocks, the team's barrier to one of the grid";
  let description = [{
    `gf.team_rank` and `gf.team_size` are the block and the number of blocks of a
    cooperative grid. `gf.team_barrier` calls one function: a barrier of the block, then
    its first thread adds to a counter that all blocks share, with device-scope fences
    around it, and reads it until all have come; then a barrier again.

    A block whose `cf.assert` fails writes GATEFOLD_RUN_EMPTY_REDUCTION to the team's
    memory and leaves the kernel; the others find that at their next barrier and leave. A function
    that holds either takes the team's memory as another argument and returns whether to
    leave. Runs on blocks, after scf-to-cf.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"
  ];
  let statistics = [Statistic<"barriersLowered", "barriers", "Barriers lowered">];
}

def LowerToNVVM : Pass<"gf-lower-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Kernels to the llvm and nvvm dialects";
  let description = [{
    What upstream has one pass each for, in one conversion. Functions of mathematics that
    are left, for which there are no instructions, are refused: no library is linked.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"
  ];
}

def AttachPlaces : Pass<"gf-attach-places", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Places in the text to debug locations";
  let description = [{
    Gives each function a debug scope, so that LLVM keeps the line and column of the text
    that an instruction comes from, and PTX says it (`.loc`). Of code that was inlined
    it is the innermost place.

    ```mlir
    llvm.func @f() { llvm.return } loc("model.gf":3:5)
    // gets the location
    loc(fused<#llvm.di_subprogram<..., name = "f", line = 3>>["model.gf":3:5])
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // GATEFOLD_GPU_PASSES_TD
