// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prepare.cpp - takes the weights of a model, once.

#include "runtime/Checks.h"
#include "runtime/Element.h"
#include "runtime/Model.h"
#include "runtime/Nearest.h"

#include <string.h>

using namespace gatefold::runtime;

namespace {

/// A message lists at most this many names.
constexpr int64_t listLimit = 10;
constexpr int64_t none = -1;

class Preparation {
public:
  Preparation(gatefold_model &model, size_t count, const char *const *names,
              const DLTensor *const *tensors)
      : model(model), description(*model.description), message(model.message),
        count(count), names(names), tensors(tensors) {}
  ~Preparation() {
    free(weightOf);
    free(parameterOf);
  }

  gatefold_status run();

private:
  gatefold_status matchNames();
  gatefold_status reportMissing();
  gatefold_status reportUnknown();
  gatefold_status checkWeight(int64_t parameter);
  gatefold_status place();
  void copyIn(int64_t parameter, char *target);

  bool hasUsableEmbedded(int64_t parameter) const {
    return description.embedded && description.embedded[parameter];
  }
  /// True if the embedded weight serves where it is.
  bool isUsedInPlace(int64_t parameter) const {
    return weightOf[parameter] == none && hasUsableEmbedded(parameter) &&
           (uintptr_t)description.embedded[parameter] % alignment == 0;
  }
  const int64_t *shapeOf(int64_t parameter) const {
    return model.sizes + description.parameters[parameter].first_size;
  }
  int64_t bytesOf(int64_t parameter) const {
    const gatefold_tensor &tensor = description.parameters[parameter];
    int64_t bytes = 0;
    checkedBytes(shapeOf(parameter), tensor.rank, elementBytes(tensor.element),
                 bytes);
    return bytes;
  }

  gatefold_model &model;
  const gatefold_description &description;
  Message &message;
  size_t count;
  const char *const *names;
  const DLTensor *const *tensors;
  /// Per parameter the number of its weight, or none; and per weight its
  /// parameter.
  int64_t *weightOf = nullptr;
  int64_t *parameterOf = nullptr;
};

} // namespace

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
  if (!checkData(message, subject, tensor))
    return GATEFOLD_INVALID_ARGUMENT;
  int64_t strides[maximalRank];
  View view = viewOf(tensor, elementBytes(expected.element), strides);
  if (isBool(expected.element) && !checkBooleans(message, subject, view))
    return GATEFOLD_BAD_DATA;
  return GATEFOLD_OK;
}

void Preparation::copyIn(int64_t parameter, char *target) {
  const gatefold_tensor &expected = description.parameters[parameter];
  if (weightOf[parameter] == none && hasUsableEmbedded(parameter)) {
    memcpy(target, description.embedded[parameter], (size_t)bytesOf(parameter));
    return;
  }
  int64_t strides[maximalRank], sourceStrides[maximalRank];
  packedStrides(shapeOf(parameter), expected.rank, strides);
  View view = {target, expected.rank, elementBytes(expected.element),
               shapeOf(parameter), strides};
  if (weightOf[parameter] != none) {
    copy(view, viewOf(*tensors[weightOf[parameter]], view.elementBytes,
                      sourceStrides));
    return;
  }
  char element[8];
  encode(expected.element, expected.initial, element);
  fill(view, element);
}

gatefold_status Preparation::place() {
  size_t total = alignment;
  bool fits = true;
  for (int64_t p = 0; p < description.parameter_count; ++p)
    if (!isUsedInPlace(p))
      fits &= addAligned(total, bytesOf(p));
  model.weights = fits ? malloc(total) : nullptr;
  if (!model.weights) {
    message.append("no memory for the weights");
    if (fits)
      message.append(": %llu bytes", (unsigned long long)total);
    return GATEFOLD_OUT_OF_MEMORY;
  }
  size_t offset = 0;
  for (int64_t p = 0; p < description.parameter_count; ++p) {
    if (isUsedInPlace(p)) {
      model.parameters[p] = description.embedded[p];
      continue;
    }
    char *target = aligned(model.weights) + offset;
    copyIn(p, target);
    model.parameters[p] = target;
    addAligned(offset, bytesOf(p));
  }
  return GATEFOLD_OK;
}

gatefold_status Preparation::run() {
  weightOf = allocateZeroed<int64_t>((size_t)description.parameter_count);
  parameterOf = allocateZeroed<int64_t>(count);
  if (!weightOf || !parameterOf) {
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
  return status == GATEFOLD_OK ? place() : status;
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
