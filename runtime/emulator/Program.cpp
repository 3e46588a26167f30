// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Program.cpp - A module on a device ---------------------------------===//

#include "runtime/emulator/Arena.h"
#include "runtime/emulator/Hooks.h"
#include "runtime/emulator/Launch.h"
#include "runtime/emulator/Retarget.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace llvm;
using namespace gatefold::emulator;

Machine::~Machine() = default;
Code::Code() = default;
Code::~Code() = default;
Program::~Program() = default;

static Expected<std::unique_ptr<Module>> parse(MemoryBufferRef text,
                                               LLVMContext &context) {
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseIR(text, diagnostic, context);
  if (!module) {
    std::string line;
    if (diagnostic.getLineNo() > 0)
      line = "line " + std::to_string(diagnostic.getLineNo()) + ": ";
    return createStringError("not an LLVM module: " + line +
                             diagnostic.getMessage());
  }
  std::string broken;
  raw_string_ostream stream(broken);
  bool hasBrokenDebugInfo = false;
  if (verifyModule(*module, &stream, &hasBrokenDebugInfo))
    return createStringError("a broken LLVM module: " +
                             StringRef(broken).split('\n').first);
  if (hasBrokenDebugInfo)
    StripDebugInfo(*module);
  const Triple &triple = module->getTargetTriple();
  if (triple.getArch() != Triple::nvptx64)
    return createStringError(
        "a module for `" +
        (triple.empty() ? std::string("no target") : triple.str()) +
        "`, expected `nvptx64-nvidia-cuda`");
  StringRef layout = module->getDataLayoutStr();
  for (StringRef part : split(layout, '-'))
    if (part.starts_with("p3:32") || part.starts_with("p4:32") ||
        part.starts_with("p5:32"))
      return createStringError("a module with pointers of 32 bits\nhint: make "
                               "it without `--nvptx-short-ptr`");
  return module;
}

static Expected<std::unique_ptr<orc::LLJIT>> createJit() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  auto machine = orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  // The module has been optimised already.
  machine->setCodeGenOptLevel(CodeGenOptLevel::Less);
  machine->setRelocationModel(Reloc::PIC_);
  return orc::LLJITBuilder()
      .setJITTargetMachineBuilder(std::move(*machine))
      .setLinkProcessSymbolsByDefault(false)
      .setPlatformSetUp(orc::setUpInactivePlatform)
      .create();
}

static Error link(orc::LLJIT &jit, Device &device, const Retarget &retarget) {
  orc::SymbolMap symbols;
  auto define = [&](StringRef name, uint64_t address) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr(address),
                                          JITSymbolFlags::Exported};
  };
#define HOOK(name)                                                             \
  define("gatefold." #name, reinterpret_cast<uint64_t>(&hooks::name));
  GATEFOLD_HOOKS(HOOK)
#undef HOOK
  for (const DeviceVariable &variable : retarget.deviceVariables) {
    Expected<uint64_t> address =
        device.allocate(variable.bytes, variable.alignment, variable.name);
    if (!address)
      return address.takeError();
    define(variable.symbol, *address);
  }
  orc::JITDylib &library = jit.getMainJITDylib();
  if (Error error = library.define(orc::absoluteSymbols(symbols)))
    return error;
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix(),
      [](const orc::SymbolStringPtr &name) {
        return isArithmeticSymbol(*name);
      });
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return Error::success();
}

/// Fills the variables of the device and the tables of `code` with what is
/// known once the code is linked.
static Error finish(orc::LLJIT &jit, Device &device, const Retarget &retarget,
                    Code &code) {
  for (KernelCode &kernel : code.kernels) {
    Expected<orc::ExecutorAddr> entry = jit.lookup(kernel.symbol);
    if (!entry)
      return entry.takeError();
    kernel.entry = entry->toPtr<void (*)(const void *)>();
    code.kernelList.push_back(kernel.kernel);
  }
  for (const DeviceVariable &variable : retarget.deviceVariables) {
    Expected<orc::ExecutorAddr> image = jit.lookup(variable.image);
    if (!image)
      return image.takeError();
    Expected<orc::ExecutorAddr> address = jit.lookup(variable.symbol);
    if (!address)
      return address.takeError();
    ArrayRef<uint8_t> bytes(image->toPtr<const uint8_t *>(), variable.bytes);
    if (Error error = device.copyIn(address->getValue(), bytes))
      return error;
    if (variable.readOnly)
      if (Error error =
              device.makeReadOnly(address->getValue(), variable.bytes))
        return error;
  }
  if (!retarget.takenTypes.empty()) {
    Expected<orc::ExecutorAddr> table = jit.lookup("gatefold.functions");
    if (!table)
      return table.takeError();
    const auto *addresses = table->toPtr<const uint64_t *>();
    for (auto [number, type] : enumerate(retarget.takenTypes))
      code.functions[addresses[number]] = type;
  }
  return Error::success();
}

Expected<std::unique_ptr<Program>> Program::load(Device &device,
                                                 MemoryBufferRef text) {
  auto context = std::make_unique<LLVMContext>();
  Expected<std::unique_ptr<Module>> module = parse(text, *context);
  if (!module)
    return module.takeError();
  std::string faults;
  Expected<std::unique_ptr<orc::LLJIT>> jit = createJit();
  if (!jit)
    return jit.takeError();

  std::unique_ptr<Program> program(new Program());
  program->device = &device;
  program->code = std::make_unique<Code>();
  (*module)->setTargetTriple((*jit)->getTargetTriple());
  (*module)->setDataLayout((*jit)->getDataLayout());
  Retarget retarget(**module, *program->code);
  if (Error error = retarget.checkModule())
    return error;
  if (Error error = retarget.placeGlobals())
    return error;
  retarget.instrument();
  retarget.wrapInstructions();
  retarget.makeEntries();
  retarget.defineArithmetic();
  StripDebugInfo(**module);
  std::string broken;
  raw_string_ostream stream(broken);
  if (verifyModule(**module, &stream))
    return createStringError("the module cannot be made ready for the CPU: " +
                             StringRef(broken).split('\n').first);

  // ORC prints what it could not link, and says little in its errors.
  (*jit)->getExecutionSession().setErrorReporter([&faults](Error error) {
    faults += (faults.empty() ? "" : "; ") + toString(std::move(error));
  });
  if (Error error = link(**jit, device, retarget))
    return error;
  if (Error error = (*jit)->addIRModule(
          orc::ThreadSafeModule(std::move(*module), std::move(context))))
    return error;
  if (Error error = finish(**jit, device, retarget, *program->code)) {
    if (faults.empty())
      return error;
    consumeError(std::move(error));
    return createStringError("the module cannot be linked: " + faults);
  }
  (*jit)->getExecutionSession().setErrorReporter(consumeError);
  program->code->jit = std::move(*jit);
  return program;
}

ArrayRef<Kernel> Program::kernels() const { return code->kernelList; }

Expected<LaunchResult> Program::launch(StringRef name,
                                       ArrayRef<Argument> arguments,
                                       const LaunchOptions &options) {
  for (const KernelCode &kernel : code->kernels) {
    if (kernel.kernel.name != name)
      continue;
    Launch launch(*device, *code, kernel, options);
    if (Error error = launch.prepare(arguments))
      return error;
    launch.run();
    return launch.take();
  }
  std::string names;
  for (const Kernel &kernel : kernels())
    names += (names.empty() ? "`" : ", `") + kernel.name + "`";
  return createStringError("the module has no kernel `" + name + "`; it has " +
                           names);
}
