// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches.h - what a context needs to launch kernels.

#ifndef GATEFOLD_RUNTIME_CUDA_LAUNCHES_H
#define GATEFOLD_RUNTIME_CUDA_LAUNCHES_H

#include "runtime/cuda/Check.h"
#include "runtime/cuda/Device.h"

namespace gatefold::runtime::cuda {

struct Launches {
  /// The caller's.
  Stream stream;
  int64_t checkCount;
  /// Of the last run.
  ValueCheck *checks;
  /// Where the last run has the team's memory; 0: there was none.
  Address control;
  /// The parameters of a kernel, and pointers to them.
  int64_t *words;
  void **parameters;
  /// The team's memory and what checks found, as `finish` reads it.
  void *found;
};

/// Fills the parameters of a kernel from the descriptors of its arguments.
void fillParameters(const gatefold_kernel &kernel, void *const *descriptors,
                    Address arena, int64_t arenaBytes, Address team,
                    int64_t *words, void **parameters);

} // namespace gatefold::runtime::cuda

#endif // GATEFOLD_RUNTIME_CUDA_LAUNCHES_H
