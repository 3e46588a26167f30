// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Run.cpp - one run: all checks, the workspace, the call, and what is copied
// around it.

#include "runtime/Call.h"
#include "runtime/Checks.h"
#include "runtime/Element.h"
#include "runtime/FlushToZero.h"
#include "runtime/Shapes.h"

#include <string.h>

using namespace gatefold::runtime;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Whether compiled code can work on a tensor where it is: it loads whole
/// elements, and those of the last dimension side by side.
static bool isUsable(const View &view) {
  return view.isAligned() && view.hasContiguousRows();
}

/// Makes the views of the inputs, and of the results unless these are null.
static void makeArguments(gatefold_context &context,
                          const DLTensor *const *inputs,
                          const DLTensor *const *results) {
  const gatefold_description &description = *context.model->description;
  int64_t *strides = context.strides;
  Argument *argument = context.arguments;
  for (int64_t i = 0; i < description.input_count; ++i, ++argument) {
    const gatefold_tensor &input = description.inputs[i];
    *argument = {};
    argument->view = viewOf(*inputs[i], elementBytes(input.element), strides);
    // Until a state that its result overwrites is read for the last time it
    // may be some time.
    argument->isCopied = !isUsable(argument->view);
    argument->hasRoom = argument->isCopied || input.role == GATEFOLD_STATE;
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

/// The ranks of a run with these open dimensions.
static int64_t usefulRanks(const gatefold_context &context) {
  const gatefold_description &description = *context.model->description;
  int64_t ranks = gatefold_team_ranks(context.team);
  if (ranks < 2 || !description.useful_ranks)
    return 1;
  int64_t useful = description.useful_ranks(context.symbols);
  return useful < 1 ? 1 : useful < ranks ? useful : ranks;
}

/// Places of the copies behind the arena, and the bytes of both with slack for
/// the workspace's own alignment.
static gatefold_status layOut(gatefold_context &context, int64_t argumentCount,
                              size_t &bytes) {
  const gatefold_description &description = *context.model->description;
  context.ranks = usefulRanks(context);
  int64_t arena = description.arena_bytes(context.symbols, context.ranks);
  size_t total = 0;
  bool fits = arena >= 0 && addAligned(total, arena);
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

gatefold_status gatefold_workspace_size(gatefold_context *context,
                                        const DLTensor *const *inputs,
                                        size_t *bytes) {
  if (!context)
    return GATEFOLD_INVALID_ARGUMENT;
  context->message.clear();
  if (!bytes) {
    context->message.append("the place for the size of the workspace is null");
    return GATEFOLD_INVALID_ARGUMENT;
  }
  if (!resolveShapes(*context, inputs))
    return GATEFOLD_INVALID_ARGUMENT;
  makeArguments(*context, inputs, nullptr);
  return layOut(*context, context->model->description->input_count, *bytes);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool checkTensors(gatefold_context &context,
                         const DLTensor *const *inputs,
                         const DLTensor *const *results) {
  const gatefold_description &description = *context.model->description;
  if (!resolveShapes(context, inputs))
    return false;
  for (int64_t i = 0; i < description.input_count; ++i)
    if (!checkData(context.message, {Kind::Input, description.inputs[i]},
                   *inputs[i]))
      return false;
  if (!results && description.result_count > 0) {
    context.message.append("the array of results is null");
    return false;
  }
  for (int64_t r = 0; r < description.result_count; ++r)
    if (!checkResultShape(context, r, results[r]) ||
        !checkData(context.message, {Kind::Result, description.results[r]},
                   *results[r]))
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

/// Refuses results that share memory with anything but their own input state,
/// which is marked to be copied first.
static bool checkOverlaps(gatefold_context &context) {
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
        inputs[i].isCopied = true;
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

static bool checkAllValues(gatefold_context &context) {
  const gatefold_description &description = *context.model->description;
  for (int64_t c = 0; c < description.value_check_count; ++c) {
    const gatefold_value_check &check = description.value_checks[c];
    int64_t bound = context.sizes[check.bound_size];
    int64_t last = check.inclusive ? bound : bound - 1;
    if (!checkValues(context.message,
                     {Kind::Input, description.inputs[check.input]},
                     context.arguments[check.input].view, last))
      return false;
  }
  for (int64_t i = 0; i < description.input_count; ++i)
    if (isBool(description.inputs[i].element) &&
        !checkBooleans(context.message, {Kind::Input, description.inputs[i]},
                       context.arguments[i].view))
      return false;
  return true;
}

/// Chooses the caller's workspace, or the context's own and lets it grow.
static gatefold_status chooseWorkspace(gatefold_context &context, size_t needed,
                                       size_t bytes, void *&workspace) {
  if (workspace && bytes < needed) {
    context.message.append("the workspace has %llu bytes, this run needs %llu",
                           (unsigned long long)bytes,
                           (unsigned long long)needed);
    return GATEFOLD_INVALID_ARGUMENT;
  }
  if (workspace) {
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
      return GATEFOLD_INVALID_ARGUMENT;
    }
    return GATEFOLD_OK;
  }
  if (context.workspaceBytes < needed) {
    free(context.workspace);
    context.workspaceBytes = 0;
    context.workspace = malloc(needed);
    if (!context.workspace) {
      context.message.append("no memory for a workspace of %llu bytes",
                             (unsigned long long)needed);
      return GATEFOLD_OUT_OF_MEMORY;
    }
    context.workspaceBytes = needed;
  }
  workspace = context.workspace;
  return GATEFOLD_OK;
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

/// The copy of an argument in the workspace.
static View copyOf(const Argument &argument, char *base, int64_t *strides) {
  const View &view = argument.view;
  packedStrides(view.shape, view.rank, strides);
  return {base + argument.copyPlace, view.rank, view.elementBytes, view.shape,
          strides};
}

/// What each rank of a run calls.
struct Job {
  const gatefold_description &description;
  void *const *arguments;
  void *arena;
};

static int32_t runRank(void *data, int64_t rank, int64_t ranks,
                       gatefold_team *team) {
  const Job &job = *(const Job *)data;
  return job.description.run(job.arguments, job.arena, rank, ranks, team);
}

static gatefold_status call(gatefold_context &context, char *base) {
  const gatefold_model &model = *context.model;
  const gatefold_description &description = *model.description;
  int64_t *descriptor = context.descriptors;
  void **pointer = context.pointers;
  int64_t packed[maximalRank];
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
  int64_t argumentCount = description.input_count + description.result_count;
  for (int64_t a = 0; a < argumentCount; ++a) {
    const Argument &argument = context.arguments[a];
    const View &view = argument.view;
    if (!argument.isCopied) {
      *pointer++ =
          describe(descriptor, view.data, view.rank, view.shape, view.strides);
      continue;
    }
    View copied = copyOf(argument, base, packed);
    if (a < description.input_count)
      copy(copied, view);
    *pointer++ =
        describe(descriptor, copied.data, view.rank, view.shape, packed);
  }

  Job job = {description, context.pointers, base};
  int32_t error;
  if (context.ranks > 1) {
    error = gatefold_team_run(context.team, context.ranks, runRank, &job);
  } else {
    FlushToZero mode;
    error = runRank(&job, 0, 1, nullptr);
  }
  if (gatefold_status status = statusOf(error, context.message))
    return status;
  for (int64_t a = description.input_count; a < argumentCount; ++a)
    if (context.arguments[a].isCopied)
      copy(context.arguments[a].view,
           copyOf(context.arguments[a], base, packed));
  return GATEFOLD_OK;
}

gatefold_status gatefold_run(gatefold_context *context,
                             const DLTensor *const *inputs,
                             DLTensor *const *results, void *workspace,
                             size_t bytes) {
  if (!context)
    return GATEFOLD_INVALID_ARGUMENT;
  context->message.clear();
  if (!context->model->isPrepared) {
    context->message.append("the model has no weights yet: prepare it first");
    return GATEFOLD_NOT_PREPARED;
  }
  const gatefold_description &description = *context->model->description;
  if (!checkTensors(*context, inputs, results))
    return GATEFOLD_INVALID_ARGUMENT;
  makeArguments(*context, inputs, results);
  if (!checkOverlaps(*context))
    return GATEFOLD_INVALID_ARGUMENT;
  size_t needed;
  gatefold_status status = layOut(
      *context, description.input_count + description.result_count, needed);
  if (status == GATEFOLD_OK)
    status = chooseWorkspace(*context, needed, bytes, workspace);
  if (status != GATEFOLD_OK)
    return status;
  if (!checkAllValues(*context))
    return GATEFOLD_BAD_DATA;
  return call(*context, aligned(workspace));
}
