// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Session.h - A model that can be run ----------------------*- C++ -*-===//
//
// The same interface over an object loaded by the JIT and a library that
// `compile` left: both are called through the C ABI of runtime/Runtime.h.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TOOLS_GATEFOLD_SESSION_H
#define FRONTEND_TOOLS_GATEFOLD_SESSION_H

#include "frontend/tools/gatefold/CommandLine.h"
#include "frontend/tools/gatefold/Compilation.h"
#include "frontend/tools/gatefold/DeviceTensors.h"
#include "frontend/tools/gatefold/EmulatedModel.h"
#include "frontend/tools/gatefold/ModelFunctions.h"
#include "frontend/tools/gatefold/Tensors.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>

namespace gatefold::tool {

class Session {
public:
  explicit Session(const CommandLine &line) : line(line), compiled(line) {}
  ~Session();

  static bool isLibrary(llvm::StringRef path);
  /// Compiles a text or module, or loads a library or a folder that holds one.
  ExitStatus open();
  /// Reads the weights of --weights (or makes those of --seed) and prepares
  /// them.
  ExitStatus prepare();
  /// Reads the inputs of --input, makes what --seed and states allow.
  ExitStatus readInputs();
  /// Allocates results; `run` may then be called any number of times.
  ExitStatus allocateResults();
  ExitStatus run();
  /// A run on a GPU takes two: the first one does not wait for it. Results come
  /// to the host by the third.
  ExitStatus launch();
  ExitStatus finish();
  ExitStatus fetchResults();

  const gatefold_description &description() const { return *described; }
  /// Null for a library.
  Compilation *getCompilation() { return compilation.get(); }
  std::vector<HostTensor> &getResults() { return results; }
  std::vector<HostTensor> &getInputs() { return inputs; }
  /// What the GPU is called that computes; null for the CPU.
  const char *getGpu() const {
    return isOnGpu ? functions.device(model) : nullptr;
  }
  /// Bytes of the workspace for the present inputs.
  ExitStatus workspaceSize(size_t &bytes);

private:
  ExitStatus openLibrary(llvm::StringRef path);
  ExitStatus compile();
  /// Puts the emulator behind the model that is loaded.
  ExitStatus emulate();
  ExitStatus emulatorFault() const;
  /// Chooses what is compiled for --device cuda, where there is a GPU.
  void chooseGpu();
  /// Makes the model: on a GPU where one is asked for and found.
  ExitStatus
  create(llvm::function_ref<gatefold_status(gatefold_model **)> onCpu,
         llvm::function_ref<gatefold_status(gatefold_model **)> onGpu);
  ExitStatus modelFault(gatefold_status status);
  /// Copies the inputs to the GPU, and makes room for results and workspace.
  ExitStatus moveToGpu();
  ExitStatus contextFault(gatefold_status status);
  ExitStatus addInput(OfferedInput &offer);
  /// Whether --dim names open dimensions and agrees with the inputs.
  ExitStatus checkDimensions() const;
  /// Open dimensions that the inputs so far, else --dim, fix.
  std::map<std::string, int64_t> knownSymbols() const;
  ExitStatus makeMissingInputs();

  const CommandLine &line;
  CommandLine compiled;
  bool isOnGpu = false;
  std::unique_ptr<Compilation> compilation;
  std::unique_ptr<LoadedModel> loaded;
  std::unique_ptr<EmulatedModel> emulated;
  void *library = nullptr;
  const gatefold_description *described = nullptr;
  ModelFunctions functions;
  gatefold_model *model = nullptr;
  gatefold_context *context = nullptr;
  std::vector<OfferedInput> offers;
  std::vector<HostTensor> inputs, results;
  std::vector<bool> given;
  std::unique_ptr<DeviceTensors> onGpu;
  std::vector<const DLTensor *> inputPointers;
  std::vector<DLTensor *> resultPointers;
};

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_SESSION_H
