// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SessionGpu.cpp - A run on a GPU ------------------------------------===//
//
// Which GPU and which code, what is copied there and back, and what is said
// where the CPU computes in its place.
//
//===----------------------------------------------------------------------===//

#include "frontend/tools/gatefold/CudaDriver.h"
#include "frontend/tools/gatefold/Session.h"

using namespace llvm;

namespace gatefold::tool {

/// --device cuda on a machine that cannot do it.
static void warnOfCpu(const Twine &reason) {
  warn("--device cuda: " + reason + "; the CPU computes");
}

void Session::chooseGpu() {
  compiled.target = "native";
  CudaDriver driver = CudaDriver::ask();
  if (driver.gpus.empty()) {
    warnOfCpu(driver.fault);
    compiled.device = "cpu";
    return;
  }
  const CudaGpu &gpu = driver.gpus.front();
  std::optional<std::string> target =
      line.targetGiven ? line.target : findTarget(gpu.capability);
  if (target) {
    compiled.gpuTargets = {*target};
    return;
  }
  warnOfCpu("there are no kernels for " + gpu.name + " (sm_" +
            Twine(gpu.capability) + ")");
  compiled.device = "cpu";
}

ExitStatus
Session::create(function_ref<gatefold_status(gatefold_model **)> onCpu,
                function_ref<gatefold_status(gatefold_model **)> onGpu) {
  if (compiled.device == "cuda") {
    gatefold_status status = onGpu(&model);
    if (status == GATEFOLD_OK) {
      isOnGpu = true;
      return Done;
    }
    if (status != GATEFOLD_NO_DEVICE)
      return modelFault(status);
    warnOfCpu(functions.message(model));
    functions.destroy(model);
    model = nullptr;
  }
  return modelFault(onCpu(&model));
}

ExitStatus Session::modelFault(gatefold_status status) {
  if (status == GATEFOLD_OK)
    return Done;
  fail(line.files.front() + ": " + functions.message(model));
  return InputFault;
}

ExitStatus Session::moveToGpu() {
  onGpu = std::make_unique<DeviceTensors>(functions, model, context);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    DLTensor *placed = nullptr;
    if (ExitStatus status = modelFault(onGpu->add(input, placed)))
      return status;
    if (ExitStatus status = contextFault(onGpu->copyIn(input, placed)))
      return status;
    inputPointers[i] = placed;
  }
  for (auto [i, result] : llvm::enumerate(results))
    if (ExitStatus status = modelFault(onGpu->add(result, resultPointers[i])))
      return status;
  return contextFault(functions.contextReserve(context, inputPointers.data()));
}

ExitStatus Session::launch() {
  return contextFault(functions.run(context, inputPointers.data(),
                                    resultPointers.data(), nullptr, 0));
}

ExitStatus Session::finish() {
  return isOnGpu ? contextFault(functions.contextFinish(context)) : Done;
}

ExitStatus Session::fetchResults() {
  if (!isOnGpu)
    return Done;
  for (auto [i, result] : llvm::enumerate(results))
    if (ExitStatus status =
            contextFault(onGpu->copyOut(result, resultPointers[i])))
      return status;
  return Done;
}

} // namespace gatefold::tool
