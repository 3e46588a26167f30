// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes that share a run -------------*- tablegen -*-===//

#ifndef GATEFOLD_TEAM_PASSES_TD
#define GATEFOLD_TEAM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ParallelLoops : Pass<"gf-parallel-loops", "::mlir::ModuleOp"> {
  let summary = "Loops marked as parallel become scf.forall";
  let description = [{
    An `scf.for` of the entry with the attribute `gf.parallel` and no results becomes
    an `scf.forall`; marked loops directly in it, with nothing but arithmetic and views
    around them and bounds that do not depend on it, become dimensions of the same
    one. Where there is more around them, the loops within are shared instead in runs in
    which the outer ones have fewer iterations than there are ranks. A buffer that only
    the loop uses moves into it. The mark says that iterations are independent; this
    pass does not find out. A marked loop with results stays as it is, and so
    does one that writes all of a buffer in each iteration.

    ```mlir
    scf.for %h = %c0 to %heads step %c1 {
      scf.for %i = %c0 to %queries step %c96 { ... } {gf.parallel}
    } {gf.parallel}
    // becomes
    scf.forall (%h, %i) = (0, 0) to (%heads, %queries) step (1, 96) { ... }
    ```
  }];
  let dependentDialects = [
    "::gatefold::GfDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [Statistic<"loopsMade", "loops", "Parallel loops made">];
}

def Distribute : Pass<"gf-distribute", "::mlir::ModuleOp"> {
  let summary = "Work on buffers shared among the ranks of a team";
  let description = [{
    Afterwards every write of the entry stands in an `scf.forall`, most of them with
    one iteration for each rank (`gf.team_size`). Structured operations (linalg,
    `gf.linear`, `gf.pack`) are cut along a parallel dimension: rank r of R takes

    `[floor(n r / R) u, floor(n (r + 1) / R) u)` of n = ceil(extent / u) units

    of u rows or columns: a register tile, a packed panel, some cache lines. Operations
    that follow each other and can be cut at the same places, so that each rank reads
    what it wrote itself, become one group, with loops among them: a recurrence is then
    split by its batch, without a barrier in it. Where the extent may be too small
    for that, another version is kept, chosen in the run: a loop with a barrier after each
    group of a step, if the time that the ranks save is longer. There products are cut by
    columns, and what needs whole rows is cut by rows, however few they are. A buffer that
    such a step first reads as a whole and then replaces, as a state, gets a second one:
    steps alternate between the two, and the reading needs no barrier behind it. Two loops
    that have nothing to do with each other, as two directions, are one rank's each where
    there are two, and on a GPU one loop. What is not worth a barrier is done by rank 0.

    ```mlir
    linalg.exp ins(%a : memref<?x64xf32>) outs(%b : memref<?x64xf32>)
    // becomes, but for the sizes of the last share
    scf.forall (%rank) in (%ranks) {
      %low = ...
      %as = memref.subview %a[%low, 0] [%size, 64] [1, 1]
      %bs = memref.subview %b[%low, 0] [%size, 64] [1, 1]
      linalg.exp ins(%as : ...) outs(%bs : ...)
    }
    ```
  }];
  let dependentDialects = [
    "::gatefold::GfDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"groupsShared", "shared", "Groups of operations shared among ranks">,
    Statistic<"groupsAlone", "alone", "Groups of operations done by one rank">
  ];
}

def FormTeam : Pass<"gf-form-team", "::mlir::ModuleOp"> {
  let summary = "scf.forall as the part of one rank, and a barrier";
  let description = [{
    Every rank executes the entry; of an `scf.forall` with one iteration for each rank
    its own, of any other those with number r, r + R, r + 2R, ... A `gf.team_barrier`
    follows each, but for one at the end. A forall within another becomes a loop. What
    is read outside, from memory that is written somewhere, gets a barrier before
    the next forall. A write outside of any forall is an error.
  }];
  let dependentDialects = [
    "::gatefold::GfDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"forallsSplit", "foralls", "Parallel loops split among ranks">,
    Statistic<"barriersMade", "barriers", "Barriers in the code">
  ];
}

def LowerTeam : Pass<"gf-lower-team", "::mlir::ModuleOp"> {
  let summary = "Ranks as arguments of the entry, barriers as calls";
  let description = [{
    The entry takes three arguments more: its rank, the number of ranks, and the team
    of the runtime, null for one rank. A barrier calls `gatefold_team_barrier`, and the
    entry returns the code that it gives unless that is 0: some rank has failed. So
    does a function of a part of the entry that knows the team. Runs on blocks, after
    gf-lower-assertions.

    ```mlir
    gf.team_barrier
    // becomes
    %code = call @gatefold_team_barrier(%team) : (!llvm.ptr) -> i32
    %fine = arith.cmpi eq, %code, %c0_i32 : i32
    cf.cond_br %fine, ^rest, ^failed(%code : i32) // returns it
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"
  ];
}

#endif // GATEFOLD_TEAM_PASSES_TD
