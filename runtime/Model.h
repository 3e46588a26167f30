// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model.h - a description and its prepared weights.

#ifndef GATEFOLD_RUNTIME_MODEL_H
#define GATEFOLD_RUNTIME_MODEL_H

#include "runtime/Message.h"
#include "runtime/Runtime.h"

#include <stdlib.h>

namespace gatefold::runtime::cuda {
struct Device;
} // namespace gatefold::runtime::cuda

/// Does not change after a successful `prepare`, so that threads may share it.
struct gatefold_model {
  /// On a GPU that of a variant.
  const gatefold_description *description;
  /// Null: the CPU. Then weights are addresses of the GPU.
  gatefold::runtime::cuda::Device *device;
  /// Not OK: the description is of no use, `message` says why, and every other
  /// call returns this.
  gatefold_status fault;
  bool isPrepared;
  /// All sizes with open dimensions of 0; those of parameters and prepared
  /// tensors do not depend on them.
  int64_t *sizes;
  /// Per parameter its contiguous, 64-byte aligned data; null after `prepare`
  /// where the run does not read it.
  const void **parameters;
  /// Per prepared tensor the same.
  void **prepared;
  /// Prepared tensors and copies of parameters, one block.
  void *weights;
  /// Per result the number of the input that is the same state, or -1.
  int64_t *inputOfResult;
  gatefold::runtime::Message message;
};

namespace gatefold::runtime {

/// What compiled code may count on for weights and the arena.
inline constexpr size_t alignment = 64;

inline char *aligned(void *memory) {
  return (char *)(((uintptr_t)memory + alignment - 1) & ~(alignment - 1));
}

/// Rounds up to the alignment; false where that overflows.
inline bool addAligned(size_t &total, int64_t bytes) {
  size_t rounded = ((size_t)bytes + alignment - 1) & ~(alignment - 1);
  return !__builtin_add_overflow(total, rounded, &total);
}

/// Zeroed room for `count` elements, at least one; null where there is no
/// memory.
template <typename T> T *allocateZeroed(size_t count) {
  return (T *)calloc(count ? count : 1, sizeof(T));
}

/// Refuses a description that contradicts itself, with a message. This catches
/// a compiler's faults, not an attacker: compiled code is trusted.
bool checkDescription(const gatefold_description &description, bool isForCpu,
                      Message &message);

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_MODEL_H
