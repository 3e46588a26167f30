// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call.cpp - descriptors for compiled code, and what it returns.

#include "runtime/Call.h"
#include "runtime/View.h"

namespace gatefold::runtime {

size_t descriptorWords(const gatefold_tensor *tensors, int64_t count) {
  size_t total = 0;
  for (int64_t i = 0; i < count; ++i)
    total += descriptorWords(tensors[i].rank);
  return total;
}

void *describe(int64_t *&descriptor, const void *data, int32_t rank,
               const int64_t *shape, const int64_t *strides) {
  int64_t *begin = descriptor;
  descriptor[0] = descriptor[1] = (int64_t)(intptr_t)data;
  descriptor[2] = 0;
  for (int32_t d = 0; d < rank; ++d) {
    descriptor[3 + d] = shape[d];
    descriptor[3 + rank + d] = strides[d];
  }
  descriptor += descriptorWords(rank);
  return begin;
}

void *describePacked(int64_t *&descriptor, const void *data, int32_t rank,
                     const int64_t *shape) {
  int64_t strides[maximalRank];
  packedStrides(shape, rank, strides);
  return describe(descriptor, data, rank, shape, strides);
}

gatefold_status statusOf(const gatefold_description &description, int32_t error,
                         Message &message) {
  if (error == GATEFOLD_RUN_OK)
    return GATEFOLD_OK;
  int64_t failure = (int64_t)error - GATEFOLD_RUN_FAILURE;
  if (failure >= 0 && failure < description.failure_count)
    message.appendText(description.failures[failure]);
  else
    message.append("the compiled code reports the unknown error %d", error);
  return GATEFOLD_BAD_DATA;
}

} // namespace gatefold::runtime
