// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gpu.h - what the rest of the runtime asks of models and contexts on a GPU.

#ifndef GATEFOLD_RUNTIME_CUDA_GPU_H
#define GATEFOLD_RUNTIME_CUDA_GPU_H

#include "runtime/Checks.h"
#include "runtime/Context.h"

namespace gatefold::runtime::cuda {

/// Closes what `gatefold_create_cuda` opened, with the weights.
void closeDevice(gatefold_model &model);

/// The memory that inputs and results may be in.
Memory memoryOfGpu(const gatefold_model &model);
/// Blocks of a run that are resident at once.
int64_t residentBlocks(const gatefold_model &model);

/// What a context on a GPU has beside others; false where memory ran out.
bool addLaunches(gatefold_context &context);
void removeLaunches(gatefold_context &context);

/// Refuses tensors that would have to be copied but for a state in one piece.
bool checkArguments(gatefold_context &context);

/// Bytes before the arena: the team's memory and what checks find.
int64_t controlBytes(const gatefold_context &context);
/// Lets the context's own workspace grow.
gatefold_status grow(gatefold_context &context, size_t needed);
/// Refuses a run whose context has not reserved enough.
gatefold_status checkOwnWorkspace(gatefold_context &context, size_t needed);

/// Puts a run that is checked on the context's stream.
gatefold_status run(gatefold_context &context, char *base);

} // namespace gatefold::runtime::cuda

#endif // GATEFOLD_RUNTIME_CUDA_GPU_H
