// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LoadObject.cpp - An object in this process -------------------------===//
//
// The object that a library would be linked from, linked into memory.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/Emit.h"
#include "runtime/Runtime.h"
#include "runtime/Team.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace gatefold;
namespace orc = llvm::orc;

namespace {
class JitModel : public LoadedModel {
public:
  JitModel(std::unique_ptr<orc::LLJIT> jit,
           const gatefold_description &description)
      : jit(std::move(jit)), loadedDescription(description) {}
  const gatefold_description &description() const override {
    return loadedDescription;
  }

private:
  std::unique_ptr<orc::LLJIT> jit;
  const gatefold_description &loadedDescription;
};
} // namespace

/// The runtime of this process, by the names that objects call it.
static llvm::Error defineRuntime(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported |
                                              llvm::JITSymbolFlags::Callable};
  };
  add("gatefold_describe", &gatefold_describe);
  add("gatefold_create", &gatefold_create);
  add("gatefold_destroy", &gatefold_destroy);
  add("gatefold_message", &gatefold_message);
  add("gatefold_prepare", &gatefold_prepare);
  add("gatefold_context_create", &gatefold_context_create);
  add("gatefold_context_destroy", &gatefold_context_destroy);
  add("gatefold_context_message", &gatefold_context_message);
  add("gatefold_context_threads", &gatefold_context_threads);
  add("gatefold_team_barrier", &gatefold_team_barrier);
  add("gatefold_result_shapes", &gatefold_result_shapes);
  add("gatefold_workspace_size", &gatefold_workspace_size);
  add("gatefold_initial_state", &gatefold_initial_state);
  add("gatefold_run", &gatefold_run);
  add("gatefold_create_cuda", &gatefold_create_cuda);
  add("gatefold_device", &gatefold_device);
  add("gatefold_cuda_devices", &gatefold_cuda_devices);
  add("gatefold_context_stream", &gatefold_context_stream);
  add("gatefold_context_reserve", &gatefold_context_reserve);
  add("gatefold_context_finish", &gatefold_context_finish);
  add("gatefold_allocate", &gatefold_allocate);
  add("gatefold_free", &gatefold_free);
  add("gatefold_copy", &gatefold_copy);
  return jit.getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols)));
}

llvm::Expected<std::unique_ptr<LoadedModel>>
gatefold::loadObject(std::unique_ptr<llvm::MemoryBuffer> object,
                     const EmitOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto parsed =
      llvm::object::ObjectFile::createObjectFile(object->getMemBufferRef());
  if (!parsed)
    return parsed.takeError();
  if ((*parsed)->getArch() !=
      llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch())
    return llvm::createStringError(
        "code for target '%s' cannot be loaded on this machine",
        options.target.c_str());

  auto jit = orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  if (llvm::Error error = defineRuntime(**jit))
    return error;
  // libm and the C library.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error = (*jit)->addObjectFile(std::move(object)))
    return error;
  auto address = (*jit)->lookup(options.name + "_describe");
  if (!address)
    return address.takeError();
  using Describe = const gatefold_description *();
  const gatefold_description *description = address->toPtr<Describe *>()();
  if (!description)
    return llvm::createStringError("the object describes no entry");
  return std::make_unique<JitModel>(std::move(*jit), *description);
}
