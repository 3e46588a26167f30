// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitVariants.cpp - Code for GPUs in an object ----------------------===//
//
// Lays out gatefold_variant of runtime/Description.h as LLVM constants: the
// image, how its kernels are launched, and the sizes of that GPU's schedule.
//
//===----------------------------------------------------------------------===//

#include "mlir/Target/LLVMIR/Export.h"
#include "passes/emit/ConstantBuilder.h"
#include "passes/emit/EmitDescription.h"
#include "passes/gpu/Kernels.h"
#include "llvm/Linker/Linker.h"

using namespace gatefold;
using llvm::Constant;

/// A driver reads an image in words.
static constexpr unsigned imageAlignment = 16;

/// Links the functions of a variant's sizes into the module, as TARGET.NAME.
static llvm::Error linkHost(llvm::Module &module, const EmitVariant &variant,
                            llvm::StringRef prefix) {
  std::unique_ptr<llvm::Module> host = mlir::translateModuleToLLVMIR(
      variant.host, module.getContext(), variant.target);
  if (!host)
    return llvm::createStringError("the module is not all of the llvm dialect");
  host->setTargetTriple(module.getTargetTriple());
  host->setDataLayout(module.getDataLayout());
  for (llvm::StringRef name :
       {llvm::StringRef(sizesFunction), llvm::StringRef(arenaFunction)})
    if (!host->getFunction(name))
      return llvm::createStringError("the module has no function '%s'",
                                     name.str().c_str());
  llvm::SmallVector<llvm::StringRef> kept = {
      sizesFunction, arenaFunction, usefulRanksFunction, prepareArenaFunction};
  llvm::SmallVector<llvm::Function *> unused;
  llvm::SmallVector<std::string> names;
  for (llvm::Function &function : *host) {
    if (function.isDeclaration())
      continue;
    // What stands for the run and `prepare`: kernels do that.
    if (!llvm::is_contained(kept, function.getName())) {
      function.deleteBody();
      unused.push_back(&function);
      continue;
    }
    function.setName(prefix + function.getName());
    names.push_back(function.getName().str());
  }
  for (llvm::Function *function : unused)
    if (function->use_empty())
      function->eraseFromParent();
  if (llvm::Linker::linkModules(module, std::move(host)))
    return llvm::createStringError("the host's part of target '%s' cannot be "
                                   "linked",
                                   variant.target.c_str());
  for (llvm::StringRef name : names)
    module.getFunction(name)->setLinkage(llvm::GlobalValue::InternalLinkage);
  return llvm::Error::success();
}

namespace {
class VariantEmitter : ConstantBuilder {
public:
  VariantEmitter(llvm::Module &module, const EmitOptions &options)
      : ConstantBuilder(module), options(options) {}
  llvm::Expected<Constant *> emit(const EmitVariant &variant);

private:
  Constant *kernel(const KernelLaunch &launch);

  const EmitOptions &options;
};
} // namespace

Constant *VariantEmitter::kernel(const KernelLaunch &launch) {
  if (!launch.exists())
    return structure(
        {null(), integer(32, 0), integer(32, 0), integer(64, 0), null()});
  llvm::SmallVector<Constant *> words;
  auto add = [&](int64_t tensor, int64_t word) {
    words.push_back(structure({integer(32, tensor), integer(32, word)}));
  };
  size_t arena = launch.words.size() - 1;
  for (auto [tensor, passed] : llvm::enumerate(launch.words))
    for (int64_t word : passed)
      add(tensor == arena ? int64_t(GATEFOLD_KERNEL_ARENA) : int64_t(tensor),
          word);
  add(GATEFOLD_KERNEL_TEAM, 1);
  return structure({text(launch.name), integer(32, launch.threads),
                    integer(32, launch.sharedBytes), integer(64, words.size()),
                    array(words)});
}

llvm::Expected<Constant *> VariantEmitter::emit(const EmitVariant &variant) {
  std::string prefix = variant.target + ".";
  if (llvm::Error error = linkHost(module, variant, prefix))
    return std::move(error);
  mlir::FailureOr<Interface> interface = Interface::fromModule(variant.host);
  if (mlir::failed(interface))
    return llvm::createStringError("the module describes no entry");
  auto program = emitVariantDescription(module, *interface, options, prefix);
  if (!program)
    return program.takeError();
  KernelLaunch run = KernelLaunch::read(variant.kernels, runKernel);
  if (!run.exists())
    return llvm::createStringError("the module has no kernel '%s'",
                                   runKernel.data());
  // PTX is a text that ends in 0.
  std::string image = variant.image.code->getBuffer().str();
  if (!variant.image.missing.empty())
    image += '\0';
  return structure(
      {text(variant.target), bytes(image, imageAlignment),
       integer(64, image.size()), *program, kernel(run),
       kernel(KernelLaunch::read(variant.kernels, prepareKernel))});
}

llvm::Expected<llvm::SmallVector<Constant *>>
gatefold::emitVariants(llvm::Module &module, const EmitOptions &options) {
  llvm::SmallVector<Constant *> variants;
  for (const EmitVariant &variant : options.variants) {
    auto emitted = VariantEmitter(module, options).emit(variant);
    if (!emitted)
      return emitted.takeError();
    variants.push_back(*emitted);
  }
  return variants;
}
