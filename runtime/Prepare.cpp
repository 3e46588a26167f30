// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prepare.cpp - the weights of a model by name, checked, once.

#include "runtime/Prepare.h"
#include "runtime/Checks.h"
#include "runtime/Element.h"
#include "runtime/Nearest.h"
#include "runtime/cuda/Gpu.h"

#include <string.h>

using namespace gatefold::runtime;

/// A message lists at most this many names.
static constexpr int64_t listLimit = 10;

Preparation::~Preparation() {
  free(weightOf);
  free(parameterOf);
  free(isInPlace);
  free(descriptors);
  free(pointers);
}

gatefold_status Preparation::matchNames() {
  for (int64_t p = 0; p < description.parameter_count; ++p)
    weightOf[p] = none;
  for (size_t w = 0; w < count; ++w) {
    if (!names || !names[w] || !tensors || !tensors[w]) {
      message.append("weight number %llu has no name or no tensor: it is null",
                     (unsigned long long)w);
      return GATEFOLD_INVALID_ARGUMENT;
    }
    parameterOf[w] = none;
    for (int64_t p = 0; p < description.parameter_count; ++p)
      if (!strcmp(names[w], description.parameters[p].name))
        parameterOf[w] = p;
    if (parameterOf[w] == none)
      continue;
    if (weightOf[parameterOf[w]] != none) {
      message.append("the weight ");
      message.appendName(names[w]);
      message.append(" is given twice");
      return GATEFOLD_INVALID_ARGUMENT;
    }
    weightOf[parameterOf[w]] = (int64_t)w;
  }
  return GATEFOLD_OK;
}

static void appendHint(Message &message, const char *name) {
  if (!name)
    return;
  message.append("; did you mean ");
  message.appendName(name);
  message.append("?");
}

gatefold_status Preparation::reportMissing() {
  int64_t missing = 0;
  for (int64_t p = 0; p < description.parameter_count; ++p) {
    const gatefold_tensor &tensor = description.parameters[p];
    if (weightOf[p] != none || hasUsableEmbedded(p) || tensor.has_initial)
      continue;
    if (++missing > listLimit)
      continue;
    if (missing > 1)
      message.append("\n");
    appendSubject(message, {Kind::Parameter, tensor});
    message.append(" ");
    message.appendSizes(shapeOf(p), tensor.rank);
    message.append(" is not in the weights");
    // A name that another parameter has was meant for that one.
    Nearest nearest(tensor.name);
    for (size_t w = 0; w < count; ++w)
      if (parameterOf[w] == none)
        nearest.offer(names[w]);
    appendHint(message, nearest.best());
  }
  if (missing > listLimit)
    message.append("\nand %lld more parameters",
                   (long long)(missing - listLimit));
  return missing ? GATEFOLD_MISSING_WEIGHT : GATEFOLD_OK;
}

gatefold_status Preparation::reportUnknown() {
  int64_t unknown = 0;
  for (size_t w = 0; w < count; ++w) {
    if (parameterOf[w] != none || ++unknown > listLimit)
      continue;
    if (unknown > 1)
      message.append("\n");
    message.append("no parameter has the name ");
    message.appendName(names[w]);
    Nearest nearest(names[w]);
    for (int64_t p = 0; p < description.parameter_count; ++p)
      nearest.offer(description.parameters[p].name);
    appendHint(message, nearest.best());
  }
  if (unknown > listLimit)
    message.append("\nand %lld more names", (long long)(unknown - listLimit));
  return unknown ? GATEFOLD_INVALID_ARGUMENT : GATEFOLD_OK;
}

gatefold_status Preparation::checkWeight(int64_t parameter) {
  const gatefold_tensor &expected = description.parameters[parameter];
  const DLTensor &tensor = *tensors[weightOf[parameter]];
  Subject subject = {Kind::Parameter, expected};
  if (!checkShape(message, subject, &tensor))
    return GATEFOLD_INVALID_ARGUMENT;
  const int64_t *shape = shapeOf(parameter);
  for (int32_t d = 0; d < expected.rank; ++d)
    if (tensor.shape[d] != shape[d]) {
      appendSubject(message, subject);
      message.append(" is ");
      message.appendSizes(tensor.shape, expected.rank);
      message.append(" in the weights, expected ");
      message.appendSizes(shape, expected.rank);
      return GATEFOLD_INVALID_ARGUMENT;
    }
  Memory memory;
  if (model.device) {
    memory = cuda::memoryOfGpu(model);
    memory.isHost = true;
  }
  if (!checkData(message, subject, tensor, memory))
    return GATEFOLD_INVALID_ARGUMENT;
  int64_t strides[maximalRank];
  View view = viewOf(tensor, elementBytes(expected.element), strides);
  if (!isHostMemory(tensor) && !isContiguous(view)) {
    appendSubject(message, subject);
    message.append(" is not contiguous in the weights: on a GPU it must be");
    return GATEFOLD_INVALID_ARGUMENT;
  }
  if (isBool(expected.element) && isHostMemory(tensor) &&
      !checkBooleans(message, subject, view))
    return GATEFOLD_BAD_DATA;
  return GATEFOLD_OK;
}

gatefold_status Preparation::run() {
  weightOf = allocateZeroed<int64_t>((size_t)description.parameter_count);
  parameterOf = allocateZeroed<int64_t>(count);
  isInPlace = allocateZeroed<bool>((size_t)description.parameter_count);
  if (!weightOf || !parameterOf || !isInPlace) {
    message.append("no memory for a list of %llu weights",
                   (unsigned long long)count);
    return GATEFOLD_OUT_OF_MEMORY;
  }
  // Missing before unknown: a misspelt name is both, and what is missing says
  // more.
  gatefold_status status = matchNames();
  if (status == GATEFOLD_OK)
    status = reportMissing();
  if (status == GATEFOLD_OK)
    status = reportUnknown();
  for (int64_t p = 0; p < description.parameter_count; ++p)
    if (status == GATEFOLD_OK && weightOf[p] != none)
      status = checkWeight(p);
  if (status != GATEFOLD_OK)
    return status;
  return model.device ? placeOnGpu() : place();
}

gatefold_status gatefold_prepare(gatefold_model *model, size_t count,
                                 const char *const *names,
                                 const DLTensor *const *tensors) {
  if (!model)
    return GATEFOLD_INVALID_ARGUMENT;
  if (model->fault != GATEFOLD_OK)
    return model->fault;
  // Contexts of other threads may read the weights.
  if (model->isPrepared) {
    model->message.clear();
    model->message.append("the model is prepared already: make another one for "
                          "other weights");
    return GATEFOLD_INVALID_ARGUMENT;
  }
  model->message.clear();
  gatefold_status status = Preparation(*model, count, names, tensors).run();
  model->isPrepared = status == GATEFOLD_OK;
  return status;
}
