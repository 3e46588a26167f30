// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Compilation.cpp - From a file to code ------------------------------===//

#include "frontend/tools/gatefold/Compilation.h"
#include "dialect/GatefoldOps.h"
#include "frontend/text/Import.h"
#include "frontend/tools/gatefold/Files.h"
#include "frontend/tools/gatefold/Library.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines.h"
#include "passes/schedule/Schedule.h"
#include "passes/support/Entry.h"
#include "passes/support/Target.h"
#include "passes/tile/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

/// An .mlir module whose regions, types or attributes nest deeper than this is
/// refused: MLIR's parser is recursive and would overflow the stack.
constexpr unsigned maximumModuleNesting = 200;

/// The deepest nesting of brackets in a module's text, strings left out.
unsigned bracketNesting(StringRef text) {
  unsigned depth = 0, deepest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      while (++i < text.size() && text[i] != '"')
        if (text[i] == '\\')
          ++i;
    } else if (c == '/' && text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '-' && text.substr(i).starts_with("->")) {
      ++i;
    } else if (StringRef("([{<").contains(c)) {
      deepest = std::max(deepest, ++depth);
    } else if (StringRef(")]}>").contains(c) && depth) {
      --depth;
    }
  }
  return deepest;
}

} // namespace

ExitStatus report(const text::Diagnostics &diagnostics, bool json) {
  if (json) {
    json::Value value = diagnostics.toJson();
    if (auto *array = value.getAsArray())
      for (json::Value &entry : *array)
        diagnosticsJson().push_back(std::move(entry));
  } else {
    diagnostics.print(errs());
  }
  return diagnostics.hasErrors() ? InputFault : Done;
}

Compilation::Compilation(const CommandLine &line)
    : line(line), diagnostics(sources) {
  options.target = isGpuName(line.target) ? "native" : line.target;
}

Compilation::~Compilation() = default;

/// A phase, as --timing lists it: with the target where there are several.
std::string Compilation::describePhase(StringRef phase,
                                       StringRef target) const {
  bool isOneOfSeveral = !line.gpuTargets.empty() && isGpuName(target);
  return (isOneOfSeveral ? target + " " + phase : Twine(phase)).str();
}

template <typename Work> auto Compilation::timed(StringRef phase, Work work) {
  progress.show(line.files.front() + ": " + phase);
  auto start = std::chrono::steady_clock::now();
  auto result = work();
  timing.emplace_back(phase.str(), std::chrono::duration<double>(
                                       std::chrono::steady_clock::now() - start)
                                       .count());
  return result;
}

void Compilation::createContext() {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<GfDialect>();
  context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<GfDialect>();
  // What is wrong is said in words; an operation is many lines.
  context->printOpOnDiagnostic(false);
}

ExitStatus Compilation::load(std::vector<OfferedInput> *inputs) {
  createContext();
  StringRef path = line.files.front();
  ExitStatus status;
  if (path.ends_with(".mlir")) {
    status = timed("parse", [&] { return loadModule(); });
  } else if (path.ends_with(".gf")) {
    text = true;
    status = loadText(inputs);
  } else {
    fail(path + ": not a .gf text nor an .mlir module");
    status = InputFault;
  }
  return status;
}

ExitStatus Compilation::loadText(std::vector<OfferedInput> *inputs) {
  package = std::make_unique<text::Package>(diagnostics, line.importFolders);
  std::string error;
  bool loaded =
      timed("parse", [&] { return package->load(line.files.front(), error); });
  if (!loaded) {
    fail(error);
    return InputFault;
  }
  text::EntryOptions entry = line.entry;
  if (inputs && !diagnostics.hasErrors())
    if (ExitStatus status =
            fitEntryToInputs(*package, line.leadGiven, *inputs, entry))
      return status;
  if (!diagnostics.hasErrors())
    program = timed("check", [&] { return text::checkEntry(*package, entry); });
  if (program && !diagnostics.hasErrors())
    module = timed("import", [&] {
      return text::importProgram(*program, diagnostics, *context);
    });
  if (ExitStatus status = report(diagnostics, line.json))
    return status;
  if (line.leadGiven && program &&
      program->kind == text::DeclarationKind::Model) {
    fail("--lead is for a func, cell or attention: `" + program->name +
         "` is a model, its shapes are its interface");
    return CommandLineFault;
  }
  if (!module) {
    fail("the phase `import` gave no module and no reason; please report this");
    return OurFault;
  }
  if (options.name.empty())
    options.name = makePrefix(program->name);
  return Done;
}

bool Compilation::importChecked(const text::Program &checked,
                                text::Diagnostics &refusals) {
  createContext();
  text = true;
  module = timed("import", [&] {
    return text::importProgram(checked, refusals, *context);
  });
  return bool(module);
}

ExitStatus Compilation::loadModule() {
  const std::string &path = line.files.front();
  if (ExitStatus status = refuseTextOptions(line, "a module"))
    return status;
  Expected<std::string> contents = readText(path);
  if (!contents) {
    fail(toString(contents.takeError()));
    return InputFault;
  }
  if (mlir::isBytecode(MemoryBufferRef(*contents, path))) {
    fail(path + ": MLIR bytecode is not read",
         "write it as text: gatefold-opt FILE -o NAME.mlir");
    return InputFault;
  }
  if (bracketNesting(*contents) > maximumModuleNesting) {
    fail(path + ": nested more than 200 deep");
    return InputFault;
  }
  SourceMgr manager;
  manager.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(*contents, path),
                             SMLoc());
  ModuleDiagnostics handler(*context, manager, line.json);
  module = mlir::parseSourceFile<mlir::ModuleOp>(
      manager, mlir::ParserConfig(context.get()));
  if (!module)
    return InputFault;
  if (options.name.empty()) {
    options.name = "model";
    for (auto function : module->getOps<mlir::func::FuncOp>())
      if (function.isPublic()) {
        options.name = makePrefix(function.getName());
        break;
      }
  }
  return Done;
}

/// What gf-choose-algorithms wrote on the operations.
void Compilation::collectScheduled(mlir::ModuleOp program) {
  program->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    const ScheduledKind *kind = findScheduledKind(op);
    if (!kind)
      return;
    auto algorithm = op->getAttrOfType<mlir::StringAttr>(algorithmName);
    Scheduled entry{kind->name.str(),
                    op->getLoc(),
                    algorithm ? algorithm.getValue().str() : "",
                    {}};
    for (const ScheduledSize &size : kind->sizes) {
      auto number = op->getAttrOfType<mlir::IntegerAttr>(size.attribute);
      if (number && size.isOf(entry.algorithm))
        entry.sizes.emplace_back(&size, number.getInt());
    }
    scheduled.push_back(std::move(entry));
  });
  // An unused choice is a slip: the operation may be named by another word.
  // Every target has the same operations.
  if (std::exchange(isScheduleCollected, true))
    return;
  ScheduleFault fault;
  std::optional<Schedule> given = parseSchedule(line.schedule, fault);
  for (const ScheduledKind &kind : getScheduledKinds())
    if (given && given->isGivenFor(kind) &&
        llvm::none_of(scheduled, [&](const Scheduled &entry) {
          return entry.what == kind.name;
        }))
      warn("--schedule: there is no " + kind.name + " in the program");
}

ExitStatus Compilation::lower(StringRef last) {
  auto target = TargetDescription::describe(line.target);
  if (!target) {
    fail(toString(target.takeError()));
    return InputFault;
  }
  if (last == "import")
    return Done;
  bool keepsRemarks = line.remarks || line.command == Command::Report ||
                      line.command == Command::Check;
  if (keepsRemarks &&
      mlir::failed(enableRemarks(*context, line.remarks, remarks))) {
    fail("remarks cannot be enabled");
    return OurFault;
  }
  for (const std::string &gpu : line.gpuTargets) {
    Variant &variant = variants.emplace_back();
    variant.target = gpu;
    variant.kernels = module->clone();
    if (ExitStatus status =
            runPhases(*variant.kernels, gpu, last, &variant.host))
      return status;
  }
  // A report also asks for the sizes of a GPU's program.
  bool isEmulated = line.device == "emulator" ||
                    (line.command == Command::Report && isGpuName(line.target));
  return runPhases(*module, line.target, last,
                   isEmulated ? &hostModule : nullptr);
}

/// Leaves of a program in buffers the functions of its sizes: kernels do the
/// rest.
static void keepSizes(mlir::ModuleOp program) {
  for (StringRef name : {runFunction, prepareFunction})
    if (auto function = program.lookupSymbol<mlir::func::FuncOp>(name)) {
      mlir::Block &body = function.getBody().front();
      while (mlir::Operation *last = body.getTerminator()->getPrevNode())
        last->erase();
    }
}

/// Takes a program through the phases of a target. `host`, where it is given,
/// becomes the functions of its sizes for this machine.
ExitStatus Compilation::runPhases(mlir::ModuleOp program, StringRef target,
                                  StringRef last,
                                  mlir::OwningOpRef<mlir::ModuleOp> *host) {
  // A pass that refuses what the user wrote reports it with its place; these
  // messages read as all others do.
  SourceMgr manager;
  ModuleDiagnostics handler(*context, manager, line.json);
  bool isOneOfSeveral = !line.gpuTargets.empty();
  if (line.remarks && isOneOfSeveral)
    note("remarks for " + target + ":");
  for (const Phase &phase : getPhases()) {
    if (!phase.isFor(target))
      continue;
    mlir::PassManager passes(context.get());
    // Once a phase instead of after each pass, which takes a fifth of the time;
    // gatefold-opt verifies after each.
    passes.enableVerifier(false);
    PipelineOptions pipelineOptions;
    pipelineOptions.naive = line.naive;
    pipelineOptions.target = target;
    pipelineOptions.fastMath = line.fastMath;
    pipelineOptions.schedule = line.schedule;
    phase.build(passes, pipelineOptions);
    bool succeeded = timed(describePhase(phase.name, target), [&] {
      return mlir::succeeded(passes.run(program)) &&
             mlir::succeeded(mlir::verify(program));
    });
    if (!succeeded) {
      if (isOneOfSeveral)
        note("this is about --target " + target);
      if (!text || handler.isUnsupported())
        return InputFault;
      fail("the phase `" + phase.name + "` failed on a checked program",
           "this is a fault of Gatefold: please report it with the text");
      return OurFault;
    }
    if (phase.name == "schedule")
      collectScheduled(program);
    if (phase.name == last)
      break;
    if (phase.name == "bufferize" && host) {
      *host = program.clone();
      keepSizes(**host);
    }
  }
  return host && *host ? lowerHost(**host, target) : Done;
}

ExitStatus Compilation::tileAttentions() {
  SourceMgr manager;
  ModuleDiagnostics handler(*context, manager, line.json);
  mlir::PassManager passes(context.get());
  passes.addNestedPass<mlir::func::FuncOp>(createTileAttention());
  if (mlir::succeeded(passes.run(*module)))
    return Done;
  fail("attentions cannot be tiled in a checked program",
       "this is a fault of Gatefold: please report it with the text");
  return OurFault;
}

ExitStatus Compilation::lowerHost(mlir::ModuleOp host, StringRef target) {
  for (const Phase &phase : getPhases()) {
    if (phase.target != PhaseTarget::Cpu)
      continue;
    mlir::PassManager passes(context.get());
    PipelineOptions pipelineOptions;
    pipelineOptions.naive = line.naive;
    phase.build(passes, pipelineOptions);
    bool succeeded = timed(describePhase("host", target),
                           [&] { return mlir::succeeded(passes.run(host)); });
    if (!succeeded) {
      fail("the phase `" + phase.name + "` failed for the host of a GPU",
           "this is a fault of Gatefold: please report it with the text");
      return OurFault;
    }
  }
  return Done;
}

void Compilation::print(raw_ostream &out) {
  mlir::OpPrintingFlags flags;
  if (line.locations)
    flags.enableDebugInfo(/*enable=*/true);
  module->print(out, flags);
  out << "\n";
}

ExitStatus Compilation::emit(CodeForm form,
                             std::unique_ptr<MemoryBuffer> &code) {
  auto emitted = timed("emit", [&] {
    return emitCode(hostModule ? *hostModule : *module, options, form);
  });
  if (!emitted) {
    fail(toString(emitted.takeError()));
    return InputFault;
  }
  code = std::move(*emitted);
  return Done;
}

void warnOfSpills(StringRef target, StringRef spills) {
  if (!spills.empty())
    warn("code for " + target +
             " needs more registers than a thread has: in memory are " + spills,
         "smaller blocks need fewer: `--remarks` says which there are, "
         "`--schedule` sets them");
}

ExitStatus Compilation::emitVariants() {
  for (Variant &variant : variants) {
    auto ptx = timed(describePhase("ptx", variant.target), [&] {
      return emitKernels(*variant.kernels, variant.target, KernelForm::Ptx);
    });
    if (!ptx) {
      fail(toString(ptx.takeError()));
      return InputFault;
    }
    auto image = timed(describePhase("fatbin", variant.target), [&] {
      return emitDeviceImage(std::move(*ptx), variant.target);
    });
    if (!image) {
      fail(toString(image.takeError()));
      return InputFault;
    }
    if (!image->missing.empty() && &variant == &variants.front())
      warn("the code for GPUs is PTX alone: machine code needs " +
               image->missing,
           "a driver compiles PTX when a program loads it, which takes "
           "seconds");
    warnOfSpills(variant.target, image->spills);
    options.variants.push_back(
        {variant.target, *variant.kernels, *variant.host, std::move(*image)});
  }
  return Done;
}

ExitStatus Compilation::emit(KernelForm form,
                             std::unique_ptr<MemoryBuffer> &code) {
  auto emitted =
      timed("emit", [&] { return emitKernels(*module, line.target, form); });
  if (!emitted) {
    fail(toString(emitted.takeError()));
    return InputFault;
  }
  code = std::move(*emitted);
  return Done;
}

void Compilation::printTiming() const {
  size_t width = 12;
  double total = 0;
  for (const auto &[phase, seconds] : timing) {
    width = std::max(width, phase.size());
    total += seconds;
  }
  auto print = [&](StringRef phase, double seconds) {
    errs() << left_justify(phase, width)
           << formatv(" {0,9:f1} ms\n", seconds * 1e3);
  };
  for (const auto &[phase, seconds] : timing)
    print(phase, seconds);
  print("total", total);
}

json::Value Compilation::timingJson() const {
  json::Object object;
  for (const auto &[phase, seconds] : timing)
    object[phase] = seconds;
  return object;
}

} // namespace gatefold::tool
