// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlaceWeights.cpp - weights in the host's memory, and what compiled code makes
// from them.

#include "runtime/Call.h"
#include "runtime/Element.h"
#include "runtime/FlushToZero.h"
#include "runtime/Prepare.h"

#include <string.h>

using namespace gatefold::runtime;

bool Preparation::addBytes(size_t &total, const gatefold_tensor &tensor) const {
  int64_t bytes = 0;
  return checkedBytes(model.sizes + tensor.first_size, tensor.rank,
                      elementBytes(tensor.element), bytes) &&
         bytes >= 0 && addAligned(total, bytes);
}

void Preparation::copyIn(int64_t parameter, char *target) {
  const gatefold_tensor &expected = description.parameters[parameter];
  int64_t strides[maximalRank], sourceStrides[maximalRank];
  packedStrides(shapeOf(parameter), expected.rank, strides);
  View view = {target, expected.rank, elementBytes(expected.element),
               shapeOf(parameter), strides};
  if (weightOf[parameter] != none) {
    copy(view, viewOf(*tensors[weightOf[parameter]], view.elementBytes,
                      sourceStrides));
    return;
  }
  if (hasUsableEmbedded(parameter)) {
    memcpy(target, description.embedded[parameter], (size_t)view.packedBytes());
    return;
  }
  char element[8];
  encode(expected.element, expected.initial, element);
  fill(view, element);
}

/// Where a parameter can be read without a copy, or null: embedded, or the
/// caller's if nobody needs it after this call.
const void *Preparation::findInPlace(int64_t parameter) const {
  const gatefold_tensor &expected = description.parameters[parameter];
  const void *found = nullptr;
  if (weightOf[parameter] == none) {
    found = hasUsableEmbedded(parameter) ? description.embedded[parameter]
                                         : nullptr;
  } else if (expected.prepare_only) {
    int64_t strides[maximalRank];
    View view = viewOf(*tensors[weightOf[parameter]],
                       elementBytes(expected.element), strides);
    if (isContiguous(view))
      found = view.data;
  }
  return (uintptr_t)found % alignment == 0 ? found : nullptr;
}

gatefold_status Preparation::reportNoMemory(size_t bytes) {
  message.append("no memory for the weights");
  if (bytes)
    message.append(": %llu bytes", (unsigned long long)bytes);
  return GATEFOLD_OUT_OF_MEMORY;
}

/// The bytes of what is kept after `prepare` and of what is not, the arena at
/// its end included; false where they overflow.
bool Preparation::findSizes(size_t &kept, size_t &lost) {
  // Room for the alignment of the blocks themselves.
  kept = lost = alignment;
  bool fits = true;
  for (int64_t p = 0; p < description.parameter_count; ++p) {
    const gatefold_tensor &parameter = description.parameters[p];
    if (!isInPlace[p])
      fits &= addBytes(parameter.prepare_only ? lost : kept, parameter);
  }
  for (int64_t p = 0; p < description.prepared_count; ++p)
    fits &= addBytes(kept, description.prepared[p]);
  if (description.prepare_arena_bytes) {
    int64_t arena = description.prepare_arena_bytes();
    fits &= arena >= 0 && addAligned(lost, arena);
  }
  return fits;
}

/// Gives each tensor its place in the two blocks; `lostPlace` moves on to the
/// arena.
void Preparation::distribute(char *keptPlace, char *&lostPlace) {
  auto take = [&](char *&place, const gatefold_tensor &tensor) {
    char *taken = place;
    size_t bytes = 0;
    addBytes(bytes, tensor);
    place += bytes;
    return taken;
  };
  for (int64_t p = 0; p < description.parameter_count; ++p) {
    const gatefold_tensor &parameter = description.parameters[p];
    model.parameters[p] =
        isInPlace[p]
            ? findInPlace(p)
            : take(parameter.prepare_only ? lostPlace : keptPlace, parameter);
  }
  for (int64_t p = 0; p < description.prepared_count; ++p)
    model.prepared[p] = take(keptPlace, description.prepared[p]);
}

gatefold_status Preparation::allocateDescriptors() {
  size_t count =
      (size_t)description.parameter_count + (size_t)description.prepared_count;
  descriptors = allocateZeroed<int64_t>(
      descriptorWords(description.parameters, description.parameter_count) +
      descriptorWords(description.prepared, description.prepared_count));
  pointers = allocateZeroed<void *>(count);
  return descriptors && pointers ? GATEFOLD_OK : reportNoMemory(0);
}

void Preparation::describeConstants() {
  int64_t *descriptor = descriptors;
  void **pointer = pointers;
  auto add = [&](const gatefold_tensor &tensor, const void *data) {
    *pointer++ = describePacked(descriptor, data, tensor.rank,
                                model.sizes + tensor.first_size);
  };
  for (int64_t p = 0; p < description.parameter_count; ++p)
    add(description.parameters[p], model.parameters[p]);
  for (int64_t p = 0; p < description.prepared_count; ++p)
    add(description.prepared[p], model.prepared[p]);
}

gatefold_status Preparation::place() {
  for (int64_t p = 0; p < description.parameter_count; ++p)
    isInPlace[p] = findInPlace(p) != nullptr;
  size_t kept, lost;
  if (!findSizes(kept, lost))
    return reportNoMemory(0);
  if (gatefold_status status = allocateDescriptors())
    return status;
  model.weights = malloc(kept);
  void *temporary = malloc(lost);
  gatefold_status status = GATEFOLD_OK;
  if (!model.weights || !temporary) {
    status = reportNoMemory(kept + lost);
  } else {
    char *arena = aligned(temporary);
    distribute(aligned(model.weights), arena);
    for (int64_t p = 0; p < description.parameter_count; ++p)
      if (!isInPlace[p])
        copyIn(p, const_cast<char *>((const char *)model.parameters[p]));
    status = description.prepare ? compute(arena) : GATEFOLD_OK;
    for (int64_t p = 0; p < description.parameter_count; ++p)
      if (description.parameters[p].prepare_only)
        model.parameters[p] = nullptr;
  }
  free(temporary);
  if (status != GATEFOLD_OK) {
    free(model.weights);
    model.weights = nullptr;
  }
  return status;
}

gatefold_status Preparation::compute(char *arena) {
  describeConstants();
  int32_t error;
  {
    FlushToZero mode;
    error = description.prepare(pointers, arena);
  }
  return statusOf(description, error, message);
}
