// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlaceWeights.cpp - weights on a GPU, and what its kernel makes from them.

#include "runtime/Call.h"
#include "runtime/Checks.h"
#include "runtime/Element.h"
#include "runtime/Prepare.h"
#include "runtime/cuda/Launches.h"

using namespace gatefold::runtime;
using namespace gatefold::runtime::cuda;

/// Copies a parameter to its place; one that the host has in pieces goes by way
/// of one piece.
gatefold_status Preparation::copyToGpu(int64_t parameter) {
  const Driver &driver = model.device->driver;
  const gatefold_tensor &expected = description.parameters[parameter];
  auto to = (Address)model.parameters[parameter];
  int64_t bytes = 0;
  checkedBytes(shapeOf(parameter), expected.rank,
               elementBytes(expected.element), bytes);
  if (bytes == 0)
    return GATEFOLD_OK;
  const void *source = nullptr;
  Result result = Success;
  if (weightOf[parameter] != none) {
    const DLTensor &tensor = *tensors[weightOf[parameter]];
    int64_t strides[maximalRank];
    View view = viewOf(tensor, elementBytes(expected.element), strides);
    if (!isHostMemory(tensor)) {
      result = driver.copyLater(to, (Address)view.data, (size_t)bytes, nullptr);
      return driver.check(message, result, "copy the weights");
    }
    source = isContiguous(view) ? view.data : nullptr;
  } else if (hasUsableEmbedded(parameter)) {
    source = description.embedded[parameter];
  }
  if (source) {
    result = driver.copyIn(to, source, (size_t)bytes);
  } else {
    auto *piece = (char *)malloc((size_t)bytes);
    if (!piece)
      return reportNoMemory((size_t)bytes);
    copyIn(parameter, piece);
    result = driver.copyIn(to, piece, (size_t)bytes);
    free(piece);
  }
  return driver.check(message, result, "copy the weights to the GPU");
}

/// Launches the kernel and waits. The team's memory stands behind the arena.
gatefold_status Preparation::computeOnGpu(char *arena) {
  const Device &device = *model.device;
  const Driver &driver = device.driver;
  const gatefold_kernel &kernel = device.variant->prepare;
  int64_t arenaBytes = description.prepare_arena_bytes();
  size_t teamPlace = 0;
  addAligned(teamPlace, arenaBytes);
  Address team = (Address)arena + teamPlace;
  auto *words = allocateZeroed<int64_t>((size_t)kernel.word_count);
  auto **parameters = allocateZeroed<void *>((size_t)kernel.word_count);
  int32_t found[GATEFOLD_TEAM_WORDS] = {};
  gatefold_status status = GATEFOLD_OK;
  if (!words || !parameters) {
    status = reportNoMemory(0);
  } else {
    describeConstants();
    fillParameters(kernel, pointers, (Address)arena, arenaBytes, team, words,
                   parameters);
    Result result = driver.fillLater(team, 0, GATEFOLD_TEAM_WORDS, nullptr);
    if (result == Success)
      result = driver.launchTogether(
          device.prepare, (uint32_t)device.residentPrepareBlocks, 1, 1,
          (uint32_t)kernel.threads, 1, 1, (uint32_t)kernel.shared_bytes,
          nullptr, parameters);
    if (result == Success)
      result = driver.copyOut(found, team, sizeof(found));
    status = driver.check(message, result, "prepare the weights");
  }
  free(words);
  free(parameters);
  return status ? status
                : statusOf(description, found[GATEFOLD_TEAM_STATUS], message);
}

gatefold_status Preparation::placeOnGpu() {
  const Device &device = *model.device;
  size_t kept, lost;
  if (!findSizes(kept, lost) || !addAligned(lost, GATEFOLD_TEAM_WORDS * 4))
    return reportNoMemory(0);
  if (gatefold_status status = allocateDescriptors())
    return status;
  Address weights = 0, temporary = 0;
  gatefold_status status =
      device.allocate(message, kept, weights, "the weights");
  if (status == GATEFOLD_OK)
    status = device.allocate(message, lost, temporary,
                             "what the weights are made from");
  if (status == GATEFOLD_OK) {
    CurrentContext current(device.driver, device.context);
    status = device.driver.check(message, current.get(), "use the GPU");
    char *arena = aligned((void *)temporary);
    distribute(aligned((void *)weights), arena);
    for (int64_t p = 0; p < description.parameter_count; ++p)
      if (status == GATEFOLD_OK)
        status = copyToGpu(p);
    if (status == GATEFOLD_OK && device.prepare)
      status = computeOnGpu(arena);
    // Copies from the GPU's memory are waited for also where there is nothing
    // to compute.
    if (status == GATEFOLD_OK)
      status = device.driver.check(message, device.driver.synchronise(nullptr),
                                   "copy the weights");
  }
  for (int64_t p = 0; p < description.parameter_count; ++p)
    if (description.parameters[p].prepare_only)
      model.parameters[p] = nullptr;
  device.free(temporary);
  if (status != GATEFOLD_OK) {
    device.free(weights);
    return status;
  }
  model.weights = (void *)weights;
  return GATEFOLD_OK;
}
