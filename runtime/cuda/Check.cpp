// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Check.cpp - which values of inputs a GPU checks ahead of a run.

#include "runtime/cuda/Check.h"
#include "runtime/Element.h"

namespace gatefold::runtime::cuda {

int64_t countChecks(const gatefold_description &description) {
  int64_t count = description.value_check_count;
  for (int64_t i = 0; i < description.input_count; ++i)
    count += isBool(description.inputs[i].element);
  return count;
}

bool asMatrix(const View &view, Matrix &matrix) {
  // From the last dimension on: sizes and strides of what cannot be merged.
  int64_t sizes[2] = {1, 1}, strides[2] = {0, 0};
  int count = 0;
  for (int32_t d = view.rank - 1; d >= 0; --d) {
    if (view.shape[d] == 1)
      continue;
    if (count > 0 && view.strides[d] == sizes[count - 1] * strides[count - 1]) {
      sizes[count - 1] *= view.shape[d];
      continue;
    }
    if (count == 2)
      return false;
    sizes[count] = view.shape[d];
    strides[count] = view.strides[d];
    ++count;
  }
  matrix = {sizes[1], sizes[0], strides[1] * view.elementBytes,
            strides[0] * view.elementBytes};
  return true;
}

} // namespace gatefold::runtime::cuda
