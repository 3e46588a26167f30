// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context.h - what one thread needs to run a model.

#ifndef GATEFOLD_RUNTIME_CONTEXT_H
#define GATEFOLD_RUNTIME_CONTEXT_H

#include "runtime/Model.h"
#include "runtime/Team.h"
#include "runtime/View.h"

namespace gatefold::runtime {

/// A run's tensor: where the caller has it, and where compiled code finds it.
struct Argument {
  View view;
  /// Place in the workspace behind the arena, if it is computed with a copy
  /// there.
  size_t copyPlace;
  /// Room for a copy is reserved. States have it, but for those in place.
  bool hasRoom;
  /// This run copies.
  bool isCopied;
  /// The host can read it.
  bool isOfHost;
};

/// The dimension that gave an open dimension its size.
struct Origin {
  int64_t input;
  bool isBound;
};

namespace cuda {
struct Launches;
} // namespace cuda

} // namespace gatefold::runtime

struct gatefold_context {
  const gatefold_model *model;
  /// The open dimensions, where each comes from, and all sizes.
  int64_t *symbols;
  gatefold::runtime::Origin *origins;
  int64_t *sizes;
  /// Inputs, then results.
  gatefold::runtime::Argument *arguments;
  /// Memory of the arguments' strides.
  int64_t *strides;
  /// What compiled code is given: per parameter, prepared tensor, input and
  /// result a descriptor.
  void **pointers;
  int64_t *descriptors;
  /// The context's own workspace, on a GPU of the GPU's memory.
  void *workspace;
  size_t workspaceBytes;
  /// Null: runs are the caller's thread's alone.
  gatefold_team *team;
  /// The ranks of this run, and the bytes before its arena.
  int64_t ranks;
  size_t arenaPlace;
  /// Null: on the CPU.
  gatefold::runtime::cuda::Launches *gpu;
  gatefold::runtime::Message message;
};

#endif // GATEFOLD_RUNTIME_CONTEXT_H
