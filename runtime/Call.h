// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call.h - calling compiled code.

#ifndef GATEFOLD_RUNTIME_CALL_H
#define GATEFOLD_RUNTIME_CALL_H

#include "runtime/Message.h"
#include "runtime/Runtime.h"

namespace gatefold::runtime {

/// The 64-bit words of a memref descriptor: two pointers and an offset, then
/// sizes and strides.
inline constexpr size_t descriptorWords(int32_t rank) {
  return 3 + 2 * (size_t)rank;
}

/// The parameters that a kernel has at most: what CUDA allows, in words.
inline constexpr int64_t mostKernelWords = 32764 / 8;

/// The words of a list of tensors.
size_t descriptorWords(const gatefold_tensor *tensors, int64_t count);

/// Writes a memref descriptor, moves on behind it, and says where it begins.
void *describe(int64_t *&descriptor, const void *data, int32_t rank,
               const int64_t *shape, const int64_t *strides);

/// The same for contiguous memory.
void *describePacked(int64_t *&descriptor, const void *data, int32_t rank,
                     const int64_t *shape);

/// The status of what `run` or `prepare` of the description returned, with a
/// message.
gatefold_status statusOf(const gatefold_description &description, int32_t error,
                         Message &message);

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_CALL_H
