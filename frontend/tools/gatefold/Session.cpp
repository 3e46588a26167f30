// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Session.cpp - A model that can be run ------------------------------===//

#include "frontend/tools/gatefold/Session.h"
#include "frontend/tools/gatefold/Library.h"
#include "frontend/tools/gatefold/Weights.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>

using namespace llvm;

namespace gatefold::tool {

/// Of an emulated grid: enough for blocks to wait for each other.
static constexpr unsigned defaultBlocks = 3;

Session::~Session() {
  onGpu.reset();
  if (context)
    functions.contextDestroy(context);
  if (model)
    functions.destroy(model);
  if (library)
    dlclose(library);
}

bool Session::isLibrary(StringRef path) {
  return path.ends_with(".so") || sys::fs::is_directory(path);
}

ExitStatus Session::open() {
  StringRef path = line.files.front();
  if (ExitStatus status = openInputs(line, offers))
    return status;
  if (ExitStatus status = isLibrary(path) ? openLibrary(path) : compile())
    return status;
  inputs.resize(described->input_count);
  given.resize(described->input_count);
  return Done;
}

ExitStatus Session::compile() {
  if (line.device == "cuda")
    chooseGpu();
  compilation = std::make_unique<Compilation>(compiled);
  std::unique_ptr<MemoryBuffer> object;
  if (ExitStatus status = compilation->load(&offers))
    return status;
  if (ExitStatus status = compilation->lower())
    return status;
  if (ExitStatus status = compilation->emitVariants())
    return status;
  if (ExitStatus status = compilation->emit(CodeForm::Object, object))
    return status;
  auto result = loadObject(std::move(object), compilation->emitOptions());
  if (!result) {
    fail("the compiled object cannot be loaded: " +
             toString(result.takeError()),
         line.target == "native"
             ? ""
             : "this machine may not be of the kind that --target names");
    return InputFault;
  }
  loaded = std::move(*result);
  described = &loaded->description();
  if (line.device == "emulator")
    if (ExitStatus status = emulate())
      return status;
  functions = {gatefold_destroy,
               gatefold_message,
               gatefold_prepare,
               gatefold_context_create,
               gatefold_context_destroy,
               gatefold_context_message,
               gatefold_context_threads,
               gatefold_result_shapes,
               gatefold_workspace_size,
               gatefold_initial_state,
               gatefold_run,
               gatefold_device,
               gatefold_context_reserve,
               gatefold_context_finish,
               gatefold_allocate,
               gatefold_free,
               gatefold_copy};
  return create(
      [&](gatefold_model **made) { return gatefold_create(described, made); },
      [&](gatefold_model **made) {
        return gatefold_create_cuda(described, /*device=*/0, made);
      });
}

ExitStatus Session::emulate() {
  std::unique_ptr<MemoryBuffer> code;
  if (ExitStatus status = compilation->emit(KernelForm::Bitcode, code))
    return status;
  emulated = std::make_unique<EmulatedModel>(
      compilation->getModule(), std::move(code), loaded->description(),
      line.threads ? line.threads : defaultBlocks,
      line.hasEarlyCopies ? emulator::CopyTime::Early
                          : emulator::CopyTime::Late);
  if (!emulated->fits())
    return CommandLineFault;
  described = &emulated->description();
  return Done;
}

ExitStatus Session::openLibrary(StringRef path) {
  if (ExitStatus status = refuseTextOptions(line, "a library"))
    return status;
  if (line.device == "emulator") {
    fail(Twine("--device emulator is for texts and modules: ") + path +
             " is a library, whose kernels are machine code",
         "give the text that it was compiled from");
    return CommandLineFault;
  }
  bool isScheduled = !line.schedule.empty();
  if (line.naive || line.fastMath || line.targetGiven || line.remarks ||
      isScheduled) {
    fail(Twine(line.naive         ? "--naive"
               : line.fastMath    ? "--fast-math"
               : line.targetGiven ? "--target"
               : line.remarks     ? "--remarks"
                                  : "--schedule") +
         " is for texts and modules: " + path + " is a library");
    return CommandLineFault;
  }
  Expected<std::string> file = findLibrary(path);
  if (!file) {
    fail(toString(file.takeError()));
    return InputFault;
  }
  Expected<std::string> prefix = libraryPrefix(*file);
  if (!prefix) {
    fail(toString(prefix.takeError()));
    return InputFault;
  }
  library = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fail(*file + ": " + dlerror());
    return InputFault;
  }
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    void *symbol = dlsym(library, (*prefix + "_" + name).c_str());
    if (!symbol)
      missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
  const gatefold_description *(*describe)() = nullptr;
  gatefold_status (*create)(gatefold_model **) = nullptr;
  // Those of every version; only then may it be asked for its version.
  find(describe, "describe");
  find(create, "create");
  find(functions.destroy, "destroy");
  find(functions.message, "message");
  find(functions.prepare, "prepare");
  find(functions.contextCreate, "context_create");
  find(functions.contextDestroy, "context_destroy");
  find(functions.contextMessage, "context_message");
  find(functions.resultShapes, "result_shapes");
  find(functions.workspaceSize, "workspace_size");
  find(functions.initialState, "initial_state");
  find(functions.run, "run");
  described = missing.empty() ? describe() : nullptr;
  if (described && described->abi_version != GATEFOLD_ABI_VERSION) {
    fail(*file + " was compiled for version " + Twine(described->abi_version) +
         " of the interface; this program knows version " +
         Twine(GATEFOLD_ABI_VERSION));
    return InputFault;
  }
  find(functions.contextThreads, "context_threads");
  if (!missing.empty()) {
    fail(*file + " lacks the function " + *prefix + "_" + missing);
    return InputFault;
  }
  if (!described) {
    fail(*file + ": it describes no model");
    return InputFault;
  }
  gatefold_status (*createCuda)(int32_t, gatefold_model **) = nullptr;
  if (line.device == "cuda") {
    if (described->variant_count == 0) {
      fail(*file + " has no code for GPUs",
           "compile it for some: --target native --target sm_80");
      return InputFault;
    }
    find(createCuda, "create_cuda");
    find(functions.device, "device");
    find(functions.contextReserve, "context_reserve");
    find(functions.contextFinish, "context_finish");
    find(functions.allocate, "allocate");
    find(functions.free, "free");
    find(functions.copy, "copy");
    if (!missing.empty()) {
      fail(*file + " lacks the function " + *prefix + "_" + missing);
      return InputFault;
    }
  }
  return this->create(create, [&](gatefold_model **made) {
    return createCuda(/*device=*/0, made);
  });
}

ExitStatus Session::prepare() {
  std::vector<Weight> weights;
  if (ExitStatus status = gatherWeights(line, *described, weights))
    return status;
  std::vector<const char *> names;
  std::vector<const DLTensor *> tensors;
  for (Weight &weight : weights) {
    names.push_back(weight.name.c_str());
    tensors.push_back(weight.tensor.dl());
  }
  if (functions.prepare(model, names.size(), names.data(), tensors.data()) !=
      GATEFOLD_OK) {
    if (emulated && emulated->hasFindings())
      return emulatorFault();
    fail(functions.message(model));
    return InputFault;
  }
  if (ExitStatus status = modelFault(functions.contextCreate(model, &context)))
    return status;
  return contextFault(
      functions.contextThreads(context, emulated ? 1 : line.threads));
}

ExitStatus Session::emulatorFault() const {
  // It has said what is wrong. With a kernel, that is not the user's.
  return emulated->isTooLarge() ? InputFault : OurFault;
}

ExitStatus Session::contextFault(gatefold_status status) {
  if (status == GATEFOLD_OK)
    return Done;
  if (emulated && emulated->hasFindings())
    return emulatorFault();
  fail(functions.contextMessage(context));
  return InputFault;
}

ExitStatus Session::allocateResults() {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int64_t *> pointers;
  for (int64_t i = 0; i < described->result_count; ++i)
    shapes.emplace_back(described->results[i].rank);
  for (auto &shape : shapes)
    pointers.push_back(shape.data());
  if (ExitStatus status = contextFault(functions.resultShapes(
          context, inputPointers.data(), pointers.data())))
    return status;
  results.clear();
  for (int64_t i = 0; i < described->result_count; ++i) {
    auto result =
        HostTensor::create(described->results[i].element, std::move(shapes[i]));
    if (!result) {
      fail(Twine("result `") + described->results[i].name +
           "`: " + toString(result.takeError()));
      return InputFault;
    }
    results.push_back(std::move(*result));
  }
  resultPointers.clear();
  for (HostTensor &result : results)
    resultPointers.push_back(result.dl());
  return isOnGpu ? moveToGpu() : Done;
}

ExitStatus Session::run() {
  if (ExitStatus status = launch())
    return status;
  return finish();
}

ExitStatus Session::workspaceSize(size_t &bytes) {
  return contextFault(
      functions.workspaceSize(context, inputPointers.data(), &bytes));
}

} // namespace gatefold::tool
