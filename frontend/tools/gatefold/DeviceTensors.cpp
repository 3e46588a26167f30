// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DeviceTensors.cpp - Tensors of a run on a GPU ----------------------===//

#include "frontend/tools/gatefold/DeviceTensors.h"

namespace gatefold::tool {

DeviceTensors::~DeviceTensors() {
  for (DLTensor &tensor : tensors)
    functions.free(model, tensor.data);
}

gatefold_status DeviceTensors::add(HostTensor &host, DLTensor *&placed) {
  void *memory = nullptr;
  if (gatefold_status status =
          functions.allocate(model, host.byteSize(), &memory))
    return status;
  DLTensor &tensor = tensors.emplace_back(*host.dl());
  tensor.data = memory;
  tensor.byte_offset = 0;
  tensor.device = {kDLCUDA, 0};
  placed = &tensor;
  return GATEFOLD_OK;
}

} // namespace gatefold::tool
