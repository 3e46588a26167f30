// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments.cpp - the tensors of a run: checks, and places in the workspace.

#include "runtime/Arguments.h"
#include "runtime/Call.h"
#include "runtime/Checks.h"
#include "runtime/Element.h"
#include "runtime/Shapes.h"
#include "runtime/cuda/Gpu.h"

namespace gatefold::runtime {

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Whether compiled code can work on a tensor where it is: it loads whole
/// elements, and those of the last dimension side by side.
static bool isUsable(const View &view) {
  return view.isAligned() && view.hasContiguousRows();
}

void makeArguments(gatefold_context &context, const DLTensor *const *inputs,
                   const DLTensor *const *results) {
  const gatefold_description &description = *context.model->description;
  int64_t *strides = context.strides;
  Argument *argument = context.arguments;
  for (int64_t i = 0; i < description.input_count; ++i, ++argument) {
    const gatefold_tensor &input = description.inputs[i];
    *argument = {};
    argument->view = viewOf(*inputs[i], elementBytes(input.element), strides);
    argument->isOfHost = isHostMemory(*inputs[i]);
    // Until a state that its result overwrites is read for the last time it
    // may be some time.
    argument->isCopied = !input.in_place && !isUsable(argument->view);
    argument->hasRoom =
        argument->isCopied || (input.role == GATEFOLD_STATE && !input.in_place);
    strides += input.rank;
  }
  for (int64_t r = 0; results && r < description.result_count; ++r) {
    const gatefold_tensor &result = description.results[r];
    *argument = {};
    argument->view = viewOf(*results[r], elementBytes(result.element), strides);
    argument->isCopied = argument->hasRoom = !isUsable(argument->view);
    strides += result.rank;
    ++argument;
  }
}

/// The ranks of a run with these open dimensions: threads, or blocks.
static int64_t usefulRanks(const gatefold_context &context) {
  const gatefold_description &description = *context.model->description;
  int64_t ranks = context.gpu ? cuda::residentBlocks(*context.model)
                              : gatefold_team_ranks(context.team);
  if (ranks < 2 || !description.useful_ranks)
    return 1;
  int64_t useful = description.useful_ranks(context.symbols);
  return useful < 1 ? 1 : useful < ranks ? useful : ranks;
}

gatefold_status layOut(gatefold_context &context, int64_t argumentCount,
                       size_t &bytes) {
  const gatefold_description &description = *context.model->description;
  context.ranks = usefulRanks(context);
  int64_t arena = description.arena_bytes(context.symbols, context.ranks);
  size_t total = 0;
  bool fits = !context.gpu || addAligned(total, cuda::controlBytes(context));
  context.arenaPlace = total;
  fits &= arena >= 0 && addAligned(total, arena);
  for (int64_t a = 0; fits && a < argumentCount; ++a) {
    Argument &argument = context.arguments[a];
    argument.copyPlace = total;
    if (argument.hasRoom)
      fits = addAligned(total, argument.view.packedBytes());
  }
  if (!fits || __builtin_add_overflow(total, alignment - 1, &bytes) ||
      bytes > (size_t)INT64_MAX) {
    context.message.append(
        "these sizes need a workspace larger than can be addressed");
    return GATEFOLD_OUT_OF_MEMORY;
  }
  return GATEFOLD_OK;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool checkTensors(gatefold_context &context, const DLTensor *const *inputs,
                  const DLTensor *const *results) {
  const gatefold_description &description = *context.model->description;
  Memory memory = context.gpu ? cuda::memoryOfGpu(*context.model) : Memory{};
  if (!resolveShapes(context, inputs))
    return false;
  for (int64_t i = 0; i < description.input_count; ++i)
    if (!checkData(context.message, {Kind::Input, description.inputs[i]},
                   *inputs[i], memory))
      return false;
  if (!results && description.result_count > 0) {
    context.message.append("the array of results is null");
    return false;
  }
  for (int64_t r = 0; r < description.result_count; ++r)
    if (!checkResultShape(context, r, results[r]) ||
        !checkData(context.message, {Kind::Result, description.results[r]},
                   *results[r], memory))
      return false;
  return true;
}

static void appendOverlap(Message &message, const gatefold_tensor &result,
                          const char *other, const char *name) {
  appendSubject(message, {Kind::Result, result});
  message.append(" overlaps %s", other);
  if (name)
    message.appendName(name);
}

bool checkOverlaps(gatefold_context &context) {
  const gatefold_description &description = *context.model->description;
  Argument *inputs = context.arguments;
  Argument *results = inputs + description.input_count;
  for (int64_t r = 0; r < description.result_count; ++r) {
    const View &view = results[r].view;
    const gatefold_tensor &result = description.results[r];
    if (mayOverlapItself(view)) {
      appendOverlap(context.message, result,
                    "itself: two of its elements share memory", nullptr);
      return false;
    }
    for (int64_t i = 0; i < description.input_count; ++i) {
      if (!mayOverlap(view, inputs[i].view))
        continue;
      if (context.model->inputOfResult[r] == i &&
          isSameMemory(view, inputs[i].view)) {
        inputs[i].isCopied = !result.in_place;
        continue;
      }
      appendOverlap(context.message, result, "the input ",
                    description.inputs[i].name);
      return false;
    }
    for (int64_t other = 0; other < r; ++other)
      if (mayOverlap(view, results[other].view)) {
        appendOverlap(context.message, result, "the result ",
                      description.results[other].name);
        return false;
      }
  }
  return true;
}

int64_t lastValue(const gatefold_context &context,
                  const gatefold_value_check &check) {
  int64_t bound = context.sizes[check.bound_size];
  return check.inclusive ? bound : bound - 1;
}

bool checkAllValues(gatefold_context &context) {
  const gatefold_description &description = *context.model->description;
  for (int64_t c = 0; c < description.value_check_count; ++c) {
    const gatefold_value_check &check = description.value_checks[c];
    const Argument &argument = context.arguments[check.input];
    if (argument.isOfHost &&
        !checkValues(context.message,
                     {Kind::Input, description.inputs[check.input]},
                     argument.view, lastValue(context, check)))
      return false;
  }
  for (int64_t i = 0; i < description.input_count; ++i)
    if (isBool(description.inputs[i].element) &&
        context.arguments[i].isOfHost &&
        !checkBooleans(context.message, {Kind::Input, description.inputs[i]},
                       context.arguments[i].view))
      return false;
  return true;
}

bool checkWorkspace(gatefold_context &context, void *workspace, size_t bytes,
                    size_t needed) {
  if (bytes < needed) {
    context.message.append("the workspace has %llu bytes, this run needs %llu",
                           (unsigned long long)bytes,
                           (unsigned long long)needed);
    return false;
  }
  const gatefold_description &description = *context.model->description;
  int64_t size = (int64_t)needed, stride = 1;
  View all = {(char *)workspace, 1, 1, &size, &stride};
  for (int64_t a = 0; a < description.input_count + description.result_count;
       ++a) {
    if (!mayOverlap(all, context.arguments[a].view))
      continue;
    bool isInput = a < description.input_count;
    context.message.append("the workspace overlaps the %s ",
                           isInput ? "input" : "result");
    context.message.appendName(
        isInput ? description.inputs[a].name
                : description.results[a - description.input_count].name);
    return false;
  }
  return true;
}

const Argument *stateToMove(const gatefold_context &context, int64_t result) {
  const gatefold_model &model = *context.model;
  if (!model.description->results[result].in_place)
    return nullptr;
  const Argument &state = context.arguments[model.inputOfResult[result]];
  const Argument &place =
      context.arguments[model.description->input_count + result];
  bool isThere = !place.isCopied && isSameMemory(place.view, state.view);
  return isThere || state.view.isEmpty() ? nullptr : &state;
}

View copyOf(const Argument &argument, char *base, int64_t *strides) {
  const View &view = argument.view;
  packedStrides(view.shape, view.rank, strides);
  return {base + argument.copyPlace, view.rank, view.elementBytes, view.shape,
          strides};
}

void describeArguments(gatefold_context &context, char *base) {
  const gatefold_model &model = *context.model;
  const gatefold_description &description = *model.description;
  int64_t *descriptor = context.descriptors;
  void **pointer = context.pointers;
  for (int64_t p = 0; p < description.parameter_count; ++p) {
    const gatefold_tensor &parameter = description.parameters[p];
    *pointer++ = describePacked(descriptor, model.parameters[p], parameter.rank,
                                model.sizes + parameter.first_size);
  }
  for (int64_t p = 0; p < description.prepared_count; ++p) {
    const gatefold_tensor &prepared = description.prepared[p];
    *pointer++ = describePacked(descriptor, model.prepared[p], prepared.rank,
                                model.sizes + prepared.first_size);
  }
  int64_t packed[maximalRank];
  for (int64_t a = 0; a < description.input_count + description.result_count;
       ++a) {
    const Argument &argument = context.arguments[a];
    const View view =
        argument.isCopied ? copyOf(argument, base, packed) : argument.view;
    *pointer++ =
        describe(descriptor, view.data, view.rank, view.shape, view.strides);
  }
}

} // namespace gatefold::runtime
