// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// InitialState.cpp - the values with which a state starts.

#include "runtime/Checks.h"
#include "runtime/Element.h"
#include "runtime/Shapes.h"
#include "runtime/cuda/Gpu.h"

using namespace gatefold::runtime;

/// A state alone does not say what every open dimension is: checks what its own
/// shape can contradict, fixed dimensions and those that bind.
static bool checkOwnShape(Message &message, const gatefold_tensor &state,
                          const DLTensor &tensor) {
  for (int32_t d = 0; d < state.rank; ++d) {
    const char *name = state.dimension_names[d];
    int64_t fixed = 0;
    bool isFixed = *name != '\0', isLegal = true;
    for (const char *digit = name; *digit; ++digit) {
      isFixed &= *digit >= '0' && *digit <= '9' && fixed < INT64_MAX / 16;
      if (isFixed)
        fixed = fixed * 10 + (*digit - '0');
    }
    int64_t value;
    if (isFixed)
      isLegal = tensor.shape[d] == fixed;
    else if (state.bindings[d].symbol >= 0)
      isLegal = solveBinding(state.bindings[d], tensor.shape[d], value);
    if (isLegal)
      continue;
    message.appendName(state.name);
    message.append(" is ");
    message.appendSizes(tensor.shape, state.rank);
    message.append(", expected ");
    message.appendNames(state.dimension_names, state.rank);
    return false;
  }
  return true;
}

/// Fills in the host's memory, and copies.
static gatefold_status fillOnGpu(gatefold_context &context,
                                 const DLTensor &state, const View &view,
                                 const void *element) {
  if (view.isEmpty())
    return GATEFOLD_OK;
  void *staged = malloc((size_t)view.packedBytes());
  if (!staged) {
    context.message.append("no memory for a state of %lld bytes",
                           (long long)view.packedBytes());
    return GATEFOLD_OUT_OF_MEMORY;
  }
  DLTensor source = state;
  source.device = {kDLCPU, 0};
  source.data = staged;
  source.byte_offset = 0;
  source.strides = nullptr;
  int64_t strides[maximalRank];
  fill(viewOf(source, view.elementBytes, strides), element);
  DLTensor target = state;
  gatefold_status status = gatefold_copy(&context, &target, &source);
  free(staged);
  return status;
}

gatefold_status gatefold_initial_state(gatefold_context *context, size_t input,
                                       DLTensor *state) {
  if (!context)
    return GATEFOLD_INVALID_ARGUMENT;
  Message &message = context->message;
  message.clear();
  const gatefold_description &description = *context->model->description;
  if (input >= (size_t)description.input_count) {
    message.append("there is no input number %llu: there are %lld",
                   (unsigned long long)input,
                   (long long)description.input_count);
    return GATEFOLD_INVALID_ARGUMENT;
  }
  const gatefold_tensor &tensor = description.inputs[input];
  Subject subject = {Kind::Input, tensor};
  if (tensor.role != GATEFOLD_STATE || !tensor.has_initial) {
    message.appendName(tensor.name);
    message.append(tensor.role == GATEFOLD_STATE
                       ? " has no initial value: it must be given"
                       : " is not a state");
    return GATEFOLD_INVALID_ARGUMENT;
  }
  Memory memory;
  if (context->gpu) {
    memory = cuda::memoryOfGpu(*context->model);
    memory.isHost = true;
  }
  if (!checkShape(message, subject, state) ||
      !checkData(message, subject, *state, memory) ||
      !checkOwnShape(message, tensor, *state))
    return GATEFOLD_INVALID_ARGUMENT;
  char element[8];
  encode(tensor.element, tensor.initial, element);
  int64_t strides[maximalRank];
  View view = viewOf(*state, elementBytes(tensor.element), strides);
  if (!isHostMemory(*state))
    return fillOnGpu(*context, *state, view, element);
  fill(view, element);
  return GATEFOLD_OK;
}
