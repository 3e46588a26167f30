// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context.cpp - making and freeing contexts.

#include "runtime/Context.h"
#include "runtime/Call.h"
#include "runtime/cuda/Gpu.h"

using namespace gatefold::runtime;

static size_t totalRank(const gatefold_tensor *tensors, int64_t count) {
  size_t total = 0;
  for (int64_t i = 0; i < count; ++i)
    total += (size_t)tensors[i].rank;
  return total;
}

gatefold_status gatefold_context_create(const gatefold_model *model,
                                        gatefold_context **context) {
  if (context)
    *context = nullptr;
  if (!model || !context)
    return GATEFOLD_INVALID_ARGUMENT;
  if (model->fault != GATEFOLD_OK)
    return model->fault;
  const gatefold_description &description = *model->description;
  gatefold_context *made = allocateZeroed<gatefold_context>(1);
  if (!made)
    return GATEFOLD_OUT_OF_MEMORY;

  size_t constantCount =
      (size_t)description.parameter_count + (size_t)description.prepared_count;
  size_t argumentCount =
      (size_t)description.input_count + (size_t)description.result_count;
  size_t argumentRank =
      totalRank(description.inputs, description.input_count) +
      totalRank(description.results, description.result_count);
  size_t words =
      descriptorWords(description.parameters, description.parameter_count) +
      descriptorWords(description.prepared, description.prepared_count) +
      descriptorWords(description.inputs, description.input_count) +
      descriptorWords(description.results, description.result_count);
  made->model = model;
  made->symbols = allocateZeroed<int64_t>(description.symbol_count);
  made->origins = allocateZeroed<Origin>(description.symbol_count);
  made->sizes = allocateZeroed<int64_t>(description.size_count);
  made->arguments = allocateZeroed<Argument>(argumentCount);
  made->strides = allocateZeroed<int64_t>(argumentRank);
  made->pointers = allocateZeroed<void *>(constantCount + argumentCount);
  made->descriptors = allocateZeroed<int64_t>(words);
  if (!made->symbols || !made->origins || !made->sizes || !made->arguments ||
      !made->strides || !made->pointers || !made->descriptors ||
      (model->device && !cuda::addLaunches(*made))) {
    gatefold_context_destroy(made);
    return GATEFOLD_OUT_OF_MEMORY;
  }
  *context = made;
  return GATEFOLD_OK;
}

gatefold_status gatefold_context_threads(gatefold_context *context,
                                         size_t threads) {
  if (!context)
    return GATEFOLD_INVALID_ARGUMENT;
  context->message.clear();
  if (threads > gatefold_team_maximum) {
    context->message.append("%llu threads are more than %d",
                            (unsigned long long)threads,
                            (int)gatefold_team_maximum);
    return GATEFOLD_INVALID_ARGUMENT;
  }
  // A GPU's blocks are not the caller's to count.
  if (context->gpu)
    return GATEFOLD_OK;
  int64_t ranks = threads ? (int64_t)threads : gatefold_team_cores();
  if (ranks > gatefold_team_maximum)
    ranks = gatefold_team_maximum;
  // Also where there are as many: after a fork these are others.
  gatefold_team_destroy(context->team);
  context->team = nullptr;
  if (ranks < 2)
    return GATEFOLD_OK;
  context->team = gatefold_team_create(ranks);
  if (context->team)
    return GATEFOLD_OK;
  context->message.append("cannot start %lld threads", (long long)(ranks - 1));
  return GATEFOLD_OUT_OF_MEMORY;
}

void gatefold_context_destroy(gatefold_context *context) {
  if (!context)
    return;
  gatefold_team_destroy(context->team);
  cuda::removeLaunches(*context);
  free(context->symbols);
  free(context->origins);
  free(context->sizes);
  free(context->arguments);
  free(context->strides);
  free(context->pointers);
  free(context->descriptors);
  free(context->workspace);
  free(context);
}

const char *gatefold_context_message(const gatefold_context *context) {
  return context ? context->message.text()
                 : "there is no context: gatefold_context_create was given a "
                   "null or a model that was not made, or memory ran out";
}
