// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prepare.cpp - takes the weights of a model, once.

#include "runtime/Call.h"
#include "runtime/Checks.h"
#include "runtime/Element.h"
#include "runtime/FlushToZero.h"
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
    free(temporary);
    free(descriptors);
    free(pointers);
  }

  gatefold_status run();

private:
  gatefold_status matchNames();
  gatefold_status reportMissing();
  gatefold_status reportUnknown();
  gatefold_status checkWeight(int64_t parameter);
  gatefold_status allocate(size_t kept, size_t lost, bool fits);
  gatefold_status place();
  gatefold_status compute(char *arena);
  void copyIn(int64_t parameter, char *target);
  const void *findInPlace(int64_t parameter) const;

  bool hasUsableEmbedded(int64_t parameter) const {
    return description.embedded && description.embedded[parameter];
  }
  const int64_t *shapeOf(int64_t parameter) const {
    return model.sizes + description.parameters[parameter].first_size;
  }
  /// Adds the bytes of a tensor; false where that overflows.
  bool addBytes(size_t &total, const gatefold_tensor &tensor) const {
    int64_t bytes = 0;
    return checkedBytes(model.sizes + tensor.first_size, tensor.rank,
                        elementBytes(tensor.element), bytes) &&
           bytes >= 0 && addAligned(total, bytes);
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
  /// What only `prepare` needs: parameters that the run does not read, and the
  /// arena; descriptors of its arguments.
  void *temporary = nullptr;
  int64_t *descriptors = nullptr;
  void **pointers = nullptr;
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
    int64_t strides[maximalRank], packed[maximalRank];
    View view = viewOf(*tensors[weightOf[parameter]],
                       elementBytes(expected.element), strides);
    packedStrides(view.shape, view.rank, packed);
    if (!memcmp(strides, packed, (size_t)view.rank * sizeof(int64_t)))
      found = view.data;
  }
  return (uintptr_t)found % alignment == 0 ? found : nullptr;
}

gatefold_status Preparation::allocate(size_t kept, size_t lost, bool fits) {
  model.weights = fits ? malloc(kept) : nullptr;
  temporary = fits ? malloc(lost) : nullptr;
  size_t count =
      (size_t)description.parameter_count + (size_t)description.prepared_count;
  descriptors = allocateZeroed<int64_t>(
      descriptorWords(description.parameters, description.parameter_count) +
      descriptorWords(description.prepared, description.prepared_count));
  pointers = allocateZeroed<void *>(count);
  if (model.weights && temporary && descriptors && pointers)
    return GATEFOLD_OK;
  message.append("no memory for the weights");
  if (fits)
    message.append(": %llu bytes", (unsigned long long)kept + lost);
  return GATEFOLD_OUT_OF_MEMORY;
}

gatefold_status Preparation::place() {
  // Room for the alignment of the blocks themselves.
  size_t kept = alignment, lost = alignment;
  bool fits = true;
  for (int64_t p = 0; p < description.parameter_count; ++p) {
    const gatefold_tensor &parameter = description.parameters[p];
    if (!findInPlace(p))
      fits &= addBytes(parameter.prepare_only ? lost : kept, parameter);
  }
  for (int64_t p = 0; p < description.prepared_count; ++p)
    fits &= addBytes(kept, description.prepared[p]);
  if (description.prepare) {
    int64_t arena = description.prepare_arena_bytes();
    fits &= arena >= 0 && addAligned(lost, arena);
  }
  if (gatefold_status status = allocate(kept, lost, fits))
    return status;

  char *keptPlace = aligned(model.weights), *lostPlace = aligned(temporary);
  auto take = [&](char *&place, const gatefold_tensor &tensor) {
    char *taken = place;
    size_t bytes = 0;
    addBytes(bytes, tensor);
    place += bytes;
    return taken;
  };
  for (int64_t p = 0; p < description.parameter_count; ++p) {
    const gatefold_tensor &parameter = description.parameters[p];
    model.parameters[p] = findInPlace(p);
    if (model.parameters[p])
      continue;
    char *target =
        take(parameter.prepare_only ? lostPlace : keptPlace, parameter);
    copyIn(p, target);
    model.parameters[p] = target;
  }
  for (int64_t p = 0; p < description.prepared_count; ++p)
    model.prepared[p] = take(keptPlace, description.prepared[p]);
  gatefold_status status =
      description.prepare ? compute(lostPlace) : GATEFOLD_OK;
  for (int64_t p = 0; p < description.parameter_count; ++p)
    if (description.parameters[p].prepare_only)
      model.parameters[p] = nullptr;
  return status;
}

gatefold_status Preparation::compute(char *arena) {
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
  int32_t error;
  {
    FlushToZero mode;
    error = description.prepare(pointers, arena);
  }
  return statusOf(error, message);
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
  if (status == GATEFOLD_OK)
    status = place();
  if (status != GATEFOLD_OK) {
    free(model.weights);
    model.weights = nullptr;
  }
  return status;
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
