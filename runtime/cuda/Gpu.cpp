// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gpu.cpp - models and contexts on a GPU.

#include "runtime/cuda/Gpu.h"
#include "runtime/Call.h"
#include "runtime/Element.h"
#include "runtime/cuda/Launches.h"

#include <stdio.h>
#include <string.h>

namespace gatefold::runtime::cuda {

void closeDevice(gatefold_model &model) {
  Device *device = model.device;
  if (!device)
    return;
  device->free((Address)model.weights);
  model.weights = nullptr;
  device->close();
  ::free(device);
  model.device = nullptr;
}

Memory memoryOfGpu(const gatefold_model &model) {
  return {/*isHost=*/false, /*isGpu=*/true, model.device->ordinal};
}

int64_t residentBlocks(const gatefold_model &model) {
  return model.device->residentBlocks;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

int64_t controlBytes(const gatefold_context &context) {
  return GATEFOLD_TEAM_WORDS * (int64_t)sizeof(int32_t) +
         context.gpu->checkCount * (int64_t)sizeof(Finding);
}

bool addLaunches(gatefold_context &context) {
  Launches *made = allocateZeroed<Launches>(1);
  context.gpu = made;
  if (!made)
    return false;
  const gatefold_model &model = *context.model;
  size_t words = (size_t)model.device->variant->run.word_count;
  made->checkCount = countChecks(*model.description);
  made->checks = allocateZeroed<ValueCheck>((size_t)made->checkCount);
  made->words = allocateZeroed<int64_t>(words);
  made->parameters = allocateZeroed<void *>(words);
  made->found = allocateZeroed<char>((size_t)controlBytes(context));
  return made->checks && made->words && made->parameters && made->found;
}

void removeLaunches(gatefold_context &context) {
  Launches *launches = context.gpu;
  if (!launches)
    return;
  context.model->device->free((Address)context.workspace);
  context.workspace = nullptr;
  ::free(launches->checks);
  ::free(launches->words);
  ::free(launches->parameters);
  ::free(launches->found);
  ::free(launches);
  context.gpu = nullptr;
}

gatefold_status grow(gatefold_context &context, size_t needed) {
  if (context.workspaceBytes >= needed)
    return GATEFOLD_OK;
  const Device &device = *context.model->device;
  // The driver waits for work that uses it.
  device.free((Address)context.workspace);
  context.workspace = nullptr;
  context.workspaceBytes = 0;
  context.gpu->control = 0;
  Address address = 0;
  gatefold_status status =
      device.allocate(context.message, needed, address, "a workspace");
  if (status != GATEFOLD_OK)
    return status;
  context.workspace = (void *)address;
  context.workspaceBytes = needed;
  return GATEFOLD_OK;
}

gatefold_status checkOwnWorkspace(gatefold_context &context, size_t needed) {
  if (context.workspaceBytes >= needed)
    return GATEFOLD_OK;
  context.message.append("the context has a workspace of %llu bytes, this run "
                         "needs %llu: reserve it before",
                         (unsigned long long)context.workspaceBytes,
                         (unsigned long long)needed);
  return GATEFOLD_INVALID_ARGUMENT;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The result of a copy on a stream, which is waited for.
static Result copyAndWait(const Device &device, Stream stream,
                          const DLTensor &toTensor, const View &to,
                          const DLTensor &fromTensor, const View &from) {
  const Driver &driver = device.driver;
  CurrentContext current(driver, device.context);
  if (current.get() != Success)
    return current.get();
  size_t bytes = (size_t)to.packedBytes();
  Result result;
  if (isHostMemory(fromTensor))
    result = driver.copyInLater((Address)to.data, from.data, bytes, stream);
  else if (isHostMemory(toTensor))
    result = driver.copyOutLater(to.data, (Address)from.data, bytes, stream);
  else
    result =
        driver.copyLater((Address)to.data, (Address)from.data, bytes, stream);
  return result == Success ? driver.synchronise(stream) : result;
}

} // namespace gatefold::runtime::cuda

using namespace gatefold::runtime;

/// What is wrong with the tensors of a copy, or null.
static const char *faultOfCopy(const gatefold_model &model, const DLTensor *to,
                               const DLTensor *from) {
  if (!to || !from)
    return "a tensor is null";
  if (to->ndim != from->ndim || to->ndim < 0 || to->ndim > maximalRank ||
      (to->ndim > 0 && (!to->shape || !from->shape)) ||
      memcmp(&to->dtype, &from->dtype, sizeof(DLDataType)))
    return "the tensors are not of one type and shape";
  for (int32_t d = 0; d < to->ndim; ++d)
    if (to->shape[d] != from->shape[d] || to->shape[d] < 0)
      return "the tensors are not of one type and shape";
  int64_t bytes;
  if (to->dtype.lanes != 1 || !isSupported({to->dtype.code, to->dtype.bits}) ||
      !checkedBytes(to->shape, to->ndim, to->dtype.bits / 8, bytes))
    return "the tensors are of no type or size that a model has";
  const DLTensor *const both[] = {to, from};
  for (const DLTensor *tensor : both) {
    int32_t type = (int32_t)tensor->device.device_type;
    bool isOfGpu =
        model.device && ((type == kDLCUDA &&
                          tensor->device.device_id == model.device->ordinal) ||
                         type == kDLCUDAManaged);
    if (!isOfGpu && !isHostMemory(*tensor))
      return "a tensor is neither on the host nor on the model's device";
    int64_t strides[maximalRank];
    View view = viewOf(*tensor, tensor->dtype.bits / 8, strides);
    if (!isContiguous(view))
      return "a tensor is not contiguous";
    if (!view.data && !view.isEmpty())
      return "the data of a tensor are null";
  }
  return nullptr;
}

gatefold_status gatefold_copy(gatefold_context *context, DLTensor *to,
                              const DLTensor *from) {
  if (!context)
    return GATEFOLD_INVALID_ARGUMENT;
  context->message.clear();
  const gatefold_model &model = *context->model;
  if (const char *fault = faultOfCopy(model, to, from)) {
    context->message.append("cannot copy: %s", fault);
    return GATEFOLD_INVALID_ARGUMENT;
  }
  int64_t toStrides[maximalRank], fromStrides[maximalRank];
  View toView = viewOf(*to, to->dtype.bits / 8, toStrides);
  View fromView = viewOf(*from, from->dtype.bits / 8, fromStrides);
  if (toView.isEmpty())
    return GATEFOLD_OK;
  if (isHostMemory(*to) && isHostMemory(*from)) {
    memmove(toView.data, fromView.data, (size_t)toView.packedBytes());
    return GATEFOLD_OK;
  }
  const cuda::Device &device = *model.device;
  return device.driver.check(context->message,
                             cuda::copyAndWait(device, context->gpu->stream,
                                               *to, toView, *from, fromView),
                             "copy");
}

gatefold_status gatefold_allocate(gatefold_model *model, size_t bytes,
                                  void **memory) {
  if (memory)
    *memory = nullptr;
  if (!model || !memory)
    return GATEFOLD_INVALID_ARGUMENT;
  if (model->fault != GATEFOLD_OK)
    return model->fault;
  model->message.clear();
  if (model->device) {
    cuda::Address address = 0;
    gatefold_status status =
        model->device->allocate(model->message, bytes, address, "a tensor");
    *memory = (void *)address;
    return status;
  }
  *memory = malloc(bytes ? bytes : 1);
  if (*memory)
    return GATEFOLD_OK;
  model->message.append("no memory for %llu bytes", (unsigned long long)bytes);
  return GATEFOLD_OUT_OF_MEMORY;
}

void gatefold_free(gatefold_model *model, void *memory) {
  if (!model)
    return;
  if (model->device)
    model->device->free((cuda::Address)memory);
  else
    free(memory);
}
