// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitCode.cpp - From the llvm dialect to an object ------------------===//
//
// Translates, adds the interface, has it optimized, generates code.
//
//===----------------------------------------------------------------------===//

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/emit/Emit.h"
#include "passes/emit/EmitDescription.h"
#include "passes/emit/OptimizeCode.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace gatefold;

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeTargetMachine(const EmitOptions &options) {
  initializeTargets();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string processor = options.target;
  llvm::SubtargetFeatures features;
  if (options.target == "native") {
    processor = llvm::sys::getHostCPUName().str();
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features.AddFeature(feature.first(), feature.second);
  } else if (options.target == "aarch64") {
    triple.setTriple("aarch64-unknown-linux-gnu");
    processor = "generic";
  } else if (llvm::StringRef(options.target).starts_with("x86-64")) {
    if (triple.getArch() != llvm::Triple::x86_64)
      triple.setTriple("x86_64-unknown-linux-gnu");
  }
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError("no code for target '%s': %s",
                                   options.target.c_str(), error.c_str());
  // Asked first, since a machine for an unknown processor writes warnings.
  std::unique_ptr<llvm::MCSubtargetInfo> processors(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!processors || !processors->isCPUStringValid(processor))
    return llvm::createStringError("no processor '%s' among those of %s",
                                   processor.c_str(), triple.str().c_str());
  llvm::TargetOptions targetOptions;
  // One rounding less where passes ask for it, nowhere else: bits do not depend
  // on what happens to stand side by side.
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, processor, features.getString(), targetOptions, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return llvm::createStringError("no code for target '%s'",
                                   options.target.c_str());
  return machine;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

/// run(arguments, arena), prepare(arguments, arena): takes the descriptors from
/// an array. Null where the module has no such entry.
static llvm::Function *emitPacked(llvm::Module &module, llvm::StringRef name,
                                  llvm::StringRef packedName,
                                  unsigned tensorCount, bool takesTeam) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::getUnqual(context);
  llvm::Type *i64 = llvm::Type::getInt64Ty(context);
  llvm::Function *entry = module.getFunction(("_mlir_ciface_" + name).str());
  if (!entry)
    return nullptr;
  llvm::SmallVector<llvm::Type *> types = {pointer, pointer};
  if (takesTeam)
    types.append({i64, i64, pointer});
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getInt32Ty(context), types,
                              /*isVarArg=*/false),
      llvm::GlobalValue::InternalLinkage, packedName, module);
  llvm::IRBuilder<> builder(
      llvm::BasicBlock::Create(context, "entry", function));
  // The arena as a memref descriptor; nothing reads its size.
  auto *descriptorType = llvm::StructType::get(
      context, {pointer, pointer, i64, llvm::ArrayType::get(i64, 1),
                llvm::ArrayType::get(i64, 1)});
  llvm::Value *descriptor = builder.CreateAlloca(descriptorType);
  auto setField = [&](llvm::ArrayRef<unsigned> path, llvm::Value *value) {
    llvm::SmallVector<llvm::Value *> indices = {builder.getInt32(0)};
    for (unsigned index : path)
      indices.push_back(builder.getInt32(index));
    builder.CreateStore(
        value, builder.CreateInBoundsGEP(descriptorType, descriptor, indices));
  };
  setField({0}, function->getArg(1));
  setField({1}, function->getArg(1));
  setField({2}, builder.getInt64(0));
  setField({3, 0}, builder.getInt64(std::numeric_limits<int64_t>::max()));
  setField({4, 0}, builder.getInt64(1));
  llvm::SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0; i < tensorCount; ++i)
    arguments.push_back(builder.CreateLoad(
        pointer,
        builder.CreateConstInBoundsGEP1_64(pointer, function->getArg(0), i)));
  arguments.push_back(descriptor);
  for (llvm::Argument &argument : llvm::drop_begin(function->args(), 2))
    arguments.push_back(&argument);
  builder.CreateRet(builder.CreateCall(entry, arguments));
  return function;
}

/// NAME_create, ...: the functions of runtime/Runtime.h, those that make
/// something from nothing with the description in front.
static void emitExports(llvm::Module &module, llvm::GlobalVariable *description,
                        const EmitOptions &options) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  llvm::Type *status = llvm::Type::getInt32Ty(context);
  llvm::Type *size = llvm::Type::getInt64Ty(context);
  llvm::Type *nothing = llvm::Type::getVoidTy(context);
  llvm::Type *number = llvm::Type::getInt32Ty(context);
  struct Export {
    llvm::StringRef name;
    llvm::Type *result;
    llvm::SmallVector<llvm::Type *> parameters;
    bool takesDescription = false;
  };
  const Export exports[] = {
      {"describe", pointer, {}, true},
      {"create", status, {pointer}, true},
      {"destroy", nothing, {pointer}},
      {"message", pointer, {pointer}},
      {"prepare", status, {pointer, size, pointer, pointer}},
      {"context_create", status, {pointer, pointer}},
      {"context_destroy", nothing, {pointer}},
      {"context_message", pointer, {pointer}},
      {"context_threads", status, {pointer, size}},
      {"result_shapes", status, {pointer, pointer, pointer}},
      {"workspace_size", status, {pointer, pointer, pointer}},
      {"initial_state", status, {pointer, size, pointer}},
      {"run", status, {pointer, pointer, pointer, pointer, size}},
  };
  // A library without code for GPUs has nothing that opens a driver.
  const Export deviceExports[] = {
      {"create_cuda", status, {number, pointer}, true},
      {"device", pointer, {pointer}},
      {"cuda_devices", number, {pointer, size}},
      {"context_stream", status, {pointer, pointer}},
      {"context_reserve", status, {pointer, pointer}},
      {"context_finish", status, {pointer}},
      {"allocate", status, {pointer, size, pointer}},
      {"free", nothing, {pointer, pointer}},
      {"copy", status, {pointer, pointer, pointer}},
  };
  llvm::SmallVector<Export> all(std::begin(exports), std::end(exports));
  if (!options.variants.empty())
    all.append(std::begin(deviceExports), std::end(deviceExports));
  for (const Export &each : all) {
    llvm::SmallVector<llvm::Type *> inner(each.parameters);
    if (each.takesDescription)
      inner.insert(inner.begin(), pointer);
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        ("gatefold_" + each.name).str(),
        llvm::FunctionType::get(each.result, inner, /*isVarArg=*/false));
    auto *function = llvm::Function::Create(
        llvm::FunctionType::get(each.result, each.parameters,
                                /*isVarArg=*/false),
        llvm::GlobalValue::ExternalLinkage, options.name + "_" + each.name,
        module);
    llvm::IRBuilder<> builder(
        llvm::BasicBlock::Create(context, "entry", function));
    llvm::SmallVector<llvm::Value *> arguments;
    if (each.takesDescription)
      arguments.push_back(description);
    for (llvm::Argument &argument : function->args())
      arguments.push_back(&argument);
    llvm::CallInst *call = builder.CreateCall(callee, arguments);
    call->setTailCall();
    if (each.result->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(call);
  }
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
generate(llvm::Module &module, llvm::TargetMachine &machine, CodeForm form) {
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  if (form == CodeForm::LlvmIr) {
    module.print(stream, nullptr);
  } else {
    llvm::legacy::PassManager manager;
    auto type = form == CodeForm::Assembly ? llvm::CodeGenFileType::AssemblyFile
                                           : llvm::CodeGenFileType::ObjectFile;
    if (machine.addPassesToEmitFile(manager, stream, nullptr, type))
      return llvm::createStringError(
          "the target cannot emit this form of code");
    manager.run(module);
  }
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(code), /*RequiresNullTerminator=*/false);
}

static bool isIdentifier(llvm::StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
gatefold::emitCode(mlir::ModuleOp module, const EmitOptions &options,
                   CodeForm form) {
  if (!isIdentifier(options.name))
    return llvm::createStringError(
        "'%s' cannot begin the names of a C interface: it needs letters, "
        "digits and _, and no digit in front",
        options.name.c_str());
  mlir::FailureOr<Interface> interface = Interface::fromModule(module);
  if (mlir::failed(interface))
    return llvm::createStringError("the module describes no entry");
  auto machine = makeTargetMachine(options);
  if (!machine)
    return machine.takeError();

  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      mlir::translateModuleToLLVMIR(module, context, options.name);
  if (!translated)
    return llvm::createStringError("the module is not all of the llvm dialect");
  translated->setTargetTriple((*machine)->getTargetTriple());
  translated->setDataLayout((*machine)->createDataLayout());
  translated->setPICLevel(llvm::PICLevel::BigPIC);
  for (llvm::StringRef name :
       {llvm::StringRef(sizesFunction), llvm::StringRef(arenaFunction)})
    if (!translated->getFunction(name))
      return llvm::createStringError("the module has no function '%s'",
                                     name.str().c_str());
  for (llvm::Function &function : *translated)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);

  PackedFunctions functions;
  functions.run = emitPacked(*translated, runFunction, "gatefold_run_packed",
                             interface->tensors.size(), /*takesTeam=*/true);
  functions.prepare = emitPacked(
      *translated, prepareFunction, "gatefold_prepare_packed",
      interface->getParameters().size() + interface->getPrepared().size(),
      /*takesTeam=*/false);
  if (!functions.run)
    return llvm::createStringError("the module has no function '%s'",
                                   runFunction.data());
  auto variants = emitVariants(*translated, options);
  if (!variants)
    return variants.takeError();
  auto description =
      emitDescription(*translated, *interface, options, functions, *variants);
  if (!description)
    return description.takeError();
  emitExports(*translated, *description, options);
  for (llvm::Function &function : *translated)
    if (!function.isDeclaration())
      function.setDoesNotThrow();
  std::string fault;
  llvm::raw_string_ostream faultStream(fault);
  if (llvm::verifyModule(*translated, &faultStream))
    return llvm::createStringError("the translated module is malformed: %s",
                                   fault.c_str());
  optimizeCode(*translated, **machine);
  return generate(*translated, **machine, form);
}
