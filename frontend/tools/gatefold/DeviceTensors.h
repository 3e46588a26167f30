// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DeviceTensors.h - Tensors of a run on a GPU --------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_DEVICETENSORS_H
#define FRONTEND_TOOLS_GATEFOLD_DEVICETENSORS_H

#include "frontend/tools/gatefold/ModelFunctions.h"
#include "frontend/tools/gatefold/Tensors.h"
#include <deque>

namespace gatefold::tool {

/// Copies of the host's tensors in the memory of a model's GPU. After a call
/// that does not give GATEFOLD_OK the context, or of `add` the model, has the
/// message.
class DeviceTensors {
public:
  DeviceTensors(const ModelFunctions &functions, gatefold_model *model,
                gatefold_context *context)
      : functions(functions), model(model), context(context) {}
  ~DeviceTensors();
  DeviceTensors(const DeviceTensors &) = delete;
  DeviceTensors &operator=(const DeviceTensors &) = delete;

  /// Room for a tensor of the host; `placed` stays where it is.
  gatefold_status add(HostTensor &host, DLTensor *&placed);
  gatefold_status copyIn(HostTensor &host, DLTensor *placed) {
    return functions.copy(context, placed, host.dl());
  }
  gatefold_status copyOut(HostTensor &host, DLTensor *placed) {
    return functions.copy(context, host.dl(), placed);
  }

private:
  const ModelFunctions &functions;
  gatefold_model *model;
  gatefold_context *context;
  std::deque<DLTensor> tensors;
};

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_DEVICETENSORS_H
