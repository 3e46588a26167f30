// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase split ---------------*- tablegen -*-===//

#ifndef GATEFOLD_SPLIT_PASSES_TD
#define GATEFOLD_SPLIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def CompleteInterface : Pass<"gf-complete-interface", "::mlir::ModuleOp"> {
  let summary = "Find the entry and fill in what its interface leaves out";
  let description = [{
    The entry is the function with `gf.entry`, or the only public one. Without
    attributes, arguments are named `input0`, ... (`input` if there is one), results
    `output0`, ... (`output`), and each dynamic dimension of an argument is an open
    dimension of its own, `input0_0` for dimension 0 of `input0`.

    Refused, at the place of the entry: an element type without an equivalent at
    the interface (it has f16, bf16, f32, f64, i32, i64 and i1), a dynamic dimension of a
    result that has no `gf.shape`, an open dimension that no argument binds, two inputs or
    two results of one name.

    ```mlir
    func.func @plain(%a: tensor<?x4xf32>)
    // becomes
    func.func @plain(%a: tensor<?x4xf32> {gf.name = "input", gf.shape = affine_map<()[s0] -> (s0, 4)>})
        attributes {gf.dimensions = ["input_0"], gf.entry}
    ```
  }];
}

def BindParameters : Pass<"gf-bind-parameters", "::mlir::ModuleOp"> {
  let summary = "Parameters become leading arguments of the entry";
  let description = [{
    Each `gf.parameter` becomes an argument, one for each name: first those that
    `gf.parameters` lists, whether or not anything reads them, then others in the order of
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

def SplitPrepare : Pass<"gf-split-prepare", "::mlir::ModuleOp"> {
  let summary = "What depends on parameters alone is computed once";
  let description = [{
    Operations that depend on parameters and constants alone move to a function
    `gatefold_prepare_entry(parameters..) -> (prepared tensors..)`, wherever they stand, in
    loops too; their results become arguments of the entry behind the parameters.

    ```mlir
    func.func @f(%w: tensor<64x40xf32> {gf.name = "w", gf.parameter}, %x: tensor<?x40xf32>) {
      %panels = gf.pack %w ...
    // becomes
    func.func @gatefold_prepare_entry(%w: tensor<64x40xf32>) -> tensor<1x40x64xf32> {
      %panels = gf.pack %w ...
      return %panels }
    func.func @f(%w: tensor<64x40xf32> {...}, %panels: tensor<1x40x64xf32> {gf.prepared = "w"}, %x: ...) {
    ```

    Left in the run is what it does as fast by itself: views, fills, broadcasts,
    numbers without a mathematical function; what has no type of the interface; and
    what would take more than four times the memory of its parameters, and more
    than 1 MiB. Only operations of fixed sizes and without side effects move.
  }];
  let statistics = [
    Statistic<"tensorsPrepared", "tensors", "Tensors that prepare makes">,
    Statistic<"bytesPrepared", "bytes", "Bytes of these">
  ];
}

def SizeFunctions : Pass<"gf-size-functions", "::mlir::ModuleOp"> {
  let summary = "Describe the interface, and compute its sizes";
  let description = [{
    Moves the attributes of the entry's interface into `gf.description` of the
    module, which later passes and the emission read, and adds the function
    `gatefold_sizes(symbols, sizes)`, which computes all sizes from the open dimensions
    in the order of runtime/Description.h. A size that overflows is -1. The entry is
    called `gatefold_run_entry` from here on. Each assertion gets the place of its message
    among those of the description, `gf.failure`.

    A state that the run gives back with a part written over (slices inserted, one after
    another or in loops) is `in_place`: both its argument and its result.

    ```mlir
    func.func @f(%x: tensor<?x4xf32> {gf.name = "x", gf.shape = affine_map<()[s0] -> (s0, 4)>})
        attributes {gf.entry, gf.dimensions = ["B"]}
    // becomes, in a module with gf.description = {dimensions = ["B"], entry = "f", ...}
    func.func @gatefold_run_entry(%x: tensor<?x4xf32>)
    func.func @gatefold_sizes(%symbols: !llvm.ptr, %sizes: !llvm.ptr)
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"
  ];
}

def DestinationArguments : Pass<"gf-destination-arguments", "::mlir::ModuleOp"> {
  let summary = "Results of the entry are written into arguments";
  let description = [{
    Arguments and results of the entry become memref arguments: their last dimension is
    contiguous, parameters wholly. States are written last, each from a copy, so that
    a result may be the memory of the state that it follows. One that is `in_place` is read
    from the memory of its result, where bufferization then writes the part alone.

    ```mlir
    func.func @gatefold_run_entry(%x: tensor<4xf32>) -> tensor<4xf32> { ... return %y }
    // becomes
    func.func @gatefold_run_entry(%x_memory: memref<4xf32, strided<[1], offset: ?>>,
                                  %to: memref<4xf32, strided<[1], offset: ?>>) {
      %x = bufferization.to_tensor %x_memory ...
      bufferization.materialize_in_destination %y in restrict writable %to
    ```
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"
  ];
}

#endif // GATEFOLD_SPLIT_PASSES_TD
