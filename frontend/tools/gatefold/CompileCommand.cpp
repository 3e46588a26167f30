// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CompileCommand.cpp - gatefold compile ------------------------------===//

#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Compilation.h"
#include "frontend/tools/gatefold/Files.h"
#include "frontend/tools/gatefold/Library.h"
#include "frontend/tools/gatefold/Weights.h"
#include "passes/Pipelines.h"
#include "passes/support/Target.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

/// What `-o` asks for where --emit does not say.
std::string formOf(StringRef output) {
  return StringSwitch<std::string>(sys::path::extension(output))
      .Case(".so", "library")
      .Case(".o", "object")
      .Case(".s", "asm")
      .Case(".ll", "llvm")
      .Case(".mlir", "import")
      .Case(".ptx", "ptx")
      .Case(".cubin", "cubin")
      .Case(".fatbin", "fatbin")
      .Default("");
}

/// Whether code for the target goes through a phase.
bool isPhase(StringRef what, StringRef target) {
  return what == "import" || llvm::any_of(getPhases(), [&](const Phase &phase) {
           return phase.name == what && phase.isFor(target);
         });
}

/// What holds code for GPUs beside that for a CPU.
bool holdsVariants(StringRef what) {
  return what == "object" || what == "library";
}

bool isCode(StringRef what, StringRef target) {
  if (isGpuName(target))
    return llvm::is_contained({"llvm", "ptx", "cubin", "fatbin"}, what);
  return llvm::is_contained({"llvm", "asm", "object", "library"}, what);
}

std::string allForms(StringRef target) {
  std::string names = "import";
  for (const Phase &phase : getPhases())
    if (phase.isFor(target))
      names += ", " + phase.name.str();
  return names + (isGpuName(target)
                      ? ", llvm, ptx, cubin or fatbin for a GPU, or object or "
                        "library for a GPU and a CPU"
                      : ", llvm, asm, object or library");
}

/// Reads the weights to embed, which needs the description of the code that
/// they are for: the object without them is loaded for it.
ExitStatus embedWeights(const CommandLine &line, Compilation &compilation,
                        std::vector<Weight> &weights) {
  std::unique_ptr<MemoryBuffer> object;
  if (ExitStatus status = compilation.emit(CodeForm::Object, object))
    return status;
  auto loaded = loadObject(std::move(object), compilation.emitOptions());
  if (!loaded) {
    fail("weights can be embedded only for this machine's own kind: " +
         toString(loaded.takeError()));
    return InputFault;
  }
  if (ExitStatus status =
          gatherWeights(line, (*loaded)->description(), weights))
    return status;
  for (Weight &weight : weights)
    compilation.emitOptions().embeddedWeights.emplace_back(
        weight.name, ArrayRef(static_cast<const char *>(weight.tensor.data()),
                              weight.tensor.byteSize()));
  return Done;
}

ExitStatus writeLibrary(const CommandLine &line, Compilation &compilation,
                        std::unique_ptr<MemoryBuffer> object,
                        std::string &headerPath) {
  const EmitOptions &options = compilation.emitOptions();
  if (Error error = linkLibrary(*object, options, line.output)) {
    fail(toString(std::move(error)));
    return InputFault;
  }
  auto loaded = loadObject(std::move(object), options);
  if (!loaded) {
    fail("the header cannot be written: " + toString(loaded.takeError()),
         "a library for another kind of machine is not made yet; --emit object "
         "is");
    return InputFault;
  }
  SmallString<128> header(sys::path::parent_path(line.output));
  sys::path::append(header, options.name + ".h");
  if (Error error = writeText(
          header, emitHeader((*loaded)->description(), options.name))) {
    fail(toString(std::move(error)));
    return InputFault;
  }
  headerPath = header.str();
  if (!line.json)
    outs() << line.output << "\n" << header << "\n";
  return Done;
}

/// The kernels, as PTX or what is made from it.
ExitStatus emitForGpu(const CommandLine &line, StringRef what,
                      Compilation &compilation,
                      std::unique_ptr<MemoryBuffer> &code) {
  KernelForm form = what == "llvm" ? KernelForm::LlvmIr : KernelForm::Ptx;
  if (ExitStatus status = compilation.emit(form, code))
    return status;
  if (what != "cubin" && what != "fatbin")
    return Done;
  auto assembled = what == "cubin" ? assemblePtx(*code, line.target)
                                   : emitFatbin(*code, line.target);
  if (!assembled) {
    fail(toString(assembled.takeError()));
    return InputFault;
  }
  warnOfSpills(line.target, assembled->spills);
  code = std::move(assembled->code);
  return Done;
}

ExitStatus compile(const CommandLine &line, StringRef what,
                   Compilation &compilation, std::string &headerPath) {
  if (ExitStatus status = compilation.load())
    return status;
  if (isPhase(what, line.target)) {
    if (ExitStatus status = compilation.lower(what))
      return status;
    std::string text;
    raw_string_ostream out(text);
    compilation.print(out);
    if (Error error =
            writeText(line.output.empty() ? "-" : line.output, text)) {
      fail(toString(std::move(error)));
      return InputFault;
    }
    return Done;
  }
  if (ExitStatus status = compilation.lower())
    return status;
  if (ExitStatus status = compilation.emitVariants())
    return status;
  std::vector<Weight> weights; // the embedded data stay here
  if (!line.weights.empty())
    if (ExitStatus status = embedWeights(line, compilation, weights))
      return status;
  CodeForm form = what == "llvm"  ? CodeForm::LlvmIr
                  : what == "asm" ? CodeForm::Assembly
                                  : CodeForm::Object;
  std::unique_ptr<MemoryBuffer> code;
  if (ExitStatus status = isGpuName(line.target)
                              ? emitForGpu(line, what, compilation, code)
                              : compilation.emit(form, code))
    return status;
  if (what == "library")
    return writeLibrary(line, compilation, std::move(code), headerPath);
  if (Error error = writeText(line.output.empty() ? "-" : line.output,
                              code->getBuffer())) {
    fail(toString(std::move(error)));
    return InputFault;
  }
  return Done;
}

/// Takes the targets apart. A library or an object for GPUs is one for a CPU,
/// too, which computes where there is no GPU.
ExitStatus chooseTargets(CommandLine &line, StringRef what) {
  if (!holdsVariants(what)) {
    if (line.targets.size() == 1 || line.targets.empty())
      return Done;
    fail((line.emit.empty() ? "-o " + line.output : "--emit " + what) +
             " is for one target, found " + join(line.targets, ", "),
         "choose one; --emit library and object take several");
    return CommandLineFault;
  }
  if (isGpuName(line.target))
    line.target = "native";
  llvm::copy_if(line.targets, std::back_inserter(line.gpuTargets), isGpuName);
  return Done;
}

} // namespace

ExitStatus runCompile(const CommandLine &given) {
  CommandLine line = given;
  std::string what = line.emit.empty() ? formOf(line.output) : line.emit;
  if (what.empty()) {
    fail(line.output.empty()
             ? std::string("compile needs -o OUT or --emit WHAT")
             : "-o " + line.output + ": the ending does not say what to make",
         "-o libNAME.so, NAME.o, NAME.s, NAME.ll, NAME.ptx, NAME.cubin, "
         "NAME.fatbin or NAME.mlir, or --emit WHAT");
    return CommandLineFault;
  }
  if (ExitStatus status = chooseTargets(line, what))
    return status;
  bool makesCode = isCode(what, line.target);
  if (!makesCode && !isPhase(what, line.target)) {
    bool isOfGpu = isCode(what, "sm_80") || isPhase(what, "sm_80");
    fail((line.emit.empty() ? "-o " + line.output : "--emit " + what) +
             ": expected " + allForms(line.target),
         isOfGpu ? "for a GPU: --target sm_80" : "");
    return CommandLineFault;
  }
  bool toStandardOutput = line.output.empty() || line.output == "-";
  if (toStandardOutput &&
      llvm::is_contained({"library", "object", "cubin", "fatbin"}, what)) {
    fail("--emit " + what + " needs -o FILE");
    return CommandLineFault;
  }
  if (line.json && toStandardOutput) {
    fail("--json and the code cannot both go to standard output", "-o FILE");
    return CommandLineFault;
  }
  if (!line.weights.empty() && (!makesCode || isGpuName(line.target))) {
    fail("--emit " + what + ": weights are embedded in code only" +
             (makesCode ? " that is for a CPU" : ""),
         "--emit llvm, asm, object or library");
    return CommandLineFault;
  }
  if (!line.gpuTargets.empty() && line.gpuTargets.size() == line.targets.size())
    note("--target native is added: the " + what +
         " computes on the CPU where there is no such GPU");
  Compilation compilation(line);
  if (!toStandardOutput)
    compilation.emitOptions().name = symbolPrefix(line.output);
  std::string header;
  ExitStatus status = compile(line, what, compilation, header);
  if (line.json && status == Done) {
    json::Array targets{line.target};
    for (const std::string &gpu : line.gpuTargets)
      targets.push_back(gpu);
    json::Object document{{"file", line.output},
                          {"emitted", what},
                          {"targets", std::move(targets)}};
    if (!header.empty())
      document["header"] = header;
    if (line.timing)
      document["timing"] = compilation.timingJson();
    printJson(std::move(document));
  } else if (line.timing) {
    compilation.printTiming();
  }
  return status;
}

} // namespace gatefold::tool
