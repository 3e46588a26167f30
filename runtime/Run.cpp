// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Run.cpp - one run: the workspace, the call, and what is copied around it.

#include "runtime/Arguments.h"
#include "runtime/Call.h"
#include "runtime/FlushToZero.h"
#include "runtime/Shapes.h"
#include "runtime/cuda/Gpu.h"

using namespace gatefold::runtime;

//===----------------------------------------------------------------------===//
// The workspace
//===----------------------------------------------------------------------===//

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

/// Lets the context's own workspace grow.
static gatefold_status grow(gatefold_context &context, size_t needed) {
  if (context.workspaceBytes >= needed)
    return GATEFOLD_OK;
  free(context.workspace);
  context.workspaceBytes = 0;
  context.workspace = malloc(needed);
  if (!context.workspace) {
    context.message.append("no memory for a workspace of %llu bytes",
                           (unsigned long long)needed);
    return GATEFOLD_OUT_OF_MEMORY;
  }
  context.workspaceBytes = needed;
  return GATEFOLD_OK;
}

gatefold_status gatefold_context_reserve(gatefold_context *context,
                                         const DLTensor *const *inputs) {
  size_t needed;
  if (gatefold_status status =
          gatefold_workspace_size(context, inputs, &needed))
    return status;
  return context->gpu ? cuda::grow(*context, needed) : grow(*context, needed);
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

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
  const gatefold_description &description = *context.model->description;
  int64_t packed[maximalRank];
  int64_t argumentCount = description.input_count + description.result_count;
  for (int64_t a = 0; a < description.input_count; ++a)
    if (context.arguments[a].isCopied)
      copy(copyOf(context.arguments[a], base, packed),
           context.arguments[a].view);
  for (int64_t r = 0; r < description.result_count; ++r) {
    const Argument *state = stateToMove(context, r);
    const Argument &place = context.arguments[description.input_count + r];
    if (state)
      copy(place.isCopied ? copyOf(place, base, packed) : place.view,
           state->view);
  }
  describeArguments(context, base);
  Job job = {description, context.pointers, base + context.arenaPlace};
  int32_t error;
  if (context.ranks > 1) {
    error = gatefold_team_run(context.team, context.ranks, runRank, &job);
  } else {
    FlushToZero mode;
    error = runRank(&job, 0, 1, nullptr);
  }
  if (gatefold_status status = statusOf(description, error, context.message))
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
  if (!checkOverlaps(*context) ||
      (context->gpu && !cuda::checkArguments(*context)))
    return GATEFOLD_INVALID_ARGUMENT;
  size_t needed;
  gatefold_status status = layOut(
      *context, description.input_count + description.result_count, needed);
  if (status != GATEFOLD_OK)
    return status;
  if (workspace && !checkWorkspace(*context, workspace, bytes, needed))
    return GATEFOLD_INVALID_ARGUMENT;
  if (!workspace) {
    status = context->gpu ? cuda::checkOwnWorkspace(*context, needed)
                          : grow(*context, needed);
    if (status != GATEFOLD_OK)
      return status;
    workspace = context->workspace;
  }
  if (!checkAllValues(*context))
    return GATEFOLD_BAD_DATA;
  return context->gpu ? cuda::run(*context, aligned(workspace))
                      : call(*context, aligned(workspace));
}
