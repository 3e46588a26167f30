// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GpuPipeline.h - The phases of a GPU ----------------------*- C++ -*-===//

#ifndef PASSES_GPU_GPUPIPELINE_H
#define PASSES_GPU_GPUPIPELINE_H

#include "passes/Pipelines.h"

namespace gatefold {

/// From buffers to kernels whose threads share the loops.
void buildGpuPhase(mlir::OpPassManager &manager,
                   const PipelineOptions &options);
/// From kernels to the llvm and nvvm dialects.
void buildNvvmPhase(mlir::OpPassManager &manager,
                    const PipelineOptions &options);

} // namespace gatefold

#endif // PASSES_GPU_GPUPIPELINE_H
