// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GpuPipeline.cpp - The phases of a GPU ------------------------------===//
//
// Which passes make up the phases gpu and nvvm.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/GpuPipeline.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/cpu/Passes.h"
#include "passes/gpu/Passes.h"

using namespace mlir;
using namespace gatefold;

void gatefold::buildGpuPhase(OpPassManager &manager,
                             const PipelineOptions &options) {
  manager.addPass(createOutlineVectors());
  // While operations still say which buffers they use.
  manager.addPass(createPlaceBarriers());
  manager.addPass(createKeepWeights());
  manager.addPass(createOutlineKernels());
  manager.addPass(createLinearToTiles());
  manager.addNestedPass<func::FuncOp>(createLinearToParallel());
  if (!options.naive)
    manager.addNestedPass<func::FuncOp>(createReduceInWarps());
  manager.addNestedPass<func::FuncOp>(createLinalgToLoops({/*parallel=*/true}));
  // The assembler takes time with more than the length of a kernel.
  manager.addPass(createOutlineRepeats());
  manager.addPass(createFormKernels());
  manager.addNestedPass<gpu::GPUModuleOp>(createKeepSizes());
  manager.addNestedPass<gpu::GPUModuleOp>(createStageReads());
  manager.addNestedPass<gpu::GPUModuleOp>(createVectorsToThreads());
  manager.addNestedPass<gpu::GPUModuleOp>(createSizeSharedMemory());
  manager.addNestedPass<gpu::GPUModuleOp>(createShareLoops());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void gatefold::buildNvvmPhase(OpPassManager &manager,
                              const PipelineOptions &options) {
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  kernels.addPass(createLoopInvariantCodeMotionPass());
  kernels.addPass(createExpandOpenShapes());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  manager.addPass(createExpandMath());
  if (options.naive)
    manager.addPass(createAllowContraction());
  OpPassManager &code = manager.nest<gpu::GPUModuleOp>();
  code.addPass(createSCFToControlFlowPass());
  code.addNestedPass<gpu::GPUFuncOp>(createFlattenArguments());
  code.addPass(createLowerGrid());
  code.addPass(createLowerToNVVM());
  code.addPass(createAttachPlaces());
}
