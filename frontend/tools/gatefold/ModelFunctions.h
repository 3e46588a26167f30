// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ModelFunctions.h - What a compiled model offers ----------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_MODELFUNCTIONS_H
#define FRONTEND_TOOLS_GATEFOLD_MODELFUNCTIONS_H

#include "runtime/Runtime.h"

namespace gatefold::tool {

/// The functions of a compiled model, wherever they come from.
struct ModelFunctions {
  decltype(&gatefold_destroy) destroy = nullptr;
  decltype(&gatefold_message) message = nullptr;
  decltype(&gatefold_prepare) prepare = nullptr;
  decltype(&gatefold_context_create) contextCreate = nullptr;
  decltype(&gatefold_context_destroy) contextDestroy = nullptr;
  decltype(&gatefold_context_message) contextMessage = nullptr;
  decltype(&gatefold_context_threads) contextThreads = nullptr;
  decltype(&gatefold_result_shapes) resultShapes = nullptr;
  decltype(&gatefold_workspace_size) workspaceSize = nullptr;
  decltype(&gatefold_initial_state) initialState = nullptr;
  decltype(&gatefold_run) run = nullptr;
  // Null in a library without code for GPUs.
  decltype(&gatefold_device) device = nullptr;
  decltype(&gatefold_context_reserve) contextReserve = nullptr;
  decltype(&gatefold_context_finish) contextFinish = nullptr;
  decltype(&gatefold_allocate) allocate = nullptr;
  decltype(&gatefold_free) free = nullptr;
  decltype(&gatefold_copy) copy = nullptr;
};

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_MODELFUNCTIONS_H
