// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finish.cpp - the stream of a context, and how its last run ended.

#include "runtime/Call.h"
#include "runtime/Checks.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/Launches.h"

#include <string.h>

using namespace gatefold::runtime;
using namespace gatefold::runtime::cuda;

gatefold_status gatefold_context_stream(gatefold_context *context,
                                        void *stream) {
  if (!context)
    return GATEFOLD_INVALID_ARGUMENT;
  context->message.clear();
  if (!context->gpu) {
    context->message.append("the model is one for the CPU: it has no streams");
    return GATEFOLD_INVALID_ARGUMENT;
  }
  context->gpu->stream = (Stream)stream;
  return GATEFOLD_OK;
}

/// Says which value the GPU found.
static bool appendFindings(gatefold_context &context, const char *findings) {
  const Launches &launches = *context.gpu;
  for (int64_t c = 0; c < launches.checkCount; ++c) {
    Finding finding;
    memcpy(&finding, findings + (size_t)c * sizeof(Finding), sizeof(finding));
    if (!finding.isBad)
      continue;
    const ValueCheck &check = launches.checks[c];
    const gatefold_tensor &input =
        context.model->description->inputs[check.input];
    appendBadValue(context.message, {Kind::Input, input}, check.shape,
                   finding.place, finding.value, check.last);
    return true;
  }
  return false;
}

gatefold_status gatefold_context_finish(gatefold_context *context) {
  if (!context)
    return GATEFOLD_INVALID_ARGUMENT;
  context->message.clear();
  if (!context->gpu)
    return GATEFOLD_OK;
  Launches &launches = *context->gpu;
  const Device &device = *context->model->device;
  const Driver &driver = device.driver;
  CurrentContext current(driver, device.context);
  Result result = current.get();
  if (result == Success && launches.control)
    result =
        driver.copyOutLater(launches.found, launches.control,
                            (size_t)controlBytes(*context), launches.stream);
  if (result == Success)
    result = driver.synchronise(launches.stream);
  if (gatefold_status status =
          driver.check(context->message, result, "finish the run"))
    return status;
  if (!launches.control)
    return GATEFOLD_OK;
  int32_t words[GATEFOLD_TEAM_WORDS];
  memcpy(words, launches.found, sizeof(words));
  int32_t error = words[GATEFOLD_TEAM_STATUS];
  if (error == GATEFOLD_RUN_BAD_VALUE &&
      appendFindings(*context, (const char *)launches.found + sizeof(words)))
    return GATEFOLD_BAD_DATA;
  return statusOf(*context->model->description, error, context->message);
}
