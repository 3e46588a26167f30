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
    of the block, too. A call is an operation that uses what the function does; in the
    function, barriers are placed for the buffers that the call passes.

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

def ReduceInWarps : Pass<"gf-reduce-in-warps", "::mlir::func::FuncOp"> {
  let summary = "Rows that are reduced to warps";
  let description = [{
    A `linalg` operation that reduces along the dimension in which its operands are
    contiguous becomes an `scf.parallel` over its rows that has `gf.executor`: a warp
    takes a row, lane l the columns l, l + 32, ... of it, and the lanes join what they have by
    shuffles. Rows of at least 1024 columns that are fewer than warps are each shared
    by the whole block, through shared memory (`gf.shared_bytes` of the function).

    Element k of a row belongs to partial result k modulo 256, and these are joined as a tree
    that is always the same. So the bits of a row depend on its length, and neither on the number of rows
    nor on who computes it. Sums, products, maxima, minima, logical operations and the
    place of the largest element have such a form. What has none, what is contiguous from row to row,
    products of matrices, and rows shorter than a warp, are left to `gf-linalg-to-loops`: a thread for each row.

    ```mlir
    linalg.reduce { arith.addf } ins(%x : memref<?x512xf32>) outs(%y : memref<?xf32>) dimensions = [1]
    // becomes
    scf.parallel (%row) = (%c0) to (%rows) step (%c1) {
      %part:8 = scf.for %k = %lane to %c512 step %c32 ... { memref.load %x[%row, %k] ... }
      ... arith.addf, gpu.shuffle xor ...
      scf.if %is_first_lane { memref.store %sum, %y[%row] }
    } {gf.executor = "warp"}
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"reductionsLowered", "reductions", "Reductions given to warps">
  ];
}

def KeepWeights : Pass<"gf-keep-weights", "::mlir::ModuleOp"> {
  let summary = "Weights of a recurrence in shared memory from step to step";
  let description = [{
    A `gf.linear` in a loop that writes its x for a later iteration, as a recurrence does with
    its states, and whose panels no iteration changes, reads them from shared memory: a
    rank's part of them is copied there before the outermost loop for which this holds.
    Several products share the room in order. Whether a part fits is found when it runs; it
    depends on how many ranks share the panels. Else, and for loops of fewer than 4
    steps, the product reads global memory, which then lies in the second cache.

    Kept panels are tiles (`SharedTile.h`) at the end of a block's shared memory,
    `gf.kept_bytes` of it, which functions that the loop calls do not touch. Runs behind
    gf-place-barriers, and places its own.

    ```mlir
    scf.for %t = %c0 to %steps step %c1 {
      gf.linear %h, %p outs(%y : memref<?x64xf32>) : memref<?x48xf32>, memref<1x48x64xf32>
      ... writes %h ...
    }
    // becomes
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %kept = arith.cmpi ule, %bytes, %room : index
    scf.if %kept { ... copies ... }
    %s = memref.view %shared[...] ...
    scf.for %t = %c0 to %steps step %c1 {
      scf.if %kept {
        gf.linear %h, %s outs(%y : memref<?x64xf32>) : memref<?x48xf32>, memref<?x?x64xf32, strided<[?, 64, 1]>, #gpu.address_space<workgroup>>
      } else {
        gf.linear %h, %p outs(%y : memref<?x64xf32>) : memref<?x48xf32>, memref<1x48x64xf32>
      }
      ... writes %h ...
    } {gf.kept_bytes = ...}
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"productsKept", "products", "Products whose weights may be kept">
  ];
}

def LinearToTiles : Pass<"gf-linear-to-tiles", "::mlir::ModuleOp"> {
  let summary = "Products on packed panels to calls of functions on vectors";
  let description = [{
    Each `gf.linear` on buffers becomes a call of a private function, one for each
    combination of types and each width of panel. It shares out the rows to functions on
    vectors (`gf.vectors`), one for each size of tile: the largest (64 rows; of two operands of 16
    bits 128 with two panels, beside kept weights 32) while more than the next one's are left, then the
    smallest that takes the rest. A tile's sums are carried through a loop over k, in steps of 16 or, of two
    operands of 16 bits, of 32; what lies behind the end of k is read as 0. The initial value is added last.
    Unless both operands have 16 bits, the steps are 8 parts, s modulo 8, each a sum that is added to those before.
    Of a product marked `gf.step` 8 warps have a part each, and the tiles have 32 and 16 rows.

    All tiles add the same steps in the same order, so that the bits of a row depend on
    no other row. They are not those of `gf-linear-to-parallel`: tensor cores add a step of
    k at a time.

    Leading dimensions are joined and initial values passed as `gf-linear-to-vectors` does.
    Products in f64 and those whose operands have gaps stay for `gf-linear-to-parallel`, and
    a remark says so.

    ```mlir
    gf.linear %x, %p initial(%b : memref<100xf32>) outs(%y : memref<?x100xf32>) : memref<?x40xf32>, memref<2x40x64xf32>
    // becomes, with views of rows
    call @gatefold_linear_f32_64(%x, %p, %b, %true, %y)
    // which calls
    func.func private @gatefold_linear_f32_64_rows64(...) attributes {gf.vectors, gf.warps = array<i64: 4, 2>} {
      ... scf.for %turn = %c0 to %steps step %c1 iter_args(%before = %zeros, %part = %zeros) -> (vector<64x64xf32>, vector<64x64xf32>) {
        %k = ...
        %whole, %sum = scf.if %begins ... // %before + %part and 0; else both
        %a = vector.transfer_read %x[%row, %k], %zero : ..., vector<64x16xf32>
        %b = vector.transfer_read %p[%panel, %k, %c0], %zero {in_bounds = [false, true]} : ..., vector<16x64xf32>
        %next = vector.contract ... %a, %b, %sum
        scf.yield %whole, %next
      }
      ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"productsLowered", "products", "Products lowered">,
    Statistic<"functionsMade", "functions", "Functions on vectors made">
  ];
}

def FormKernels : Pass<"gf-form-kernels", "::mlir::ModuleOp"> {
  let summary = "The run and prepare to kernels in a gpu.module";
  let description = [{
    `gatefold_run_entry` and `gatefold_prepare_entry` leave the module and become the
    kernels `gatefold_run_kernel` and `gatefold_prepare_kernel` of a `gpu.module`,
    with the functions that they call and the constants that they read. All buffers there
    lie in global memory. The last
    argument of a kernel is the memory that its blocks share (`Kernels.h`). A kernel
    takes at most as many threads in a block as `gf.target` says, and works with fewer;
    one that calls code on vectors (`gf.vectors`) takes just so many.

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

def StageReads : Pass<"gf-stage-reads", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Operands of products through shared memory, ahead of their use";
  let description = [{
    In functions on vectors (`gf.vectors`) a matrix in global memory that is an operand of
    products, extended or not, and nothing else, is copied to shared memory by all threads of
    the block and read from there. Where a loop reads it at a place that follows its
    counter, as blocks of keys or steps of a product do, the copies are asynchronous and
    `gf.stages` of them are there at once: one iteration computes while those of the next ones
    come. What is read outside of such loops is copied where it is read, as is what cannot be
    known before: a place that a loop computes from other values, or memory that it writes.

    How many stages there are follows from what the loop computes and from the shared memory
    of a block; what does not fit stays as it is, as do right operands whose terms warps share: each element
    is for one warp. Copies are of 16 bytes where rows begin at a multiple of that,
    which is found when it runs, and of elements elsewhere. Rows and columns that do
    not exist become 0. `SharedTile.h` says how a matrix lies in shared memory.

    ```mlir
    scf.for %i = %c0 to %keys step %c32 iter_args(%sum = %zero) {
      %k = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [false, true]} : ..., vector<32x64xf16>
      ... vector.contract ... %q, %k, %zero ...
    }
    // becomes
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %buffers = memref.view %shared[%c0][] : ... to memref<2x32x64xf16, #gpu.address_space<workgroup>>
    gpu.barrier
    ... nvvm.cp.async.shared.global ... // of block 0
    nvvm.cp.async.commit.group
    scf.for %i = %c0 to %keys step %c32 iter_args(%sum = %zero, %stage = %c0) {
      nvvm.cp.async.wait.group 0
      gpu.barrier
      ... // copies the block behind %i, if there is one, to the other stage
      nvvm.cp.async.commit.group
      %buffer = memref.subview %buffers[%stage, 0, 0] [1, 32, 64] [1, 1, 1] : ...
      %k = vector.transfer_read %buffer[%c0, %c0], %pad {in_bounds = [true, true]} : ..., vector<32x64xf16>
      ...
    } {gf.stages = 2}
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", /*default=*/"0",
           "Iterations whose operands are in shared memory at once, at most; 0: as many as suit the loop">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"functionsStaged", "functions", "Functions with staged operands">
  ];
}

def SizeSharedMemory
    : Pass<"gf-size-shared-memory", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Shared memory of a kernel: what its functions need at most";
  let description = [{
    A function states in `gf.shared_bytes` how much of a block's dynamic shared memory it
    uses; of two that are called one after another the second one uses the same bytes
    again. A kernel gets the greatest number, which its launch provides. More than a block
    of the target has is an error.

    ```mlir
    func.func private @f() attributes {gf.shared_bytes = 4096 : i64}
    gpu.func @k() kernel { func.call @f() : () -> () ... }
    // becomes
    gpu.func @k() kernel attributes {gf.shared_bytes = 4096 : i64} { ... }
    ```
  }];
}

def KeepSizes : Pass<"gf-keep-sizes", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Sizes and places that a kernel keeps, in shared memory";
  let description = [{
    Numbers that a kernel computes from its parameters where it begins (sizes, places of
    buffers) are the same for all threads of a block. Where they are many, one thread writes
    them to a table in shared memory, and what uses them reads them just before: else they
    would take registers through all that comes between, and those of a model of some layers
    are more than there are. Views are made anew where they are used.

    ```mlir
    %n = arith.muli %size, %c4 : index
    %v = memref.view %arena[%n][%size] : ...
    scf.for ... { func.call @f(%v) ... func.call @g(%v) }
    // becomes
    %n = arith.muli %size, %c4 : index
    %sizes = memref.get_global @gatefold_run_kernel_sizes : memref<1xi64, #gpu.address_space<workgroup>>
    scf.if %first { memref.store %n, %sizes[%c0] ... }
    gpu.barrier
    scf.for ... {
      %m = memref.load %sizes[%c0] ...
      %w = memref.view %arena[%m][%size] : ...
      func.call @f(%w)
      ...
    }
    ```
  }];
  let options = [
    Option<"least", "least", "int64_t", /*default=*/"24",
           "Fewer numbers stay in registers">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"numbersKept", "numbers", "Numbers in tables">
  ];
}

def ShareLoops : Pass<"gf-share-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Parallel loops among the threads of a block";
  let description = [{
    An `scf.parallel` becomes a loop in which thread t of n has the iterations t, t + n,
    t + 2n, ... of all dimensions, counted so that neighbouring threads have neighbours
    along the dimension in which most loads and stores of the body are contiguous. What
    is in it stays with one thread, in order. Of a loop with `gf.executor` a warp has the
    iterations w, w + W, ..., with all its threads; or the block has all.

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

    A block whose `cf.assert` fails writes its code, as of `gf-lower-assertions`, to the
    team's memory and leaves the kernel; the others find that at their next barrier and
    leave. A function that holds either takes the team's memory as another argument and returns whether to
    leave. The run looks there first, and leaves where what was launched before it has found a
    value that is out of range. Runs on blocks, after scf-to-cf.
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
    `gpu.dynamic_shared_memory` is one array of unknown size, at a multiple of 128 bytes.
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

def OutlineVectors : Pass<"gf-outline-vectors", "::mlir::ModuleOp"> {
  let summary = "Code on vectors to functions of its own";
  let description = [{
    What the run and `prepare` compute on vectors, from the first to the last operation
    that has one, moves to a private function marked `gf.vectors`, so that its values have the
    registers to themselves. It takes the buffers and scalars that it uses. A loop that
    vectors live through or that uses ones from around it moves as a whole; in one around code on vectors the code
    alone does.

    ```mlir
    scf.for %block = ... {
      %q = vector.transfer_read %queries[%block, %c0], ...
      vector.transfer_write %q, %out[%block, %c0] ...
    }
    // becomes
    scf.for %block = ... {
      func.call @gatefold_vectors(%queries, %block, %out)
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [Statistic<"functionsMade", "functions", "Functions made">];
}

def VectorsToThreads : Pass<"gf-vectors-to-threads", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Vectors of a block to values of its threads";
  let description = [{
    Lowers functions marked `gf.vectors`, whose form `passes/gpu/README.md` has ("Code on
    vectors"): each vector becomes the scalars that one thread has of it. `vector.contract`
    becomes `nvvm.mma.sync`, its operands `nvvm.ldmatrix` or loads; a reduction along rows is within a
    lane, then shuffles in a quad.

    The warps of the block share rows and columns as `gf.warps = array<i64: R, C>` says; without it
    the rows alone, among as many warps as there are groups of 16, 8 at most. Warps that are more do
    what others do and write nothing. With `array<i64: R, C, P>` each of P warps has a part of the terms of
    products, and where the loops end that carry a sum, its parts are joined in shared memory, which is
    added to `gf.shared_bytes`.

    With products of 16 bits alone, or under `gf.fast_math`, `math.exp` of f32 is an approximation
    that GPUs have; under `gf.fast_math` products of f32 are one product of tf32, not three.

    ```mlir
    func.func @f(%x: memref<16x8xf32>) attributes {gf.vectors} {
      %v = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]}
          : memref<16x8xf32>, vector<16x8xf32>
    // becomes, with row = lane / 4, column = lane % 4 * 2
      %0 = memref.load %x[%row, %column]
      %1 = memref.load %x[%row, %column_1]
      %2 = memref.load %x[%row_8, %column]
      %3 = memref.load %x[%row_8, %column_1]
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"0",
           "Threads of a block; 0: what gf.target says">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"functionsLowered", "functions", "Functions lowered">
  ];
}

#endif // GATEFOLD_GPU_PASSES_TD
