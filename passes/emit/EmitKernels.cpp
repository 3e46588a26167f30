// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitKernels.cpp - From the nvvm dialect to PTX ---------------------===//
//
// Translates the gpu.module, optimises it, generates PTX.
//
// Upstream's gpu-module-to-binary does this too, but a version of PTX that does
// not fit the processor ends the process, and its options cannot be had without
// a pipeline of their own.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/EmitKernels.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/emit/KeepAcrossCalls.h"
#include "passes/emit/OptimizeCode.h"
#include "passes/emit/SinkIntoLoops.h"
#include "passes/emit/SinkToUses.h"
#include "passes/gpu/Kernels.h"
#include "passes/support/Target.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

using namespace gatefold;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeGpuMachine(llvm::StringRef name) {
  llvm::Expected<TargetDescription> description = describeGpu(name);
  if (!description)
    return description.takeError();
  initializeTargets();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError("this LLVM makes no code for GPUs: %s",
                                   error.c_str());
  llvm::TargetOptions options;
  // As on a CPU: one rounding less where passes ask for it, nowhere else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::string features = "+ptx" + std::to_string(description->ptxVersion);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, name, features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return llvm::createStringError("no code for target '%s'",
                                   name.str().c_str());
  return machine;
}

static void optimizeKernels(llvm::Module &module,
                            llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // A thread has no vectors but in loads and stores, which the back end joins.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  // Behind all that finds values worth computing once.
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager &passes,
                                             llvm::OptimizationLevel,
                                             llvm::ThinOrFullLTOPhase) {
    passes.addPass(
        KeepAcrossCallsPass(TargetDescription::keptAcrossCallsBytes));
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(SinkIntoLoopsPass()));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(SinkToUsesPass()));
  });
  runThirdLevel(module, builder);
}

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
generate(llvm::Module &module, llvm::TargetMachine &machine, KernelForm form) {
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  switch (form) {
  case KernelForm::LlvmIr:
    module.print(stream, nullptr);
    break;
  case KernelForm::Bitcode:
    llvm::WriteBitcodeToFile(module, stream);
    break;
  case KernelForm::Ptx: {
    llvm::legacy::PassManager manager;
    if (machine.addPassesToEmitFile(manager, stream, nullptr,
                                    llvm::CodeGenFileType::AssemblyFile))
      return llvm::createStringError("the target cannot emit PTX");
    manager.run(module);
    break;
  }
  }
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(code), /*RequiresNullTerminator=*/false);
}

KernelLaunch KernelLaunch::read(mlir::ModuleOp module, llvm::StringRef name) {
  KernelLaunch launch;
  auto kernels = module.lookupSymbol<mlir::gpu::GPUModuleOp>(kernelsModule);
  auto kernel = kernels ? kernels.lookupSymbol<mlir::LLVM::LLVMFuncOp>(name)
                        : mlir::LLVM::LLVMFuncOp();
  if (!kernel)
    return launch;
  launch.name = name.str();
  llvm::StringRef exact = mlir::NVVM::NVVMDialect::getReqntidAttrName();
  launch.areThreadsExact = kernel->hasAttr(exact);
  if (auto threads = kernel->getAttrOfType<mlir::DenseI32ArrayAttr>(
          launch.areThreadsExact
              ? exact
              : mlir::NVVM::NVVMDialect::getMaxntidAttrName()))
    launch.threads = threads.asArrayRef().front();
  if (auto bytes = kernel->getAttrOfType<mlir::IntegerAttr>(sharedBytesName))
    launch.sharedBytes = bytes.getInt();
  auto words = kernel->getAttrOfType<mlir::ArrayAttr>(argumentWordsName);
  for (auto entry : words.getAsRange<mlir::DenseI64ArrayAttr>())
    launch.words.emplace_back(entry.asArrayRef());
  return launch;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
gatefold::emitKernels(mlir::ModuleOp module, llvm::StringRef target,
                      KernelForm form) {
  auto kernels = module.lookupSymbol<mlir::gpu::GPUModuleOp>(kernelsModule);
  if (!kernels)
    return llvm::createStringError("the module has no kernels");
  auto machine = makeGpuMachine(target);
  if (!machine)
    return machine.takeError();
  mlir::MLIRContext &dialects = *module.getContext();
  mlir::registerBuiltinDialectTranslation(dialects);
  mlir::registerGPUDialectTranslation(dialects);
  mlir::registerLLVMDialectTranslation(dialects);
  mlir::registerNVVMDialectTranslation(dialects);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      mlir::translateModuleToLLVMIR(kernels, context, kernelsModule);
  if (!translated)
    return llvm::createStringError("the kernels are not all of the llvm and "
                                   "nvvm dialects");
  translated->setTargetTriple((*machine)->getTargetTriple());
  translated->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *translated)
    if (!function.isDeclaration() &&
        function.getCallingConv() != llvm::CallingConv::PTX_Kernel)
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  for (auto function : kernels.getOps<mlir::LLVM::LLVMFuncOp>()) {
    llvm::Function *code = translated->getFunction(function.getName());
    if (function->hasAttr(vectorsName))
      code->addFnAttr(greedyName);
    if (function->hasAttr(productName))
      code->addFnAttr(productOnlyName);
  }
  for (const llvm::Function &function : *translated)
    if (function.isDeclaration() && !function.isIntrinsic())
      return llvm::createStringError("the kernels call '%s', which no GPU has",
                                     function.getName().str().c_str());
  std::string fault;
  llvm::raw_string_ostream faultStream(fault);
  if (llvm::verifyModule(*translated, &faultStream))
    return llvm::createStringError("the translated module is malformed: %s",
                                   fault.c_str());
  optimizeKernels(*translated, **machine);
  return generate(*translated, **machine, form);
}
