// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model.cpp - making and freeing models.

#include "runtime/Model.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/Gpu.h"

#include <string.h>

using namespace gatefold::runtime;

const gatefold_description *
gatefold_describe(const gatefold_description *description) {
  return description;
}

/// Finds for each result that is a state the input of the same name.
static void pairStates(gatefold_model &model) {
  const gatefold_description &description = *model.description;
  for (int64_t r = 0; r < description.result_count; ++r) {
    model.inputOfResult[r] = -1;
    if (description.results[r].role != GATEFOLD_STATE)
      continue;
    for (int64_t i = 0; i < description.input_count; ++i)
      if (description.inputs[i].role == GATEFOLD_STATE &&
          !strcmp(description.inputs[i].name, description.results[r].name))
        model.inputOfResult[r] = i;
  }
}

/// A model that holds the description, if that is of use.
static gatefold_status begin(const gatefold_description *description,
                             gatefold_model **model) {
  if (model)
    *model = nullptr;
  if (!description || !model)
    return GATEFOLD_INVALID_ARGUMENT;
  gatefold_model *made = allocateZeroed<gatefold_model>(1);
  if (!made)
    return GATEFOLD_OUT_OF_MEMORY;
  made->description = description;
  *model = made;
  // Of another version only the first field has a known place.
  if (description->abi_version != GATEFOLD_ABI_VERSION) {
    made->message.append(
        "the model was compiled for version %d of the interface, this runtime "
        "has version %d: compile it again",
        description->abi_version, GATEFOLD_ABI_VERSION);
    return made->fault = GATEFOLD_VERSION_MISMATCH;
  }
  if (!checkDescription(*description, /*isForCpu=*/true, made->message))
    return made->fault = GATEFOLD_INVALID_ARGUMENT;
  return GATEFOLD_OK;
}

/// Makes what a model of its description needs.
static gatefold_status finish(gatefold_model **model) {
  gatefold_model *made = *model;
  const gatefold_description *description = made->description;
  made->sizes = allocateZeroed<int64_t>(description->size_count);
  made->parameters = allocateZeroed<const void *>(description->parameter_count);
  made->prepared = allocateZeroed<void *>(description->prepared_count);
  made->inputOfResult = allocateZeroed<int64_t>(description->result_count);
  int64_t *symbols = allocateZeroed<int64_t>(description->symbol_count);
  if (!made->sizes || !made->parameters || !made->prepared ||
      !made->inputOfResult || !symbols) {
    free(symbols);
    gatefold_destroy(made);
    *model = nullptr;
    return GATEFOLD_OUT_OF_MEMORY;
  }
  description->sizes(symbols, made->sizes);
  free(symbols);
  pairStates(*made);
  return GATEFOLD_OK;
}

gatefold_status gatefold_create(const gatefold_description *description,
                                gatefold_model **model) {
  if (gatefold_status status = begin(description, model))
    return status;
  return finish(model);
}

gatefold_status gatefold_create_cuda(const gatefold_description *description,
                                     int32_t device, gatefold_model **model) {
  if (gatefold_status status = begin(description, model))
    return status;
  gatefold_model *made = *model;
  auto *opened = allocateZeroed<cuda::Device>(1);
  if (!opened) {
    gatefold_destroy(made);
    *model = nullptr;
    return GATEFOLD_OUT_OF_MEMORY;
  }
  if (gatefold_status status =
          opened->open(*description, device, made->message)) {
    opened->close();
    free(opened);
    return made->fault = status;
  }
  made->device = opened;
  made->description = opened->variant->program;
  return finish(model);
}

const char *gatefold_device(const gatefold_model *model) {
  return model && model->device ? model->device->text : "CPU";
}

void gatefold_destroy(gatefold_model *model) {
  if (!model)
    return;
  cuda::closeDevice(*model);
  free(model->sizes);
  free(model->parameters);
  free(model->prepared);
  free(model->weights);
  free(model->inputOfResult);
  free(model);
}

const char *gatefold_message(const gatefold_model *model) {
  return model ? model->message.text()
               : "there is no model: gatefold_create was given a null, or "
                 "memory ran out";
}
